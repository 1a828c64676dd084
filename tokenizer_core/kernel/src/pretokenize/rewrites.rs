//! Stages that put other characters in the place of those of a piece.

use super::recut::Pieces;
use crate::byte_level::char_of;

/// Put `replacement` in the place of spaces, and before a piece that does not begin with it if `prepend` says so; then
/// cut before each if `split`.
pub(super) fn metaspace(
    piece: &str,
    start: usize,
    replacement: char,
    prepend: bool,
    split: bool,
    out: &mut Pieces<'_>,
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
pub(super) fn byte_level(piece: &str, start: usize, prefix_space: bool, out: &mut Pieces<'_>) {
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
