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
        let pair = pairs.get(slot);
        let key = order.rule.key(pair.left, pair.right, order.symbols);
        self.heap.push(QueuedPair { count: pair.count, key, slot });
        self.sift_up(self.heap.len() - 1, pairs, order);
    }

    /// The largest entry.
    pub fn first(&self) -> Option<QueuedPair> {
        self.heap.first().copied()
    }

    /// Remove the largest entry.
    pub fn pop<P: Position>(&mut self, pairs: &Pairs<P>, order: Order<'_>) {
        if !self.heap.is_empty() {
            self.heap.swap_remove(0);
            self.sift_down(pairs, order);
        }
    }

    /// Give the largest entry a smaller count.
    pub fn lower_first<P: Position>(&mut self, count: u64, pairs: &Pairs<P>, order: Order<'_>) {
        if let Some(first) = self.heap.first_mut() {
            first.count = count;
            self.sift_down(pairs, order);
        }
    }

    fn sift_up<P: Position>(&mut self, mut at: usize, pairs: &Pairs<P>, order: Order<'_>) {
        while at > 0 {
            let parent = (at - 1) / 2;
            if order.compare(&self.heap[at], &self.heap[parent], pairs).is_le() {
                break;
            }
            self.heap.swap(at, parent);
            at = parent;
        }
    }

    fn sift_down<P: Position>(&mut self, pairs: &Pairs<P>, order: Order<'_>) {
        let mut at = 0;
        loop {
            let mut child = 2 * at + 1;
            if child >= self.heap.len() {
                break;
            }
            let sibling = child + 1;
            if sibling < self.heap.len() && order.compare(&self.heap[sibling], &self.heap[child], pairs).is_gt() {
                child = sibling;
            }
            if order.compare(&self.heap[child], &self.heap[at], pairs).is_le() {
                break;
            }
            self.heap.swap(child, at);
            at = child;
        }
    }
}
