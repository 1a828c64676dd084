//! The merge that makes each token, and the tokens that can be neighbours: the valid pairs of GitHub's crate `bpe`.
//!
//! Only one merge ever makes a given token. What is merged inside its bytes does not depend on what is outside, as long
//! as no merge has crossed their borders; so it is the last merge when these bytes are merged alone. Two tokens can be
//! neighbours exactly if merging the bytes of both, alone, gives these two: they are then a valid pair. And a sequence
//! in which all neighbours are valid pairs is what merges make of its bytes, since the first merge across a border
//! would be one between two neighbours.

use std::ops::Range;

use aho_corasick::AhoCorasick;

use crate::model::bpe::ranks::{AHEAD, MergeTable, Merges, NEVER};
use crate::vocabulary::{Merge, Vocabulary};

/// By id: when the token is made, and of what.
#[derive(Debug)]
pub struct SplitTable {
    /// 0 for a single byte, else one more than the rank of the merge.
    made: Box<[u32]>,
    parts: Box<[[u32; 2]]>,
    /// The bytes of merges that are listed before the merges of their parts.
    unclear: Option<AhoCorasick>,
}

/// No merge makes it.
const UNREACHED: u32 = u32::MAX;

/// Merges that are checked together, so that their cache misses overlap: one by one they took a quarter of the time of
/// opening a tokenizer.
const TOGETHER: usize = 32;

/// With more unclear merges than this, hardly any text is without one.
const UNCLEAR_LIMIT: usize = 1 << 12;

impl SplitTable {
    /// Go through the merges of a vocabulary. `None` where a product is not the bytes of its parts, and where too many
    /// merges are unclear.
    ///
    /// A merge is unclear if it is listed before a merge that makes one of its parts: what is said above does not hold
    /// for it. It can only happen in bytes that contain those of its product. So nothing is claimed about such bytes,
    /// and all others are as if the merge did not exist. A token with such bytes counts as not made.
    pub fn new(vocabulary: &Vocabulary, table: &MergeTable) -> Option<Self> {
        let mut split_table = Self::of_bytes(vocabulary, table);
        let merges = vocabulary.merges();
        let counts = |rank: usize, left, right| table.rank(left, right) as usize == rank;
        let (mut made, mut open) = (Vec::new(), Vec::new());
        for first in (0..merges.len()).step_by(TOGETHER) {
            let ranks = first..merges.len().min(first + TOGETHER);
            for rank in ranks.clone() {
                if let Some(later) = merges.get(rank + AHEAD) {
                    table.prefetch(later.left, later.right);
                }
            }
            // Nearly always the parts of all of them stay side by side, so that is assumed first.
            split_table.follow(merges, ranks.clone(), &mut made, |_, rank, left, right| counts(rank, left, right));
            open.clear();
            open.extend(made.iter().map(|merge: &Merge| (merge.left, merge.right)));
            if !split_table.all_stay(table, &mut open) {
                made.iter().for_each(|merge| split_table.made[merge.product as usize] = UNREACHED);
                split_table.follow(merges, ranks, &mut made, |split_table, rank, left, right| {
                    counts(rank, left, right) && split_table.stays(table, left, right)
                });
            }
            for Merge { left, right, product } in &made {
                if vocabulary.bytes(*product)?.strip_prefix(vocabulary.bytes(*left)?) != vocabulary.bytes(*right) {
                    return None;
                }
            }
        }
        // A merge whose part is made later never happens if its product is made before that part.
        let in_order = |part: u32, rank: usize, product: u32| {
            let (part, product) = (split_table.made[part as usize], split_table.made[product as usize]);
            part == UNREACHED || part as usize <= rank || product < part
        };
        let mut unclear = Vec::new();
        for (rank, Merge { left, right, product }) in merges.iter().enumerate() {
            let ordered = in_order(*left, rank, *product) && in_order(*right, rank, *product);
            if !ordered && counts(rank, *left, *right) {
                unclear.push([vocabulary.bytes(*left)?, vocabulary.bytes(*right)?].concat());
            }
        }
        match unclear.len() {
            0 => Some(split_table),
            1..=UNCLEAR_LIMIT => split_table.without(&unclear, vocabulary),
            _ => None,
        }
    }

    /// Add those merges of the given ranks that are the first of their product, have parts that are made, and pass
    /// `is_taken`; they are put into `made`.
    fn follow(
        &mut self,
        merges: &[Merge],
        ranks: Range<usize>,
        made: &mut Vec<Merge>,
        is_taken: impl Fn(&Self, usize, u32, u32) -> bool,
    ) {
        made.clear();
        for rank in ranks {
            let merge = merges[rank];
            let Merge { left, right, product } = merge;
            let is_first =
                self.made[product as usize] == UNREACHED && self.is_reachable(left) && self.is_reachable(right);
            if is_first && is_taken(self, rank, left, right) {
                self.insert(merge, rank as u32);
                made.push(merge);
            }
        }
    }

    /// Mark the tokens whose bytes contain one of `unclear` as not made.
    fn without(mut self, unclear: &[Vec<u8>], vocabulary: &Vocabulary) -> Option<Self> {
        self.unclear = Some(AhoCorasick::new(unclear).ok()?);
        for (id, bytes) in vocabulary.tokens() {
            if !self.is_clear(bytes) {
                self.made[id as usize] = UNREACHED;
            }
        }
        Some(self)
    }

    /// Tell whether the split table holds for these bytes.
    #[inline]
    pub fn is_clear(&self, bytes: &[u8]) -> bool {
        self.unclear.as_ref().is_none_or(|unclear| !unclear.is_match(bytes))
    }

    /// The split_table before the first merge.
    pub(crate) fn of_bytes(vocabulary: &Vocabulary, table: &MergeTable) -> Self {
        let ids = vocabulary.id_limit() as usize;
        let mut made = vec![UNREACHED; ids].into_boxed_slice();
        for byte in 0..=u8::MAX {
            made[table.byte_id(byte) as usize] = 0;
        }
        Self { made, parts: vec![[0; 2]; ids].into_boxed_slice(), unclear: None }
    }

    /// Add a merge of two tokens that stay side by side until then.
    pub(crate) fn insert(&mut self, merge: Merge, rank: u32) {
        self.made[merge.product as usize] = rank + 1;
        self.parts[merge.product as usize] = [merge.left, merge.right];
    }

    /// Tell whether merges make this token; false where that is unclear.
    #[inline]
    pub fn is_reachable(&self, id: u32) -> bool {
        self.made[id as usize] != UNREACHED
    }

    /// Tell whether merges can leave two tokens, both of which they make, as neighbours.
    #[inline]
    pub fn is_valid_pair(&self, table: &MergeTable, left: u32, right: u32) -> bool {
        table.rank(left, right) == NEVER && self.stays(table, left, right)
    }

    /// Tell whether no merge crosses the border between two tokens before both are made.
    ///
    /// Undoes merges: the later of both tokens is taken apart first, and the two parts that then met at the border must
    /// not have merged before it was made.
    pub(crate) fn stays(&self, table: &MergeTable, left: u32, right: u32) -> bool {
        let mut border = (left, right);
        while let Some((before, limit)) = self.before(border) {
            if is_merged(table, before, limit) {
                return false;
            }
            border = before;
        }
        true
    }

    /// Tell whether all of these pairs stay side by side; empty the vector.
    fn all_stay(&self, table: &MergeTable, pairs: &mut Vec<(u32, u32)>) -> bool {
        let mut limits = Vec::with_capacity(pairs.len());
        while !pairs.is_empty() {
            limits.clear();
            pairs.retain_mut(|border| match self.before(*border) {
                Some((before, limit)) => {
                    table.prefetch(before.0, before.1);
                    limits.push(limit);
                    *border = before;
                    true
                }
                None => false,
            });
            if pairs.iter().zip(&limits).any(|(border, limit)| is_merged(table, *border, *limit)) {
                return false;
            }
        }
        true
    }

    /// The pair at the border of two tokens before the later of both was made, and one more than the rank at which that
    /// pair would merge too late: the rank of that merge, or the next one, since of two merges of one rank the left one
    /// is made first. `None` for two bytes.
    #[inline(always)]
    fn before(&self, (left, right): (u32, u32)) -> Option<((u32, u32), u32)> {
        let (left_made, right_made) = (self.made[left as usize], self.made[right as usize]);
        if left_made > right_made {
            Some(((self.parts[left as usize][1], right), left_made))
        } else if right_made > 0 {
            Some(((left, self.parts[right as usize][0]), right_made + 1))
        } else {
            None
        }
    }
}

/// Tell whether two neighbours merge before `limit`. No token is made as late as a pair that does not merge would be.
#[inline(always)]
fn is_merged(table: &MergeTable, (left, right): (u32, u32), limit: u32) -> bool {
    table.rank(left, right) + 1 < limit
}
