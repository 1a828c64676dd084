//! How many ids each of a few pieces has, in one word: so a piece costs a shift, and what is missed is found for all of
//! them at once.

use crate::piece_cache::IDS_LIMIT;

/// Bits of a count.
const BITS: u32 = 4;

// A count has its bits, and the sum of all a byte.
const _: () = assert!(IDS_LIMIT < 1 << BITS && IDS_LIMIT * Counts::MOST <= u8::MAX as usize);

/// A word with the same bits for each count.
const fn each(bits: u64) -> u64 {
    bits * (u64::MAX / ((1 << BITS) - 1))
}

/// The numbers of ids of up to [`Counts::MOST`] pieces, the last one's in the lowest bits.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Counts(u64);

impl Counts {
    /// As many as a word has room for.
    pub(super) const MOST: usize = (u64::BITS / BITS) as usize;

    /// Append that of the next piece.
    #[inline(always)]
    pub(super) fn push(&mut self, count: usize) {
        self.0 = self.0 << BITS | count as u64;
    }

    /// Which of the `pieces` pieces have no ids.
    #[inline(always)]
    pub(super) fn missed(self, pieces: usize) -> Missed {
        let unused = BITS * (Self::MOST - pieces) as u32;
        let counts = self.0 << unused;
        let below = each(0b0111);
        // The highest bit of each count is set by any of the others, or already.
        let has_ids = ((counts & below) + below) | counts;
        Missed { counts, left: !has_ids & each(0b1000) & u64::MAX << unused }
    }
}

/// The pieces without ids: the index of each, and how many ids those before it have.
#[derive(Debug)]
pub(super) struct Missed {
    /// From the highest bits on.
    counts: u64,
    /// The highest bit of each count that is a miss and has not been given yet.
    left: u64,
}

impl Missed {
    /// Whether there is none.
    #[inline(always)]
    pub(super) fn is_empty(&self) -> bool {
        self.left == 0
    }
}

impl Iterator for Missed {
    type Item = (usize, usize);

    #[inline(always)]
    fn next(&mut self) -> Option<Self::Item> {
        if self.is_empty() {
            return None;
        }
        let bit = self.left.leading_zeros();
        self.left ^= 1 << (u64::BITS - 1) >> bit;
        let before = self.counts & !(u64::MAX >> bit);
        // Sums of two counts, one a byte; the product has the sum of all in its highest.
        let low = u64::MAX / 0xFF * 0x0F;
        let pairs = (before & low) + (before >> BITS & low);
        let sum = pairs.wrapping_mul(u64::MAX / 0xFF) >> (u64::BITS - u8::BITS);
        Some(((bit / BITS) as usize, sum as usize))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn misses_are_the_pieces_without_ids(pieces in prop::collection::vec(0..=IDS_LIMIT, 1..=Counts::MOST)) {
            let mut counts = Counts::default();
            pieces.iter().for_each(|count| counts.push(*count));
            let missed = counts.missed(pieces.len());
            let truth: Vec<_> = (0..pieces.len()).filter(|at| pieces[*at] == 0).collect();
            prop_assert_eq!(missed.is_empty(), truth.is_empty());
            let truth: Vec<_> = truth.into_iter().map(|at| (at, pieces[..at].iter().sum())).collect();
            prop_assert_eq!(missed.collect::<Vec<_>>(), truth);
        }
    }
}
