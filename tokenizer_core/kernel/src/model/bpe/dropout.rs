//! BPE-dropout (Provilkov et al., 2020): merges that are left out at random.
//!
//! Before each merge, each pair that could be merged is left out with the same probability, independently; the first of
//! the others, by rank and place, is merged. How many are left out before it is geometric: one number is drawn for a
//! merge, however many pairs there are.

use super::heap::{Links, NONE, keep, linked, queued};
use super::ranks::{Merges, NEVER};
use crate::model::sampling::ordered::Ordered;
use crate::model::sampling::stream::Stream;

/// The probability that a pair is left out.
#[derive(Debug)]
pub struct Dropout {
    /// By power of two: the probability that so many pairs are left out.
    powers: [f64; 32],
}

impl Dropout {
    /// `probability` is from 0 to 1.
    pub fn new(probability: f64) -> Self {
        let mut powers = [probability; 32];
        for at in 1..powers.len() {
            powers[at] = powers[at - 1] * powers[at - 1];
        }
        Self { powers }
    }

    /// Draw the number of pairs that are left out before one is not: at least `n` with the probability to the power
    /// `n`.
    fn left_out(&self, stream: &mut Stream) -> usize {
        let drawn = stream.unit();
        if drawn >= self.powers[0] {
            return 0;
        }
        let (mut count, mut probability) = (0, 1.0);
        for (bit, power) in self.powers.iter().enumerate().rev() {
            if drawn < probability * power {
                probability *= power;
                count |= 1 << bit;
            }
        }
        count
    }
}

/// The buffers of merging.
#[derive(Debug, Default)]
pub struct DropoutBuffers {
    ids: Vec<u32>,
    starts: Vec<u32>,
    /// By symbol: the rank of its merge with the next.
    ranks: Vec<u32>,
    links: Vec<Links>,
    /// The pairs that could be merged: orders in the upper bits, places in the lower.
    pairs: Ordered,
}

impl DropoutBuffers {
    /// Give back the memory of long pieces, down to `entries` entries a buffer.
    pub fn shrink(&mut self, entries: usize) {
        for buffer in [&mut self.ids, &mut self.starts, &mut self.ranks] {
            buffer.clear();
            buffer.shrink_to(entries);
        }
        self.links.clear();
        self.links.shrink_to(entries);
        self.pairs.shrink(entries);
    }

    /// The ids that symbols are merged into, and of each the number of its first symbol. There are fewer than 2^32.
    pub fn merge(
        &mut self,
        merges: &impl Merges,
        symbols: impl Iterator<Item = u32>,
        dropout: &Dropout,
        stream: &mut Stream,
    ) -> (&[u32], &[u32]) {
        self.begin(merges, symbols);
        while let Some(pair) = self.pairs.nth(dropout.left_out(stream)) {
            let at = pair as u32;
            let Links { previous, next: right } = self.links[at as usize];
            let next = self.links[right as usize].next;
            self.forget(merges, at);
            self.ids[at as usize] = merges.product(self.ranks[at as usize]);
            self.forget(merges, right);
            self.links[at as usize].next = next;
            self.ranks[at as usize] = NEVER;
            if previous != NONE {
                self.forget(merges, previous);
                self.note(merges, previous, at);
            }
            if next != NONE {
                self.links[next as usize].previous = at;
                self.note(merges, at, next);
            }
        }
        keep(&mut self.ids, &mut self.starts, &self.links);
        (&self.ids, &self.starts)
    }

    fn begin(&mut self, merges: &impl Merges, symbols: impl Iterator<Item = u32>) {
        let Self { ids, ranks, links, pairs, .. } = self;
        ids.clear();
        ids.extend(symbols);
        linked(ids.len(), links);
        ranks.clear();
        ranks.extend(ids.windows(2).map(|pair| merges.rank(pair[0], pair[1])));
        ranks.push(NEVER);
        let ranked = (0..).zip(ranks.iter()).filter(|(_, rank)| **rank != NEVER);
        pairs.fill(ranked.map(|(at, rank)| queued(merges.order(*rank), at)));
    }

    /// The pair that begins at a symbol can no more be merged.
    fn forget(&mut self, merges: &impl Merges, at: u32) {
        let rank = self.ranks[at as usize];
        if rank != NEVER {
            self.pairs.remove(queued(merges.order(rank), at));
        }
    }

    /// The pair of two symbols is new.
    fn note(&mut self, merges: &impl Merges, at: u32, next: u32) {
        let rank = merges.rank(self.ids[at as usize], self.ids[next as usize]);
        self.ranks[at as usize] = rank;
        if rank != NEVER {
            self.pairs.insert(queued(merges.order(rank), at));
        }
    }
}
