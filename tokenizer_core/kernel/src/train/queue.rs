//! The pairs by count: a binary heap with one entry a pair. Its order needs the tokens, since ties are broken by them.

use std::cmp::Ordering;

use super::pairs::Pairs;
use super::symbols::TrainedTokens;
use super::tie_break::TieBreak;
use super::words::Position;

/// A pair and its count when it was pushed; by now the count can only be lower.
#[derive(Debug, Clone, Copy)]
pub struct QueuedPair {
    /// At least the pair's count.
    pub count: u64,
    key: u64,
    /// The index of the pair in [`Pairs`].
    pub slot: u32,
}

/// The order of entries.
#[derive(Debug, Clone, Copy)]
pub struct Order<'a> {
    /// For equal counts.
    pub rule: TieBreak,
    /// The tokens of the pairs.
    pub symbols: &'a TrainedTokens,
}

impl Order<'_> {
    fn compare<P: Position>(self, one: &QueuedPair, other: &QueuedPair, pairs: &Pairs<P>) -> Ordering {
        one.count
            .cmp(&other.count)
            .then(one.key.cmp(&other.key))
            .then_with(|| self.rule.compare(pairs.get(one.slot).ids(), pairs.get(other.slot).ids(), self.symbols))
    }
}

/// The heap; the largest entry is the first.
#[derive(Debug, Default)]
pub struct Queue {
    heap: Vec<QueuedPair>,
}

impl Queue {
    /// Remove all entries.
    pub fn clear(&mut self) {
        self.heap.clear();
    }

    /// Push a pair with its current count.
    pub fn push<P: Position>(&mut self, slot: u32, pairs: &Pairs<P>, order: Order<'_>) {
        self.push_as(slot, pairs.get(slot).count, pairs, order);
    }

    /// Push a pair with a count of its own in this queue.
    pub fn push_as<P: Position>(&mut self, slot: u32, count: u64, pairs: &Pairs<P>, order: Order<'_>) {
        let pair = pairs.get(slot);
        let key = order.rule.key(pair.left, pair.right, order.symbols);
        self.heap.push(QueuedPair { count, key, slot });
        self.sift(self.heap.len() - 1, pairs, order);
    }

    /// The largest entry.
    pub fn first(&self) -> Option<QueuedPair> {
        self.heap.first().copied()
    }

    /// Remove the largest entry.
    pub fn pop<P: Position>(&mut self, pairs: &Pairs<P>, order: Order<'_>) {
        if !self.heap.is_empty() {
            self.heap.swap_remove(0);
            self.sift(0, pairs, order);
        }
    }

    /// Give the largest entry a smaller count.
    pub fn lower_first<P: Position>(&mut self, count: u64, pairs: &Pairs<P>, order: Order<'_>) {
        if let Some(first) = self.heap.first_mut() {
            first.count = count;
            self.sift(0, pairs, order);
        }
    }

    fn sift<P: Position>(&mut self, at: usize, pairs: &Pairs<P>, order: Order<'_>) {
        sift(&mut self.heap, at, |one, other| order.compare(one, other, pairs).is_gt(), |_, _| ());
    }
}

/// Move an entry of a heap, if there is one at the place, up or down to where it belongs, and tell where entries are
/// put.
pub(super) fn sift<T: Copy>(
    heap: &mut [T],
    mut at: usize,
    is_larger: impl Fn(&T, &T) -> bool,
    mut put: impl FnMut(&T, usize),
) {
    let Some(entry) = heap.get(at).copied() else { return };
    while at > 0 && is_larger(&entry, &heap[(at - 1) / 2]) {
        heap[at] = heap[(at - 1) / 2];
        put(&heap[at], at);
        at = (at - 1) / 2;
    }
    loop {
        let mut child = 2 * at + 1;
        if child + 1 < heap.len() && is_larger(&heap[child + 1], &heap[child]) {
            child += 1;
        }
        if child >= heap.len() || !is_larger(&heap[child], &entry) {
            break;
        }
        heap[at] = heap[child];
        put(&heap[at], at);
        at = child;
    }
    heap[at] = entry;
    put(&entry, at);
}
