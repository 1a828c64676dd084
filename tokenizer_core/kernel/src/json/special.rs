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

#[cfg(test)]
mod tests {
    use super::*;

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
                    }
                }
            }
        }
    }
}
