//! The words of a corpus as one array of characters, each word with its weight.

use rustc_hash::{FxHashMap, FxHashSet};

use crate::error::{Code, Error, Result};
use crate::train::alphabet::{Characters, most_frequent, texts};
use crate::train::counts::Counts;

/// Behind every word; no number of a character.
pub const END: u32 = u32::MAX;

/// For one of so many places the word is written down.
const STEP: usize = 64;

/// Characters with how often each occurs, in the order of their code points.
pub type Alphabet = Vec<(char, u64)>;

/// The words; a character outside the alphabet ends one, and so does a border.
#[derive(Debug, Default)]
pub struct TrainingText {
    /// The place of the first character of each word, and of the end of the array.
    starts: Vec<u32>,
    weights: Vec<u64>,
    /// The word at every [`STEP`]-th place.
    marks: Vec<u32>,
}

impl TrainingText {
    /// Lay out the pieces of a corpus, and return all places too, with the number of its character in the alphabet or
    /// [`END`] each.
    ///
    /// # Errors
    /// `corpus_too_large`.
    pub fn new(counts: &Counts, options: &Characters) -> Result<(Self, Vec<u32>, Alphabet)> {
        if counts.distinct_bytes() + counts.len() as u64 >= u64::from(u32::MAX) {
            let message = "the distinct pieces hold more than 4 billion bytes together; train on a sample";
            return Err(Error::new(Code::CorpusTooLarge, message));
        }
        let mut occurrences: FxHashMap<char, u64> = FxHashMap::default();
        let words = || texts(counts, "").filter(|(piece, _)| options.borders.is_word(piece));
        for (piece, count) in words() {
            for character in piece.chars() {
                *occurrences.entry(character).or_default() += count;
            }
        }
        let mut kept: FxHashSet<char> =
            most_frequent(occurrences.clone(), options.limit, options.coverage).into_iter().collect();
        kept.extend(options.required.chars());
        let mut alphabet: Alphabet =
            kept.into_iter().map(|one| (one, occurrences.get(&one).copied().unwrap_or(0))).collect();
        alphabet.sort_unstable();
        let numbers: FxHashMap<char, u32> = alphabet.iter().map(|(one, _)| *one).zip(0..).collect();
        let (mut text, mut symbols) = (Self::default(), Vec::new());
        for (piece, count) in words() {
            for part in piece.split(|character| !numbers.contains_key(&character)) {
                for stretch in options.borders.stretches(part) {
                    text.starts.push(symbols.len() as u32);
                    text.weights.push(count);
                    symbols.extend(stretch.chars().filter_map(|character| numbers.get(&character)));
                    symbols.push(END);
                    text.marks.resize(symbols.len().div_ceil(STEP), text.weights.len() as u32 - 1);
                }
            }
        }
        text.starts.push(symbols.len() as u32);
        Ok((text, symbols, alphabet))
    }

    /// The number of words.
    pub fn len(&self) -> usize {
        self.weights.len()
    }

    /// A word by its number: where it begins and ends, and how often it occurs.
    #[inline]
    pub fn word(&self, index: usize) -> (usize, usize, u64) {
        (self.starts[index] as usize, self.starts[index + 1] as usize - 1, self.weights[index])
    }

    /// The words.
    pub fn words(&self) -> impl Iterator<Item = (usize, usize, u64)> {
        (0..self.len()).map(|index| self.word(index))
    }

    /// The word around a place.
    pub fn word_at(&self, place: usize) -> (usize, usize, u64) {
        let mut index = self.marks[place / STEP] as usize;
        while self.starts[index + 1] as usize <= place {
            index += 1;
        }
        self.word(index)
    }
}
