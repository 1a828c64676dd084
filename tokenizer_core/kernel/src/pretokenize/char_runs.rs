//! Walks over runs of a class in UTF-8: what every scanner is made of.

use crate::unicode::utf8::decode;
use crate::unicode::{self, ASCII, LETTER, LOWER};

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

/// `run`, where the ASCII characters that belong are letters: of both cases, or small ones alone.
#[inline(always)]
pub(super) fn run_of_letters<const SMALL: bool>(text: &[u8], mut at: usize, belongs: impl Fn(u8) -> bool) -> usize {
    loop {
        at = ascii_letters::<SMALL>(text, at);
        if text.get(at).is_none_or(|byte| *byte < 0x80) {
            return at;
        }
        let end = run_of_wide(text, at, &belongs);
        if end == at || text.get(end).is_none_or(|byte| *byte >= 0x80) {
            return end;
        }
        at = end;
    }
}

/// The end of the run of characters beyond ASCII whose class `belongs`.
#[inline(always)]
fn run_of_wide(text: &[u8], mut at: usize, belongs: impl Fn(u8) -> bool) -> usize {
    while let Some(&byte) = text.get(at)
        && byte >= 0x80
    {
        let (class, length) = wide(text, at, byte);
        if !belongs(class) {
            break;
        }
        at += length;
    }
    at
}

/// The end of the run of ASCII letters, eight at a time: most words end in the first eight bytes.
#[inline(always)]
fn ascii_letters<const SMALL: bool>(text: &[u8], mut at: usize) -> usize {
    const ONES: u64 = u64::from_ne_bytes([1; 8]);
    const HIGH: u64 = 0x80 * ONES;
    while let Some(Ok(bytes)) = text.get(at..at + 8).map(<[u8; 8]>::try_from) {
        let bytes = u64::from_le_bytes(bytes);
        let small = (if SMALL { bytes } else { bytes | (0x20 * ONES) }) & !HIGH;
        // The high bit of each byte: at least `a`, and beyond `z`. No sum carries into the next byte.
        let (from_a, beyond_z) = (small + (0x80 - 0x61) * ONES, small + (0x80 - 0x7B) * ONES);
        let others = !(from_a & !beyond_z & !bytes) & HIGH;
        if others != 0 {
            return at + others.trailing_zeros() as usize / 8;
        }
        at += 8;
    }
    let wanted = if SMALL { LOWER } else { LETTER };
    while text.get(at).is_some_and(|byte| ASCII[*byte as usize] & wanted != 0) {
        at += 1;
    }
    at
}

/// The end of the run of U+0020, sixteen at a time: text that is laid out by spaces has long ones.
#[inline(always)]
pub(super) fn run_of_blanks(text: &[u8], mut at: usize) -> usize {
    const BLANKS: u128 = u128::from_ne_bytes([b' '; 16]);
    while let Some(bytes) = text.get(at..).and_then(<[u8]>::first_chunk) {
        let others = u128::from_le_bytes(*bytes) ^ BLANKS;
        if others != 0 {
            return at + others.trailing_zeros() as usize / 8;
        }
        at += 16;
    }
    while text.get(at) == Some(&b' ') {
        at += 1;
    }
    at
}

/// The class and length of the character at `at`, whose first byte is above 127.
#[inline(always)]
fn wide(text: &[u8], at: usize, first: u8) -> (u8, usize) {
    let (code, length) = decode(text, at, first);
    (unicode::class_of(code), length)
}
