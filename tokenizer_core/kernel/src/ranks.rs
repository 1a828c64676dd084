//! What two neighbours become.

use std::collections::HashSet;

use crate::error::Result;
use crate::prefetch::prefetch;
use crate::vocabulary::{Merge, Vocabulary};

/// What a pair of neighbours becomes; ordered by rank, so the least is merged first.
///
/// The rank stands in the high half and the product in the low half of one word.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Merged(u64);

impl Merged {
    /// Greater than every merge: the pair does not merge.
    pub const NEVER: Self = Self(u64::MAX);

    const fn new(rank: u32, product: u32) -> Self {
        Self((rank as u64) << 32 | product as u64)
    }

    /// Position in the list of merges.
    #[inline]
    pub const fn rank(self) -> u32 {
        (self.0 >> 32) as u32
    }

    /// The token that the two become.
    #[inline]
    pub const fn product(self) -> u32 {
        self.0 as u32
    }
}

#[derive(Debug, Clone, Copy)]
struct Slot {
    pair: u64,
    merged: Merged,
}

/// So many merges ahead of the one at hand their slots are asked for, by whoever goes through all of them.
pub(crate) const AHEAD: usize = 16;

const EMPTY_PAIR: u64 = u64::MAX;

/// From a pair of ids to its merge: an open-addressed table, at most half full.
#[derive(Debug)]
pub struct MergeTable {
    byte_ids: [u32; 256],
    /// By the first byte times 256 and the second: every piece begins with as many of these as it has neighbours.
    byte_pairs: Box<[Merged]>,
    slots: Box<[Slot]>,
    shift: u32,
}

impl MergeTable {
    /// Index the merges of a vocabulary but for those whose product is one of `never`: text must not merge into a control
    /// token. Of two merges of one pair the later counts, as in Hugging Face.
    ///
    /// # Errors
    /// `missing_byte`.
    pub fn new(vocabulary: &Vocabulary, never: &HashSet<u32>) -> Result<Self> {
        let merges = vocabulary.merges();
        let mut table = Self::with_room(vocabulary, merges.len())?;
        for (rank, merge) in merges.iter().enumerate() {
            if let Some(later) = merges.get(rank + AHEAD) {
                table.prefetch(later.left, later.right);
            }
            if !never.contains(&merge.product) {
                table.insert(*merge, rank as u32);
            }
        }
        let pairs = (0..=u16::MAX).map(u16::to_be_bytes);
        table.byte_pairs = pairs.map(|[left, right]| table.get(table.byte_id(left), table.byte_id(right))).collect();
        Ok(table)
    }

    /// A table without merges, with room for so many.
    pub(crate) fn with_room(vocabulary: &Vocabulary, merges: usize) -> Result<Self> {
        let bits = (merges.max(8) * 2).next_power_of_two().trailing_zeros();
        let empty = Slot { pair: EMPTY_PAIR, merged: Merged::NEVER };
        Ok(Self {
            byte_ids: vocabulary.byte_ids()?,
            byte_pairs: Box::default(),
            slots: vec![empty; 1 << bits].into_boxed_slice(),
            shift: 64 - bits,
        })
    }

    /// Add a merge. Of two of one pair the later counts.
    pub(crate) fn insert(&mut self, merge: Merge, rank: u32) {
        let pair = pair_key(merge.left, merge.right);
        let at = self.find(pair);
        self.slots[at] = Slot { pair, merged: Merged::new(rank, merge.product) };
    }

    /// What the tokens of two single bytes become, or [`Merged::NEVER`].
    #[inline]
    pub fn of_bytes(&self, left: u8, right: u8) -> Merged {
        self.byte_pairs[usize::from(left) << 8 | usize::from(right)]
    }

    /// Begin to load what `left` and `right` become.
    #[inline]
    pub fn prefetch(&self, left: u32, right: u32) {
        prefetch(&self.slots, self.home(pair_key(left, right)));
    }

    /// The id of a single byte.
    #[inline]
    pub fn byte_id(&self, byte: u8) -> u32 {
        self.byte_ids[byte as usize]
    }

    /// What `left` and `right` become, or [`Merged::NEVER`].
    #[inline]
    pub fn get(&self, left: u32, right: u32) -> Merged {
        self.slots[self.find(pair_key(left, right))].merged
    }

    #[inline]
    fn find(&self, pair: u64) -> usize {
        let mask = self.slots.len() - 1;
        let mut at = self.home(pair);
        while self.slots[at].pair != pair && self.slots[at].pair != EMPTY_PAIR {
            at = (at + 1) & mask;
        }
        at
    }

    #[inline]
    fn home(&self, pair: u64) -> usize {
        // Fibonacci hashing: the high bits of the product depend on every bit of the pair.
        (pair.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> self.shift) as usize & (self.slots.len() - 1)
    }
}

#[inline]
fn pair_key(left: u32, right: u32) -> u64 {
    u64::from(left) << 32 | u64::from(right)
}
