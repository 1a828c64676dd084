//! Places that no token crosses: both sides of one are encoded alike with and without the other.

use rustc_hash::FxHashSet;

use super::entries::{Entries, char_len};
use crate::model::Cuts;
use crate::vocabulary::Vocabulary;

/// Bits for each pair of characters: fewer would take more pairs for spanned that are not.
const BITS_PER_PAIR: usize = 16;

/// The pairs of characters that some entry has next to each other, and a few more.
#[derive(Debug)]
pub struct Borders {
    /// By two characters of ASCII.
    ascii: Box<[u128; 128]>,
    /// By the hash of a pair of which one is beyond ASCII.
    others: Vec<u64>,
    shift: u32,
    /// Whether two unknown characters next to each other are one token: then only a known one is cut from another.
    fuses: bool,
    /// Characters of ASCII that are entries.
    known: u128,
}

impl Borders {
    /// Collect the pairs of all entries.
    pub fn new(vocabulary: &Vocabulary, entries: &Entries, fuses: bool) -> Self {
        let (mut ascii, mut pairs) = (Box::new([0_u128; 128]), FxHashSet::default());
        for (_, bytes) in vocabulary.tokens() {
            let Ok(text) = std::str::from_utf8(bytes) else { continue };
            for (left, right) in text.chars().zip(text.chars().skip(1)) {
                if left.is_ascii() && right.is_ascii() {
                    ascii[left as usize] |= 1 << right as u32;
                } else {
                    pairs.insert((left as u32, right as u32));
                }
            }
        }
        let bits = (BITS_PER_PAIR * pairs.len()).next_power_of_two().max(64);
        let mut borders =
            Self { ascii, others: vec![0; bits / 64], shift: 64 - bits.trailing_zeros(), fuses, known: 0 };
        for (left, right) in pairs {
            let bit = borders.bit(left, right);
            borders.others[bit / 64] |= 1 << (bit % 64);
        }
        for byte in 0..128_u8 {
            borders.known |= u128::from(entries.get(&[byte]).is_some()) << byte;
        }
        borders
    }

    #[inline(always)]
    fn bit(&self, left: u32, right: u32) -> usize {
        let hash = (u64::from(left) << 32 | u64::from(right)).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        (hash >> self.shift) as usize
    }

    /// Whether `at` is a border of `text`, between the character that begins at `before` and the one behind it.
    #[inline(always)]
    fn is_border(&self, entries: &Entries, text: &[u8], before: usize, at: usize) -> bool {
        let (left, right) = (text[before], text[at]);
        if left.is_ascii() && right.is_ascii() {
            return self.ascii[usize::from(left)] >> right & 1 == 0
                && (!self.fuses || (self.known >> left | self.known >> right) & 1 == 1);
        }
        let bit = self.bit(decode(text, before), decode(text, at));
        self.others[bit / 64] >> (bit % 64) & 1 == 0
            && (!self.fuses || self.is_known(entries, text, before) || self.is_known(entries, text, at))
    }

    fn is_known(&self, entries: &Entries, text: &[u8], at: usize) -> bool {
        let first = text[at];
        if first.is_ascii() {
            return self.known >> first & 1 == 1;
        }
        entries.get(&text[at..(at + char_len(first)).min(text.len())]).is_some()
    }

    /// Whether a word begins at `at`, a beginning of a character.
    pub fn is_at(&self, entries: &Entries, text: &[u8], at: usize) -> bool {
        let before = text[..at].iter().rposition(|byte| byte & 0xC0 != 0x80);
        before.is_none_or(|before| at == text.len() || self.is_border(entries, text, before, at))
    }

    /// The first border behind `start`, a beginning of a character, or the end of the text.
    pub fn next(&self, entries: &Entries, text: &[u8], start: usize) -> usize {
        let (mut before, mut at) = (start, start + char_len(text[start]));
        while at < text.len() && !self.is_border(entries, text, before, at) {
            before = at;
            at += char_len(text[at]);
        }
        at.min(text.len())
    }

    /// Cut a text from `start` to `end` at all borders.
    pub fn cut(&self, entries: &Entries, text: &[u8], start: usize, end: usize, cuts: &mut Cuts) {
        let text = &text[..end];
        let mut at = start;
        while at < end {
            at = self.next(entries, text, at);
            cuts.push(at as u32);
        }
    }
}

/// The character that begins at `at`, as its number or at least as one of its own.
#[inline(always)]
fn decode(text: &[u8], at: usize) -> u32 {
    let byte = |offset: usize| text.get(at + offset).map_or(0, |byte| u32::from(*byte & 0x3F));
    let first = u32::from(text[at]);
    match first {
        ..0x80 => first,
        0x80..0xE0 => (first & 0x1F) << 6 | byte(1),
        0xE0..0xF0 => (first & 0x0F) << 12 | byte(1) << 6 | byte(2),
        _ => (first & 0x07) << 18 | byte(1) << 12 | byte(2) << 6 | byte(3),
    }
}
