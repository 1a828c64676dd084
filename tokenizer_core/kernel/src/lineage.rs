//! The one merge behind every token, and which tokens can stand side by side.
//!
//! A token comes about in one way only: what is merged inside its bytes does not depend on what lies outside, as long as
//! nothing has crossed their borders. Its last merge is therefore the one that is left when its bytes are merged
//! alone. Two tokens can be neighbours in what merges make exactly if merging the bytes of both, alone, gives these two;
//! and a row of tokens of which all neighbours can be neighbours is what merges make of its bytes, since the first merge
//! across a border would be one between two neighbours.

use aho_corasick::AhoCorasick;

use crate::ranks::{AHEAD, MergeTable, NEVER};
use crate::vocabulary::{Merge, Vocabulary};

/// By id: when the token is made, and of what.
#[derive(Debug)]
pub struct Lineage {
    /// 0 for a single byte, else one more than the rank of the merge.
    made: Box<[u32]>,
    parts: Box<[[u32; 2]]>,
    /// What the merges make that stand before those of their parts.
    unclear: Option<AhoCorasick>,
}

/// No merge makes it.
const UNREACHED: u32 = u32::MAX;

/// More such merges than this, and hardly a text is without one.
const UNCLEAR_LIMIT: usize = 1 << 12;

impl Lineage {
    /// Follow the merges of a vocabulary. `None` where a product is not the bytes of its parts, and where too many merges
    /// are unclear.
    ///
    /// Where a token is made after a merge that needs it and leads on, what is said above about ranks does not hold. Such a
    /// merge can only come about in bytes that hold its product's, so nothing is said about those, and of all others
    /// it holds as if there were no such merge. A token of such bytes counts as not made.
    pub fn new(vocabulary: &Vocabulary, table: &MergeTable) -> Option<Self> {
        let mut lineage = Self::of_bytes(vocabulary, table);
        let counts = |rank: usize, left, right| table.rank(left, right) as usize == rank;
        for (rank, merge) in vocabulary.merges().iter().enumerate() {
            if let Some(later) = vocabulary.merges().get(rank + AHEAD) {
                table.prefetch(later.left, later.right);
            }
            let (left, right) = (merge.left, merge.right);
            let product = merge.product as usize;
            if lineage.made[product] == UNREACHED
                && lineage.is_made(left)
                && lineage.is_made(right)
                && counts(rank, left, right)
                && lineage.stays(table, left, right)
            {
                let (left_bytes, right_bytes) = (vocabulary.bytes(left)?, vocabulary.bytes(right)?);
                if vocabulary.bytes(merge.product)?.strip_prefix(left_bytes) != Some(right_bytes) {
                    return None;
                }
                lineage.insert(*merge, rank as u32);
            }
        }
        // A merge of a part that is made after it never comes about where its product is made before the part.
        let in_order = |part: u32, rank: usize, product: u32| {
            let (part, product) = (lineage.made[part as usize], lineage.made[product as usize]);
            part == UNREACHED || part as usize <= rank || product < part
        };
        let mut unclear = Vec::new();
        for (rank, Merge { left, right, product }) in vocabulary.merges().iter().enumerate() {
            let ordered = in_order(*left, rank, *product) && in_order(*right, rank, *product);
            if !ordered && counts(rank, *left, *right) {
                unclear.push([vocabulary.bytes(*left)?, vocabulary.bytes(*right)?].concat());
            }
        }
        match unclear.len() {
            0 => Some(lineage),
            1..=UNCLEAR_LIMIT => lineage.without(&unclear, vocabulary),
            _ => None,
        }
    }

    /// Say nothing about bytes that hold one of `unclear`.
    fn without(mut self, unclear: &[Vec<u8>], vocabulary: &Vocabulary) -> Option<Self> {
        self.unclear = Some(AhoCorasick::new(unclear).ok()?);
        for (id, bytes) in vocabulary.tokens() {
            if !self.is_clear(bytes) {
                self.made[id as usize] = UNREACHED;
            }
        }
        Some(self)
    }

    /// Whether what is said about tokens holds where merges make them of these bytes.
    #[inline]
    pub fn is_clear(&self, bytes: &[u8]) -> bool {
        self.unclear.as_ref().is_none_or(|unclear| !unclear.is_match(bytes))
    }

    /// The lineage before the first merge.
    pub(crate) fn of_bytes(vocabulary: &Vocabulary, table: &MergeTable) -> Self {
        let ids = vocabulary.id_limit() as usize;
        let mut made = vec![UNREACHED; ids].into_boxed_slice();
        for byte in 0..=u8::MAX {
            made[table.byte_id(byte) as usize] = 0;
        }
        Self { made, parts: vec![[0; 2]; ids].into_boxed_slice(), unclear: None }
    }

    /// Go on with a merge of two tokens that stay side by side until then.
    pub(crate) fn insert(&mut self, merge: Merge, rank: u32) {
        self.made[merge.product as usize] = rank + 1;
        self.parts[merge.product as usize] = [merge.left, merge.right];
    }

    /// Whether merges make this token, as far as that is clear.
    #[inline]
    pub fn is_made(&self, id: u32) -> bool {
        self.made[id as usize] != UNREACHED
    }

    /// Whether merges can leave two tokens, both of which they make, side by side.
    #[inline]
    pub fn can_stand(&self, table: &MergeTable, left: u32, right: u32) -> bool {
        table.rank(left, right) == NEVER && self.stays(table, left, right)
    }

    /// Whether no merge crosses the border between two tokens before both are made.
    ///
    /// Goes back in time: the later of both is taken apart first, and what then stood at the border must not have merged
    /// before. Of two merges of one rank the left one is made first.
    pub(crate) fn stays(&self, table: &MergeTable, mut left: u32, mut right: u32) -> bool {
        loop {
            let (left_made, right_made) = (self.made[left as usize], self.made[right as usize]);
            let limit = if left_made > right_made {
                left = self.parts[left as usize][1];
                left_made
            } else if right_made > 0 {
                right = self.parts[right as usize][0];
                right_made + 1
            } else {
                return true;
            };
            // No token is made as late as a pair that does not merge would be.
            if table.rank(left, right) + 1 < limit {
                return false;
            }
        }
    }
}
