//! Places at which a text can be cut in two without changing a piece, so that a long document need not be held whole.
//!
//! If white space is no part of a piece, or begins one (`Metaspace`), such a place is before every space. A space
//! composes with nothing before it, so no normalizer below can tell.
//!
//! For the patterns of byte-level BPE the rule is another one. Between a letter and a character that is neither a
//! letter nor a mark nor an apostrophe, every named pattern ends a piece, whatever comes before and after: a run of
//! letters ends there in all of them, only an apostrophe can continue it (`'s`), and no piece depends on the one
//! before.
//!
//! A normalizer may move such a border: `é` becomes `e` and a mark, which is in one piece with a `!` after it, and `™`
//! becomes letters, which join the word before. So the last character of what the letter decomposes to, and the first
//! of what the other one does, must have such a border between them too. Then it stays one in every normalization form,
//! in lower case and without accents, in any order, and both sides become what they become in the whole text:
//!
//! - Only marks and letters compose with a character before them, so the right side is on its own.
//! - The left side ends in a decomposed letter, or in what it composes to with characters before it: again a letter
//!   that decomposes to it. The right side begins with what its first character composes to with the marks after it,
//!   and that is not a letter.
//!
//! `normalize/tests.rs` checks this for all of Unicode.
//!
//! The patterns of superwords end a piece at the last newline of white space, so a text is cut before an ASCII letter
//! that begins a line: it stays one in every normalizer below, and nothing there composes with a newline.

use unicode_normalization::char::decompose_compatible;

use crate::config::{Behavior, Config, NormalizerStage, Pattern, Prepend, PretokenizerStage};
use crate::unicode::older::{is_mark, lowercase};
use crate::unicode::{LETTER, MARK, class};

/// The patterns for which the rule above holds.
const NAMES: [&str; 5] = ["gpt2", "cl100k_base", "llama3", "o200k_base", "qwen2"];

/// The patterns of superwords: numbers are apart, and a line with the empty lines behind it is one piece up to the next
/// number.
const LINES: [&str; 3] = [
    r" ?\p{N}+|(?:[^\r\n\p{N} ]| (?!\p{N}))+(?:\s*[\r\n]+)?|\s*[\r\n]+|[^\r\n\p{N}]",
    r"\p{N}{1,3}|[^\r\n\p{N}]+(?:\s*[\r\n]+)?|\s*[\r\n]+",
    r"\p{N}|[^\r\n\p{N}]+(?:\s*[\r\n]+)?|\s*[\r\n]+",
];

/// The places at which texts can be cut.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CutPlaces {
    /// Between a letter and what can continue no run of letters.
    BehindLetters,
    /// Before a space.
    BeforeSpaces,
    /// Between a line feed and an ASCII letter.
    BehindLines,
}

impl CutPlaces {
    /// The name that Python knows.
    pub fn name(self) -> &'static str {
        match self {
            Self::BehindLetters | Self::BeforeSpaces => "words",
            Self::BehindLines => "lines",
        }
    }
}

/// The places at which the pipeline lets its texts be cut, if there are any.
pub fn places(config: &Config) -> Option<CutPlaces> {
    let local = |stage: &NormalizerStage| {
        matches!(
            stage,
            NormalizerStage::Nfc
                | NormalizerStage::Nfd
                | NormalizerStage::Nfkc
                | NormalizerStage::Nfkd
                | NormalizerStage::Lowercase
                | NormalizerStage::StripAccents
        )
    };
    let space_first = |stage: &PretokenizerStage| {
        matches!(
            stage,
            PretokenizerStage::Bert
                | PretokenizerStage::Whitespace
                | PretokenizerStage::WhitespaceSplit
                | PretokenizerStage::Metaspace { prepend: Prepend::Always, split: true, .. }
        )
    };
    let split = |stage: &PretokenizerStage| match stage {
        PretokenizerStage::Split { pattern, behavior: Behavior::Isolated, invert: false } => match pattern {
            Pattern::Name(name) if NAMES.contains(&name.as_str()) => Some(CutPlaces::BehindLetters),
            Pattern::Regex(text) if LINES.contains(&text.as_str()) => Some(CutPlaces::BehindLines),
            _ => None,
        },
        _ => None,
    };
    let by_character = |stage: &NormalizerStage| matches!(stage, NormalizerStage::Bert(_) | NormalizerStage::Nmt);
    let (first, normalizer) = (config.pretokenizer.first()?, &config.normalizer);
    if config.prefix_space {
        None
    } else if let Some(places) = split(first).filter(|_| normalizer.iter().all(local)) {
        Some(places)
    } else if space_first(first) && normalizer.iter().all(|one| local(one) || by_character(one)) {
        Some(CutPlaces::BeforeSpaces)
    } else {
        None
    }
}

/// The last place in `text[from..to]` at which it can be cut, as a position in `text`.
pub fn last_cut(places: CutPlaces, text: &str, from: usize, to: usize) -> Option<usize> {
    let mut next: Option<(usize, char)> = None;
    let mut end = to.min(text.len());
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    for (at, character) in text.get(from..end)?.char_indices().rev() {
        if let Some((cut, behind)) = next
            && match places {
                CutPlaces::BehindLetters => may_end(character) && may_begin(behind),
                CutPlaces::BeforeSpaces => behind == ' ',
                CutPlaces::BehindLines => character == '\n' && behind.is_ascii_alphabetic(),
            }
        {
            return Some(from + cut);
        }
        next = Some((at, character));
    }
    None
}

/// Tell whether a text may be cut after the character, as far as that depends on it.
pub(crate) fn may_end(character: char) -> bool {
    let is_letter = |character| class(character) & LETTER != 0;
    // Some letters were marks once, which the stage that drops marks still takes them for.
    is_letter(character) && is_letter(decomposed(character).1) && !is_mark(character)
}

/// Tell whether a text may be cut before the character, as far as that depends on it.
pub(crate) fn may_begin(character: char) -> bool {
    let ends_words = |character| character != '\'' && class(character) & (LETTER | MARK) == 0;
    // Some letters have a capital that the pinned tables do not know.
    ends_words(character) && ends_words(decomposed(character).0) && lowercase(character).all(ends_words)
}

/// The first and the last character of the full compatibility decomposition.
fn decomposed(character: char) -> (char, char) {
    let mut ends = None;
    decompose_compatible(character, |part| ends = Some((ends.map_or(part, |(first, _)| first), part)));
    ends.unwrap_or((character, character))
}
