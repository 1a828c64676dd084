//! Classes by comparing.

use super::super::rules::Rules;
use super::borders::Masks;
use super::wide::wide_classes;
use super::{READ, ROOM, WINDOW};
use crate::machine::byte_vector::{ByteVector, mask};
use crate::unicode::{CASELESS, LOWER, MARK, NUMBER, SPACE, UPPER};

// Functions and no closures, since a closure that is not inlined loses the instructions of its path.

/// Where `byte` stands.
///
/// # Safety
/// The machine has `V`.
#[inline(always)]
pub(super) unsafe fn is<V: ByteVector>(window: &[u8; WINDOW], byte: u8) -> u64 {
    // SAFETY: the caller's promise.
    unsafe { mask::<V>(window, |bytes| bytes.is(V::all(byte))) }
}

/// Where bytes from `first` to `last` stand, once the bits of `set` are set.
///
/// # Safety
/// As above.
#[inline(always)]
pub(super) unsafe fn between<V: ByteVector>(window: &[u8; WINDOW], set: u8, first: u8, last: u8) -> u64 {
    // SAFETY: the caller's promise. Moved so that `first` is the lowest signed byte.
    unsafe {
        let (to_lowest, beyond) = (V::all(0x80_u8.wrapping_sub(first)), V::all((last - first + 1) ^ 0x80));
        mask::<V>(window, |bytes| beyond.exceeds(bytes.or(V::all(set)).plus(to_lowest)))
    }
}

/// Where bytes below `limit` stand, as signed numbers.
///
/// # Safety
/// As above.
#[inline(always)]
pub(super) unsafe fn below<V: ByteVector>(window: &[u8; WINDOW], limit: u8) -> u64 {
    // SAFETY: the caller's promise.
    unsafe { mask::<V>(window, |bytes| V::all(limit).exceeds(bytes)) }
}

/// The bytes beyond ASCII, and those that begin a character.
///
/// # Safety
/// As above.
#[inline(always)]
pub(super) unsafe fn shape<V: ByteVector>(window: &[u8; WINDOW]) -> (u64, u64) {
    // SAFETY: the caller's promise. As signed numbers the bytes 0x80 to 0xBF are the lowest.
    unsafe { (mask::<V>(window, |bytes| bytes), mask::<V>(window, |bytes| bytes.exceeds(V::all(0xBF)))) }
}

/// The classes of the characters that begin in the first 64 of `bytes`, at each of their bytes. Those that begin at
/// `wide` are beyond ASCII; `inside` are the bytes that begin none.
///
/// # Safety
/// As above.
#[inline(always)]
pub(super) unsafe fn classes<R: Rules, V: ByteVector>(bytes: &[u8; READ], wide: u64, inside: u64) -> Masks {
    let Some(window) = bytes.first_chunk() else { return Masks::default() };
    // SAFETY: the caller's promise, for all of this function.
    unsafe {
        let blank = is::<V>(window, b' ');
        let mut masks = Masks {
            letter: 0,
            upper: if R::CASED { between::<V>(window, 0, b'A', b'Z') } else { 0 },
            lower: if R::CASED { between::<V>(window, 0, b'a', b'z') } else { 0 },
            mark: 0,
            number: between::<V>(window, 0, b'0', b'9'),
            space: blank | between::<V>(window, 0, b'\t', b'\r'),
            newline: is::<V>(window, b'\n') | is::<V>(window, b'\r'),
            blank,
            quote: is::<V>(window, b'\''),
            slash: if R::SLASH_TAIL { is::<V>(window, b'/') } else { 0 },
        };
        masks.letter = if R::CASED { masks.upper | masks.lower } else { between::<V>(window, 0x20, b'a', b'z') };
        if wide != 0 {
            let classes = wide_classes::<V>(bytes, wide);
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
}

/// The white space of ASCII, and its newlines.
///
/// # Safety
/// As above.
#[inline(always)]
pub(super) unsafe fn white_bytes<V: ByteVector>(window: &[u8; WINDOW]) -> (u64, u64) {
    // SAFETY: the caller's promise, for all of this function.
    unsafe {
        let space = is::<V>(window, b' ') | between::<V>(window, 0, b'\t', b'\r');
        (space, is::<V>(window, b'\n') | is::<V>(window, b'\r'))
    }
}

/// Write the place of every bit, counted from `at`.
///
/// # Safety
/// As above.
#[inline(always)]
pub(crate) unsafe fn write<V: ByteVector>(bits: u64, at: u32, ends: &mut [u32; ROOM]) {
    if let Some(room) = ends.first_chunk_mut() {
        // SAFETY: the caller's promise.
        unsafe { V::write_places(bits, at, room) };
    }
}
