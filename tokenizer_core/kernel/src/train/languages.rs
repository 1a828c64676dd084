//! The pieces of a corpus by language.

use std::cmp::Reverse;

use super::counts::Counts;
use super::label::{labelled, shown};
use crate::error::{Code, Error, Result};

/// Most languages: every pair is counted in each.
pub const MAX_LANGUAGES: usize = 1000;

/// A language of a corpus.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Language {
    /// The name.
    pub name: String,
    /// Bytes of its corpus, each piece as often as it occurs.
    pub bytes: u64,
    /// It is measured on other texts, with one content in all languages.
    pub is_parallel: bool,
}

/// The words of one language that stand together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stretch {
    /// The position behind its last word.
    pub end: usize,
    /// The index of the language.
    pub language: usize,
    /// Merges are learned from it.
    pub is_learned: bool,
    /// Its tokens are the measure of how well the language is compressed.
    pub is_measured: bool,
}

/// Pieces without labels, in the order of their stretches.
#[derive(Debug)]
pub struct Languages {
    /// By name.
    pub languages: Vec<Language>,
    /// The pieces.
    pub counts: Counts,
    /// The corpus of each language; then, if there are any, the texts to measure on.
    pub stretches: Vec<Stretch>,
}

impl Languages {
    /// Sort the pieces of a corpus by their labels.
    ///
    /// # Errors
    /// `invalid_corpus` for a piece without a label, too many languages, and a language that lacks a corpus or, as the
    /// only one, texts to measure on.
    pub fn of(counts: &Counts) -> Result<Self> {
        let read = |(piece, count)| labelled(piece).map(|labelled| (labelled, count));
        let Some(mut pieces) = counts.iter().map(read).collect::<Option<Vec<_>>>() else {
            return Err(invalid(String::from("there are counts of pieces without their language; count again")));
        };
        pieces.sort_by_key(|(one, count)| (one.is_measured, one.name, Reverse(*count), one.piece));
        let (mut languages, mut stretches): (Vec<Language>, Vec<Stretch>) = Default::default();
        let (mut sorted, mut end) = (Counts::default(), 1);
        for same in
            pieces.chunk_by(|(one, _), (other, _)| (one.is_measured, one.name) == (other.is_measured, other.name))
        {
            let (is_measured, name) = (same[0].0.is_measured, shown(same[0].0.name));
            if !is_measured {
                if languages.len() == MAX_LANGUAGES {
                    return Err(invalid(format!("parity has at most {MAX_LANGUAGES} languages, and the corpus more")));
                }
                languages.push(Language { name: name.to_string(), bytes: 0, is_parallel: false });
            }
            let Some(language) = languages.iter().position(|one| one.name == name) else {
                return Err(invalid(format!("there are texts to measure {name} on, and none to learn it from")));
            };
            for (one, count) in same {
                sorted.push(one.piece, *count);
                end += one.piece.len() + 1;
                if !is_measured {
                    let bytes = (one.piece.len() as u64).saturating_mul(*count);
                    languages[language].bytes = languages[language].bytes.saturating_add(bytes);
                }
            }
            languages[language].is_parallel |= is_measured;
            stretches.push(Stretch { end, language, is_learned: !is_measured, is_measured });
        }
        let is_parallel = stretches.iter().any(|stretch| stretch.is_measured);
        if let Some(language) = languages.iter().find(|language| language.is_parallel != is_parallel) {
            return Err(invalid(format!(
                "there are no texts to measure {} on, as other languages have",
                language.name
            )));
        }
        if !is_parallel {
            stretches.iter_mut().for_each(|stretch| stretch.is_measured = true);
        }
        Ok(Self { languages, counts: sorted, stretches })
    }
}

fn invalid(message: String) -> Error {
    Error::new(Code::InvalidCorpus, message).at_field("corpus")
}

/// Finds the stretches of positions that rise.
#[derive(Debug)]
pub struct Walk<'s> {
    stretches: &'s [Stretch],
    at: usize,
}

impl<'s> Walk<'s> {
    /// Begin before the first position.
    pub fn new(stretches: &'s [Stretch]) -> Self {
        Self { stretches, at: 0 }
    }

    /// The index of the stretch of a position.
    #[inline]
    pub fn to(&mut self, position: usize) -> usize {
        while self.stretches[self.at].end <= position {
            self.at += 1;
        }
        self.at
    }
}
