//! Literals matched before everything else: leftmost-longest, with the flags of Hugging Face.

use std::ops::Range;

use crate::config::AddedToken;
use crate::error::Result;
use crate::normalize::Normalizer;

/// What the literal of a special token inside a text means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SpecialPolicy {
    /// An error: `reserved_literal` at the literal.
    Reject,
    /// Ordinary text; added tokens that are not special still match.
    Text,
    /// The token.
    Parse,
    /// No added token at all matches, special or not: for text that a caller put into a chat.
    Ordinary,
}

/// Which of the two passes looks for its literals.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pass {
    /// Tokens with `normalized: false`, in the text as it came.
    Raw,
    /// Tokens with `normalized: true`, in the rewritten text.
    Normalized,
}

/// A stretch of the text: an added token, or what lies between two.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Segment {
    /// Half-open byte range.
    pub bytes: Range<usize>,
    /// The added token's id, or `None` for text still to be encoded.
    pub id: Option<u32>,
}

/// The compiled literals.
#[derive(Debug, Default)]
pub struct AddedTokens {}

impl AddedTokens {
    /// Compile the literals of both passes.
    ///
    /// # Errors
    /// `duplicate_token`, `duplicate_id`, `invalid_file` for an empty literal; each names `added_tokens[i]`.
    pub fn new(_tokens: &[AddedToken], _normalizer: &Normalizer) -> Result<Self> {
        Ok(Self {})
    }

    /// Whether `pass` has any literal at all under `policy`: the fast way past both scans.
    pub fn is_empty(&self, _pass: Pass, _policy: SpecialPolicy) -> bool {
        true
    }

    /// Cut `text` into segments that tile it, in order, none of them empty; appends to `segments`.
    ///
    /// # Errors
    /// `reserved_literal` with the byte range, under [`SpecialPolicy::Reject`].
    pub fn split(&self, text: &str, _pass: Pass, _policy: SpecialPolicy, segments: &mut Vec<Segment>) -> Result<()> {
        if !text.is_empty() {
            segments.push(Segment { bytes: 0..text.len(), id: None });
        }
        Ok(())
    }
}
