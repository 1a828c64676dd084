//! Lists of numbers.

use super::decimal::{first_digits, put, put_long, ready};
use crate::capacity::reserve;
use crate::simd::byte_vector::{ByteVector, Simd, WINDOW, mask};
use crate::simd::level::Portable;
use crate::simd::words::lowest_bit;

/// Bytes of the longest number, and of what stands around it.
const LONGEST: usize = 16;

/// Numbers, or pairs of them, that are written before the room is checked again.
const BLOCK: usize = 64;

/// Digits of a number that are read at once.
const DIGITS: usize = 8;

/// Write `ids` as a JSON array.
pub fn write_ids(ids: &[u32], json: &mut Vec<u8>) {
    let ready = ready();
    write_list(ids, json, |id, block, end| put(ready, *id, block, end));
}

/// Write spans as a JSON array of pairs.
pub fn write_spans(spans: &[[u32; 2]], json: &mut Vec<u8>) {
    let ready = ready();
    write_list(spans, json, |[start, stop], block, end| {
        block[end] = b'[';
        let end = put(ready, *start, block, end + 1);
        let end = put(ready, *stop, block, end);
        block[end - 1..=end].copy_from_slice(b"],");
        end + 1
    });
}

/// Write numbers, such as labels, as a JSON array.
pub fn write_integers(numbers: &[i64], json: &mut Vec<u8>) {
    let ready = ready();
    write_list(numbers, json, |number, block, end| {
        block[end] = b'-';
        let end = end + usize::from(*number < 0);
        match u32::try_from(number.unsigned_abs()) {
            Ok(size) => put(ready, size, block, end),
            Err(_) => put_long(number.unsigned_abs(), block, end),
        }
    });
}

/// Write a number.
pub fn write_number(number: usize, json: &mut Vec<u8>) {
    json.extend_from_slice(number.to_string().as_bytes());
}

/// Write items in brackets; `write` gives each a place in a block, with a comma, and tells where it ends.
#[inline(always)]
fn write_list<T>(items: &[T], json: &mut Vec<u8>, write: impl Fn(&T, &mut [u8], usize) -> usize) {
    // Most numbers take less than twice the bytes that they have in memory.
    reserve(json, 2 * size_of_val(items) + 2);
    json.push(b'[');
    let mut block = [0; 2 * LONGEST * BLOCK];
    for items in items.chunks(BLOCK) {
        let end = items.iter().fold(0, |end, item| write(item, &mut block, end));
        json.extend_from_slice(&block[..end]);
    }
    if items.is_empty() {
        json.push(b']');
    } else if let Some(last) = json.last_mut() {
        *last = b']';
    }
}

/// Read numbers that a comma follows, and perhaps a blank, as long as they have up to seven digits, some bytes lie
/// after them, and there are not many more than `most` in the end. Returns how many bytes they are.
pub(crate) fn read_numbers(text: &[u8], numbers: &mut Vec<u32>, most: usize) -> usize {
    let mut at = 0;
    while let Some(seen) = text[at..].first_chunk().filter(|_| numbers.len() <= most) {
        let (mut block, mut count) = ([0; WINDOW], 0);
        let (length, is_all) = read_window(seen, |number| {
            block[count] = number;
            count += 1;
        });
        numbers.extend_from_slice(&block[..count]);
        at += length;
        if !is_all || length == 0 {
            break;
        }
    }
    at
}

/// Read the numbers of a window that end in it. Returns how many bytes they are, and whether all are read.
#[inline(always)]
fn read_window(seen: &[u8; WINDOW + DIGITS], mut read: impl FnMut(u32)) -> (usize, bool) {
    let mut others = seen.first_chunk().map_or(0, no_digits);
    let mut place = 0;
    while others != 0 {
        // SAFETY: `others` is not zero.
        let comma = unsafe { lowest_bit(others) };
        let count = comma - place;
        let Some(digits) = seen[place..].first_chunk() else { break };
        let zero_leads = count > 1 && digits[0] == b'0';
        if !(1..DIGITS).contains(&count) || zero_leads || seen[comma] != b',' {
            return (place, false);
        }
        read(first_digits(*digits, count));
        others &= others - 1;
        place = comma + 1;
        if seen[place] == b' ' {
            place += 1;
            others &= others.wrapping_sub(1);
        }
    }
    (place, true)
}

/// One bit for each of 64 bytes: set if it is not a digit.
#[inline]
fn no_digits(window: &[u8; WINDOW]) -> u64 {
    // Moved so that the digits are the ten highest signed bytes.
    let (to_highest, below) = (Portable.all(0x7F - b'9'), Portable.all(0x7F - 9));
    mask(Portable, window, |bytes| below.exceeds(bytes.plus(to_highest)))
}

#[cfg(test)]
mod tests {
    use super::super::decimal::tests::numbers;
    use super::*;

    #[test]
    fn lists_are_written_as_anybody_writes_them() {
        let numbers: Vec<u32> = numbers().chain(0..300_000).collect();
        for numbers in [&numbers[..], &[]] {
            let mut json = Vec::new();
            write_ids(numbers, &mut json);
            assert_eq!(String::from_utf8(json).ok(), serde_json::to_string(numbers).ok());
            let spans: Vec<[u32; 2]> = numbers.iter().zip(numbers.iter().rev()).map(|(a, b)| [*a, *b]).collect();
            let mut json = Vec::new();
            write_spans(&spans, &mut json);
            assert_eq!(String::from_utf8(json).ok(), serde_json::to_string(&spans).ok());
        }
    }

    #[test]
    fn few_numbers_are_read_beyond_those_that_are_allowed() {
        let text = "1,".repeat(100_000);
        for most in [0, 1, 1_000] {
            let mut numbers = Vec::new();
            read_numbers(text.as_bytes(), &mut numbers, most);
            assert!((most + 1..=most + WINDOW).contains(&numbers.len()), "{most}: {}", numbers.len());
        }
    }
}
