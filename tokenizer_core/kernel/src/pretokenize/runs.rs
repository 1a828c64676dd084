//! Walks over runs of a class in UTF-8: what every scanner is made of.

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

/// `peek` for a first byte above 127. The text is valid UTF-8, so the bytes that follow are there.
#[inline(always)]
fn wide(text: &[u8], at: usize, first: u8) -> (u8, usize) {
    let low = |offset: usize| u32::from(text.get(at + offset).copied().unwrap_or(0) & 0x3F);
    let first = u32::from(first);
    if first < 0xE0 {
        (unicode::class_of((first & 0x1F) << 6 | low(1)), 2)
    } else if first < 0xF0 {
        (unicode::class_of((first & 0x0F) << 12 | low(1) << 6 | low(2)), 3)
    } else {
        (unicode::class_of((first & 0x07) << 18 | low(1) << 12 | low(2) << 6 | low(3)), 4)
    }
}
