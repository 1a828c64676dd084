//! The entries that text may become, and their scores.

use std::collections::HashSet;

use crate::config::{UnigramConfig, UnigramSums};
use crate::error::{Code, Error, Result};
use crate::model::trie::Trie;
use crate::vocabulary::Vocabulary;

/// The length of the character that begins with a byte of UTF-8.
#[inline(always)]
pub fn char_len(first: u8) -> usize {
    match first {
        ..0xC0 => 1,
        0xC0..0xE0 => 2,
        0xE0..0xF0 => 3,
        0xF0.. => 4,
    }
}

/// The amount by which an unknown character is worse than the worst entry.
const UNKNOWN_PENALTY: f64 = 10.0;

/// A character that no entry begins with, in a way.
pub const UNKNOWN: u32 = u32::MAX;

/// Entries by their bytes, and scores by their ids.
#[derive(Debug)]
pub struct Entries {
    trie: Trie,
    singles: Vec<f32>,
    doubles: Vec<f64>,
    unknown_score: f64,
    highest: f64,
}

impl Entries {
    /// Collect the entries of a vocabulary of texts; no text becomes an entry of `never`.
    ///
    /// # Errors
    /// `invalid_file` for scores that are missing; those of the trie.
    pub fn new(vocabulary: &Vocabulary, config: &UnigramConfig, never: &HashSet<u32>) -> Result<Self> {
        let scores = vocabulary.scores();
        let limit = vocabulary.id_limit() as usize;
        if scores.len() < limit {
            let message = format!("there are {} scores for {limit} entries", scores.len());
            return Err(Error::new(Code::InvalidFile, message).at_field("model.vocab"));
        }
        let reserved: HashSet<u32> = config.reserved.iter().copied().collect();
        let user_defined: HashSet<u32> = config.user_defined.iter().copied().collect();
        let by_float = config.sums == UnigramSums::Float;
        // Also those of entries that became added tokens.
        let normal = (0..).zip(scores).filter(|(id, _)| !reserved.contains(id) && !user_defined.contains(id));
        let none = if by_float { f64::from(f32::MAX) } else { f64::INFINITY };
        let lowest = normal.map(|(_, score)| *score).fold(none, f64::min);
        let (mut singles, mut doubles) = (vec![0.0; limit], vec![0.0; limit]);
        let mut entries = Vec::new();
        for (id, bytes) in vocabulary.tokens() {
            let score = if user_defined.contains(&id) {
                f64::from((0.1 * (bytes.len() as f64 - 1.0)) as f32)
            } else {
                scores[id as usize]
            };
            (singles[id as usize], doubles[id as usize]) = (score as f32, score);
            if !reserved.contains(&id) && !never.contains(&id) {
                entries.push((bytes, id));
            }
        }
        let unknown_score =
            if by_float { f64::from(lowest as f32 - UNKNOWN_PENALTY as f32) } else { lowest - UNKNOWN_PENALTY };
        let used = entries.iter().map(|(_, id)| doubles[*id as usize].abs());
        let highest = used.fold(unknown_score.abs(), f64::max);
        Ok(Self { trie: Trie::new(entries)?, singles, doubles, unknown_score, highest })
    }

    /// Give the end and the id of each token that may begin at `at`, and return where the next character begins.
    #[inline(always)]
    pub fn each(&self, text: &[u8], at: usize, mut give: impl FnMut(usize, u32)) -> usize {
        let next = (at + char_len(text[at])).min(text.len());
        let mut has_single = false;
        self.trie.entries(&text[at..], |length, id| {
            has_single |= at + length == next;
            give(at + length, id);
        });
        if !has_single {
            give(next, UNKNOWN);
        }
        next
    }

    /// The entry that is `text`.
    pub fn get(&self, text: &[u8]) -> Option<u32> {
        self.trie.get(text)
    }

    /// The score of an entry, or of [`UNKNOWN`], as a float.
    #[inline(always)]
    pub fn single(&self, id: u32) -> f32 {
        self.singles.get(id as usize).map_or(self.unknown_score as f32, |score| *score)
    }

    /// The score of an entry, or of [`UNKNOWN`].
    #[inline(always)]
    pub fn double(&self, id: u32) -> f64 {
        self.doubles.get(id as usize).map_or(self.unknown_score, |score| *score)
    }

    /// The largest absolute score.
    pub fn highest(&self) -> f64 {
        self.highest
    }
}
