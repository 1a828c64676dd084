//! Unigram: of all ways to cut a text into entries, the one whose scores have the highest sum.
//!
//! Hugging Face sums doubles within a piece. SentencePiece sums floats over the whole text, so a rounding may depend on
//! all that comes before. A text is cut into words that no token crosses, and nearly all words are decided by more than
//! any rounding: their tokens are the same everywhere, and a cache may keep them. A word that is not is [`UNDECIDED`]
//! until the sum before it is known (`sums`).

mod borders;
mod entries;
mod lattice;
mod nbest;
pub mod sample;
mod sums;
#[cfg(test)]
#[path = "../../../tests/unit/unigram.rs"]
mod tests;

use std::collections::HashSet;

use self::borders::SafeBorders;
use self::entries::{Entries, UNKNOWN};
use self::lattice::{Lattice, Step};
pub use self::nbest::{CollectedPieces, Ways};
pub use self::sums::Sums;
use super::byte_pieces::BytePieces;
use super::{Covered, Cuts, Model, Piece, PieceIds, Token, Uncovered};
use crate::config::{UnigramConfig, UnigramSums};
use crate::error::Result;
use crate::vocabulary::{MAX_IDS, Vocabulary};

/// The id of a word whose tokens depend on the text before it.
pub const UNDECIDED: u32 = MAX_IDS;

/// The model.
#[derive(Debug)]
pub struct Unigram {
    entries: Entries,
    unknown: Option<u32>,
    /// If unknown characters become their bytes.
    bytes: Option<BytePieces>,
    /// By id: what a token adds to the sum; NaN where that is not its score.
    addends: Vec<f32>,
    /// Of a model that sums floats over the whole text.
    borders: Option<SafeBorders>,
}

/// The buffers of the model.
#[derive(Debug, Default)]
pub struct UnigramBuffers {
    lattice: Lattice,
    tokens: Vec<Token>,
}

impl UnigramBuffers {
    /// Give back the memory of long pieces, down to `entries` entries a buffer.
    pub fn shrink(&mut self, entries: usize) {
        self.lattice.shrink(entries);
        self.tokens.clear();
        self.tokens.shrink_to(entries);
    }
}

impl Unigram {
    /// Build the model of a vocabulary of texts; no text becomes an entry of `never`.
    ///
    /// # Errors
    /// Those of [`Entries::new`].
    pub fn new(vocabulary: &Vocabulary, config: &UnigramConfig, never: &HashSet<u32>) -> Result<Self> {
        let entries = Entries::new(vocabulary, config, never)?;
        let bytes = config.byte_fallback.then(|| BytePieces::new(vocabulary));
        let mut addends: Vec<f32> = (0..vocabulary.id_limit()).map(|id| entries.single(id)).collect();
        for id in bytes.iter().flat_map(BytePieces::ids).chain(config.unk) {
            if let Some(addend) = addends.get_mut(id as usize) {
                *addend = f32::NAN;
            }
        }
        let borders =
            (config.sums == UnigramSums::Float).then(|| SafeBorders::new(vocabulary, &entries, bytes.is_none()));
        Ok(Self { entries, unknown: config.unk, bytes, addends, borders })
    }

    /// Tell whether words may be [`UNDECIDED`].
    pub fn sums_over_text(&self) -> bool {
        self.borders.is_some()
    }

    /// Append the tokens of a way through `text`, which begins at `start` of the whole.
    fn append(&self, text: &[u8], start: usize, steps: &[Step], tokens: &mut Vec<Token>) -> Covered {
        let mut at = 0;
        for run in steps.chunk_by(|left, right| self.is_unknown(left.0) && self.is_unknown(right.0)) {
            let length: usize = run.iter().map(|(_, bytes)| *bytes as usize).sum();
            if self.is_unknown(run[0].0) {
                self.append_unknown(&text[at..at + length], start + at, tokens)?;
            } else {
                tokens.extend(run.iter().map(|(id, bytes)| Token { id: *id, bytes: *bytes }));
            }
            at += length;
        }
        Ok(())
    }

    /// Give the end and the id of each token that may begin at `at` in a segmentation: of an unknown character only if
    /// there are tokens to write it with.
    #[inline(always)]
    fn each_token(&self, text: &[u8], at: usize, mut give: impl FnMut(usize, u32)) {
        self.entries.each(text, at, |end, id| {
            let is_written = id != UNKNOWN || self.unknown.is_some();
            if is_written || self.bytes.as_ref().is_some_and(|bytes| bytes.cover(&text[at..end])) {
                give(end, id);
            }
        });
    }

    /// The first bytes that no token stands for, of a text without a segmentation that begins at `start` of the whole.
    fn uncovered(&self, text: &[u8], start: usize) -> Uncovered {
        let mut lattice = Lattice::default();
        lattice.best_double(&self.entries, text);
        let appended = self.append(text, start, &lattice.steps, &mut Vec::new());
        appended.err().unwrap_or(Uncovered(start..start + text.len()))
    }

    fn is_unknown(&self, id: u32) -> bool {
        id == UNKNOWN || Some(id) == self.unknown
    }

    /// Append the tokens of unknown characters next to each other.
    fn append_unknown(&self, text: &[u8], start: usize, tokens: &mut Vec<Token>) -> Covered {
        // Hugging Face looks up what it has joined.
        let joined = if self.borders.is_none() { self.entries.get(text) } else { None };
        let bytes = self.bytes.as_ref().filter(|bytes| joined.is_none() && bytes.cover(text));
        match (bytes, joined.or(self.unknown)) {
            (Some(bytes), _) => tokens.extend(bytes.tokens(text)),
            (None, Some(id)) => tokens.push(Token { id, bytes: text.len() as u32 }),
            (None, None) => return Err(Uncovered(start..start + text.len())),
        }
        Ok(())
    }
}

/// Tell whether this byte begins a character of UTF-8.
fn is_char_start(byte: u8) -> bool {
    byte & 0xC0 != 0x80
}

impl Model for Unigram {
    const TILES: bool = false;

    fn encode(&self, text: &[u8], pieces: &[Piece], work: &mut super::ModelBuffers, out: &mut PieceIds) -> Covered {
        let UnigramBuffers { lattice, tokens } = &mut work.unigram;
        for (at, piece) in pieces.iter().enumerate() {
            let word = &text[piece.range()];
            tokens.clear();
            if self.borders.is_none() {
                lattice.best_double(&self.entries, word);
            } else if !lattice.best_for_every_sum(&self.entries, word) {
                out.give_tokens(at, &[Token { id: UNDECIDED, bytes: word.len() as u32 }]);
                continue;
            }
            self.append(word, piece.start as usize, &lattice.steps, tokens)?;
            out.give_tokens(at, tokens);
        }
        Ok(())
    }

    fn cut(&self, text: &str, start: usize, ends: &[u32], cuts: &mut Cuts) -> bool {
        let Some(borders) = &self.borders else { return false };
        cuts.clear();
        let starts = std::iter::once(start).chain(ends.iter().map(|end| *end as usize));
        for (start, end) in starts.zip(ends) {
            borders.cut(&self.entries, text.as_bytes(), start, *end as usize, cuts);
        }
        true
    }
}
