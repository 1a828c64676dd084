//! The first vocabulary: substrings of words that occur twice or more, found in a suffix array.
//!
//! The suffixes are sorted as far as the longest entry goes. Substrings that always have the same character behind them
//! are left out, as their longer one is as frequent; whole words are taken, however few places they have. The score of
//! a substring is how often it occurs times its length, by which the best are taken.

use std::cmp::Ordering;
use std::ops::Range;

use super::text::TrainingText;
use crate::train::borders::Borders;

const SPACE: &[u8] = "▁".as_bytes();

/// Most bytes of a character.
const WIDTH: usize = 4;

/// A substring.
#[derive(Debug, Clone, Copy)]
pub struct Seed {
    /// Its length in characters, at least 2.
    pub length: u32,
    /// Its places in [`Suffixes::places`].
    pub first: u32,
    /// The end of its places.
    pub last: u32,
    /// Its number of occurrences, times its length.
    pub score: u128,
}

/// The sorted suffixes of all words.
#[derive(Debug)]
pub struct Suffixes {
    /// Characters, in the order of what follows.
    pub places: Vec<u32>,
    /// Best substrings, in the order of their bytes.
    pub seeds: Vec<Seed>,
}

/// Sort the suffixes, and take the best `most` substrings of at most `longest` characters.
pub fn seeds(text: &TrainingText, longest: usize, most: usize, borders: Borders) -> Suffixes {
    let reach = (longest + 1) * WIDTH;
    let mut keyed: Vec<(u64, u32)> = Vec::with_capacity(text.len());
    let mut weight_at = vec![0u64; text.len()];
    for (start, end, weight) in text.words() {
        keyed.extend((start..end).map(|at| (key(text.from(at)), at as u32)));
        weight_at[start..end].fill(weight);
    }
    let tail = |at: u32| {
        let bytes = text.from(at as usize);
        bytes.get(8..reach.min(bytes.len())).unwrap_or_default()
    };
    keyed.sort_unstable_by(|one, other| {
        one.0.cmp(&other.0).then_with(|| tail(one.1).cmp(tail(other.1))).then(one.1.cmp(&other.1))
    });
    let places: Vec<u32> = keyed.into_iter().map(|(_, at)| at).collect();
    let mut found = Vec::new();
    // Open substrings: length, first place, and how often they occur so far.
    let mut open: Vec<(usize, usize, u64)> = Vec::new();
    for (index, place) in places.iter().enumerate() {
        let (place, weight) = (*place as usize, weight_at[*place as usize]);
        let before = open.last().map_or(0, |(length, ..)| *length);
        let after = places.get(index + 1).map_or(0, |next| text.common(place, *next as usize, longest + 1));
        if let Some(length) = text.word_length(place).filter(|length| *length > before.max(after) && weight > 1) {
            found.push(seed(length, index..index + 1, weight));
        }
        if after > before {
            open.push((after, index, weight));
            continue;
        }
        if let Some(top) = open.last_mut() {
            top.2 += weight;
        }
        while let Some((length, start, count)) = open.pop_if(|(length, ..)| *length > after) {
            found.push(seed(length, start..index + 1, count));
            match open.last_mut() {
                Some(below) if below.0 >= after => below.2 += count,
                _ if after > 0 => open.push((after, start, count)),
                _ => {}
            }
        }
    }
    if borders.spaces_begin || borders.spaces_end {
        found.retain_mut(|seed| is_left(seed, text, &places, borders));
    }
    found.retain(|seed| (2..=longest).contains(&(seed.length as usize)));
    if found.len() > most {
        let better = |one: &Seed, other: &Seed| other.score.cmp(&one.score).then_with(|| by_bytes(one, other));
        found.select_nth_unstable_by(most, better);
        found.truncate(most);
    }
    found.sort_unstable_by(by_bytes);
    Suffixes { places, seeds: found }
}

/// Take the spaces that may not end a seed off its end, and tell whether that leaves an entry which is no other seed.
fn is_left(seed: &mut Seed, text: &TrainingText, places: &[u32], borders: Borders) -> bool {
    let (at, length) = (places[seed.first as usize] as usize, seed.length as usize);
    let allowed = (2..=length).rev().take_while(|shorter| *shorter == length || text.slice(at + shorter, 1) == SPACE);
    let Some(shorter) = allowed.into_iter().find(|shorter| borders.allows(text.slice(at, *shorter))) else {
        return false;
    };
    // Places of the shorter one beside these would make it a seed of its own.
    let before = (seed.first as usize).checked_sub(1).and_then(|index| places.get(index));
    let is_own = |other: &&u32| text.common(at, **other as usize, shorter) == shorter;
    if shorter < length && [before, places.get(seed.last as usize)].iter().flatten().any(is_own) {
        return false;
    }
    seed.score = seed.score / length as u128 * shorter as u128;
    seed.length = shorter as u32;
    true
}

fn seed(length: usize, places: Range<usize>, count: u64) -> Seed {
    let score = u128::from(count) * length as u128;
    Seed { length: length as u32, first: places.start as u32, last: places.end as u32, score }
}

/// Substrings that begin at one place are sorted by length; of others the first places are.
fn by_bytes(one: &Seed, other: &Seed) -> Ordering {
    (one.first, one.length).cmp(&(other.first, other.length))
}

/// The first eight bytes as a number.
fn key(bytes: &[u8]) -> u64 {
    let mut first = [0xFF; 8];
    let length = bytes.len().min(8);
    first[..length].copy_from_slice(&bytes[..length]);
    u64::from_be_bytes(first)
}
