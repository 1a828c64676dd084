//! Sinks for ids: a vector, a count, JSON digits.

use std::ops::Range;

use crate::sink::Sink;

impl Sink for Vec<u32> {
    fn added(&mut self, id: u32, _source: Range<usize>) {
        self.push(id);
    }

    #[inline]
    fn pieces(&mut self, ids: &[u32]) {
        self.extend_from_slice(ids);
    }
}

/// How many ids there are, without the ids.
#[derive(Debug, Default)]
pub struct Count(pub usize);

impl Sink for Count {
    fn added(&mut self, _id: u32, _source: Range<usize>) {
        self.0 += 1;
    }

    const COUNTS: bool = true;

    #[inline]
    fn pieces(&mut self, ids: &[u32]) {
        self.0 += ids.len();
    }

    #[inline]
    fn counted(&mut self, ids: usize) {
        self.0 += ids;
    }
}

/// Four decimal digits of every number below 10,000.
static FOUR_DIGITS: [[u8; 4]; 10_000] = four_digits();

const fn four_digits() -> [[u8; 4]; 10_000] {
    let mut table = [[0; 4]; 10_000];
    let mut number = 0;
    while number < 10_000 {
        let (high, low) = (number / 100, number % 100);
        table[number] =
            [b'0' + (high / 10) as u8, b'0' + (high % 10) as u8, b'0' + (low / 10) as u8, b'0' + (low % 10) as u8];
        number += 1;
    }
    table
}

/// Ids that are written between two looks at the room there is.
const BLOCK: usize = 64;

/// Write `ids` as a JSON array. Ids are below `vocabulary::MAX_IDS`.
pub fn write_json(ids: &[u32], json: &mut Vec<u8>) {
    json.reserve(ids.len() * 8 + 2);
    json.push(b'[');
    let mut block = [0; 8 * BLOCK];
    for ids in ids.chunks(BLOCK) {
        let mut end = 0;
        for id in ids {
            let (word, length) = digits_and_comma(*id);
            // A copy of fixed size that the next one overlaps: cheaper than a copy of `length`.
            block[end..end + 8].copy_from_slice(&word.to_le_bytes());
            end += length;
        }
        json.extend_from_slice(&block[..end]);
    }
    if ids.is_empty() {
        json.push(b']');
    } else if let Some(last) = json.last_mut() {
        *last = b']';
    }
}

/// Write a number in decimal.
#[inline]
pub fn write_number(number: u64, json: &mut Vec<u8>) {
    const SEVEN_DIGITS: u64 = 10_000_000;
    if number < SEVEN_DIGITS {
        let (word, length) = digits_and_comma(number as u32);
        json.extend_from_slice(&word.to_le_bytes()[..length - 1]);
    } else {
        json.extend_from_slice(number.to_string().as_bytes());
    }
}

// Seven digits and a comma fill a word.
const _: () = assert!(crate::vocabulary::MAX_IDS < 10_000_000);

/// The digits of a number below 10^7 and a comma, first byte lowest, and how many bytes they are.
///
/// Without a branch, for how long an id is cannot be foreseen.
#[inline]
fn digits_and_comma(number: u32) -> (u64, usize) {
    const ZEROS: u64 = u64::from_le_bytes([b'0'; 8]);
    // The last of eight digits is written even if it is a zero.
    const LAST: u64 = 1 << 56;
    let digits = four_digits_of(number / 10_000) | four_digits_of(number % 10_000) << 32;
    let zeros = ((digits ^ ZEROS) | LAST).trailing_zeros() / 8;
    let length = 8 - zeros;
    (digits >> (8 * zeros) | u64::from(b',') << (8 * length), length as usize + 1)
}

#[inline]
fn four_digits_of(number: u32) -> u64 {
    u64::from(u32::from_le_bytes(FOUR_DIGITS[number as usize]))
}
