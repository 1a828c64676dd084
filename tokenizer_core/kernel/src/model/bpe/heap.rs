//! Byte-pair merges inside one piece: lowest rank first, leftmost first among equals, by a priority queue over a linked
//! list, as in SentencePiece.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use crate::model::bpe::ranks::{MergeTable, Merges, NEVER};

/// Buffers of the merge loops, kept between pieces.
#[derive(Debug, Default)]
pub struct Merger {
    ids: Vec<u32>,
    /// By id that is left: the number of its first symbol.
    starts: Vec<u32>,
    ranks: Vec<u32>,
    links: Vec<Links>,
    /// Orders in the upper bits, places in the lower.
    queue: BinaryHeap<Reverse<u64>>,
}

/// Neighbours of a symbol in the queue's linked list, by position of their first byte.
#[derive(Debug, Clone, Copy)]
pub(super) struct Links {
    pub(super) previous: u32,
    pub(super) next: u32,
}

/// No neighbour.
pub(super) const NONE: u32 = u32::MAX;

impl Merger {
    /// The ids of `piece` by merges alone. The piece is shorter than 4 GiB.
    pub fn merge(&mut self, table: &MergeTable, piece: &[u8]) -> &[u32] {
        self.merge_symbols(table, piece.iter().map(|byte| table.byte_id(*byte))).0
    }

    /// The ids that symbols are merged into, and of each the number of its first symbol. There are fewer than 2^32.
    pub fn merge_symbols(&mut self, merges: &impl Merges, symbols: impl Iterator<Item = u32>) -> (&[u32], &[u32]) {
        self.ids.clear();
        self.starts.clear();
        self.ids.extend(symbols);
        if !self.ids.is_empty() {
            self.merge_by_queue(merges);
        }
        (&self.ids, &self.starts)
    }

    /// Give back the memory of long pieces, down to `entries` entries a buffer.
    pub fn shrink(&mut self, entries: usize) {
        // Cleared first: a buffer never shrinks below its length.
        self.ids.clear();
        self.starts.clear();
        self.ranks.clear();
        self.links.clear();
        self.ids.shrink_to(entries);
        self.starts.shrink_to(entries);
        self.ranks.shrink_to(entries);
        self.links.shrink_to(entries);
        self.queue.shrink_to(entries);
    }

    /// A priority queue over a linked list: `O(n log n)` on any input.
    ///
    /// A queued pair may have changed since: when it is popped, it is compared with the current rank of its place.
    fn merge_by_queue(&mut self, table: &impl Merges) {
        let Self { ids, starts, ranks, links, queue } = self;
        let count = ids.len() as u32;
        linked(ids.len(), links);
        ranks.clear();
        ranks.extend(ids.windows(2).map(|pair| table.rank(pair[0], pair[1])));
        ranks.push(NEVER);
        queue.clear();
        let ranked = (0..count).filter(|at| ranks[*at as usize] != NEVER);
        queue.extend(ranked.map(|at| Reverse(queued(table.order(ranks[at as usize]), at))));
        while let Some(Reverse(first)) = queue.pop() {
            let (order, at) = ((first >> 32) as u32, first as u32);
            let rank = ranks[at as usize];
            if rank == NEVER || table.order(rank) != order {
                continue;
            }
            let right = links[at as usize].next;
            let next = links[right as usize].next;
            ids[at as usize] = table.product(rank);
            links[at as usize].next = next;
            ranks[right as usize] = NEVER;
            ranks[at as usize] = NEVER;
            let previous = links[at as usize].previous;
            if previous != NONE {
                requeue(table, ids, ranks, queue, previous, at);
            }
            if next != NONE {
                links[next as usize].previous = at;
                requeue(table, ids, ranks, queue, at, next);
            }
        }
        keep(ids, starts, links);
    }
}

/// Link so many symbols, each to its neighbours.
pub(super) fn linked(count: usize, links: &mut Vec<Links>) {
    let count = count as u32;
    let next = |at| if at + 1 < count { at + 1 } else { NONE };
    links.clear();
    links.extend((0..count).map(|at| Links { previous: at.wrapping_sub(1), next: next(at) }));
}

/// Keep the ids that are left of at least one, and note the number of the first symbol of each.
pub(super) fn keep(ids: &mut Vec<u32>, starts: &mut Vec<u32>, links: &[Links]) {
    starts.clear();
    let (mut at, mut kept) = (0, 0);
    while at != NONE {
        ids[kept] = ids[at as usize];
        starts.push(at);
        kept += 1;
        at = links[at as usize].next;
    }
    ids.truncate(kept);
}

/// Look the pair of `at` and `next` up again and queue it.
fn requeue(
    table: &impl Merges,
    ids: &[u32],
    ranks: &mut [u32],
    queue: &mut BinaryHeap<Reverse<u64>>,
    at: u32,
    next: u32,
) {
    let rank = table.rank(ids[at as usize], ids[next as usize]);
    ranks[at as usize] = rank;
    if rank != NEVER {
        queue.push(Reverse(queued(table.order(rank), at)));
    }
}

/// The order of a merge in the upper bits, its place in the lower.
pub(super) fn queued(order: u32, at: u32) -> u64 {
    u64::from(order) << 32 | u64::from(at)
}
