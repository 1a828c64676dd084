//! Cuts a text into pieces; merges never cross the border of a piece.

use crate::config::PretokenizerStage;
use crate::error::Result;

/// A compiled sequence of cuts.
#[derive(Debug, Default)]
pub struct Pretokenizer {}

impl Pretokenizer {
    /// Compile the stages; no stage at all makes the whole text one piece.
    ///
    /// # Errors
    /// `invalid_pattern` for an unknown name or a regular expression that does not compile.
    pub fn new(_stages: &[PretokenizerStage]) -> Result<Self> {
        Ok(Self {})
    }

    /// Begin to cut `text`.
    pub fn pieces<'t>(&'t self, text: &'t str) -> Pieces<'t> {
        Pieces { text, at: 0, _pretokenizer: self }
    }
}

/// A text being cut.
#[derive(Debug)]
pub struct Pieces<'t> {
    _pretokenizer: &'t Pretokenizer,
    text: &'t str,
    at: usize,
}

impl Pieces<'_> {
    /// Append the ends (byte positions in the text) of the next pieces, about `hint` of them, and say whether any
    /// came. Pieces tile the text: each begins where the one before ended, the first at 0, and none is empty.
    ///
    /// # Errors
    /// `step_limit` or `uncovered_text`, with the byte range.
    pub fn fill(&mut self, _hint: usize, ends: &mut Vec<usize>) -> Result<bool> {
        let more = self.at < self.text.len();
        if more {
            self.at = self.text.len();
            ends.push(self.at);
        }
        Ok(more)
    }
}
