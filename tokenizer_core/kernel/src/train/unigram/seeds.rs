//! The first vocabulary: substrings of words that occur twice or more, found in a suffix array.
//!
//! The suffixes are sorted as far as the longest entry goes, those with one first character at a time. Substrings that
//! always have the same character behind them are left out, as their longer one is as frequent; whole words are taken,
//! however few places they have. The score of a substring is how often it occurs times its length, by which the best
//! are taken.

use std::cmp::Ordering;
use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::shares::share_out;
use super::text::{END, TrainingText};
use crate::error::Result;
use crate::train::borders::Borders;

/// A substring.
#[derive(Debug, Clone, Copy)]
pub struct Seed {
    /// Its places in [`Suffixes::places`].
    pub first: u32,
    /// The end of its places.
    pub last: u32,
    /// Its number of occurrences.
    pub count: u64,
    /// Its length in characters, at least 2.
    pub length: u8,
}

impl Seed {
    /// Its number of occurrences, times its length.
    pub fn score(&self) -> u128 {
        u128::from(self.count) * u128::from(self.length)
    }
}

/// The sorted suffixes of all words.
#[derive(Debug)]
pub struct Suffixes {
    /// Characters, in the order of what follows.
    pub places: Vec<u32>,
    /// Best substrings, in the order of their bytes.
    pub seeds: Vec<Seed>,
}

/// The limits of the search.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// Characters of a substring.
    pub longest: usize,
    /// Substrings.
    pub most: usize,
    /// They say where spaces may stand.
    pub borders: Borders,
    /// The number of the space, or [`END`].
    pub space: u32,
    /// They change nothing.
    pub threads: usize,
}

/// Sort the suffixes, and take the best substrings of an alphabet of `characters`; `pause` is called now and then with
/// how many suffixes are sorted, and how many there are.
///
/// # Errors
/// The error of `pause`, or that of a thread that dies.
pub fn seeds(
    text: &TrainingText,
    symbols: &[u32],
    characters: usize,
    limits: Limits,
    mut pause: impl FnMut(usize, usize) -> Result<()>,
) -> Result<Suffixes> {
    let (mut places, ends) = by_character(symbols, characters);
    let total = places.len();
    let order = SuffixOrder::new(symbols, characters, limits);
    let (best, done) = (Mutex::new(BestSeeds { seeds: Vec::new(), most: limits.most, least: 0 }), AtomicUsize::new(0));
    let (mut rest, mut first) = (places.as_mut_slice(), 0);
    let parts: Vec<(usize, &mut [u32])> = ends
        .into_iter()
        .map(|end| {
            let part = rest.split_off_mut(..end - first).unwrap_or_default();
            (std::mem::replace(&mut first, end), part)
        })
        .collect();
    let each = |keyed: &mut Vec<(u64, u32)>, (first, part): (usize, &mut [u32])| {
        order.sort(part, keyed);
        let mut found = Vec::new();
        let least = locked(&best).least;
        order.each_seed(text, part, |seed| {
            if seed.score() >= least {
                found.push(Seed { first: seed.first + first as u32, last: seed.last + first as u32, ..seed });
            }
        });
        locked(&best).add(&found);
        done.fetch_add(part.len(), Relaxed);
    };
    share_out(limits.threads, parts.into_iter(), Vec::new, each, || pause(done.load(Relaxed), total))?;
    let mut best = best.into_inner().unwrap_or_else(PoisonError::into_inner);
    best.prune();
    best.seeds.sort_unstable_by(by_bytes);
    Ok(Suffixes { places, seeds: best.seeds })
}

/// The best substrings so far.
#[derive(Debug)]
struct BestSeeds {
    seeds: Vec<Seed>,
    most: usize,
    /// No lower score can be among them.
    least: u128,
}

impl BestSeeds {
    fn add(&mut self, more: &[Seed]) {
        self.seeds.extend(more.iter().filter(|seed| seed.score() >= self.least));
        if self.seeds.len() > 2 * self.most {
            self.prune();
        }
    }

    fn prune(&mut self) {
        let better = |one: &Seed, other: &Seed| other.score().cmp(&one.score()).then_with(|| by_bytes(one, other));
        if self.seeds.len() > self.most {
            let (_, next, _) = self.seeds.select_nth_unstable_by(self.most, better);
            self.least = next.score();
            self.seeds.truncate(self.most);
        }
    }
}

fn locked(best: &Mutex<BestSeeds>) -> MutexGuard<'_, BestSeeds> {
    best.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Substrings that begin at one place are sorted by length; of others the first places are.
fn by_bytes(one: &Seed, other: &Seed) -> Ordering {
    (one.first, one.length).cmp(&(other.first, other.length))
}

/// The places of every character together, and where those of each end.
fn by_character(symbols: &[u32], characters: usize) -> (Vec<u32>, Vec<usize>) {
    let all = || symbols.iter().enumerate().filter(|(_, symbol)| **symbol != END);
    let mut ends = vec![0; characters];
    all().for_each(|(_, symbol)| ends[*symbol as usize] += 1);
    let mut total = 0;
    for count in &mut ends {
        (*count, total) = (total, total + *count);
    }
    let mut places = vec![0; total];
    for (at, symbol) in all() {
        let end = &mut ends[*symbol as usize];
        places[*end] = at as u32;
        *end += 1;
    }
    (places, ends)
}

/// The order of suffixes that begin with one character.
#[derive(Debug)]
struct SuffixOrder<'a> {
    symbols: &'a [u32],
    limits: Limits,
    /// Bits of a character in a key.
    bits: u32,
    /// Characters in a key.
    width: usize,
    /// The end of a word in a key.
    end: u32,
}

impl<'a> SuffixOrder<'a> {
    fn new(symbols: &'a [u32], characters: usize, limits: Limits) -> Self {
        let bits = usize::BITS - characters.leading_zeros();
        let width = limits.longest.min((u64::BITS / bits.max(1)) as usize);
        Self { symbols, limits, bits, width, end: (1 << bits) - 1 }
    }

    fn sort(&self, places: &mut [u32], keyed: &mut Vec<(u64, u32)>) {
        keyed.clear();
        keyed.extend(places.iter().map(|place| (self.key(*place as usize), *place)));
        keyed.sort_unstable_by(|one, other| one.0.cmp(&other.0).then_with(|| self.tail(*one).cmp(self.tail(*other))));
        places.iter_mut().zip(keyed).for_each(|(place, (_, sorted))| *place = *sorted);
    }

    /// The characters behind the first as a number, as far as they fit or the word goes.
    fn key(&self, place: usize) -> u64 {
        let (mut key, mut has_ended) = (0, false);
        for at in place + 1..=place + self.width {
            let symbol = if has_ended { END } else { self.symbols[at] };
            has_ended = symbol == END;
            key = key << self.bits | u64::from(symbol & self.end);
        }
        key
    }

    /// The characters that do not fit.
    fn tail(&self, (key, place): (u64, u32)) -> &[u32] {
        if key as u32 & self.end == self.end {
            return &[];
        }
        let (first, last) = (place as usize + 1 + self.width, place as usize + 1 + self.limits.longest);
        &self.symbols[first..last.min(self.symbols.len())]
    }

    /// Find the substrings at sorted places, whose indices are those in `places`.
    fn each_seed(&self, text: &TrainingText, places: &[u32], mut found: impl FnMut(Seed)) {
        let mut add = |length: usize, first: usize, last: usize, count: u64| {
            let length = self.entry(length, places, first..last).filter(|length| *length <= self.limits.longest);
            if let Some(length) = length.filter(|length| *length > 1).and_then(|length| u8::try_from(length).ok()) {
                found(Seed { first: first as u32, last: last as u32, count, length });
            }
        };
        // Open substrings: length, first place, and how often they occur so far.
        let mut open: Vec<(usize, usize, u64)> = Vec::new();
        for (index, place) in places.iter().enumerate() {
            let (start, end, weight) = text.word_at(*place as usize);
            let before = open.last().map_or(0, |(length, ..)| *length);
            let after = places.get(index + 1).map_or(0, |next| self.common(*place as usize, *next as usize));
            let is_word = start == *place as usize && weight > 1;
            if is_word && end - start > before.max(after) {
                add(end - start, index, index + 1, weight);
            }
            if after > before {
                open.push((after, index, weight));
                continue;
            }
            if let Some(top) = open.last_mut() {
                top.2 += weight;
            }
            while let Some((length, first, count)) = open.pop_if(|(length, ..)| *length > after) {
                add(length, first, index + 1, count);
                match open.last_mut() {
                    Some(below) if below.0 >= after => below.2 += count,
                    _ if after > 0 => open.push((after, first, count)),
                    _ => {}
                }
            }
        }
    }

    /// The length of a substring without the spaces that may not end it, if that is no other substring.
    fn entry(&self, length: usize, places: &[u32], found: Range<usize>) -> Option<usize> {
        let Limits { borders, space, .. } = self.limits;
        if !(borders.spaces_begin || borders.spaces_end) {
            return Some(length);
        }
        let at = places[found.start] as usize;
        let shorter = (2..=length)
            .rev()
            .take_while(|shorter| *shorter == length || self.symbols[at + shorter] == space)
            .find(|shorter| borders.allows(&self.symbols[at..at + shorter], &[space]))?;
        // Places of the shorter one beside these make it a substring of its own.
        let before = found.start.checked_sub(1).and_then(|index| places.get(index));
        let is_other = |other: &&u32| shorter < length && self.common(at, **other as usize) >= shorter;
        let is_new = ![before, places.get(found.end)].iter().flatten().any(is_other);
        is_new.then_some(shorter)
    }

    /// The number of characters that two places have in common, up to the end of a word, at most one over the limit.
    fn common(&self, one: usize, other: usize) -> usize {
        let pairs = self.symbols[one..].iter().zip(&self.symbols[other..]).take(self.limits.longest + 1);
        pairs.take_while(|(one, other)| one == other && **one != END).count()
    }
}
