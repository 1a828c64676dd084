//! Rewrites that look at one character at a time, or at the ends of the text.

use unicode_normalization::char::is_combining_mark;

use super::Normalized;
use super::rewriter::Rewriter;
use crate::unicode::is_word;

/// Lowercase each character by itself: no rule looks at its neighbours, so a final sigma becomes `σ`.
///
/// Every cased character is a word character. One that the pinned tables do not know is left alone, so that no id
/// depends on the version of Unicode in the standard library.
pub(super) fn lowercase(text: &str) -> Option<Normalized> {
    let mut rewriter = Rewriter::new(text);
    let mut lower = String::new();
    for (at, character) in text.char_indices() {
        if character.is_ascii_uppercase() || (!character.is_ascii() && is_word(character)) {
            lower.clear();
            lower.extend(character.to_lowercase());
            rewriter.keep(at);
            rewriter.replace(at + character.len_utf8(), &lower);
        }
    }
    rewriter.finish()
}

/// Drop every combining mark (general category `M`: the spacing and the enclosing ones too).
pub(super) fn strip_accents(text: &str) -> Option<Normalized> {
    if text.is_ascii() {
        return None;
    }
    let mut rewriter = Rewriter::new(text);
    for (at, character) in text.char_indices() {
        if !character.is_ascii() && is_combining_mark(character) {
            rewriter.keep(at);
            rewriter.drop(at + character.len_utf8());
        }
    }
    rewriter.finish()
}

/// Strip the white space from one end or both.
pub(super) fn strip(text: &str, left: bool, right: bool) -> Option<Normalized> {
    let start = if left { text.len() - text.trim_start().len() } else { 0 };
    let end = if right { start + text[start..].trim_end().len() } else { text.len() };
    let mut rewriter = Rewriter::new(text);
    rewriter.drop(start);
    rewriter.keep(end);
    rewriter.drop(text.len());
    rewriter.finish()
}

/// Put `prefix` before a text that is not empty.
pub(super) fn prepend(text: &str, prefix: &str) -> Option<Normalized> {
    let mut rewriter = Rewriter::new(text);
    if !text.is_empty() {
        rewriter.insert(prefix);
    }
    rewriter.finish()
}
