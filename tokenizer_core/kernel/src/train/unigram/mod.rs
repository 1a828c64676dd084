//! Unigram (Kudo, 2018): begin with many substrings, estimate their probabilities by expectation maximization, and
//! prune those that the corpus misses least, until there are as many as wanted.
//!
//! Kudo prunes by likelihood; here the pieces stay without which the corpus would have most tokens more. Text that was
//! not seen then has fewer tokens, and is as probable.
//!
//! In order: `text` are the words of the corpus, `seeds` the substrings to begin with, `lattice` where each of them
//! stands. A round is `sub_iterations` of `expectation` with the estimate of [`UnigramLearner::maximize`], then
//! [`UnigramLearner::most_missed`], and a `checkpoint`. `shares` divides the words over threads; `numbers` are
//! functions that round alike on every machine.

mod checkpoint;
mod expectation;
mod lattice;
mod numbers;
mod seeds;
mod shares;
mod text;

use std::cmp::Reverse;

use self::checkpoint::ScoredIds;
use self::expectation::Expectation;
use self::lattice::{Lattice, MAX_LENGTH, MAX_PIECES};
use self::numbers::{digamma, exp, ln, power_of_two};
use self::seeds::{Limits, seeds};
use self::shares::summed;
use self::text::{Alphabet, END, TrainingText};
use super::alphabet::Characters;
use super::borders::SPACE;
use super::counts::Counts;
use crate::error::{Code, Error, Result};

/// A piece that is expected less often is removed, unless it is a character, which is taken to be expected so often.
const LEAST: f64 = 0.5;

/// Of each piece: its edges, place, number, score, and what two estimates say of it.
const BYTES_A_PIECE: u64 = 100;

/// The settings of a run.
#[derive(Debug, Clone)]
pub struct UnigramOptions {
    /// Pieces in all, of each vocabulary.
    pub sizes: Vec<usize>,
    /// Substrings to begin with, besides characters.
    pub seed_size: usize,
    /// The share of pieces that a round leaves.
    pub shrinking_factor: f64,
    /// Estimates in a round.
    pub sub_iterations: usize,
    /// Of a piece, in characters.
    pub max_length: usize,
    /// The alphabet, and borders that no piece crosses.
    pub characters: Characters,
    /// They change nothing.
    pub threads: usize,
    /// Bytes that learning may hold, the counts among them.
    pub memory: Option<u64>,
}

/// Pieces with their scores, the highest first.
pub type ScoredPieces = Vec<(Vec<u8>, f64)>;

/// Takes what a run is to go on from, after each round that all sizes share.
pub type Keep<'a> = dyn FnMut(Vec<u8>) -> Result<()> + 'a;

/// The phase of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Phase {
    /// Suffixes are sorted, to find the substrings to begin with.
    Seeds,
    /// Rounds of pruning. The number of all is foreseen from the pieces that are left, and becomes smaller where an
    /// estimate removes some too.
    Pruning,
}

/// Called often with how much of a phase is done, and how much there is of it; an error ends the run.
pub type Tick<'a> = dyn FnMut(Phase, usize, usize) -> Result<()> + 'a;

/// Learn pieces, and return those of each size with the number of characters among them.
///
/// Rounds of pruning do not depend on the size until one would leave fewer pieces than that. Up to there all share
/// the work, and each has the pieces of a run of its own. `kept` is what the same run has given to `keep` before, or
/// empty; the run goes on from there.
///
/// # Errors
/// `invalid_option` at `vocab_size`, or at `sizes` where larger ones are wanted too, when there are fewer pieces wanted
/// than the alphabet has, or at an option that is out of its range; `corpus_too_large`; what `tick` returns.
pub fn learn(
    counts: &Counts,
    options: &UnigramOptions,
    kept: &[u8],
    keep: &mut Keep<'_>,
    tick: &mut Tick<'_>,
) -> Result<(Vec<ScoredPieces>, usize)> {
    check(options)?;
    let least = options.sizes.iter().copied().min().unwrap_or(0);
    let (text, symbols, alphabet) = TrainingText::new(counts, &options.characters)?;
    let characters = alphabet.len();
    if least < characters {
        let message = format!("the alphabet alone has {characters} characters and only {least} tokens are wanted");
        let are_all_too_small = options.sizes.iter().all(|size| *size < characters);
        let field = if are_all_too_small { "vocab_size" } else { "sizes" };
        return Err(Error::new(Code::InvalidOption, message).at_field(field));
    }
    if characters + options.seed_size >= MAX_PIECES {
        return Err(Error::new(Code::CorpusTooLarge, "there are more than 16 million pieces; take fewer seeds"));
    }
    check_memory(counts, &text, symbols.len(), options)?;
    let mut learner = UnigramLearner::new(&text, symbols, &alphabet, options, tick)?;
    let places = learner.lattice.places.clone();
    let mut largest_first: Vec<usize> = (0..options.sizes.len()).collect();
    largest_first.sort_by_key(|at| Reverse(options.sizes[*at]));
    let aims: Vec<usize> = largest_first.iter().map(|at| options.sizes[*at].saturating_mul(11) / 10).collect();
    learner.foresee(&aims);
    let mut chosen = match learner.resume(kept) {
        Some(chosen) => chosen,
        None => {
            learner.estimate(tick)?;
            Vec::new()
        }
    };
    for at in chosen.len()..aims.len() {
        let (size, aim) = (options.sizes[largest_first[at]], aims[at]);
        learner.foresee(&aims[at..]);
        // Nobody needs the shared pieces after the smallest size.
        while learner.scores.len() > aim && (size == least || learner.left() >= aim) {
            learner.shrink(aim, tick)?;
            learner.foresee(&aims[at..]);
            keep(checkpoint::write([&learner.pieces()].into_iter().chain(&chosen)))?;
        }
        if size == least {
            chosen.push(learner.best_pieces(size));
            continue;
        }
        let mut own = learner.clone();
        while own.scores.len() > aim {
            own.shrink(aim, tick)?;
        }
        chosen.push(own.best_pieces(size));
        learner.rounds = own.rounds;
    }
    learner.tick(tick)?;
    let bytes = |number: u32| {
        let (number, spelled) = (number as usize, |character: usize| alphabet[character].0);
        if number < characters {
            return spelled(number).to_string().into_bytes();
        }
        let (place, length) = places[number];
        let all = (place as usize..).take(length.into());
        all.map(|at| spelled(learner.lattice.character(at))).collect::<String>().into_bytes()
    };
    let mut found = vec![ScoredPieces::new(); options.sizes.len()];
    for (at, pieces) in largest_first.into_iter().zip(chosen) {
        found[at] = pieces.into_iter().map(|(number, score)| (bytes(number), score)).collect();
    }
    Ok((found, characters))
}

/// Refuse what needs more memory than it may have: the counts, each place twice, words, and what is known of pieces.
fn check_memory(counts: &Counts, text: &TrainingText, places: usize, options: &UnigramOptions) -> Result<()> {
    let pieces = options.seed_size.min(places) as u64;
    let bytes = counts.held_bytes() + 8 * places as u64 + 12 * text.len() as u64 + BYTES_A_PIECE * pieces;
    if options.memory.is_some_and(|memory| bytes > memory) {
        let message = format!(
            "learning needs {} MB of memory for the distinct pieces of this corpus; allow so much, leave rare pieces \
             out with min_count, or take fewer seeds",
            bytes.div_ceil(1_000_000)
        );
        return Err(Error::new(Code::CorpusTooLarge, message).at_field("memory"));
    }
    Ok(())
}

fn check(options: &UnigramOptions) -> Result<()> {
    let refuse = |field: &'static str, range: String| {
        Err(Error::new(Code::InvalidOption, format!("{field} is {range}")).at_field(field))
    };
    if !(0.1..=0.95).contains(&options.shrinking_factor) {
        return refuse("shrinking_factor", String::from("0.1 to 0.95"));
    }
    if !(1..=100).contains(&options.sub_iterations) {
        return refuse("n_sub_iterations", String::from("1 to 100"));
    }
    if !(1..=MAX_LENGTH).contains(&options.max_length) {
        return refuse("max_token_length", format!("1 to {MAX_LENGTH}"));
    }
    Ok(())
}

/// A run.
#[derive(Clone)]
struct UnigramLearner<'a> {
    text: &'a TrainingText,
    options: &'a UnigramOptions,
    lattice: Lattice,
    /// The number that each piece had at first.
    numbers: Vec<u32>,
    /// The logarithm of each piece's probability.
    scores: Vec<f64>,
    /// Pieces that are characters, which come first.
    characters: usize,
    /// Expected counts are integers in this unit.
    unit: f64,
    /// Rounds of pruning that are done, and all that are foreseen.
    rounds: usize,
    all_rounds: usize,
}

impl<'a> UnigramLearner<'a> {
    fn new(
        text: &'a TrainingText,
        symbols: Vec<u32>,
        alphabet: &Alphabet,
        options: &'a UnigramOptions,
        tick: &mut Tick<'_>,
    ) -> Result<Self> {
        // No piece is expected more often than there are characters.
        let most: u128 = text.words().map(|(start, end, weight)| (end - start) as u128 * u128::from(weight)).sum();
        let bits = 128 - most.leading_zeros() as i32;
        if bits > 62 {
            let message = "the counts are those of more than 2 ** 62 characters; divide them all by one number";
            return Err(Error::new(Code::CorpusTooLarge, message).at_field("corpus"));
        }
        let unit = power_of_two((62 - bits).min(32));
        let characters = alphabet.len();
        let limits = Limits {
            longest: options.max_length,
            most: options.seed_size,
            borders: options.characters.borders,
            space: alphabet.binary_search_by_key(&SPACE, |(one, _)| *one).map_or(END, |number| number as u32),
            threads: options.threads,
        };
        let suffixes = seeds(text, &symbols, characters, limits, |done, total| tick(Phase::Seeds, done, total))?;
        let lattice = Lattice::new(symbols, characters, &suffixes);
        let mut weights: Vec<f64> = alphabet.iter().map(|(_, count)| (*count as f64).max(LEAST)).collect();
        weights.extend(suffixes.seeds.iter().map(|seed| seed.score() as f64));
        let total = ln(weights.iter().sum());
        let scores: Vec<f64> = weights.into_iter().map(|weight| ln(weight) - total).collect();
        let numbers = (0..scores.len() as u32).collect();
        Ok(Self { text, options, lattice, numbers, scores, characters, unit, rounds: 0, all_rounds: 0 })
    }

    /// Estimate the probabilities of all pieces.
    fn estimate(&mut self, tick: &mut Tick<'_>) -> Result<()> {
        for _ in 0..self.options.sub_iterations {
            let expected = self.expect(tick)?;
            self.maximize(&expected);
        }
        Ok(())
    }

    /// Remove pieces, though never below `aim`, and estimate the probabilities of the others.
    fn shrink(&mut self, aim: usize, tick: &mut Tick<'_>) -> Result<()> {
        let mut kept = vec![false; self.scores.len()];
        self.most_missed(self.left().max(aim)).into_iter().for_each(|piece| kept[piece] = true);
        let mut flags = kept.iter();
        self.scores.retain(|_| flags.next().is_some_and(|kept| *kept));
        self.keep(&kept);
        self.estimate(tick)?;
        self.rounds += 1;
        Ok(())
    }

    /// Foresee all rounds on the way to these numbers of pieces, the largest first.
    fn foresee(&mut self, aims: &[usize]) {
        let left = |pieces: usize| (pieces as f64 * self.options.shrinking_factor) as usize;
        let (mut pieces, mut rounds, last) = (self.scores.len(), self.rounds, aims.last().copied().unwrap_or(0));
        for aim in aims {
            while pieces > *aim && (*aim == last || left(pieces) >= *aim) {
                pieces = left(pieces).max(*aim);
                rounds += 1;
            }
            rounds += usize::from(pieces > *aim);
        }
        self.all_rounds = rounds;
    }

    /// Return the number of pieces that the next round of pruning leaves, if none are left for another reason.
    fn left(&self) -> usize {
        (self.scores.len() as f64 * self.options.shrinking_factor) as usize
    }

    /// Compute the expected count of every piece.
    fn expect(&self, tick: &mut Tick<'_>) -> Result<Vec<f64>> {
        let probabilities: Vec<f64> = self.scores.iter().map(|score| exp(*score)).collect();
        let add = |state: &mut Expectation, word: (usize, usize, u64), sums: &mut [u64]| {
            state.add(&self.lattice, &probabilities, word, self.unit, sums);
        };
        let sums = summed(self.text, self.options.threads, self.scores.len(), add, || self.tick(tick))?;
        Ok(sums.into_iter().map(|sum| sum as f64 / self.unit).collect())
    }

    /// Remove the pieces that are hardly expected, and estimate the probabilities of the others.
    fn maximize(&mut self, expected: &[f64]) {
        let kept: Vec<bool> =
            expected.iter().enumerate().map(|(piece, count)| piece < self.characters || *count >= LEAST).collect();
        let counts: Vec<f64> =
            expected.iter().zip(&kept).filter(|(_, kept)| **kept).map(|(count, _)| count.max(LEAST)).collect();
        let total = digamma(counts.iter().sum());
        self.scores = counts.into_iter().map(|count| digamma(count) - total).collect();
        self.keep(&kept);
    }

    /// Return `count` pieces: all characters, and those that save most tokens.
    ///
    /// A piece saves its probability times one less than the number of pieces that would stand in its place.
    fn most_missed(&self, count: usize) -> Vec<usize> {
        let saved = |piece| exp(self.scores[piece]) * (self.parts(piece) - 1.0);
        let mut others: Vec<(f64, usize)> =
            (self.characters..self.scores.len()).map(|piece| (saved(piece), piece)).collect();
        // Of equals the first in the order of bytes stays.
        others.sort_unstable_by(|one, other| other.0.total_cmp(&one.0).then(one.1.cmp(&other.1)));
        others.truncate(count - self.characters);
        (0..self.characters).chain(others.into_iter().map(|(_, piece)| piece)).collect()
    }

    /// The number of pieces of the best way to cut a piece into others; of equals the last piece of the way is longest.
    fn parts(&self, piece: usize) -> f64 {
        let (start, length) = self.lattice.places[piece];
        // By character, the sum of the best way to it and its number of pieces.
        let mut ways = vec![(f64::NEG_INFINITY, 0.0); usize::from(length) + 1];
        ways[0].0 = 0.0;
        for at in 0..usize::from(length) {
            let (here, parts) = ways[at];
            for edge in self.lattice.at(start as usize + at) {
                // The shortest is first.
                let Some(way) = ways.get_mut(at + edge.length()) else { break };
                let sum = here + self.scores[edge.piece()];
                if sum > way.0 && edge.piece() != piece {
                    *way = (sum, parts + 1.0);
                }
            }
        }
        ways[usize::from(length)].1
    }

    /// Keep the pieces for which `kept` is true; scores are the caller's.
    fn keep(&mut self, kept: &[bool]) {
        let mut flags = kept.iter();
        self.numbers.retain(|_| flags.next().is_some_and(|kept| *kept));
        self.lattice.keep(kept);
    }

    /// All pieces.
    fn pieces(&self) -> ScoredIds {
        self.numbers.iter().copied().zip(self.scores.iter().copied()).collect()
    }

    /// Go on behind the last round that an earlier attempt has kept, and return the pieces of the sizes that it had
    /// done; `None` if it has kept nothing that can be of this run.
    fn resume(&mut self, kept: &[u8]) -> Option<Vec<ScoredIds>> {
        let mut lists = checkpoint::read(kept, self.numbers.len())?;
        if lists.is_empty() || lists.len() > self.options.sizes.len() {
            return None;
        }
        let pieces = lists.remove(0);
        let has_characters =
            (0..self.characters).all(|at| pieces.get(at).is_some_and(|(number, _)| *number as usize == at));
        if !has_characters || !pieces.is_sorted_by(|one, other| one.0 < other.0) {
            return None;
        }
        let mut flags = vec![false; self.numbers.len()];
        pieces.iter().for_each(|(number, _)| flags[*number as usize] = true);
        self.keep(&flags);
        self.scores = pieces.into_iter().map(|(_, score)| score).collect();
        Some(lists)
    }

    /// The pieces that are missed most, the highest score first.
    fn best_pieces(&self, size: usize) -> ScoredIds {
        let mut pieces = self.most_missed(size);
        pieces.sort_unstable_by(|one, other| self.scores[*other].total_cmp(&self.scores[*one]).then(one.cmp(other)));
        pieces.into_iter().map(|piece| (self.numbers[piece], self.scores[piece])).collect()
    }

    fn tick(&self, tick: &mut Tick<'_>) -> Result<()> {
        tick(Phase::Pruning, self.rounds, self.all_rounds)
    }
}
