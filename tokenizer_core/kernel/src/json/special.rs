//! Bytes that do not stand for themselves in a string of JSON.

use crate::simd::byte_vector::{ByteVector, Simd, WINDOW, mask};
use crate::simd::level::Portable;

/// Tell whether a byte is a quotation mark, a backslash or a control character.
pub(crate) fn is_special(byte: u8) -> bool {
    byte < b' ' || byte == b'"' || byte == b'\\'
}

/// One bit for each of 64 bytes: set if it is special.
#[inline]
pub(super) fn specials(window: &[u8; WINDOW]) -> u64 {
    let (quote, backslash) = (Portable.all(b'"'), Portable.all(b'\\'));
    // Moved so that zero is the lowest signed byte.
    let (to_lowest, blank) = (Portable.all(0x80), Portable.all(b' ' ^ 0x80));
    mask(Portable, window, |bytes| bytes.is(quote).or(bytes.is(backslash)).or(blank.exceeds(bytes.plus(to_lowest))))
}

/// The number of bytes before the first special one.
pub(crate) fn plain_run(bytes: &[u8]) -> usize {
    let (windows, rest) = bytes.as_chunks();
    for (number, window) in windows.iter().enumerate() {
        let found = specials(window);
        if found != 0 {
            return number * WINDOW + found.trailing_zeros() as usize;
        }
    }
    bytes.len() - rest.len() + rest.iter().position(|byte| is_special(*byte)).unwrap_or(rest.len())
}

/// The number of bytes before the first that ends a string, or may not stand in one: a quotation mark that is not
/// escaped, or a control character.
pub(super) fn string_run(bytes: &[u8]) -> usize {
    let mut at = 0;
    while let Some(window) = bytes.get(at..).and_then(|rest| rest.first_chunk::<WINDOW>()) {
        let mut found = specials(window);
        let mut length = WINDOW;
        while found != 0 {
            let place = found.trailing_zeros() as usize;
            if window[place] != b'\\' {
                return at + place;
            }
            // Neither the backslash nor the byte behind it, which may be the first of the next window.
            found &= found - 1;
            found &= !(1_u64.checked_shl(place as u32 + 1).unwrap_or(0));
            length = length.max(place + 2);
        }
        at += length;
    }
    while let Some(byte) = bytes.get(at) {
        match byte {
            b'\\' => at += 2,
            byte if is_special(*byte) => return at,
            _ => at += 1,
        }
    }
    bytes.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn slowly(bytes: &[u8]) -> usize {
        let mut escaped = false;
        let ends = |byte: &u8| {
            let ends = is_special(*byte) && *byte != b'\\' && !escaped;
            escaped = *byte == b'\\' && !escaped;
            ends
        };
        bytes.iter().position(ends).unwrap_or(bytes.len())
    }

    #[test]
    fn a_run_ends_at_the_first_special_byte_wherever_it_stands() {
        for length in (0..=44).chain(60..=70).chain(126..=130) {
            for at in 0..=length {
                for byte in 0..=u8::MAX {
                    for behind in [b'a', b'"', b'!', 0x80, 0xFF, 0] {
                        let mut bytes = vec![b'#'; at];
                        bytes.resize(length, behind);
                        if let Some(found) = bytes.get_mut(at) {
                            *found = byte;
                        }
                        let slow = bytes.iter().position(|byte| is_special(*byte)).unwrap_or(length);
                        assert_eq!(plain_run(&bytes), slow, "{bytes:?}");
                        assert_eq!(string_run(&bytes), slowly(&bytes), "{bytes:?}");
                        if let Some(escaped) = at.checked_sub(1).and_then(|before| bytes.get_mut(before)) {
                            *escaped = b'\\';
                        }
                        assert_eq!(string_run(&bytes), slowly(&bytes), "{bytes:?}");
                    }
                }
            }
        }
    }

    #[test]
    fn a_string_ends_at_the_first_mark_that_is_not_escaped() {
        let mut state = 1_u64;
        let mut next = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            match (state >> 33) % 64 {
                0 => b'"',
                1..=24 => b'\\',
                _ => b'a',
            }
        };
        for length in (0..300).cycle().take(6_000) {
            let bytes: Vec<u8> = (0..length).map(|_| next()).collect();
            assert_eq!(string_run(&bytes), slowly(&bytes), "{bytes:?}");
        }
    }
}
