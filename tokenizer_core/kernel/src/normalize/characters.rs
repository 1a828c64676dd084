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
            rewriter.put(at..at + character.len_utf8(), &lower);
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
            rewriter.put(at..at + character.len_utf8(), "");
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

/// Drop control characters, and put a space for every other white space and for marks of direction.
pub(super) fn nmt(text: &str) -> Option<Normalized> {
    let mut rewriter = Rewriter::new(text);
    for (at, character) in text.char_indices() {
        let end = at + character.len_utf8();
        match character as u32 {
            0x01..=0x08 | 0x0B | 0x0E..=0x1F | 0x7F | 0x8F | 0x9F => rewriter.put(at..end, ""),
            0x09 | 0x0A | 0x0C | 0x0D | 0x1680 | 0x200B..=0x200F | 0x2028 | 0x2029 | 0x2581 | 0xFEFF | 0xFFFD => {
                rewriter.put(at..end, " ");
            }
            _ => {}
        }
    }
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
        rewriter.put(at..end, &bytes_to_text(&text.as_bytes()[at..end]));
    }
    rewriter.finish()
}
