//! Places that no token crosses: both sides of one are encoded alike with and without the other.

use rustc_hash::FxHashSet;

use super::entries::{Entries, char_len};
use super::is_char_start;
use crate::model::Cuts;
use crate::unicode::utf8::{decode, previous};
use crate::vocabulary::Vocabulary;

/// Bits for each pair of characters: fewer would take more pairs for spanned that are not.
const BITS_PER_PAIR: usize = 16;

/// The character that words begin with in nearly every vocabulary.
const SPACE: u32 = '▁' as u32;

/// The pairs of characters that some entry has next to each other, and a few more.
#[derive(Debug)]
pub struct SafeBorders {
    /// By two characters of ASCII: whether there is a border between them.
    ascii: Box<[[bool; 128]; 128]>,
    /// By a character of ASCII: whether there is one between it and `▁`, and between `▁` and it.
    before_space: [bool; 128],
    after_space: [bool; 128],
    /// By the hash of a pair of which one is beyond ASCII: whether an entry spans it.
    others: Vec<u64>,
    shift: u32,
    /// True if two unknown characters next to each other are one token: then only a known one is cut from another.
    fuses: bool,
    /// Characters of ASCII that are entries.
    known: u128,
}

impl SafeBorders {
    /// Collect the pairs of all entries.
    pub fn new(vocabulary: &Vocabulary, entries: &Entries, fuses: bool) -> Self {
        let (mut ascii, mut pairs) = (Box::new([[true; 128]; 128]), FxHashSet::default());
        for (_, bytes) in vocabulary.tokens() {
            let Ok(text) = std::str::from_utf8(bytes) else { continue };
            for (left, right) in text.chars().zip(text.chars().skip(1)) {
                if left.is_ascii() && right.is_ascii() {
                    ascii[left as usize][right as usize] = false;
                } else {
                    pairs.insert((left as u32, right as u32));
                }
            }
        }
        let bits = (BITS_PER_PAIR * pairs.len()).next_power_of_two().max(64);
        let (others, shift) = (vec![0; bits / 64], 64 - bits.trailing_zeros());
        let (before_space, after_space) = ([false; 128], [false; 128]);
        let mut borders = Self { ascii, before_space, after_space, others, shift, fuses, known: 0 };
        for (left, right) in pairs {
            let bit = borders.bit(left, right);
            borders.others[bit / 64] |= 1 << (bit % 64);
        }
        for byte in 0..128_u8 {
            borders.known |= u128::from(entries.get(&[byte]).is_some()) << byte;
        }
        for left in 0..128 {
            for right in 0..128 {
                let is_cut = !fuses || (borders.known >> left | borders.known >> right) & 1 == 1;
                borders.ascii[left][right] &= is_cut;
            }
            let text = [&[left as u8], "▁".as_bytes(), &[left as u8]].concat();
            borders.before_space[left] = borders.is_other_border(entries, &text, 0, 1);
            borders.after_space[left] = borders.is_other_border(entries, &text, 1, 4);
        }
        borders
    }

    #[inline(always)]
    fn bit(&self, left: u32, right: u32) -> usize {
        let hash = (u64::from(left) << 32 | u64::from(right)).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        (hash >> self.shift) as usize
    }

    /// Tell whether there is a border of `text` at `at`, between the character that begins at `before` and the one
    /// behind it, which are these.
    #[inline(always)]
    fn is_border(&self, entries: &Entries, text: &[u8], [before, at]: [usize; 2], [left, right]: [u32; 2]) -> bool {
        match (left, right) {
            (..0x80, ..0x80) => self.ascii[left as usize][right as usize],
            (..0x80, SPACE) => self.before_space[left as usize],
            (SPACE, ..0x80) => self.after_space[right as usize],
            _ => {
                let bit = self.bit(left, right);
                self.others[bit / 64] >> (bit % 64) & 1 == 0 && self.parts_unknown(entries, text, before, at)
            }
        }
    }

    /// The same for a pair of which one is beyond ASCII, without tables.
    fn is_other_border(&self, entries: &Entries, text: &[u8], before: usize, at: usize) -> bool {
        let bit = self.bit(code(text, before), code(text, at));
        self.others[bit / 64] >> (bit % 64) & 1 == 0 && self.parts_unknown(entries, text, before, at)
    }

    /// Tell whether a border here does not split what would be one unknown token.
    fn parts_unknown(&self, entries: &Entries, text: &[u8], before: usize, at: usize) -> bool {
        !self.fuses || self.is_known(entries, text, before) || self.is_known(entries, text, at)
    }

    fn is_known(&self, entries: &Entries, text: &[u8], at: usize) -> bool {
        let first = text[at];
        if first.is_ascii() {
            return self.known >> first & 1 == 1;
        }
        entries.get(&text[at..(at + char_len(first)).min(text.len())]).is_some()
    }

    /// Tell whether a word begins at `at`: never within a character, whose bytes may be tokens.
    pub fn is_at(&self, entries: &Entries, text: &[u8], at: usize) -> bool {
        let (Some(first), Some(before)) = (text.get(at), previous(text, at)) else { return true };
        is_char_start(*first) && self.is_border(entries, text, [before, at], [code(text, before), code(text, at)])
    }

    /// The first border behind `start`, a beginning of a character, or the end of the text.
    pub fn next(&self, entries: &Entries, text: &[u8], start: usize) -> usize {
        let mut end = text.len();
        self.each(entries, text, start, |border| {
            end = border;
            false
        });
        end
    }

    /// Give each border behind `start`, the end of the text last, as long as `go_on` says so.
    #[inline(always)]
    fn each(&self, entries: &Entries, text: &[u8], start: usize, mut go_on: impl FnMut(usize) -> bool) {
        let Some(first) = text.get(start) else { return };
        let (mut left, length) = decode(text, start, *first);
        let (mut before, mut at) = (start, start + length);
        while at < text.len() {
            let (right, length) = decode(text, at, text[at]);
            if self.is_border(entries, text, [before, at], [left, right]) && !go_on(at) {
                return;
            }
            (before, left) = (at, right);
            at += length;
        }
        go_on(text.len());
    }

    /// Cut a text from `start` to `end` at all borders.
    pub fn cut(&self, entries: &Entries, text: &[u8], start: usize, end: usize, cuts: &mut Cuts) {
        self.each(entries, &text[..end], start, |border| {
            cuts.push(border as u32);
            true
        });
    }
}

#[inline(always)]
fn code(text: &[u8], at: usize) -> u32 {
    decode(text, at, text[at]).0
}
