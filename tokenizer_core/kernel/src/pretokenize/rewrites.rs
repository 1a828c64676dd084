//! Stages that put other characters in the place of those of a piece.

use crate::byte_level::char_of;
use crate::normalize::Rewriter;

/// The pieces that a stage makes of those of the stage before.
pub(super) struct RecutPieces<'t> {
    pub(super) text: Rewriter<'t>,
    pub(super) ends: Vec<u32>,
}

impl RecutPieces<'_> {
    /// Take the source up to `end`, where a piece ends.
    pub(super) fn keep(&mut self, end: usize) {
        self.text.keep(end);
        self.end();
    }

    /// Take the source up to `end`.
    pub(super) fn pass(&mut self, end: usize) {
        self.text.keep(end);
    }

    /// Leave out the source up to `end`.
    pub(super) fn drop(&mut self, end: usize) {
        self.text.drop(end);
    }

    /// Put `with` in the place of the source up to `end`.
    pub(super) fn replace(&mut self, end: usize, with: &str) {
        self.text.replace(end, with);
    }

    /// Put `with` here.
    pub(super) fn insert(&mut self, with: &str) {
        self.text.insert(with);
    }

    /// End a piece here, unless it would be empty.
    fn end(&mut self) {
        let position = self.text.position() as u32;
        if self.ends.last().copied().unwrap_or(0) < position {
            self.ends.push(position);
        }
    }
}

/// Put `replacement` in the place of spaces, and before a piece that does not begin with it if `prepend` says so; then
/// cut before each if `split`.
pub(super) fn metaspace(
    piece: &str,
    start: usize,
    replacement: char,
    prepend: bool,
    split: bool,
    out: &mut RecutPieces<'_>,
) {
    let mut utf8 = [0; 4];
    let written = &*replacement.encode_utf8(&mut utf8);
    if prepend && !piece.starts_with([' ', replacement]) {
        out.insert(written);
    }
    for (at, space) in piece.match_indices([' ', replacement]) {
        if split {
            out.keep(start + at);
        } else {
            out.pass(start + at);
        }
        out.replace(start + at + space.len(), written);
    }
}

/// Put a space before a piece that does not begin with one if `prefix_space`, and write each byte in the byte
/// alphabet.
pub(super) fn byte_level(piece: &str, start: usize, prefix_space: bool, out: &mut RecutPieces<'_>) {
    let mut written = String::new();
    if prefix_space && !piece.starts_with(' ') {
        written.push(char_of(b' '));
        out.insert(&written);
    }
    for (at, character) in piece.char_indices() {
        let mut utf8 = [0; 4];
        written.clear();
        written.extend(character.encode_utf8(&mut utf8).bytes().map(char_of));
        out.pass(start + at);
        out.replace(start + at + character.len_utf8(), &written);
    }
}
