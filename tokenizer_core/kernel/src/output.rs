//! Sinks for ids: a vector, a count, JSON digits.

use std::ops::Range;

use crate::encode::Sink;
use crate::piece_cache::IDS_LIMIT;

impl Sink for Vec<u32> {
    fn added(&mut self, id: u32, _source: Range<usize>) {
        self.push(id);
    }

    #[inline]
    fn few(&mut self, ids: [u32; IDS_LIMIT], count: usize) {
        // A copy of fixed size and a shorter length: cheaper than a copy of `count`.
        let end = self.len() + count;
        self.extend_from_slice(&ids);
        self.truncate(end);
    }

    #[inline]
    fn many(&mut self, ids: &[u32]) {
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

    #[inline]
    fn few(&mut self, _ids: [u32; IDS_LIMIT], count: usize) {
        self.0 += count;
    }

    #[inline]
    fn many(&mut self, ids: &[u32]) {
        self.0 += ids.len();
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

/// Write `ids` as a JSON array. Ids are below 10^8, as `vocabulary::MAX_IDS` promises.
pub fn write_json(ids: &[u32], json: &mut Vec<u8>) {
    json.reserve(ids.len() * 7 + 2);
    json.push(b'[');
    for id in ids {
        push_digits(*id, json);
        json.push(b',');
    }
    if ids.is_empty() {
        json.push(b']');
    } else if let Some(last) = json.last_mut() {
        *last = b']';
    }
}

const _: () = assert!(crate::vocabulary::MAX_IDS < 100_000_000);

#[inline]
fn push_digits(id: u32, json: &mut Vec<u8>) {
    let (high, low) = ((id / 10_000) as usize, (id % 10_000) as usize);
    if high > 0 {
        json.extend_from_slice(significant(high));
        json.extend_from_slice(&FOUR_DIGITS[low]);
    } else {
        json.extend_from_slice(significant(low));
    }
}

/// The digits of a number below 10,000 without leading zeros.
#[inline]
fn significant(number: usize) -> &'static [u8] {
    let zeros = usize::from(number < 1_000) + usize::from(number < 100) + usize::from(number < 10);
    &FOUR_DIGITS[number][zeros..]
}
