//! Byte-pair merges inside one piece: lowest rank first, leftmost first among equals, by a priority queue over a linked
//! list, as in SentencePiece; or with some of them left out, by `dropout`.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use crate::capacity::give_back;
use crate::model::bpe::ranks::{MergeTable, Merges, NEVER};

/// The pairs of one piece that could be merged: orders in the upper bits, places in the lower.
pub trait OpenPairs: Default {
    /// Begin again with pairs in any order, none twice.
    fn fill(&mut self, pairs: impl Iterator<Item = u64>);

    /// Put a pair that is not in it.
    fn insert(&mut self, pair: u64);

    /// Take a pair out; a queue leaves it, and it is noticed when it comes first.
    fn remove(&mut self, pair: u64);

    /// Give back the memory of many pairs.
    fn shrink(&mut self, entries: usize);
}

impl OpenPairs for BinaryHeap<Reverse<u64>> {
    fn fill(&mut self, pairs: impl Iterator<Item = u64>) {
        self.clear();
        self.extend(pairs.map(Reverse));
    }

    fn insert(&mut self, pair: u64) {
        self.push(Reverse(pair));
    }

    fn remove(&mut self, _: u64) {}

    fn shrink(&mut self, entries: usize) {
        self.shrink_to(entries);
    }
}

/// Merges by a priority queue.
pub type Merger = MergeBuffers<BinaryHeap<Reverse<u64>>>;

/// Buffers of the merge loop, kept between pieces.
#[derive(Debug, Default)]
pub struct MergeBuffers<P> {
    ids: Vec<u32>,
    /// By id that is left: the number of its first symbol.
    starts: Vec<u32>,
    /// By symbol: the rank of its merge with the next.
    ranks: Vec<u32>,
    links: Vec<Links>,
    pairs: P,
}

/// Neighbours of a symbol in the linked list, by position of their first byte.
#[derive(Debug, Clone, Copy)]
struct Links {
    previous: u32,
    next: u32,
}

/// No neighbour.
const NONE: u32 = u32::MAX;

impl Merger {
    /// The ids of `piece` by merges alone. The piece is shorter than 4 GiB.
    pub fn merge(&mut self, table: &MergeTable, piece: &[u8]) -> &[u32] {
        self.merge_symbols(table, piece.iter().map(|byte| table.byte_id(*byte))).0
    }

    /// The ids that symbols are merged into, and of each the number of its first symbol. There are fewer than 2^32.
    pub fn merge_symbols(&mut self, merges: &impl Merges, symbols: impl Iterator<Item = u32>) -> (&[u32], &[u32]) {
        self.merge_by(merges, symbols, |queue| queue.pop().map(|Reverse(pair)| pair))
    }
}

impl<P: OpenPairs> MergeBuffers<P> {
    /// Give back the memory of long pieces, down to `entries` entries a buffer.
    pub fn shrink(&mut self, entries: usize) {
        for buffer in [&mut self.ids, &mut self.starts, &mut self.ranks] {
            give_back(buffer, entries);
        }
        give_back(&mut self.links, entries);
        self.pairs.shrink(entries);
    }

    /// Merge the pair that `next` gives until there is none: over a linked list, in `O(n log n)` on any input.
    pub(super) fn merge_by(
        &mut self,
        merges: &impl Merges,
        symbols: impl Iterator<Item = u32>,
        mut next: impl FnMut(&mut P) -> Option<u64>,
    ) -> (&[u32], &[u32]) {
        self.begin(merges, symbols);
        while let Some(pair) = next(&mut self.pairs) {
            let (order, at) = ((pair >> 32) as u32, pair as u32);
            let rank = self.ranks[at as usize];
            if rank == NEVER || merges.order(rank) != order {
                continue;
            }
            let Links { previous, next: right } = self.links[at as usize];
            let next = self.links[right as usize].next;
            self.forget(merges, at);
            self.forget(merges, right);
            self.ids[at as usize] = merges.product(rank);
            self.links[at as usize].next = next;
            if previous != NONE {
                self.forget(merges, previous);
                self.note(merges, previous, at);
            }
            if next != NONE {
                self.links[next as usize].previous = at;
                self.note(merges, at, next);
            }
        }
        self.keep();
        (&self.ids, &self.starts)
    }

    fn begin(&mut self, merges: &impl Merges, symbols: impl Iterator<Item = u32>) {
        let Self { ids, ranks, links, pairs, .. } = self;
        ids.clear();
        ids.extend(symbols);
        let count = ids.len() as u32;
        let next = |at| if at + 1 < count { at + 1 } else { NONE };
        links.clear();
        links.extend((0..count).map(|at| Links { previous: at.wrapping_sub(1), next: next(at) }));
        ranks.clear();
        ranks.extend(ids.windows(2).map(|pair| merges.rank(pair[0], pair[1])));
        ranks.push(NEVER);
        let ranked = (0..).zip(ranks.iter()).filter(|(_, rank)| **rank != NEVER);
        pairs.fill(ranked.map(|(at, rank)| open(merges.order(*rank), at)));
    }

    /// The pair that begins at a symbol can no more be merged.
    fn forget(&mut self, merges: &impl Merges, at: u32) {
        let rank = std::mem::replace(&mut self.ranks[at as usize], NEVER);
        if rank != NEVER {
            self.pairs.remove(open(merges.order(rank), at));
        }
    }

    /// The pair of two symbols is new.
    fn note(&mut self, merges: &impl Merges, at: u32, next: u32) {
        let rank = merges.rank(self.ids[at as usize], self.ids[next as usize]);
        self.ranks[at as usize] = rank;
        if rank != NEVER {
            self.pairs.insert(open(merges.order(rank), at));
        }
    }

    /// Keep the ids that are left, and note the number of the first symbol of each.
    fn keep(&mut self) {
        let Self { ids, starts, links, .. } = self;
        starts.clear();
        let (mut at, mut kept) = (if ids.is_empty() { NONE } else { 0 }, 0);
        while at != NONE {
            ids[kept] = ids[at as usize];
            starts.push(at);
            kept += 1;
            at = links[at as usize].next;
        }
        ids.truncate(kept);
    }
}

/// A pair that could be merged.
fn open(order: u32, at: u32) -> u64 {
    u64::from(order) << 32 | u64::from(at)
}
