//! The loop: take the most frequent pair, merge it everywhere, add the pairs that this creates. Counts in the queue are
//! corrected only when a pair comes first.

use rustc_hash::{FxHashMap, FxHashSet};

use super::Learned;
use super::borders::{Borders, SPACE_BYTES};
use super::new_pairs::NewPairs;
use super::pairs::Pairs;
use super::progress::{Progress, Reporter};
use super::queue::{Order, Queue};
use super::symbols::TrainedTokens;
use super::tie_break::TieBreak;
use super::words::{Position, Words};
use crate::error::Result;

/// Only pairs down to the highest count divided by this are kept. A pair never becomes more frequent, so the rarer ones
/// are not needed until counts have come down to theirs; then all pairs are counted again.
pub(super) const DEPTH: u64 = 256;

/// The measure by which one pair is better than another.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Score {
    /// Its number of occurrences.
    #[default]
    Count,
    /// Its number of occurrences, divided by that of each of its tokens: see [`super::likelihood`].
    Likelihood,
}

/// The goal of learning.
#[derive(Debug, Clone, Default)]
pub struct Goal {
    /// Tokens in all, the alphabet included.
    pub tokens: usize,
    /// A pair that occurs less often is not merged; below 1 is 1.
    pub min_frequency: u64,
    /// A product that covers more symbols of the alphabet is not made.
    pub max_token_length: Option<u32>,
    /// Between equally frequent pairs.
    pub tie_break: TieBreak,
    /// The measure by which one pair is better than another.
    pub score: Score,
    /// Products that are not made: the literals of special tokens.
    pub forbidden: FxHashSet<Box<[u8]>>,
    /// The places of spaces in products.
    pub borders: Borders,
}

impl Goal {
    /// Tell whether a pair may be merged, however often it occurs.
    pub(super) fn allows(&self, (left, right): (u32, u32), symbols: &TrainedTokens) -> bool {
        let short = self
            .max_token_length
            .is_none_or(|limit| u64::from(symbols.length(left)) + u64::from(symbols.length(right)) <= u64::from(limit));
        let may_be = |product: &[u8]| !self.forbidden.contains(product) && self.borders.allows(product, SPACE_BYTES);
        short
            && !symbols.is_ambiguous(left, right)
            && (self.forbidden.is_empty() || may_be(symbols.product(left, right).as_slice()))
    }
}

/// Called with the tokens of the vocabulary, the merges so far, and the tokens of all words.
pub(super) type Tick<'a> = dyn FnMut(usize, &[Learned], u64) -> Result<()> + 'a;

/// A run.
#[derive(Debug)]
pub struct Learner<P> {
    words: Words,
    symbols: TrainedTokens,
    goal: Goal,
    pairs: Pairs<P>,
    queue: Queue,
    new_pairs: NewPairs<P>,
    /// Pairs that occur less often are not kept for now.
    floor: u64,
    /// There are pairs below the floor that may be merged.
    any_below: bool,
    steps: u32,
    learned: Vec<Learned>,
}

impl<P: Position> Learner<P> {
    /// Begin from words whose tokens are in `symbols`, with the merges of `learned` made, each of which made a token.
    pub fn new(words: Words, symbols: TrainedTokens, goal: Goal, learned: Vec<Learned>) -> Self {
        let goal = Goal { min_frequency: goal.min_frequency.max(1), ..goal };
        let (pairs, queue, new_pairs) = (Pairs::default(), Queue::default(), NewPairs::default());
        let floor = u64::MAX;
        Self { words, symbols, goal, pairs, queue, new_pairs, floor, any_below: true, steps: 0, learned }
    }

    /// Merge until there are as many tokens as asked for, or no pair is left that may be merged.
    ///
    /// # Errors
    /// The error of `reporter`.
    pub fn run(mut self, reporter: &mut Reporter<'_>) -> Result<(TrainedTokens, Vec<Learned>)> {
        let first = self.symbols.len() - self.learned.len();
        let total = self.goal.tokens.saturating_sub(first) as u64;
        let mut tick = |done: usize, merges: &[Learned], tokens: u64| {
            reporter.tick(merges.len(), || Progress {
                done: (done - first) as u64,
                total,
                merges,
                tokens: Some(tokens),
            })
        };
        while self.symbols.len() < self.goal.tokens {
            tick(self.symbols.len(), &self.learned, self.words.total())?;
            match self.next() {
                Some(slot) => self.merge(slot, &mut tick)?,
                None if self.any_below => self.count_all(&mut tick)?,
                None => break,
            }
        }
        let (made, merges) = ((self.symbols.len() - first) as u64, self.learned.as_slice());
        reporter.last(Progress { done: made, total, merges, tokens: Some(self.words.total()) })?;
        Ok((self.symbols, self.learned))
    }

    /// Take the most frequent pair from the queue, correcting the entries that turn out to be worth less.
    fn next(&mut self) -> Option<u32> {
        let order = Order { rule: self.goal.tie_break, symbols: &self.symbols };
        loop {
            let entry = self.queue.first()?;
            let left = self.pairs.get(entry.slot).left;
            let count = self.pairs.recount(entry.slot, &self.words, self.symbols.length(left), self.steps);
            if count == entry.count {
                self.queue.pop(&self.pairs, order);
                return Some(entry.slot);
            }
            if count >= self.floor {
                self.queue.lower_first(count, &self.pairs, order);
            } else {
                self.any_below |= count >= self.goal.min_frequency;
                self.queue.pop(&self.pairs, order);
                self.pairs.remove(entry.slot);
            }
        }
    }

    fn merge(&mut self, slot: u32, tick: &mut Tick<'_>) -> Result<()> {
        let pair = *self.pairs.get(slot);
        if self.symbols.is_ambiguous(pair.left, pair.right) {
            // Another pair has made its product since it was found.
            self.pairs.remove(slot);
            return Ok(());
        }
        let (product, is_known) = self.symbols.learn(pair.ids(), pair.count, 0, &mut self.learned)?;
        let lengths = (self.symbols.length(pair.left), self.symbols.length(pair.right));
        let mut places = self.pairs.take(slot);
        let mut merged = if pair.left == pair.right { 0 } else { pair.count };
        places.retain(|position| {
            let position = position.at();
            // In `aaa` the second pair is gone when the first has been merged.
            let stands = pair.left != pair.right || self.words.stands(position, pair.left, pair.right, lengths.0);
            if stands {
                self.words.merge(position, lengths, product);
                if pair.left == pair.right {
                    merged += self.words.weight(position);
                }
            }
            stands
        });
        self.words.note_merged(merged);
        self.steps += 1;
        if is_known {
            // Merges inside a token do not depend on what is around it, so only one pair ever makes it, unless an older
            // vocabulary had it already. Then its pairs may become more frequent, which is assumed nowhere else.
            return self.count_all(tick);
        }
        self.new_pairs.gather(product, &places, &self.words, &self.symbols);
        self.keep_new_pairs();
        self.pairs.compact();
        Ok(())
    }

    fn keep_new_pairs(&mut self) {
        let Self { new_pairs, pairs, queue, symbols, goal, floor, any_below, .. } = self;
        let order = Order { rule: goal.tie_break, symbols };
        let worth = |ids, count| {
            let may_be_merged = count >= goal.min_frequency && goal.allows(ids, symbols);
            *any_below |= may_be_merged && count < *floor;
            may_be_merged && count >= *floor
        };
        new_pairs.keep(pairs, self.steps, worth, |slot, pairs| queue.push(slot, pairs, order));
    }

    /// Count every pair there is, and keep those above a new floor.
    fn count_all(&mut self, tick: &mut Tick<'_>) -> Result<()> {
        self.pairs.clear();
        self.queue.clear();
        let mut counts: FxHashMap<(u32, u32), PairCount> = FxHashMap::default();
        let Self { words, symbols, goal, pairs, queue, learned, .. } = self;
        words.each_pair(
            symbols,
            |position, ids| {
                let count = counts.entry(ids).or_default();
                count.count += words.weight(position);
                count.places += 1;
            },
            || tick(symbols.len(), learned, words.total()),
        )?;
        counts.retain(|ids, count| count.count >= goal.min_frequency && goal.allows(*ids, symbols));
        let highest = counts.values().map(|count| count.count).max().unwrap_or(0);
        self.floor = (highest / DEPTH).max(goal.min_frequency);
        let before = counts.len();
        counts.retain(|_, count| count.count >= self.floor);
        self.any_below = counts.len() < before;
        let order = Order { rule: goal.tie_break, symbols };
        for (ids, count) in &mut counts {
            count.slot = pairs.add(*ids, count.count, count.places, self.steps);
            queue.push(count.slot, pairs, order);
        }
        words.each_pair(
            symbols,
            |position, ids| {
                if let Some(count) = counts.get(&ids) {
                    pairs.place(count.slot, P::of(position));
                }
            },
            || tick(symbols.len(), learned, words.total()),
        )
    }
}

/// A pair while all pairs are counted.
#[derive(Debug, Default)]
struct PairCount {
    count: u64,
    places: usize,
    slot: u32,
}
