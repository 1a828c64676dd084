//! The pairs that can still be merged, and their places.
//!
//! A pair arises only where one of its tokens is made, so all places it will ever have are known when it arises; later
//! they only become fewer. Places that are gone are noticed when the pair is counted again.

use super::words::{Position, Words};

/// A pair of neighbouring tokens.
#[derive(Debug, Clone, Copy)]
pub struct Pair {
    /// Left token.
    pub left: u32,
    /// Right token.
    pub right: u32,
    /// At least how often it occurs.
    pub count: u64,
    /// Its first place in `Pairs::places`.
    start: usize,
    places: usize,
    /// The number of merges when `count` was exact.
    counted_at: u32,
}

impl Pair {
    /// Both tokens.
    pub fn ids(&self) -> (u32, u32) {
        (self.left, self.right)
    }
}

/// Every pair by its slot.
#[derive(Debug, Default)]
pub struct Pairs<P> {
    slots: Vec<Pair>,
    free: Vec<u32>,
    /// Positions in the words, those of one pair together and rising.
    places: Vec<P>,
    /// The number of `places` that belong to no pair.
    garbage: usize,
}

/// Places ahead for which memory is prefetched.
pub const AHEAD: usize = 16;

/// Below this many the places are not worth moving.
const LITTLE_GARBAGE: usize = 1 << 16;

impl<P: Position> Pairs<P> {
    /// Remove all pairs.
    pub fn clear(&mut self) {
        *self = Self::default();
    }

    /// The pair in a slot.
    #[inline]
    pub fn get(&self, slot: u32) -> &Pair {
        &self.slots[slot as usize]
    }

    /// Add a pair whose exact count is known; its places are written by [`Pairs::place`].
    pub fn add(&mut self, (left, right): (u32, u32), count: u64, places: usize, step: u32) -> u32 {
        let start = self.places.len();
        self.places.resize(start + places, P::default());
        let pair = Pair { left, right, count, start, places: 0, counted_at: step };
        if let Some(slot) = self.free.pop() {
            self.slots[slot as usize] = pair;
            return slot;
        }
        self.slots.push(pair);
        self.slots.len() as u32 - 1
    }

    /// Write the next place of a pair.
    #[inline]
    pub fn place(&mut self, slot: u32, position: P) {
        let pair = &mut self.slots[slot as usize];
        self.places[pair.start + pair.places] = position;
        pair.places += 1;
    }

    /// Count a pair again if merges have been made since, and drop the places that are gone.
    pub fn recount(&mut self, slot: u32, words: &Words, left_length: u32, step: u32) -> u64 {
        self.recount_each(slot, words, left_length, step, |_, _| ())
    }

    /// As [`Pairs::recount`]; if the pair is counted again, call `each` with its places, which rise, and their weights.
    #[inline]
    pub fn recount_each(
        &mut self,
        slot: u32,
        words: &Words,
        left_length: u32,
        step: u32,
        mut each: impl FnMut(usize, u64),
    ) -> u64 {
        let pair = &mut self.slots[slot as usize];
        if pair.counted_at == step {
            return pair.count;
        }
        let places = &mut self.places[pair.start..pair.start + pair.places];
        let (mut kept, mut count) = (0, 0);
        for at in 0..places.len() {
            let position = places[at];
            if let Some(ahead) = places.get(at + AHEAD) {
                words.prefetch(ahead.at());
            }
            if words.stands(position.at(), pair.left, pair.right, left_length) {
                places[kept] = position;
                kept += 1;
                let weight = words.weight(position.at());
                count += weight;
                each(position.at(), weight);
            }
        }
        self.garbage += places.len() - kept;
        // Without a place it has no start either, which compaction would not move.
        let start = if kept == 0 { 0 } else { pair.start };
        *pair = Pair { count, start, places: kept, counted_at: step, ..*pair };
        count
    }

    /// Tell whether the count of a pair is that after `step` merges.
    pub fn is_counted(&self, slot: u32, step: u32) -> bool {
        self.get(slot).counted_at == step
    }

    /// Remove a pair and return its places.
    pub fn take(&mut self, slot: u32) -> Vec<P> {
        let places = self.empty(slot);
        self.remove(slot);
        places
    }

    /// Return the places of a pair, which keeps its slot without any.
    pub fn empty(&mut self, slot: u32) -> Vec<P> {
        let pair = &mut self.slots[slot as usize];
        let places = self.places[pair.start..pair.start + pair.places].to_vec();
        self.garbage += pair.places;
        *pair = Pair { count: 0, start: 0, places: 0, ..*pair };
        places
    }

    /// Remove a pair that was taken from the queue; its slot may be given to another one.
    pub fn remove(&mut self, slot: u32) {
        let pair = &mut self.slots[slot as usize];
        self.garbage += pair.places;
        pair.places = 0;
        self.free.push(slot);
    }

    /// Close the gaps in the places when most of them belong to no pair any more.
    pub fn compact(&mut self) {
        if self.garbage < LITTLE_GARBAGE || self.garbage * 2 < self.places.len() {
            return;
        }
        let mut order: Vec<u32> = (0..self.slots.len() as u32).filter(|slot| self.get(*slot).places > 0).collect();
        order.sort_unstable_by_key(|slot| self.get(*slot).start);
        let mut end = 0;
        for slot in order {
            let pair = &mut self.slots[slot as usize];
            let places = pair.start..pair.start + pair.places;
            self.places.copy_within(places, end);
            pair.start = end;
            end += pair.places;
        }
        self.places.truncate(end);
        self.garbage = 0;
    }
}
