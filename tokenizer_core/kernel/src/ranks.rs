//! The two questions a merge asks: what do these neighbours become, and is this piece a token already.

use rustc_hash::FxHasher;
use std::collections::HashSet;
use std::hash::Hasher;

use crate::error::Result;
use crate::vocabulary::Vocabulary;

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

const EMPTY_PAIR: u64 = u64::MAX;

/// From a pair of ids to its merge: an open-addressed table, at most half full.
#[derive(Debug)]
pub struct MergeTable {
    byte_ids: [u32; 256],
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
        let bits = (merges.len().max(8) * 2).next_power_of_two().trailing_zeros();
        let empty = Slot { pair: EMPTY_PAIR, merged: Merged::NEVER };
        let mut table = Self {
            byte_ids: vocabulary.byte_ids()?,
            slots: vec![empty; 1 << bits].into_boxed_slice(),
            shift: 64 - bits,
        };
        for (rank, merge) in merges.iter().enumerate().filter(|(_, merge)| !never.contains(&merge.product)) {
            let pair = pair_key(merge.left, merge.right);
            let at = table.find(pair);
            table.slots[at] = Slot { pair, merged: Merged::new(rank as u32, merge.product) };
        }
        Ok(table)
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
        // Fibonacci hashing: the high bits of the product depend on every bit of the pair.
        let mut at = (pair.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> self.shift) as usize & mask;
        while self.slots[at].pair != pair && self.slots[at].pair != EMPTY_PAIR {
            at = (at + 1) & mask;
        }
        at
    }
}

#[inline]
fn pair_key(left: u32, right: u32) -> u64 {
    u64::from(left) << 32 | u64::from(right)
}

const NO_TOKEN: u32 = u32::MAX;

/// From bytes to the token that is exactly them; the bytes stay in the vocabulary.
#[derive(Debug)]
pub struct TokenIndex {
    slots: Box<[u32]>,
}

impl TokenIndex {
    /// Index every token that text can become, but for those in `never`; opaque entries are no text.
    pub fn new(vocabulary: &Vocabulary, never: &HashSet<u32>) -> Self {
        let size = (vocabulary.id_limit().max(8) as usize * 2).next_power_of_two();
        let mut index = Self { slots: vec![NO_TOKEN; size].into_boxed_slice() };
        for (id, bytes) in vocabulary.tokens() {
            if !vocabulary.is_opaque(id) && !never.contains(&id) {
                let at = index.find(vocabulary, bytes);
                if index.slots[at] == NO_TOKEN {
                    index.slots[at] = id;
                }
            }
        }
        index
    }

    /// The token that is exactly `bytes`. `vocabulary` is the one the index was made from.
    #[inline]
    pub fn get(&self, vocabulary: &Vocabulary, bytes: &[u8]) -> Option<u32> {
        let id = self.slots[self.find(vocabulary, bytes)];
        (id != NO_TOKEN).then_some(id)
    }

    fn find(&self, vocabulary: &Vocabulary, bytes: &[u8]) -> usize {
        let mask = self.slots.len() - 1;
        let mut hasher = FxHasher::default();
        hasher.write(bytes);
        let mut at = hasher.finish() as usize & mask;
        while self.slots[at] != NO_TOKEN && vocabulary.bytes(self.slots[at]) != Some(bytes) {
            at = (at + 1) & mask;
        }
        at
    }
}
