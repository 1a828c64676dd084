//! Which neighbouring characters some token spans, as a set that errs on one side only: it may hold pairs that no token
//! spans, which are then not cut though they could be, and it misses none.
//!
//! Behind a space nothing is cut: some token goes from there to nearly every script, and some of them end within a character.
//!
//! A character is its bytes as one number, the last byte lowest. A pair is a bit: the right character and the last byte of
//! the left one choose a word, the other bytes of the left one a bit of it. So a token that begins inside a character, of
//! which it has the last bytes alone, fills a word.

use rustc_hash::FxHashSet;

use crate::vocabulary::Vocabulary;

/// The set is of so many bits for each that is in it, so about one pair in as many is left uncut in vain.
const BITS_A_PAIR: usize = 32;

/// Words of the smallest set and of the largest one.
const LEAST: usize = 1 << 8;
const MOST: usize = 1 << 16;

/// Of a set of which more is full too little is cut.
const FULL: usize = MOST * 32 / 4;

/// From here on a character has four bytes; next to such a one nothing is cut.
pub(super) const FAR: u32 = 1 << 24;

/// The space, behind which nothing is cut either.
pub(super) const BLANK: u32 = 0x20;

/// Odd numbers whose products are mixed in the upper bits.
pub(super) const MIX_RIGHT: u32 = 0x9E37_79B1;
pub(super) const MIX_LAST: u32 = 0x85EB_CA6B;
pub(super) const MIX_OTHERS: u32 = 0xC2B2_AE35;

/// Pairs of neighbours that some token may span.
#[derive(Debug)]
pub(super) struct Crossings {
    /// As many as a power of two.
    pub(super) words: Box<[u32]>,
    /// A product moved down by so much is the place of a word.
    pub(super) shift: u32,
    /// By the low six bits of the last byte of a left character: the first bytes of three that some token ends with behind
    /// it, a bit for the low half of each.
    pub(super) first_bytes: [u16; 64],
}

/// One side of a pair as a token shows it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Left {
    Whole(u32),
    /// Any character that ends with this byte.
    Last(u8),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Right {
    Whole(u32),
    /// Any character that has one byte behind these.
    But(u32),
    /// Any character of three bytes that begins with this one.
    First(u8),
}

impl Crossings {
    /// Learn the crossings of a vocabulary; `None` where there are too many of them.
    pub(super) fn new(vocabulary: &Vocabulary) -> Option<Self> {
        let mut first_bytes = [0; 64];
        let mut pairs = FxHashSet::default();
        for (id, bytes) in vocabulary.tokens() {
            for at in 1..bytes.len() {
                // What is cut nowhere need not be known.
                let ascii = bytes[at - 1] < 0x80 && bytes[at] < 0x80 || u32::from(bytes[at - 1]) == BLANK;
                if ascii || is_continuation(bytes[at]) || vocabulary.is_opaque(id) {
                    continue;
                }
                match (Left::of(&bytes[..at]), Right::of(&bytes[at..])) {
                    (Some(_), Some(Right::First(first))) => {
                        first_bytes[usize::from(bytes[at - 1] & 0x3F)] |= 1 << (first & 0x0F);
                    }
                    (Some(left), Some(right)) => {
                        pairs.insert((left, right));
                    }
                    _ => (),
                }
            }
        }
        let bits = pairs.iter().map(|(left, right)| left.bits().count_ones() as usize * right.characters().len());
        let bits = bits.sum::<usize>();
        if bits > FULL {
            return None;
        }
        let length = (bits * BITS_A_PAIR / 32).next_power_of_two().clamp(LEAST, MOST);
        let words = vec![0; length].into_boxed_slice();
        let mut crossings = Self { words, shift: u32::BITS - length.trailing_zeros(), first_bytes };
        for (left, right) in pairs {
            for character in right.characters() {
                let place = crossings.place(left.last(), character);
                crossings.words[place] |= left.bits();
            }
        }
        Some(crossings)
    }

    /// Whether a token may span two neighbours.
    #[inline(always)]
    pub(super) fn has(&self, left: u32, right: u32) -> bool {
        let known = self.words[self.place(left, right)] >> bit(left) & 1 != 0;
        let partly = self.first_bytes[left as usize & 0x3F] >> (right >> 16 & 0x0F) & 1 != 0;
        // Without a branch, which could not be foreseen.
        known | (partly & (right >> 16 != 0)) | (left == BLANK) | ((left | right) >= FAR)
    }

    #[inline(always)]
    fn place(&self, left: u32, right: u32) -> usize {
        let mixed = right.wrapping_mul(MIX_RIGHT).wrapping_add((left & 0xFF).wrapping_mul(MIX_LAST));
        (mixed >> self.shift) as usize
    }
}

/// Which bit of a word stands for a left character.
#[inline(always)]
fn bit(left: u32) -> u32 {
    (left >> 8).wrapping_mul(MIX_OTHERS) >> 27
}

/// A character as one number.
fn character(bytes: &[u8]) -> u32 {
    bytes.iter().fold(0, |character, byte| character << 8 | u32::from(*byte))
}

impl Left {
    /// What `bytes` end with, or `None` if it is beyond three bytes or no valid text ends so.
    fn of(bytes: &[u8]) -> Option<Self> {
        let tail = bytes.iter().rev().take_while(|byte| is_continuation(**byte)).count();
        if tail == bytes.len() {
            return bytes.last().filter(|_| tail < 3).map(|last| Self::Last(*last));
        }
        let whole = &bytes[bytes.len() - tail - 1..];
        (expected(whole[0]) == Some(whole.len())).then(|| Self::Whole(character(whole)))
    }

    fn last(self) -> u32 {
        match self {
            Self::Whole(character) => character,
            Self::Last(byte) => u32::from(byte),
        }
    }

    fn bits(self) -> u32 {
        match self {
            Self::Whole(character) => 1 << bit(character),
            Self::Last(_) => u32::MAX,
        }
    }
}

impl Right {
    /// What `bytes` begin with, or `None` as above.
    fn of(bytes: &[u8]) -> Option<Self> {
        let length = 1 + bytes[1..].iter().take_while(|byte| is_continuation(**byte)).count();
        match expected(bytes[0])? {
            expected if length == expected => Some(Self::Whole(character(&bytes[..length]))),
            // No valid text goes on behind a part of a character.
            _ if length < bytes.len() => None,
            expected if length + 1 == expected => Some(Self::But(character(bytes))),
            3 => Some(Self::First(bytes[0])),
            _ => None,
        }
    }

    fn characters(self) -> impl ExactSizeIterator<Item = u32> {
        let (first, count) = match self {
            Self::Whole(character) => (character, 1),
            Self::But(bytes) => (bytes << 8 | 0x80, 64),
            Self::First(_) => (0, 0),
        };
        (0..count).map(move |at| first + at)
    }
}

/// The bytes of a character of up to three that begins with `first`.
fn expected(first: u8) -> Option<usize> {
    match first {
        0x00..=0x7F => Some(1),
        0xC2..=0xDF => Some(2),
        0xE0..=0xEF => Some(3),
        _ => None,
    }
}

fn is_continuation(byte: u8) -> bool {
    byte & 0xC0 == 0x80
}
