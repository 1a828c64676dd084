//! Places at which a text can be cut in two without changing a piece, so that a long document need not be held whole.
//!
//! Between a letter and a character that is neither letter nor mark nor apostrophe, every pattern that has a name ends
//! a piece, whatever stands before and behind: a run of letters ends there in all of them, only an apostrophe can carry
//! it on (`'s`), and no piece looks back at the one before.
//!
//! A normalizer may move such a border: `é` becomes `e` and a mark, which stands with the `!` behind it in one piece,
//! and `™` becomes letters, which are one word with those before. So the border must also lie between the last and the
//! first character of what the two decompose to. Then each form, lower case and the loss of accents leave it such a
//! border, in any order, and make of the two sides what they make of the whole:
//!
//! - Nothing composes with a character before it but marks and letters, so the right side is on its own.
//! - The left one ends in a letter that is decomposed, or in what that composes to with one before it: again a letter
//!   that decomposes to it. The right one begins with what the marks behind it compose it to, and that is not a letter.
//!
//! `normalize/tests.rs` goes through all of Unicode for it.

use unicode_normalization::char::decompose_compatible;

use crate::config::{Behavior, Config, NormalizerStage, Pattern, PretokenizerStage};
use crate::unicode::{LETTER, MARK, class};

/// The patterns for which the rule above was proved.
const NAMES: [&str; 5] = ["gpt2", "cl100k_base", "llama3", "o200k_base", "qwen2"];

/// Whether the pipeline lets its texts be cut.
pub fn may_cut(config: &Config) -> bool {
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
    let named = |stage: &PretokenizerStage| {
        matches!(
            stage,
            PretokenizerStage::Split { pattern: Pattern::Name(name), behavior: Behavior::Isolated, invert: false }
                if NAMES.contains(&name.as_str())
        )
    };
    config.pretokenizer.first().is_some_and(named) && !config.prefix_space && config.normalizer.iter().all(local)
}

/// The last place in `text[from..to]` at which it can be cut, as a position in `text`.
pub fn last_cut(text: &str, from: usize, to: usize) -> Option<usize> {
    let mut next: Option<(usize, char)> = None;
    let mut end = to.min(text.len());
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    for (at, character) in text.get(from..end)?.char_indices().rev() {
        if let Some((cut, behind)) = next
            && may_end(character)
            && may_begin(behind)
        {
            return Some(from + cut);
        }
        next = Some((at, character));
    }
    None
}

/// Whether a text may be cut behind the character, as far as that depends on it.
pub(crate) fn may_end(character: char) -> bool {
    let is_letter = |character| class(character) & LETTER != 0;
    is_letter(character) && is_letter(decomposed(character).1)
}

/// Whether a text may be cut before the character, as far as that depends on it.
pub(crate) fn may_begin(character: char) -> bool {
    let ends_words = |character| character != '\'' && class(character) & (LETTER | MARK) == 0;
    ends_words(character) && ends_words(decomposed(character).0)
}

/// The first and the last character that one becomes when it is decomposed as far as it goes.
fn decomposed(character: char) -> (char, char) {
    let mut ends = None;
    decompose_compatible(character, |part| ends = Some((ends.map_or(part, |(first, _)| first), part)));
    ends.unwrap_or((character, character))
}
