//! Superwords: merges that join words, after those within words.
//!
//! Merges are made in the order of their ranks. If none of the first ones spans the border of two words, they can be
//! made in each word alone, of which most are known, and all others after that, in the piece.

use std::collections::HashSet;

use crate::error::Result;
use crate::model::bpe::heap::Merger;
use crate::model::bpe::lockstep::{LANES, Lanes};
use crate::model::bpe::ranks::{MergeTable, Merges};
use crate::model::bpe::{BpeBuffers, SHORT};
use crate::simd::level::SimdLevel;
use crate::vocabulary::{Merge, Vocabulary};

/// The share of merges, one in so many, that have to be within words.
const LEAST: usize = 4;

/// More words than this are joined only when the memory that it took to make them is given back.
const MANY: usize = 1 << 16;

/// All merges, and the lengths in bytes of the tokens that they join.
#[derive(Debug)]
pub struct Joins {
    pub(super) merges: MergeTable,
    lengths: Box<[u16]>,
}

impl Joins {
    /// Give the tokens of each piece from `start` on, which end at `ends`, in place of the tokens of all their words.
    pub(crate) fn join(
        &self,
        words: &[u32],
        start: usize,
        ends: &[u32],
        work: &mut BpeBuffers,
        mut give: impl FnMut(&[u32]),
    ) {
        let BpeBuffers { short, middle, backtracker, queue, .. } = work;
        if words.len() > MANY {
            backtracker.shrink(MANY);
        }
        let (mut at, mut left) = (start, words);
        let mut pieces = ends.iter().map(|end| {
            let mut count = 0;
            while at < *end as usize && count < left.len() {
                at += usize::from(self.lengths[left[count] as usize]);
                count += 1;
            }
            let (piece, others) = left.split_at(count);
            left = others;
            piece
        });
        loop {
            let group: [Option<&[u32]>; LANES] = std::array::from_fn(|_| pieces.next());
            if group.iter().flatten().all(|piece| piece.len() <= Lanes::<SHORT>::LIMIT) {
                self.join_together(&group, short, queue, &mut give);
            } else {
                self.join_together(&group, middle, queue, &mut give);
            }
            if group[LANES - 1].is_none() {
                return;
            }
        }
    }

    fn join_together<const N: usize>(
        &self,
        group: &[Option<&[u32]>; LANES],
        lanes: &mut Lanes<N>,
        queue: &mut Merger,
        give: &mut impl FnMut(&[u32]),
    ) {
        let fits = |piece: &&[u32]| piece.len() <= Lanes::<N>::LIMIT;
        lanes.merge_tokens(&self.merges, group.iter().flatten().copied().filter(fits));
        let mut lane = 0;
        for piece in group.iter().flatten() {
            if fits(piece) {
                let (ids, count) = lanes.ids(lane);
                give(&ids[..count]);
                lane += 1;
            } else {
                give(queue.merge_symbols(&self.merges, piece.iter().copied()).0);
            }
        }
    }
}

/// The part of a vocabulary that merges make before the first one that joins a word and a space after it, and the
/// joins; `None` where there is no such merge, or it comes early.
///
/// # Errors
/// As [`MergeTable::new`].
pub(super) fn words(
    vocabulary: &Vocabulary,
    never: &HashSet<u32>,
    level: SimdLevel,
) -> Result<Option<(Vocabulary, Joins)>> {
    let bytes = |id| vocabulary.bytes(id).unwrap_or_default();
    let joins = |merge: &Merge| {
        bytes(merge.right).starts_with(b" ")
            && String::from_utf8_lossy(bytes(merge.left)).ends_with(char::is_alphanumeric)
    };
    let all = vocabulary.merges();
    let Some(first) = all.iter().position(joins).filter(|first| *first >= all.len() / LEAST) else { return Ok(None) };
    let merges = MergeTable::new(vocabulary, never)?.on(level);
    // Of two merges of one pair the later counts.
    let counts = |(rank, merge): &(u32, Merge)| merges.rank(merge.left, merge.right) == *rank;
    let within: Vec<_> = (0..).zip(all[..first].iter().copied()).filter(counts).map(|(_, merge)| merge).collect();
    let mut made: HashSet<u32> = all[first..].iter().map(|merge| merge.product).collect();
    made.retain(|id| bytes(*id).len() > 1);
    within.iter().flat_map(|merge| [merge.left, merge.right, merge.product]).for_each(|id| {
        made.remove(&id);
    });
    let words = vocabulary.without(&made).with_merges(within);
    let lengths = (0..words.id_limit()).map(|id| u16::try_from(words.bytes(id).map_or(0, <[u8]>::len)).ok());
    let lengths = lengths.collect::<Option<_>>();
    Ok(lengths.map(|lengths| (words, Joins { merges, lengths })))
}
