//! Numbers in decimal, eight bytes at a time, by arithmetic within a word: written as Paul Khuong does ("AppNexus
//! Common Framework: it's out! (also how to print integers faster)", 2017), read as in Daniel Lemire's "Quickly parsing
//! eight digits" (2018). The length of the next number is unpredictable, so no branch depends on it.

use once_cell::race::OnceBox;

/// Numbers below this are [`READY`]: most ids, and places in most texts.
const READY_BELOW: u32 = 1 << 18;

/// Numbers below this have so few digits that they fill a word with a comma.
const WORD_BELOW: u32 = 10_000_000;

/// By number: its digits and a comma, the first byte lowest, and in the highest byte how many bytes these are.
/// `OnceBox` and not `OnceLock`: after a fork, a thread that was making the value may not exist, and nobody must wait
/// for it.
static READY: OnceBox<Box<[u64]>> = OnceBox::new();

/// Above six digits and a comma.
const LENGTH_SHIFT: u32 = 56;

const _: () = assert!(READY_BELOW <= 1_000_000);

/// A byte of each value in a word.
const ONES: u64 = u64::MAX / 0xFF;
const ZEROS: u64 = ONES * b'0' as u64;
const HIGHS: u64 = ONES << 7;

/// The table that [`put`] takes.
pub(super) fn ready() -> &'static [u64] {
    let ready = |number| {
        let (word, length) = word(number);
        word | (length as u64) << LENGTH_SHIFT
    };
    READY.get_or_init(|| Box::new((0..READY_BELOW).map(ready).collect()))
}

/// Write a number and a comma to `block` at `end`, and return where they end.
#[inline(always)]
pub(super) fn put(ready: &[u64], number: u32, block: &mut [u8], end: usize) -> usize {
    let (word, length) = match ready.get(number as usize) {
        Some(word) => (*word, (word >> LENGTH_SHIFT) as usize),
        None if number < WORD_BELOW => word(number),
        None => return put_long(u64::from(number), block, end),
    };
    // A copy of fixed size that the next one overlaps: cheaper than a copy of `length`.
    block[end..end + 8].copy_from_slice(&word.to_le_bytes());
    end + length
}

/// As [`put`], for any number.
#[cold]
pub(super) fn put_long(number: u64, block: &mut [u8], end: usize) -> usize {
    let digits = number.to_string();
    let comma = end + digits.len();
    block[end..comma].copy_from_slice(digits.as_bytes());
    block[comma] = b',';
    comma + 1
}

/// The digits of a number below [`WORD_BELOW`] and a comma, first byte lowest, and how many bytes they are.
fn word(number: u32) -> (u64, usize) {
    // Eight digits: two numbers of four of them, four of two, eight of one, the first lowest.
    let (high, low) = (u64::from(number / 10_000), u64::from(number % 10_000));
    let fours = high | low << 32;
    let hundreds = ((fours * 10_486) >> 20) & 0x7F_0000_007F;
    let twos = hundreds | (fours - hundreds * 100) << 16;
    let tens = ((twos * 103) >> 10) & 0x000F_000F_000F_000F;
    let digits = tens | (twos - tens * 10) << 8;
    // The last digit is written even if it is a zero.
    let zeros = (digits | 1 << 56).trailing_zeros() / 8;
    let length = 8 - zeros;
    ((digits | ZEROS) >> (8 * zeros) | u64::from(b',') << (8 * length), length as usize + 1)
}

/// The number that eight bytes of text begin with, and how many digits it has there.
#[inline]
pub(crate) fn leading_number(text: [u8; 8]) -> (u32, usize) {
    let digits = u64::from_le_bytes(text) ^ ZEROS;
    // What is above nine carries into the highest bit of its byte.
    let others = (((digits & !HIGHS) + ONES * (0x80 - 10)) | digits) & HIGHS;
    let count = others.trailing_zeros() as usize / 8;
    if count == 0 { (0, 0) } else { (first_digits(text, count), count) }
}

/// The number that the first `count` of eight bytes are, all of them digits; at least one.
#[inline(always)]
pub(super) fn first_digits(text: [u8; 8], count: usize) -> u32 {
    // Zeros lead it now. Sums of neighbours: four numbers of two digits, two of four, one of eight.
    let digits = (u64::from_le_bytes(text) ^ ZEROS) << (64 - 8 * count);
    let twos = (digits.wrapping_mul(10 << 8 | 1) >> 8) & 0x00FF_00FF_00FF_00FF;
    let fours = (twos.wrapping_mul(100 << 16 | 1) >> 16) & 0x0000_FFFF_0000_FFFF;
    (fours.wrapping_mul(10_000 << 32 | 1) >> 32) as u32
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// Numbers of all lengths: powers of ten and their neighbours, and many between them.
    pub(in crate::json) fn numbers() -> impl Iterator<Item = u32> {
        let borders = (0..10).map(|exponent| 10_u32.pow(exponent));
        let near = borders.flat_map(|border| [border - 1, border, border + 1]);
        near.chain([READY_BELOW - 1, READY_BELOW, u32::MAX]).chain((0..u32::MAX).step_by(65_521))
    }

    #[test]
    fn a_number_is_read_up_to_any_other_byte() {
        for number in numbers() {
            for behind in 0..=u8::MAX {
                let mut text = [behind; 8];
                let digits = number.to_string().into_bytes();
                let fits = digits.len().min(8);
                text[..fits].copy_from_slice(&digits[..fits]);
                let count = text.iter().position(|byte| !byte.is_ascii_digit()).unwrap_or(8);
                let value = text[..count].iter().fold(0, |value, digit| value * 10 + u32::from(digit - b'0'));
                assert_eq!(leading_number(text), (value, count), "{text:?}");
                assert_eq!(leading_number([behind; 8]).1 > 0, behind.is_ascii_digit());
            }
        }
    }
}
