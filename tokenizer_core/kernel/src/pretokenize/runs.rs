//! Walks over runs of a class in UTF-8: what every scanner is made of.

use crate::unicode::utf8::decode;
use crate::unicode::{self, ASCII};

/// The class of the character at `at` and its length in bytes; the length is 0 at the end of the text.
#[inline(always)]
pub(super) fn peek(text: &[u8], at: usize) -> (u8, usize) {
    match text.get(at) {
        None => (0, 0),
        Some(&byte) if byte < 0x80 => (ASCII[byte as usize], 1),
        Some(&byte) => wide(text, at, byte),
    }
}

/// The end of the run of characters from `at` whose class `belongs`.
#[inline(always)]
pub(super) fn run(text: &[u8], mut at: usize, belongs: impl Fn(u8) -> bool) -> usize {
    while let Some(&byte) = text.get(at) {
        let (class, length) = if byte < 0x80 { (ASCII[byte as usize], 1) } else { wide(text, at, byte) };
        if !belongs(class) {
            break;
        }
        at += length;
    }
    at
}

#[inline(always)]
fn wide(text: &[u8], at: usize, first: u8) -> (u8, usize) {
    let (code, length) = decode(text, at, first);
    (unicode::class_of(code), length)
}
