//! The literals of one pass, and where they are in a text.

use std::ops::Range;

use aho_corasick::{AhoCorasick, Anchored, FindIter, Input, MatchKind, StartKind};

use super::candidates::Candidates;
use crate::config::AddedToken;
use crate::error::{Code, Error, Result};
use crate::unicode::is_word;

/// The longest literal, in bytes. At every byte of a text the search may read on in vain for as long.
pub(crate) const MAX_LITERAL: usize = 256;

/// Literals that are looked for together.
#[derive(Debug, Default)]
pub(super) struct Literals {
    search: LiteralSearch,
    /// By literal.
    tokens: Vec<AddedToken>,
    /// True if any of them is not special.
    has_ordinary: bool,
}

#[derive(Debug, Default)]
enum LiteralSearch {
    #[default]
    Nothing,
    /// Runs only where a literal may begin: all other text is skipped at the speed of `memchr`.
    Anchored(Candidates, AhoCorasick),
    /// For literals with many beginnings.
    Everywhere(AhoCorasick),
}

/// A literal found in a text.
pub(super) struct Found<'t> {
    pub(super) token: &'t AddedToken,
    pub(super) bytes: Range<usize>,
}

/// Indexes and ranges of the literals in a text, from left to right.
enum Matches<'t> {
    Nothing,
    Anchored { candidates: &'t Candidates, automaton: &'t AhoCorasick, text: &'t str, at: usize },
    Everywhere(FindIter<'t, 't>),
}

impl Literals {
    /// Compile pairs of what is looked for and the token it stands for.
    ///
    /// # Errors
    /// `invalid_file` for more text than an automaton can have states.
    pub(super) fn new(literals: &[(String, &AddedToken)]) -> Result<Self> {
        let texts = literals.iter().map(|(literal, _)| literal.as_str());
        let refuse = |message: String| Error::new(Code::InvalidFile, message).at_field("added_tokens");
        let search = if literals.is_empty() {
            LiteralSearch::Nothing
        } else {
            let candidates = Candidates::new(texts.clone());
            let start_kind = if candidates.is_some() { StartKind::Anchored } else { StartKind::Unanchored };
            let mut builder = AhoCorasick::builder();
            let automaton = builder.match_kind(MatchKind::LeftmostLongest).start_kind(start_kind).build(texts);
            let automaton = automaton.map_err(|error| refuse(error.to_string()))?;
            match candidates {
                Some(candidates) => LiteralSearch::Anchored(candidates, automaton),
                None => LiteralSearch::Everywhere(automaton),
            }
        };
        let tokens: Vec<AddedToken> = literals.iter().map(|(_, token)| (*token).clone()).collect();
        Ok(Self { search, has_ordinary: tokens.iter().any(|token| !token.special), tokens })
    }

    /// True without any literal.
    pub(super) fn is_empty(&self) -> bool {
        self.tokens.is_empty()
    }

    /// Tell whether any literal is that of a token that is not special.
    pub(super) fn has_ordinary(&self) -> bool {
        self.has_ordinary
    }

    /// Tell whether a literal may be in `text`: a quick check, which is true for some texts that have none.
    #[inline]
    pub(super) fn may_be_in(&self, text: &str) -> bool {
        match &self.search {
            LiteralSearch::Nothing => false,
            LiteralSearch::Anchored(candidates, _) => candidates.next(text.as_bytes(), 0).is_some(),
            LiteralSearch::Everywhere(_) => true,
        }
    }

    /// The literals of `text` inside `within`, leftmost-longest, none overlapping. One that has to be a single word and
    /// is not hides what it overlaps, as in Hugging Face; the words may reach beyond `within`.
    pub(super) fn find<'t>(&'t self, text: &'t str, within: Range<usize>) -> impl Iterator<Item = Found<'t>> {
        let part = &text[within.clone()];
        let matches = match &self.search {
            LiteralSearch::Nothing => Matches::Nothing,
            LiteralSearch::Anchored(candidates, automaton) => {
                Matches::Anchored { candidates, automaton, text: part, at: 0 }
            }
            LiteralSearch::Everywhere(automaton) => Matches::Everywhere(automaton.find_iter(part)),
        };
        matches.filter_map(move |(literal, bytes)| {
            let bytes = bytes.start + within.start..bytes.end + within.start;
            let token = &self.tokens[literal];
            let inside_word = token.single_word
                && (text[..bytes.start].chars().next_back().is_some_and(is_word)
                    || text[bytes.end..].chars().next().is_some_and(is_word));
            (!inside_word).then_some(Found { token, bytes })
        })
    }
}

impl Iterator for Matches<'_> {
    type Item = (usize, Range<usize>);

    fn next(&mut self) -> Option<Self::Item> {
        match self {
            Self::Nothing => None,
            Self::Anchored { candidates, automaton, text, at } => loop {
                let start = candidates.next(text.as_bytes(), *at)?;
                let input = Input::new(*text).range(start..).anchored(Anchored::Yes);
                if let Some(found) = automaton.find(input) {
                    *at = found.end();
                    return Some((found.pattern().as_usize(), found.range()));
                }
                *at = start + 1;
            },
            Self::Everywhere(found) => found.next().map(|found| (found.pattern().as_usize(), found.range())),
        }
    }
}
