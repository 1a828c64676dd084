//! Pairs by a score that moves both ways: a binary heap that knows the place of every entry.

use std::cmp::Ordering;

use super::queue::sift;

/// A place of no entry.
const NONE: u32 = u32::MAX;

/// The score of a pair as a fraction; the larger goes first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Score {
    /// The number of occurrences of the pair.
    pub count: u64,
    /// The product of how often its tokens occur; never 0.
    pub tokens: u128,
    /// Left and right token.
    pub ids: (u32, u32),
}

impl Score {
    fn compare(&self, other: &Self) -> Ordering {
        let fraction = times(other.tokens, self.count).cmp(&times(self.tokens, other.count));
        fraction.then(self.count.cmp(&other.count)).then(other.ids.cmp(&self.ids))
    }
}

/// A product of 192 bits, the upper 128 first.
fn times(large: u128, small: u64) -> (u128, u64) {
    let low = (large & u128::from(u64::MAX)) * u128::from(small);
    ((large >> 64) * u128::from(small) + (low >> 64), low as u64)
}

/// The heap; the largest score is the first.
#[derive(Debug, Default)]
pub struct Ranking {
    heap: Vec<(Score, u32)>,
    /// By slot, the place in the heap.
    places: Vec<u32>,
}

impl Ranking {
    /// The slot with the largest score.
    pub fn first(&self) -> Option<u32> {
        self.heap.first().map(|(_, slot)| *slot)
    }

    /// Give a slot a score, whether it had one or not.
    pub fn set(&mut self, slot: u32, score: Score) {
        if slot as usize >= self.places.len() {
            self.places.resize(slot as usize + 1, NONE);
        }
        let mut at = self.places[slot as usize];
        if at == NONE {
            at = self.heap.len() as u32;
            self.heap.push((score, slot));
        } else {
            self.heap[at as usize].0 = score;
        }
        self.sift(at as usize);
    }

    /// Remove a slot, if it has a score.
    pub fn remove(&mut self, slot: u32) {
        let Some(place) = self.places.get_mut(slot as usize) else { return };
        let at = std::mem::replace(place, NONE) as usize;
        if at == NONE as usize {
            return;
        }
        self.heap.swap_remove(at);
        self.sift(at);
    }

    fn sift(&mut self, at: usize) {
        let Self { heap, places } = self;
        let is_larger = |one: &(Score, u32), other: &(Score, u32)| one.0.compare(&other.0).is_gt();
        sift(heap, at, is_larger, |(_, slot), at| places[*slot as usize] = at as u32);
    }
}
