//! Parity-aware BPE (Foroutan et al., 2025): each merge is that of the most frequent pair of the language that is
//! compressed worst.
//!
//! A language is compressed worst if the texts to measure on, which have one content in all languages, have most tokens
//! in it; without them, if its corpus has most tokens for its bytes. Of equal ones it is the first by name. At first
//! there may be merges that all languages choose together, as in BPE without languages: the paper's hybrid. With a
//! window, a language waits that was chosen for more than twice its equal share of so many merges before. A language
//! without a pair that may be merged is passed over.
//!
//! Every merge is made in all words. One queue for each language holds the pairs by their count there; a queue is a
//! *lane*, of which there is one for all languages as long as they choose together.

use std::cell::Cell;

use rustc_hash::FxHashMap;

use super::Learned;
use super::languages::{Language, Stretch, Walk};
use super::merge_loop::{DEPTH, Goal, Tick};
use super::new_pairs::NewPairs;
use super::pairs::Pairs;
use super::progress::{Progress, Reporter};
use super::queue::{Order, Queue};
use super::symbols::TrainedTokens;
use super::words::{BORDER, Position, Words};
use crate::error::Result;

/// A language waits that was chosen for more than so many times its equal share of a window.
const SHARE: usize = 2;

/// The choice of languages.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Choice {
    /// The first merges, which all languages choose together.
    pub global_merges: usize,
    /// Merges among which no language has more than twice its share; 0 for no such bound.
    pub window: usize,
}

/// A run.
#[derive(Debug)]
pub struct Parity<P> {
    words: Words,
    symbols: TrainedTokens,
    goal: Goal,
    choice: Choice,
    languages: Vec<Language>,
    stretches: Vec<Stretch>,
    /// By stretch, its tokens, each word as often as it weighs.
    tokens: Vec<u64>,
    pairs: Pairs<P>,
    new_pairs: NewPairs<P>,
    /// By slot and lane, the count of the pair; exact if that of the slot is.
    counts: Vec<u64>,
    /// By slot, the number of lanes that have the pair.
    holders: Vec<u32>,
    lanes: Vec<Lane>,
    steps: u32,
    learned: Vec<Learned>,
}

/// The pairs by their count in one language, or in all together.
#[derive(Debug, Default)]
struct Lane {
    queue: Queue,
    /// Pairs that occur less often are not kept for now.
    floor: u64,
    /// There are pairs below the floor that may be merged.
    any_below: bool,
}

impl<P: Position> Parity<P> {
    /// Begin from words in stretches, whose tokens are in `symbols`, with the merges of `learned` made, each of which
    /// made a token.
    pub fn new(
        words: Words,
        symbols: TrainedTokens,
        goal: Goal,
        choice: Choice,
        (languages, stretches): (Vec<Language>, Vec<Stretch>),
        learned: Vec<Learned>,
    ) -> Self {
        let goal = Goal { min_frequency: goal.min_frequency.max(1), ..goal };
        Self {
            tokens: vec![0; stretches.len()],
            words,
            symbols,
            goal,
            choice,
            languages,
            stretches,
            pairs: Pairs::default(),
            new_pairs: NewPairs::default(),
            counts: Vec::new(),
            holders: Vec::new(),
            lanes: Vec::new(),
            steps: 0,
            learned,
        }
    }

    /// Merge until there are as many tokens as asked for, or no pair is left that may be merged; return also the tokens
    /// of what each language is measured on.
    ///
    /// # Errors
    /// The error of `reporter`.
    pub fn run(mut self, reporter: &mut Reporter<'_>) -> Result<(TrainedTokens, Vec<Learned>, Vec<u64>)> {
        let first = self.symbols.len() - self.learned.len();
        let total = self.goal.tokens.saturating_sub(first) as u64;
        let mut tick = |done: usize, merges: &[Learned], tokens: u64| {
            let done = (done - first) as u64;
            reporter.tick(merges.len(), || Progress { done, total, merges, tokens: Some(tokens) })
        };
        self.count_tokens(&mut tick)?;
        while self.symbols.len() < self.goal.tokens {
            tick(self.symbols.len(), &self.learned, self.learned_tokens())?;
            let lanes = if self.learned.len() < self.choice.global_merges { 1 } else { self.languages.len() };
            if self.lanes.len() != lanes {
                self.lanes = (0..lanes).map(|_| Lane::default()).collect();
                self.count_all(&mut tick)?;
            }
            let Some((lane, slot)) = self.next(&mut tick)? else { break };
            self.merge(lane, slot, &mut tick)?;
        }
        let (done, merges) = ((self.symbols.len() - first) as u64, self.learned.as_slice());
        reporter.last(Progress { done, total, merges, tokens: Some(self.learned_tokens()) })?;
        let measured = self.measured();
        Ok((self.symbols, self.learned, measured))
    }

    fn learned_tokens(&self) -> u64 {
        let all = self.stretches.iter().zip(&self.tokens);
        all.filter(|(stretch, _)| stretch.is_learned).map(|(_, tokens)| tokens).sum()
    }

    /// The tokens of what each language is measured on.
    fn measured(&self) -> Vec<u64> {
        let mut measured = vec![0; self.languages.len()];
        for (stretch, tokens) in self.stretches.iter().zip(&self.tokens).filter(|(stretch, _)| stretch.is_measured) {
            measured[stretch.language] = *tokens;
        }
        measured
    }

    /// The lane in which a stretch is counted, if there are so many.
    fn lane(stretch: &Stretch, lanes: usize) -> Option<usize> {
        stretch.is_learned.then_some(if lanes == 1 { 0 } else { stretch.language })
    }

    /// The lane and the slot of the next merge.
    fn next(&mut self, tick: &mut Tick<'_>) -> Result<Option<(usize, u32)>> {
        for lane in self.ranked() {
            if let Some(slot) = self.best(lane) {
                return Ok(Some((lane, slot)));
            }
            if self.lanes[lane].any_below {
                self.count_all(tick)?;
                if let Some(slot) = self.best(lane) {
                    return Ok(Some((lane, slot)));
                }
            }
        }
        Ok(None)
    }

    /// The lanes, of which the first with a pair is to choose the next merge.
    fn ranked(&self) -> Vec<usize> {
        if self.lanes.len() == 1 {
            return vec![0];
        }
        let mut chosen = vec![0; self.languages.len()];
        for merge in self.learned.iter().rev().take(self.choice.window).filter(|merge| merge.language > 0) {
            chosen[merge.language as usize - 1] += 1;
        }
        let waits = |language: usize| chosen[language] * self.languages.len() > SHARE * self.choice.window;
        let measured = self.measured();
        let mut ranked: Vec<usize> = (0..self.languages.len()).collect();
        ranked.sort_by(|&one, &other| {
            let size = |language: usize| match &self.languages[language] {
                Language { is_parallel: true, .. } => 1,
                Language { bytes, .. } => u128::from(*bytes),
            };
            let cost = |language, other| u128::from(measured[language]) * size(other);
            waits(one).cmp(&waits(other)).then(cost(other, one).cmp(&cost(one, other)))
        });
        ranked
    }

    /// Take the most frequent pair from the queue of a lane, correcting the entries that turn out to be worth less.
    fn best(&mut self, lane: usize) -> Option<u32> {
        let lanes = self.lanes.len();
        loop {
            let entry = self.lanes[lane].queue.first()?;
            self.recount(entry.slot);
            let count = self.counts[entry.slot as usize * lanes + lane];
            let order = Order { rule: self.goal.tie_break, symbols: &self.symbols };
            let Lane { queue, floor, any_below } = &mut self.lanes[lane];
            if count >= *floor && count < entry.count {
                queue.lower_first(count, &self.pairs, order);
                continue;
            }
            queue.pop(&self.pairs, order);
            self.holders[entry.slot as usize] -= 1;
            if count >= *floor {
                return Some(entry.slot);
            }
            *any_below |= count >= self.goal.min_frequency;
            self.free_if_unheld(entry.slot);
        }
    }

    /// Make the counts of a pair exact.
    fn recount(&mut self, slot: u32) {
        let Self { pairs, counts, words, symbols, stretches, steps, lanes, .. } = self;
        if pairs.is_counted(slot, *steps) {
            return;
        }
        let counts = &mut counts[slot as usize * lanes.len()..][..lanes.len()];
        counts.fill(0);
        let mut walk = Walk::new(stretches);
        let length = symbols.length(pairs.get(slot).left);
        pairs.recount_each(slot, words, length, *steps, |position, weight| {
            if let Some(lane) = Self::lane(&stretches[walk.to(position)], counts.len()) {
                counts[lane] += weight;
            }
        });
    }

    /// Give the slot of a pair away that no lane has.
    fn free_if_unheld(&mut self, slot: u32) {
        if self.holders[slot as usize] == 0 {
            self.pairs.remove(slot);
        }
    }

    /// Merge a pair that is in no queue of its lane any more.
    fn merge(&mut self, lane: usize, slot: u32, tick: &mut Tick<'_>) -> Result<()> {
        let (left, right) = self.pairs.get(slot).ids();
        let lanes = self.lanes.len();
        let count = self.counts[slot as usize * lanes + lane];
        let language = if self.learned.len() < self.choice.global_merges { 0 } else { lane as u32 + 1 };
        let (product, is_known) = self.symbols.learn((left, right), count, language, &mut self.learned)?;
        let lengths = (self.symbols.length(left), self.symbols.length(right));
        let mut places = self.pairs.empty(slot);
        // In other lanes it is found to occur nowhere.
        self.counts[slot as usize * lanes..][..lanes].fill(0);
        self.free_if_unheld(slot);
        let mut walk = Walk::new(&self.stretches);
        places.retain(|position| {
            let position = position.at();
            // In `aaa` the second pair is gone when the first has been merged.
            let stands = self.words.stands(position, left, right, lengths.0);
            if stands {
                self.words.merge(position, lengths, product);
                self.tokens[walk.to(position)] -= self.words.weight(position);
            }
            stands
        });
        self.steps += 1;
        if is_known {
            // See `Learner::merge`.
            return self.count_all(tick);
        }
        self.new_pairs.gather(product, &places, &self.words, &self.symbols);
        self.keep_new_pairs();
        self.pairs.compact();
        Ok(())
    }

    fn keep_new_pairs(&mut self) {
        let Self { new_pairs, pairs, symbols, goal, words, stretches, lanes, .. } = self;
        let width = lanes.len();
        let mut found = vec![0; new_pairs.gathered() * width];
        let mut walk = Walk::new(stretches);
        new_pairs.each_place(|pair, position| {
            if let Some(lane) = Self::lane(&stretches[walk.to(position)], width) {
                found[pair * width + lane] += words.weight(position);
            }
        });
        let (next, mut kept) = (Cell::new(0), Vec::new());
        let worth = |ids, _| {
            let counts = &found[next.get() * width..][..width];
            next.set(next.get() + 1);
            counts.iter().any(|count| *count >= goal.min_frequency)
                && goal.allows(ids, symbols)
                && is_kept(lanes, counts, goal.min_frequency)
        };
        new_pairs.keep(pairs, self.steps, worth, |slot, _| kept.push((next.get() - 1, slot)));
        for (pair, slot) in kept {
            self.enter(slot, &found[pair * width..][..width]);
        }
    }

    /// Put a pair with its counts into the queues of the lanes that keep it.
    fn enter(&mut self, slot: u32, found: &[u64]) {
        let Self { pairs, symbols, goal, lanes, counts, holders, .. } = self;
        let (at, order) = (slot as usize, Order { rule: goal.tie_break, symbols });
        counts.resize(counts.len().max((at + 1) * found.len()), 0);
        holders.resize(holders.len().max(at + 1), 0);
        counts[at * found.len()..][..found.len()].copy_from_slice(found);
        for (lane, count) in lanes.iter_mut().zip(found).filter(|(lane, count)| **count >= lane.floor) {
            lane.queue.push_as(slot, *count, pairs, order);
            holders[at] += 1;
        }
    }

    /// Count the tokens of every stretch.
    fn count_tokens(&mut self, tick: &mut Tick<'_>) -> Result<()> {
        let Self { words, symbols, stretches, tokens, learned, .. } = self;
        let mut walk = Walk::new(stretches);
        let count = |position, id| {
            if id != BORDER {
                tokens[walk.to(position)] += words.weight(position);
            }
        };
        words.each_token(symbols, count, || tick(symbols.len(), learned, words.total()))
    }

    /// Count every pair there is, and keep those that are above a new floor of a lane.
    fn count_all(&mut self, tick: &mut Tick<'_>) -> Result<()> {
        self.pairs.clear();
        self.counts.clear();
        self.holders.clear();
        let tokens = self.learned_tokens();
        let Self { words, symbols, goal, stretches, lanes, learned, .. } = self;
        let width = lanes.len();
        let mut pause = || tick(symbols.len(), learned, tokens);
        let (mut kept, mut found) = (FxHashMap::default(), FxHashMap::default());
        // One lane after the other, as their words stand: the rare pairs of all lanes together take most memory.
        let mut end_lane = |lane: usize, found: &mut FxHashMap<(u32, u32), u64>| {
            found.retain(|ids, count| *count >= goal.min_frequency && goal.allows(*ids, symbols));
            let floor = (found.values().max().unwrap_or(&0) / DEPTH).max(goal.min_frequency);
            let before = found.len();
            found.retain(|_, count| *count >= floor);
            lanes[lane] = Lane { queue: Queue::default(), floor, any_below: found.len() < before };
            for (ids, _) in found.drain() {
                let index = kept.len();
                kept.entry(ids).or_insert(index);
            }
        };
        let (mut walk, mut open) = (Walk::new(stretches), 0);
        let count = |position, ids| {
            let Some(lane) = Self::lane(&stretches[walk.to(position)], width) else { return };
            (open..lane).for_each(|lane| end_lane(lane, &mut found));
            open = lane;
            *found.entry(ids).or_default() += words.weight(position);
        };
        words.each_pair(symbols, count, &mut pause)?;
        (open..width).for_each(|lane| end_lane(lane, &mut found));
        let (mut counts, mut places) = (vec![0; kept.len() * width], vec![0; kept.len()]);
        let mut walk = Walk::new(stretches);
        let count = |position, ids| {
            let Some(&index) = kept.get(&ids) else { return };
            places[index] += 1;
            if let Some(lane) = Self::lane(&stretches[walk.to(position)], width) {
                counts[index * width + lane] += words.weight(position);
            }
        };
        words.each_pair(symbols, count, &mut pause)?;
        let mut ids = vec![(0, 0); kept.len()];
        kept.iter().for_each(|(pair, index)| ids[*index] = *pair);
        for (index, places) in places.into_iter().enumerate() {
            let counts = &counts[index * width..][..width];
            let slot = self.pairs.add(ids[index], counts.iter().sum(), places, self.steps);
            self.enter(slot, counts);
        }
        let Self { words, symbols, pairs, learned, .. } = self;
        let place = |position, ids| {
            if let Some(index) = kept.get(&ids) {
                pairs.place(*index as u32, P::of(position));
            }
        };
        words.each_pair(symbols, place, || tick(symbols.len(), learned, tokens))
    }
}

/// Note in the lanes that a pair may be merged, and tell whether one of them keeps it.
fn is_kept(lanes: &mut [Lane], counts: &[u64], min_frequency: u64) -> bool {
    let mut is_kept = false;
    for (lane, count) in lanes.iter_mut().zip(counts) {
        is_kept |= *count >= lane.floor;
        lane.any_below |= (min_frequency..lane.floor).contains(count);
    }
    is_kept
}
