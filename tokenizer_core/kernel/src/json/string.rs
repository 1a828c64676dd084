//! Strings with escapes. The text between two escapes is copied in chunks of 64 bytes, needed or not.

use super::special::specials;
use crate::capacity::reserve;
use crate::simd::byte_vector::WINDOW;
use crate::simd::words::bytes_at;

/// The bytes looked at together: a window, and after it another for an escape or a copy that begins in the first.
type Windows = [u8; 2 * WINDOW];

/// The highest value of a digit.
const DIGIT: u8 = 15;

/// By byte: what a hexadecimal digit is worth, and more than [`DIGIT`] if it is none.
static HEXADECIMAL: [u8; 256] = {
    let mut digits = [u8::MAX; 256];
    let mut value = 0;
    while value <= DIGIT {
        let digit = b"0123456789abcdef"[value as usize];
        digits[digit as usize] = value;
        digits[digit.to_ascii_uppercase() as usize] = value;
        value += 1;
    }
    digits
};

/// The meaning of a backslash and a byte, by the byte and the other way round; zero is nothing.
const ESCAPES: [(u8, u8); 7] =
    [(b'"', b'"'), (b'\\', b'\\'), (b'b', 0x8), (b'f', 0xC), (b'n', b'\n'), (b'r', b'\r'), (b't', b'\t')];
static ESCAPED: [u8; 256] = {
    let mut escaped = [0; 256];
    let mut at = 0;
    while at < ESCAPES.len() {
        escaped[ESCAPES[at].0 as usize] = ESCAPES[at].1;
        at += 1;
    }
    // A slash may be escaped, but need not be.
    escaped[b'/' as usize] = b'/';
    escaped
};
static SHORT: [u8; 256] = {
    let mut short = [0; 256];
    let mut at = 0;
    while at < ESCAPES.len() {
        short[ESCAPES[at].1 as usize] = ESCAPES[at].0;
        at += 1;
    }
    short
};

/// Read a string from `start` on to its quotation mark, and append what it stands for to `text`. Returns where it ends,
/// after the mark; `None` if it does not, or is not a string. Then `text` may end within a character.
pub(crate) fn unescape(body: &str, start: usize, text: &mut Vec<u8>) -> Option<usize> {
    let body = body.as_bytes();
    let mut at = start;
    while at < body.len() {
        let mut copy: Windows = [0; 2 * WINDOW];
        // After the body are zeros, which are special and end no string.
        let seen = bytes_at(body, at, &mut copy);
        let special = seen.first_chunk().map_or(0, specials);
        // An escape is longer than what it stands for, and the last copy ends in a third window.
        let mut end = Appender::of(text, 3 * WINDOW);
        let mut place = 0;
        while place < WINDOW {
            let plain = ((special >> place).trailing_zeros() as usize).min(WINDOW - place);
            end.put_run(seen, place, plain);
            place += plain;
            if place == WINDOW {
                break;
            }
            match seen[place] {
                b'"' => return Some(at + place + 1),
                b'\\' => {
                    let (character, escape) = character(seen, place)?;
                    end.put_utf8(character);
                    place += escape;
                }
                _ => return None,
            }
        }
        at += place;
    }
    None
}

/// The code point that the escape at `place` stands for, and how many bytes the escape has.
#[inline(always)]
fn character(seen: &Windows, place: usize) -> Option<(u32, usize)> {
    let escaped = ESCAPED[usize::from(seen[place + 1])];
    if escaped != 0 {
        return Some((u32::from(escaped), 2));
    }
    match unit(seen, place)? {
        high @ 0xD800..0xDC00 => {
            // A high surrogate that is followed by another high one is alone.
            let low = unit(seen, place + 6)?.checked_sub(0xDC00).filter(|low| *low < 0x400)?;
            Some((0x10000 + ((high - 0xD800) << 10) + low, 12))
        }
        0xDC00..0xE000 => None,
        code => Some((code, 6)),
    }
}

/// The UTF-16 unit of the escape at `place`.
#[inline(always)]
fn unit(seen: &Windows, place: usize) -> Option<u32> {
    let [b'\\', b'u', digits @ ..] = *seen[place..].first_chunk::<6>()? else { return None };
    let digits: [u8; 4] = digits.map(|digit| HEXADECIMAL[usize::from(digit)]);
    let is_number = digits.iter().fold(0, |all, digit| all | digit) <= DIGIT;
    is_number.then(|| digits.iter().fold(0, |unit, digit| unit << 4 | u32::from(*digit)))
}

/// Write a string with the escapes that JSON asks for and no other.
pub fn write_string(text: &str, json: &mut Vec<u8>) {
    let text = text.as_bytes();
    // A few escapes, and what the last copy takes.
    reserve(json, text.len() + text.len() / 16 + 9 * WINDOW);
    json.push(b'"');
    let mut at = 0;
    while at < text.len() {
        let mut copy: Windows = [0; 2 * WINDOW];
        let seen = bytes_at(text, at, &mut copy);
        let special = seen.first_chunk().map_or(0, specials);
        let (mut place, stop) = (0, (text.len() - at).min(WINDOW));
        // A byte becomes six at the most, of eight that are copied.
        let mut end = Appender::of(json, 8 * WINDOW);
        while place < stop {
            let plain = ((special >> place).trailing_zeros() as usize).min(stop - place);
            end.put_run(seen, place, plain);
            place += plain;
            if place < stop {
                end.put_escape(seen[place]);
                place += 1;
            }
        }
        at += place;
    }
    json.push(b'"');
}

/// Appends chunks of fixed size, each of which overwrites the unused end of the last: cheaper than copies of variable
/// length.
struct Appender<'a> {
    bytes: &'a mut Vec<u8>,
    at: usize,
}

impl<'a> Appender<'a> {
    /// The end of `bytes`, with room for `room` more.
    #[inline(always)]
    fn of(bytes: &'a mut Vec<u8>, room: usize) -> Self {
        reserve(bytes, room);
        let at = bytes.len();
        Self { bytes, at }
    }

    /// Copy a chunk of which the first `count` bytes count.
    #[inline(always)]
    fn put<const N: usize>(&mut self, chunk: &[u8; N], count: usize) {
        assert!(count <= N && N <= self.bytes.capacity() - self.at, "room was made for what comes");
        // SAFETY: the assertion: from `at` on there is room for `N` bytes within the capacity.
        unsafe { std::ptr::copy_nonoverlapping(chunk.as_ptr(), self.bytes.as_mut_ptr().add(self.at), N) };
        self.at += count;
    }

    /// Bytes from `place` on that stand for themselves.
    #[inline(always)]
    fn put_run(&mut self, seen: &Windows, place: usize, count: usize) {
        if let Some(run) = seen[place..].first_chunk::<WINDOW>().filter(|_| count > 0) {
            self.put(run, count);
        }
    }

    /// The UTF-8 of a code point.
    #[inline(always)]
    fn put_utf8(&mut self, code: u32) {
        let tail = |shift: u32| 0x80 | (code >> shift & 0x3F);
        let (word, length) = match code {
            0..0x80 => (code, 1),
            0x80..0x800 => (0xC0 | code >> 6 | tail(0) << 8, 2),
            0x800..0x10000 => (0xE0 | code >> 12 | tail(6) << 8 | tail(0) << 16, 3),
            _ => (0xF0 | code >> 18 | tail(12) << 8 | tail(6) << 16 | tail(0) << 24, 4),
        };
        self.put(&word.to_le_bytes(), length);
    }

    /// The escape of a special byte.
    #[inline(always)]
    fn put_escape(&mut self, byte: u8) {
        match SHORT[usize::from(byte)] {
            0 => {
                let digit = b"0123456789abcdef"[usize::from(byte & DIGIT)];
                self.put(&[b'\\', b'u', b'0', b'0', b'0' + (byte >> 4), digit], 6);
            }
            letter => self.put(&[b'\\', letter], 2),
        }
    }
}

impl Drop for Appender<'_> {
    #[inline(always)]
    fn drop(&mut self) {
        // SAFETY: `at` began at the length and grew only by bytes that `put` has written, within the capacity.
        unsafe { self.bytes.set_len(self.at) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn room_is_made_for_every_window_whatever_there_is() {
        for part in ["a", "\\n", "\\u0001", "\\ud83d\\ude42", "aaaaaaa\\u6f22"] {
            let body = part.repeat(100) + "\"";
            let mut text = Vec::new();
            assert_eq!(unescape(&body, 0, &mut text), Some(body.len()));
            let text = String::from_utf8(text).unwrap_or_default();
            assert_eq!(serde_json::from_str(&format!("\"{body}")).ok(), Some(text.clone()));
            let mut json = Vec::new();
            write_string(&text, &mut json);
            assert_eq!(String::from_utf8(json).ok(), serde_json::to_string(&text).ok());
        }
    }
}
