//! The words of a corpus as one array of characters, each word with its weight.

use rustc_hash::{FxHashMap, FxHashSet};

use crate::error::{Code, Error, Result};
use crate::train::alphabet::{Characters, most_frequent, texts};
use crate::train::counts::Counts;

/// Ends every word; no byte of UTF-8.
pub const END: u8 = 0xFF;

/// The words; a character outside the alphabet ends one, and so does a border.
#[derive(Debug, Default)]
pub struct TrainingText {
    bytes: Vec<u8>,
    /// The first byte of each character and of each end.
    starts: Vec<u32>,
    /// The characters of each word, without its end.
    words: Vec<(u32, u32)>,
    weights: Vec<u64>,
}

impl TrainingText {
    /// Lay out the pieces of a corpus, and return the characters of the alphabet too, in the order of their code
    /// points, with how often each occurs.
    ///
    /// # Errors
    /// `corpus_too_large`.
    pub fn new(counts: &Counts, options: &Characters) -> Result<(Self, Vec<(char, u64)>)> {
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
        let mut text = Self::default();
        for (piece, count) in words() {
            for part in piece.split(|character| !kept.contains(&character)) {
                options.borders.stretches(part).for_each(|stretch| text.push(stretch, count));
            }
        }
        let mut alphabet: Vec<_> =
            kept.into_iter().map(|one| (one, occurrences.get(&one).copied().unwrap_or(0))).collect();
        alphabet.sort_unstable();
        Ok((text, alphabet))
    }

    fn push(&mut self, word: &str, weight: u64) {
        let (first, base) = (self.starts.len() as u32, self.bytes.len());
        self.starts.extend(word.char_indices().map(|(at, _)| (base + at) as u32));
        self.bytes.extend_from_slice(word.as_bytes());
        self.words.push((first, self.starts.len() as u32));
        self.weights.push(weight);
        self.starts.push(self.bytes.len() as u32);
        self.bytes.push(END);
    }

    /// Characters and ends.
    pub fn len(&self) -> usize {
        self.starts.len()
    }

    /// The words: where each begins and ends, and how often it occurs.
    pub fn words(&self) -> impl ExactSizeIterator<Item = (usize, usize, u64)> {
        self.words.iter().zip(&self.weights).map(|((start, end), weight)| (*start as usize, *end as usize, *weight))
    }

    /// A word by its number.
    pub fn word(&self, index: usize) -> (usize, usize, u64) {
        let (start, end) = self.words[index];
        (start as usize, end as usize, self.weights[index])
    }

    /// The bytes from a character on, to the end of the array.
    #[inline]
    pub fn from(&self, at: usize) -> &[u8] {
        &self.bytes[self.starts[at] as usize..]
    }

    /// The bytes of `length` characters, which may not go over the end of a word.
    pub fn slice(&self, at: usize, length: usize) -> &[u8] {
        &self.bytes[self.starts[at] as usize..self.starts[at + length] as usize]
    }

    /// The length of the word that begins at a character, if one does.
    pub fn word_length(&self, at: usize) -> Option<usize> {
        let byte = self.starts[at] as usize;
        if byte > 0 && self.bytes[byte - 1] != END {
            return None;
        }
        let word = self.words.partition_point(|(start, _)| (*start as usize) < at);
        self.words.get(word).map(|(start, end)| (end - start) as usize)
    }

    /// The number of characters that two places have in common, up to the end of a word, at most `most`.
    pub fn common(&self, one: usize, other: usize, most: usize) -> usize {
        let (left, right) = (self.from(one), self.from(other));
        let equal = left.iter().zip(right).take_while(|(left, right)| left == right && **left != END).count();
        let limit = (one + most).min(self.starts.len() - 1);
        let whole = self.starts[one..=limit].partition_point(|start| (*start - self.starts[one]) as usize <= equal);
        whole - 1
    }
}
