//! The pairs of neighbouring characters that some token spans: a Bloom filter with one hash. It misses none, and it may
//! contain pairs that no token spans, which are then not cut although they could be.
//!
//! After a space nothing is cut: some token goes from there to nearly every script, and some of them end within a
//! character.
//!
//! A character is its bytes as one number: the four bytes up to its end, the last one highest, with zeros in the
//! place of what stands before it. A pair is one bit. The right character and the last byte of the left one choose a
//! word, and the other bytes of the left one the bit. So a token that begins inside a character, and has only its
//! last bytes, fills a whole word. Only the right character is hashed, and the byte chooses among the words around:
//! what a script asks for lies in few cache lines.

use rustc_hash::FxHashSet;

use crate::vocabulary::Vocabulary;

/// Bits of the set for each pair in it: about one other pair in as many is left uncut by mistake.
const BITS_A_PAIR: usize = 32;

/// Words of the smallest and of the largest set; as many as there are bytes at the least, since one chooses among them.
const LEAST: usize = 1 << 8;
const MOST: usize = 1 << 16;

/// With more bits than this in the largest set, too little would be cut.
const FULL: usize = MOST * 32 / 4;

/// Bits that only a character of four bytes has; next to such a character nothing is cut.
pub(super) const FAR: u32 = 0xFF;

/// The space, after which nothing is cut either.
const BLANK: u32 = 0x20 << 24;

/// An odd number whose products are mixed in the upper bits.
const MIX: u32 = 0x9E37_79B1;

/// Pairs of neighbours that some token may span.
#[derive(Debug)]
pub(super) struct Crossings {
    /// A power of two of them.
    words: Box<[u32]>,
    /// 32 less the binary logarithm of their number: so a product of 32 bits, shifted right by it, is below that.
    shift: u32,
    /// By the low six bits of the last byte of a left character: the first bytes of three that some token ends with
    /// after it, a bit for the low half of each.
    first_bytes: [u16; 64],
    /// By a character of ASCII: some token has a space after it.
    before_space: [bool; 128],
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
    /// Any character that has one byte after these, whose place is free.
    But(u32),
    /// Any character of three bytes that begins with this one.
    First(u8),
}

impl Crossings {
    /// Learn the crossings of a vocabulary; `None` where there are too many of them.
    pub(super) fn new(vocabulary: &Vocabulary) -> Option<Self> {
        let (mut first_bytes, mut before_space) = ([0; 64], [false; 128]);
        let mut pairs = FxHashSet::default();
        for (_, bytes) in vocabulary.tokens().filter(|(id, _)| !vocabulary.is_opaque(*id)) {
            for at in 1..bytes.len() {
                if bytes[at] == b' ' && bytes[at - 1] < 0x80 {
                    before_space[usize::from(bytes[at - 1])] = true;
                }
                // What is cut nowhere need not be known.
                let uncut = bytes[at - 1] < 0x80 && bytes[at] < 0x80 || bytes[at - 1] == b' ';
                if uncut || is_continuation(bytes[at]) {
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
        let mut crossings = Self { words, shift: u32::BITS - length.trailing_zeros(), first_bytes, before_space };
        for (left, right) in pairs {
            for character in right.characters() {
                let place = crossings.place(left.last() >> 24, character);
                crossings.words[place] |= left.bits();
            }
        }
        Some(crossings)
    }

    /// Tell whether a token may span two neighbours.
    #[inline(always)]
    pub(super) fn has(&self, left: u32, right: u32) -> bool {
        let partly = right & 0xFF00 != 0 && self.has_partly(left, right);
        self.has_whole(left >> 24, right, bit(left)) || partly || left == BLANK || (left | right) & FAR != 0
    }

    /// As [`Self::has`] for a character of ASCII and a space.
    #[inline(always)]
    pub(super) fn has_space(&self, left: u8) -> bool {
        self.before_space[usize::from(left & 0x7F)]
    }

    /// As [`Self::has`] for two characters of two bytes, which lie side by side as `pair`.
    #[inline(always)]
    pub(super) fn has_two(&self, pair: u32) -> bool {
        self.has_whole(pair >> 8 & 0xFF, pair & 0xFFFF_0000, pair)
    }

    /// As [`Self::has`] for two characters of three bytes, of which the first four are `pair` and the last four `last`.
    #[inline(always)]
    pub(super) fn has_three(&self, pair: u32, last: u32) -> bool {
        // Without a branch, which could not be foreseen.
        self.has_whole(last & 0xFF, last & !0xFF, bit(pair << 8)) | self.has_partly(last << 24, last)
    }

    /// Tell whether a token may span two characters, the left one of which has that `last` byte and that [`bit`].
    #[inline(always)]
    fn has_whole(&self, last: u32, right: u32, bit: u32) -> bool {
        // SAFETY: see `place`; `last` is a byte.
        let word = unsafe { *self.words.get_unchecked(self.place(last, right)) };
        word >> (bit & 31) & 1 != 0
    }

    /// Tell whether a token may end with the first byte of `right`, which has three, after `left`.
    #[inline(always)]
    fn has_partly(&self, left: u32, right: u32) -> bool {
        self.first_bytes[(left >> 24 & 0x3F) as usize] >> (right >> 8 & 0x0F) & 1 != 0
    }

    /// The place of the word for a right character after a byte. It is below the number of words, a power of two: that
    /// many are what a product shifted by `shift` may be, and a byte changes only bits that are below it too, since
    /// there are at least [`LEAST`].
    #[inline(always)]
    fn place(&self, last: u32, right: u32) -> usize {
        (right.wrapping_mul(MIX) >> self.shift ^ last) as usize
    }
}

/// Return the number of the bit of a left character in a word, in the lowest five bits: of two bytes the first one's.
#[inline(always)]
fn bit(left: u32) -> u32 {
    (left >> 16).wrapping_add(left >> 5)
}

/// A character of up to four bytes as one number.
pub(super) fn character(bytes: &[u8]) -> u32 {
    bytes.iter().rev().fold(0, |character, byte| character << 8 | u32::from(*byte)) << (8 * (4 - bytes.len()))
}

impl Left {
    /// Return the left side that `bytes` end with, or `None` if it is beyond three bytes or no valid text ends so.
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
            Self::Last(byte) => u32::from(byte) << 24,
        }
    }

    fn bits(self) -> u32 {
        match self {
            Self::Whole(character) => 1 << (bit(character) & 31),
            Self::Last(_) => u32::MAX,
        }
    }
}

impl Right {
    /// Return the right side that `bytes` begin with, or `None` as above.
    fn of(bytes: &[u8]) -> Option<Self> {
        let length = 1 + bytes[1..].iter().take_while(|byte| is_continuation(**byte)).count();
        match expected(bytes[0])? {
            expected if length == expected => Some(Self::Whole(character(&bytes[..length]))),
            // No valid text goes on after a part of a character.
            _ if length < bytes.len() => None,
            expected if length + 1 == expected => Some(Self::But(character(bytes) >> 8)),
            3 => Some(Self::First(bytes[0])),
            _ => None,
        }
    }

    fn characters(self) -> impl ExactSizeIterator<Item = u32> {
        let (first, count) = match self {
            Self::Whole(character) => (character, 1),
            Self::But(bytes) => (bytes | 0x80 << 24, 64),
            Self::First(_) => (0, 0),
        };
        (0..count).map(move |at| first + (at << 24))
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_stands_behind_a_space_takes_no_room() {
        let set_of = |token: &str| {
            let tokens = vec![(0, token.as_bytes().to_vec())];
            let vocabulary = Vocabulary::new(tokens, Vec::new(), Vec::new()).unwrap_or_else(|error| panic!("{error}"));
            Crossings::new(&vocabulary).unwrap_or_else(|| panic!("one pair fits"))
        };
        let has_any =
            |set: &Crossings| set.words.iter().any(|word| *word != 0) || set.first_bytes.iter().any(|bits| *bits != 0);
        assert!(!has_any(&set_of(" д")));
        assert!(has_any(&set_of("aд")));
    }
}
