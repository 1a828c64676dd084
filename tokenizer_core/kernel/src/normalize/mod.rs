//! Rewrites of the text before it is cut, with the way back to the caller's bytes.

mod alignment;

pub use alignment::Alignment;

use crate::config::NormalizerStage;
use crate::error::Result;

/// A compiled sequence of rewrites.
#[derive(Debug, Default)]
pub struct Normalizer {}

/// A rewritten text and where each of its bytes came from.
#[derive(Debug)]
pub struct Normalized {
    /// The text that the next stage sees.
    pub text: String,
    /// From its byte ranges to the source's.
    pub alignment: Alignment,
}

impl Normalizer {
    /// Compile the stages.
    ///
    /// # Errors
    /// `invalid_pattern` for a regular expression that does not compile.
    pub fn new(_stages: &[NormalizerStage]) -> Result<Self> {
        Ok(Self {})
    }

    /// Rewrite `text`; `None` when nothing changes (the common case, decided without an allocation).
    ///
    /// # Errors
    /// `step_limit` when a regular expression takes too long.
    pub fn normalize(&self, _text: &str) -> Result<Option<Normalized>> {
        Ok(None)
    }
}

/// Put a space before a text that does not begin with one; `None` where nothing changes.
pub fn prefix_space(_text: &str) -> Option<Normalized> {
    None
}
