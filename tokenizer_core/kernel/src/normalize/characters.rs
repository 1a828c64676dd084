//! Rewrites that look at one character at a time, or at the ends of the text.

use super::Normalized;
use super::rewriter::Rewriter;
use crate::byte_level::bytes_to_text;
use crate::unicode::older::{self, CASED, MARK};

/// Lowercase each character by itself: no rule looks at its neighbours, so a final sigma becomes `σ`.
pub(super) fn lowercase(text: &str) -> Option<Normalized> {
    let mut rewriter = Rewriter::new(text);
    let mut lower = String::new();
    let table = older::table();
    for (at, character) in text.char_indices() {
        if table.has(character, CASED) {
            lower.clear();
            lower.extend(older::lowercase(character));
            rewriter.keep(at);
            rewriter.replace(at + character.len_utf8(), &lower);
        }
    }
    rewriter.finish()
}

/// Drop every combining mark: the spacing and the enclosing ones too.
pub(super) fn strip_accents(text: &str) -> Option<Normalized> {
    if text.is_ascii() {
        return None;
    }
    let mut rewriter = Rewriter::new(text);
    let table = older::table();
    for (at, character) in text.char_indices() {
        if table.has(character, MARK) {
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

/// Write every byte as the character that stands for it.
pub(super) fn byte_level(text: &str) -> Option<Normalized> {
    let mut rewriter = Rewriter::new(text);
    for (at, character) in text.char_indices() {
        let end = at + character.len_utf8();
        rewriter.keep(at);
        rewriter.replace(end, &bytes_to_text(&text.as_bytes()[at..end]));
    }
    rewriter.finish()
}
