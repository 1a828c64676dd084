//! Short pieces merged several in turns, so that what one waits for from memory is loaded while the others go on.
//!
//! A symbol stays where its first byte was and a bit tells which places are still taken: nothing is ever moved.

use crate::ranks::{MergeTable, Merged};

/// One piece being merged, of at most `N` bytes.
#[derive(Debug, Clone, Copy)]
struct Lane<const N: usize> {
    ids: [u32; N],
    /// What the symbol of a place and the next one become.
    pairs: [Merged; N],
    /// A bit for each place that begins a symbol.
    taken: u64,
    length: usize,
    /// The symbol that was made last.
    made: usize,
}

impl<const N: usize> Lane<N> {
    const IDLE: Self = Self { ids: [0; N], pairs: [Merged::NEVER; N], taken: 0, length: 0, made: 0 };

    /// Begin with a piece of 1 to `N` bytes.
    #[inline]
    fn begin(&mut self, table: &MergeTable, piece: &[u8]) {
        self.length = piece.len();
        self.taken = u64::MAX >> (64 - piece.len());
        for (id, byte) in self.ids.iter_mut().zip(piece) {
            *id = table.byte_id(*byte);
        }
        for (pair, bytes) in self.pairs.iter_mut().zip(piece.windows(2)) {
            *pair = table.of_bytes(bytes[0], bytes[1]);
        }
        self.pairs[piece.len() - 1] = Merged::NEVER;
    }

    /// Make the leftmost merge of the lowest rank, and begin to load what its neighbours become; `false` if none is left.
    #[inline]
    fn merge(&mut self, table: &MergeTable) -> bool {
        let (mut at, mut least) = (0, Merged::NEVER);
        for (place, pair) in self.pairs[..self.length].iter().enumerate() {
            if *pair < least {
                (at, least) = (place, *pair);
            }
        }
        if least == Merged::NEVER {
            return false;
        }
        let right = self.after(at);
        self.taken &= !(1 << right);
        self.ids[at] = least.product();
        self.pairs[right] = Merged::NEVER;
        self.made = at;
        self.neighbours(|lane, left, right| table.prefetch(lane.ids[left], lane.ids[right]));
        self.pairs[at] = Merged::NEVER;
        true
    }

    /// Look up what the symbol that was made and its neighbours become.
    #[inline]
    fn look(&mut self, table: &MergeTable) {
        self.neighbours(|lane, left, right| lane.pairs[left] = table.get(lane.ids[left], lane.ids[right]));
    }

    /// Call `pair` with the places of the symbol that was made and of the one before it, and of it and the next.
    #[inline]
    fn neighbours(&mut self, mut pair: impl FnMut(&mut Self, usize, usize)) {
        let at = self.made;
        let before = self.taken & ((1 << at) - 1);
        if before != 0 {
            pair(self, 63 - before.leading_zeros() as usize, at);
        }
        let after = self.after(at);
        if after < self.length {
            pair(self, at, after);
        }
    }

    /// The next place that is taken, or one beyond the piece.
    #[inline]
    fn after(&self, at: usize) -> usize {
        // Two steps, as 64 places are too many for one shift.
        (self.taken >> at >> 1).trailing_zeros() as usize + at + 1
    }

    /// Replace `ids` by those of the piece.
    #[inline]
    fn finish(&self, ids: &mut Vec<u32>) {
        ids.clear();
        let mut taken = self.taken;
        while taken != 0 {
            ids.push(self.ids[taken.trailing_zeros() as usize]);
            taken &= taken - 1;
        }
    }
}

/// Pieces merged at the same time: about as many loads as a core has under way.
pub const LANES: usize = 8;

/// Up to [`LANES`] pieces of 1 to `N` bytes each, where `N` is at most 64.
#[derive(Debug)]
pub struct Lanes<const N: usize>([Lane<N>; LANES]);

impl<const N: usize> Default for Lanes<N> {
    fn default() -> Self {
        const { assert!(N <= 64, "a bit of a word for each place") };
        Self([Lane::IDLE; LANES])
    }
}

impl<const N: usize> Lanes<N> {
    /// Merge pieces, each in a lane of its own.
    #[inline]
    pub fn merge<'a>(&mut self, table: &MergeTable, pieces: impl Iterator<Item = &'a [u8]>) {
        let Self(lanes) = self;
        let mut busy = 0_u32;
        for (at, (lane, piece)) in lanes.iter_mut().zip(pieces).enumerate() {
            lane.begin(table, piece);
            busy |= 1 << at;
        }
        while busy != 0 {
            for (at, lane) in lanes.iter_mut().enumerate() {
                if busy >> at & 1 != 0 && !lane.merge(table) {
                    busy &= !(1 << at);
                }
            }
            for (at, lane) in lanes.iter_mut().enumerate() {
                if busy >> at & 1 != 0 {
                    lane.look(table);
                }
            }
        }
    }

    /// Replace `ids` by those of the piece in a lane.
    #[inline]
    pub fn ids(&self, lane: usize, ids: &mut Vec<u32>) {
        self.0[lane].finish(ids);
    }
}
