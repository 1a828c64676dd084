//! Classes by comparing.

use super::super::rules::PatternRules;
use super::borders::Masks;
use super::wide::wide_classes;
use super::{READ, ROOM, WINDOW};
use crate::simd::byte_vector::{ByteVector, Simd, between, is, mask};
use crate::unicode::{CASELESS, LOWER, MARK, NUMBER, SPACE, UPPER};

/// The bytes beyond ASCII, and those that begin a character.
#[inline(always)]
pub(super) fn shape<S: Simd>(simd: S, window: &[u8; WINDOW]) -> (u64, u64) {
    // SAFETY: the caller's promise. As signed numbers the bytes 0x80 to 0xBF are the lowest.
    (mask(simd, window, |bytes| bytes), mask(simd, window, |bytes| bytes.exceeds(simd.all(0xBF))))
}

/// The classes of the characters that begin in the first 64 of `bytes`, at each of their bytes. Those that begin at
/// `wide` are beyond ASCII; `inside` are the bytes that begin none.
#[inline(always)]
pub(super) fn classes<R: PatternRules, S: Simd>(simd: S, bytes: &[u8; READ], wide: u64, inside: u64) -> Masks {
    let Some(window) = bytes.first_chunk() else { return Masks::default() };
    let blank = is(simd, window, b' ');
    let mut masks = Masks {
        letter: 0,
        upper: if R::CASED { between(simd, window, 0, b'A', b'Z') } else { 0 },
        lower: if R::CASED { between(simd, window, 0, b'a', b'z') } else { 0 },
        mark: 0,
        number: between(simd, window, 0, b'0', b'9'),
        space: blank | between(simd, window, 0, b'\t', b'\r'),
        newline: is(simd, window, b'\n') | is(simd, window, b'\r'),
        blank,
        quote: is(simd, window, b'\''),
        slash: if R::SLASH_TAIL { is(simd, window, b'/') } else { 0 },
    };
    masks.letter = if R::CASED { masks.upper | masks.lower } else { between(simd, window, 0x20, b'a', b'z') };
    if wide != 0 {
        let classes = wide_classes(simd, bytes, wide);
        // All bytes of those characters: a sum carries through them.
        let spread = |bits: u64| bits | inside & !inside.wrapping_add(bits << 1);
        if R::CASED {
            let (upper, lower) = (spread(classes.of(UPPER)), spread(classes.of(LOWER)));
            masks.upper |= upper;
            masks.lower |= lower;
            masks.letter |= upper | lower | spread(classes.of(CASELESS));
            masks.mark = spread(classes.of(MARK));
        } else {
            masks.letter |= spread(classes.of(UPPER) | classes.of(LOWER) | classes.of(CASELESS));
        }
        // No newline is beyond ASCII.
        masks.number |= spread(classes.of(NUMBER));
        masks.space |= spread(classes.of(SPACE));
    }
    masks
}

/// The white space of ASCII, and its newlines.
#[inline(always)]
pub(super) fn white_bytes<S: Simd>(simd: S, window: &[u8; WINDOW]) -> (u64, u64) {
    let space = is(simd, window, b' ') | between(simd, window, 0, b'\t', b'\r');
    (space, is(simd, window, b'\n') | is(simd, window, b'\r'))
}

/// Write the place of every bit, counted from `at`.
#[inline(always)]
pub(crate) fn write<S: Simd>(simd: S, bits: u64, at: u32, ends: &mut [u32; ROOM]) {
    if let Some(room) = ends.first_chunk_mut() {
        simd.write_places(bits, at, room);
    }
}
