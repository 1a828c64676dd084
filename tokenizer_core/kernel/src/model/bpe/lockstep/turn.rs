//! One turn of a lane: make the best merge of its piece, and look up the two pairs that the merge made.
//!
//! The highest of all other keys is found while these two are looked up. They are written one by one, and all keys are
//! read a turn later, when those stores are long done.

use std::hint::select_unpredictable;

use super::{Lane, Symbol, key, merge_of};
use crate::model::bpe::ranks::MergeTable;
use crate::simd::branch::cold_path;
use crate::simd::maximum::Maximum;
use crate::simd::tagged_line::FindTag;

impl<const N: usize> Lane<N> {
    /// Begin with a piece of 1 to `N - 2` symbols.
    #[inline(always)]
    pub(super) fn begin<T: Symbol>(&mut self, simd: impl FindTag, table: &MergeTable, piece: &[T]) {
        let length = piece.len().min(N - 2);
        self.keys = [0; N];
        let places = self.keys[1..].iter_mut().zip(&mut self.ids[1..]);
        for (at, (pair, (key_of, id))) in piece[..length].windows(2).zip(places).enumerate() {
            if let Some(pair) = pair.first_chunk().copied() {
                *key_of = key(T::precedence(simd, table, pair), at + 1);
                *id = pair[0].id(table);
            }
        }
        if let Some(last) = piece[..length].last() {
            self.ids[length] = last.id(table);
        }
        (self.ids[0], self.ids[length + 1]) = (table.no_token(), table.no_token());
        self.taken = u64::MAX >> (62 - length);
    }

    /// Make the first merge of a lane that has begun; `false` if there is none.
    #[inline(always)]
    pub(super) fn first(&mut self, simd: impl Maximum, table: &MergeTable) -> bool {
        self.merge(simd, table, simd.maximum(&self.keys))
    }

    /// Look up the pairs that the last merge led to.
    #[inline(always)]
    pub(super) fn look(&mut self, simd: impl FindTag + Maximum, table: &MergeTable) {
        let (rest, found) = (simd.maximum(&self.keys), self.precedences(simd, table));
        let [before, at] = self.changed();
        let found = [key(found[0], before), key(found[1], at)];
        (self.keys[before], self.keys[at]) = (found[0], found[1]);
        (self.rest, self.last) = (rest, found[0].max(found[1]));
    }

    /// Make the next merge, after the pairs that the last one led to were looked up; `false` if none is left. `others`
    /// says whether so many lanes are at work that none waits for its lookups.
    #[inline(always)]
    pub(super) fn next(&mut self, simd: impl Maximum, table: &MergeTable, others: bool) -> bool {
        let (mut highest, last) = (self.rest, self.last);
        if others {
            highest = select_unpredictable(last > highest, last, highest);
        } else if last > highest {
            // In about one case of eight a new pair comes first. In all others the next merge waits for nothing.
            cold_path();
            highest = last;
        }
        self.merge(simd, table, highest)
    }

    /// Bring the ids of the piece to the front.
    #[inline(always)]
    pub(super) fn finish(&mut self) {
        let mut symbols = self.symbols();
        self.count = symbols.count_ones() as usize;
        let mut at = 0;
        while symbols != 0 {
            // Most have no more than four, and their number is unpredictable.
            for _ in 0..4 {
                self.ids[at % N] = self.ids[(symbols | 1 << 63).trailing_zeros() as usize % N];
                symbols &= symbols.wrapping_sub(1);
                at += 1;
            }
        }
    }

    /// Make the leftmost merge of the lowest rank, whose key is the highest; `false` if none is left.
    #[inline(always)]
    fn merge(&mut self, simd: impl Maximum, table: &MergeTable, mut key: u32) -> bool {
        loop {
            let Some((at, precedence)) = merge_of(key) else { return false };
            // SAFETY: only the place of a symbol has a key above `NONE`, and the last border stays taken after it.
            let (at, right) = (at % N, unsafe { self.after(at % N) } % N);
            if table.holds(precedence, self.ids[at], self.ids[right]) {
                // SAFETY: a precedence that holds is that of two symbols: no pair with the border is in the table.
                let [before, at] = unsafe { self.make(table, at, right, precedence) };
                // A place that is no longer taken has no key, and one that changed has none yet.
                (self.keys[before], self.keys[at], self.keys[right]) = (0, 0, 0);
                return true;
            }
            // The precedence is that of another pair, so this one does not merge.
            self.keys[at] = 0;
            key = simd.maximum(&self.keys);
        }
    }
}
