//! WordPiece by likelihood: merge the pair whose tokens are most often neighbours for how frequent they are.
//!
//! The score of a pair is `count(ab) / (count(a) * count(b))`, all three counted in the words as they are cut by then;
//! in
//! `aaa` the pair `aa` occurs twice. It is compared as a fraction, exactly. Of equal scores the more frequent pair goes
//! first, then the one with the lower left id, then with the lower right id. A pair that occurs less than
//! `min_frequency` times is never merged.
//!
//! A merge makes both its tokens rarer, so the scores of all their other pairs rise: unlike a count, a score in a queue
//! cannot be corrected when it comes first. So all counts are kept exact, and the pairs of both tokens move at once in
//! a [`Ranking`].

use rustc_hash::FxHashMap;

use super::Learned;
use super::merge_loop::Goal;
use super::progress::{Progress, Reporter};
use super::ranking::{Ranking, Score};
use super::symbols::TrainedTokens;
use super::words::{BORDER, Position, Words};
use crate::error::Result;

/// Merges between two reports: few enough to stop within a fraction of a second.
const PAUSE: usize = 16;

/// A pair of neighbouring tokens.
#[derive(Debug)]
struct ScoredPair<P> {
    ids: (u32, u32),
    count: u64,
    /// Every place that it ever had, rising: a pair arises only where one of its tokens is made.
    places: Vec<P>,
    is_allowed: bool,
}

/// A run.
#[derive(Debug)]
pub struct Likelihood<P> {
    words: Words,
    symbols: TrainedTokens,
    goal: Goal,
    /// The number of occurrences of each token.
    counts: Vec<u64>,
    pairs: Vec<ScoredPair<P>>,
    slots: FxHashMap<(u32, u32), u32>,
    /// The pairs of each token, some of which have gone.
    pairs_of: Vec<Vec<u32>>,
    ranking: Ranking,
    learned: Vec<Learned>,
}

impl<P: Position> Likelihood<P> {
    /// Begin from words whose tokens are in `symbols`, with the merges of `learned` made, each of which made a token.
    pub fn new(words: Words, symbols: TrainedTokens, goal: Goal, learned: Vec<Learned>) -> Self {
        let goal = Goal { min_frequency: goal.min_frequency.max(1), ..goal };
        Self {
            counts: vec![0; symbols.len()],
            pairs_of: vec![Vec::new(); symbols.len()],
            words,
            symbols,
            goal,
            pairs: Vec::new(),
            slots: FxHashMap::default(),
            ranking: Ranking::default(),
            learned,
        }
    }

    /// Merge until there are as many tokens as asked for, or no pair is left that may be merged.
    ///
    /// # Errors
    /// The error of `reporter`.
    pub fn run(mut self, reporter: &mut Reporter<'_>) -> Result<(TrainedTokens, Vec<Learned>)> {
        self.count_all(reporter)?;
        let first = self.symbols.len() - self.learned.len();
        let total = self.goal.tokens.saturating_sub(first) as u64;
        while self.symbols.len() < self.goal.tokens {
            if self.learned.len().is_multiple_of(PAUSE) {
                let done = (self.symbols.len() - first) as u64;
                let tokens = Some(self.words.total());
                reporter.tick(self.learned.len(), || Progress { done, total, merges: &self.learned, tokens })?;
            }
            let Some(slot) = self.ranking.first() else { break };
            let (left, right) = self.pairs[slot as usize].ids;
            if self.symbols.is_ambiguous(left, right) {
                // Another pair has made its product since it arose.
                self.pairs[slot as usize].is_allowed = false;
                self.ranking.remove(slot);
                continue;
            }
            self.merge(slot)?;
        }
        let (done, merges) = ((self.symbols.len() - first) as u64, self.learned.as_slice());
        reporter.last(Progress { done, total, merges, tokens: Some(self.words.total()) })?;
        Ok((self.symbols, self.learned))
    }

    /// Count every token and every pair.
    fn count_all(&mut self, reporter: &mut Reporter<'_>) -> Result<()> {
        let words = std::mem::take(&mut self.words);
        let (done, merges) = (self.learned.len(), self.learned.as_slice());
        let total = self.goal.tokens.saturating_sub(self.symbols.len() - done) as u64;
        let mut pause =
            || reporter.tick(done, || Progress { done: done as u64, total, merges, tokens: Some(words.total()) });
        let counts = &mut self.counts;
        let count = |position, id| {
            if id != BORDER {
                counts[id as usize] += words.weight(position);
            }
        };
        words.each_token(&self.symbols, count, &mut pause)?;
        let mut found: Vec<(P, (u32, u32))> = Vec::new();
        words.each_pair(&self.symbols, |position, ids| found.push((P::of(position), ids)), &mut pause)?;
        for (position, ids) in found {
            self.gain(ids, position.at(), words.weight(position.at()));
        }
        self.words = words;
        for slot in 0..self.pairs.len() as u32 {
            self.rank(slot);
        }
        Ok(())
    }

    fn merge(&mut self, slot: u32) -> Result<()> {
        let ScoredPair { ids: (left, right), count, .. } = self.pairs[slot as usize];
        let lengths = (self.symbols.length(left), self.symbols.length(right));
        let product = self.symbols.push(&self.symbols.product(left, right), lengths.0 + lengths.1)?;
        self.counts.push(0);
        self.pairs_of.push(Vec::new());
        self.learned.push(Learned { left, right, product, count, language: 0 });
        for position in std::mem::take(&mut self.pairs[slot as usize].places) {
            let position = position.at();
            // In `aaa` the second pair is gone when the first has been merged.
            if !self.words.stands(position, left, right, lengths.0) {
                continue;
            }
            let weight = self.words.weight(position);
            let (before, after) =
                (self.words.before(position), self.words.at(position + (lengths.0 + lengths.1) as usize));
            self.words.merge(position, lengths, product);
            self.words.note_merged(weight);
            self.counts[left as usize] -= weight;
            self.counts[right as usize] -= weight;
            self.counts[product as usize] += weight;
            self.lose((left, right), weight);
            if before != BORDER {
                self.lose((before, left), weight);
                self.gain((before, product), position - self.symbols.length(before) as usize, weight);
            }
            if after != BORDER {
                self.lose((right, after), weight);
                self.gain((product, after), position, weight);
            }
        }
        for token in [left, right, product] {
            let mut slots = std::mem::take(&mut self.pairs_of[token as usize]);
            slots.retain(|slot| {
                self.rank(*slot);
                self.pairs[*slot as usize].count > 0
            });
            self.pairs_of[token as usize] = slots;
        }
        Ok(())
    }

    /// Note that a pair occurs at one place more.
    fn gain(&mut self, ids: (u32, u32), position: usize, weight: u64) {
        let slot = *self.slots.entry(ids).or_insert_with(|| {
            let slot = self.pairs.len() as u32;
            let is_allowed = self.goal.allows(ids, &self.symbols);
            self.pairs.push(ScoredPair { ids, count: 0, places: Vec::new(), is_allowed });
            self.pairs_of[ids.0 as usize].push(slot);
            if ids.0 != ids.1 {
                self.pairs_of[ids.1 as usize].push(slot);
            }
            slot
        });
        let pair = &mut self.pairs[slot as usize];
        pair.count += weight;
        pair.places.push(P::of(position));
    }

    /// Note that a pair occurs at one place less.
    fn lose(&mut self, ids: (u32, u32), weight: u64) {
        if let Some(slot) = self.slots.get(&ids) {
            self.pairs[*slot as usize].count -= weight;
        }
    }

    /// Move a pair to where its score belongs, or out.
    fn rank(&mut self, slot: u32) {
        let ScoredPair { ids, count, is_allowed, ref mut places } = self.pairs[slot as usize];
        if is_allowed && count >= self.goal.min_frequency {
            let tokens = u128::from(self.counts[ids.0 as usize]) * u128::from(self.counts[ids.1 as usize]);
            self.ranking.set(slot, Score { count, tokens, ids });
        } else {
            // It never becomes more frequent again.
            self.ranking.remove(slot);
            *places = Vec::new();
        }
    }
}
