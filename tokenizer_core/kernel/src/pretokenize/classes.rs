//! Cuts of Hugging Face that look at one character at a time, each over a piece that begins at `start` of a text.

use super::rewrites::RecutPieces;
use crate::unicode::older::{self, PUNCTUATION, WHITE};
use crate::unicode::{SPACE, WORD, class, scripts};

/// White space is dropped, and each punctuation mark is a piece.
pub(super) fn bert(piece: &str, start: usize, out: &mut RecutPieces<'_>) {
    let table = older::table();
    for (at, character) in piece.char_indices() {
        let (from, to) = (start + at, start + at + character.len_utf8());
        let bits = table.get(character.into());
        if bits & WHITE != 0 {
            out.keep(from);
            out.drop(to);
        } else if bits & PUNCTUATION != 0 {
            out.keep(from);
            out.keep(to);
        }
    }
}

/// Runs of word characters and runs of others are pieces, and white space is dropped.
pub(super) fn whitespace(piece: &str, start: usize, out: &mut RecutPieces<'_>) {
    let mut last = 0;
    for (at, character) in piece.char_indices() {
        let kind = class(character) & (WORD | SPACE);
        if kind != last {
            out.keep(start + at);
        }
        if kind == SPACE {
            out.drop(start + at + character.len_utf8());
        }
        last = kind;
    }
}

/// A piece ends where another script begins. What has no script belongs to what is before it, and is dropped if nothing
/// is.
pub(super) fn unicode_scripts(piece: &str, start: usize, out: &mut RecutPieces<'_>) {
    let table = scripts::table();
    let mut last = scripts::ANY;
    for (at, character) in piece.char_indices() {
        let script = table.get(character.into());
        if script != scripts::ANY && script != last {
            if last == scripts::ANY {
                out.drop(start + at);
            } else {
                out.keep(start + at);
            }
            last = script;
        }
    }
    if last == scripts::ANY {
        out.drop(start + piece.len());
    }
}

/// Pieces of `length` characters, of which the last may have fewer.
pub(super) fn fixed_length(piece: &str, length: usize, start: usize, out: &mut RecutPieces<'_>) {
    for (at, _) in piece.char_indices().step_by(length) {
        out.keep(start + at);
    }
}
