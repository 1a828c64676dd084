//! The literals of special tokens in a corpus: each ends a document, and no piece holds any part of them.

use std::ops::Range;

use aho_corasick::{AhoCorasick, MatchKind};

use crate::error::{Code, Error, Result};

/// Compiled literals.
#[derive(Debug, Default)]
pub struct Separators {
    /// As encoding finds them, and every occurrence of each.
    automata: Option<(AhoCorasick, AhoCorasick)>,
    longest: usize,
}

impl Separators {
    /// Compile the literals.
    ///
    /// # Errors
    /// `invalid_option` at `special_tokens[i]` for one that is empty.
    pub fn new(literals: &[String]) -> Result<Self> {
        if let Some(at) = literals.iter().position(String::is_empty) {
            let message = "a special token is empty; give it a text";
            return Err(Error::new(Code::InvalidOption, message).at_field(format!("special_tokens[{at}]")));
        }
        let Some(longest) = literals.iter().map(String::len).max() else { return Ok(Self::default()) };
        let build = |kind| {
            AhoCorasick::builder().match_kind(kind).build(literals).map_err(|error| {
                Error::new(Code::InvalidOption, format!("the special tokens do not compile: {error}"))
                    .at_field("special_tokens")
            })
        };
        Ok(Self { automata: Some((build(MatchKind::LeftmostLongest)?, build(MatchKind::Standard)?)), longest })
    }

    /// Call `stretch` with what lies between the literals, where it is not empty.
    ///
    /// # Errors
    /// The error of `stretch`.
    pub fn between<'t>(&self, text: &'t str, mut stretch: impl FnMut(&'t str) -> Result<()>) -> Result<()> {
        let mut rest = 0;
        let found = self.automata.iter().flat_map(|(leftmost, _)| leftmost.find_iter(text)).map(|found| found.range());
        for Range { start, end } in found.chain(std::iter::once(text.len()..text.len())) {
            if start > rest {
                stretch(text.get(rest..start).unwrap_or_default())?;
            }
            rest = end;
        }
        Ok(())
    }

    /// The bytes after a cut that [`Separators::straddles`] needs.
    pub fn reach(&self) -> usize {
        self.longest.saturating_sub(1)
    }

    /// Tell whether a literal begins before `cut` and ends after it.
    pub fn straddles(&self, text: &[u8], cut: usize) -> bool {
        let Some((_, all)) = &self.automata else { return false };
        let start = cut.saturating_sub(self.reach());
        let end = (cut + self.reach()).min(text.len());
        let cut = cut - start;
        all.find_overlapping_iter(&text[start..end]).any(|found| found.start() < cut && cut < found.end())
    }
}
