//! Keys of pieces: they contain the whole piece, so equal keys are equal pieces.

use crate::simd::words::sixteen;

/// Longest piece that has a [`Key`], in bytes.
pub const KEY_LIMIT: usize = 15;

/// Longest piece that has a [`WideKey`], in bytes.
pub const WIDE_LIMIT: usize = 31;

/// A piece as one word: 15 bytes of text, then 4 bits of length and one bit for its kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(transparent)]
pub struct Key(pub(super) u128);

/// The shift of the highest byte.
const LENGTH_SHIFT: u32 = 120;
/// A bit of the byte above the text: the piece is a part.
pub(crate) const PART_BIT: u32 = 4;
const PART_SHIFT: u32 = LENGTH_SHIFT + PART_BIT;
/// As [`PART_BIT`], for a [`WideKey`].
const WIDE_PART_BIT: u32 = 7;

/// The parts of a key that depend on the length of its piece.
#[derive(Debug, Clone, Copy)]
struct KeyShape {
    /// The bytes that belong to the piece.
    mask: u128,
    /// The length, above the text. It is 0 for a longer piece, and no piece with a key has that.
    tag: u128,
}

/// By length; all that are longer have the same one.
const SHAPES: [KeyShape; 2 * (KEY_LIMIT + 1)] = {
    let mut shapes = [KeyShape { mask: u128::MAX >> 8, tag: 0 }; 2 * (KEY_LIMIT + 1)];
    let mut length = 0;
    while length <= KEY_LIMIT {
        shapes[length] = KeyShape { mask: (1 << (8 * length)) - 1, tag: (length as u128) << LENGTH_SHIFT };
        length += 1;
    }
    shapes
};

impl Key {
    /// The key of no piece, since none is empty.
    pub const EMPTY: Self = Self(0);

    /// From a word of the text, zeros, and the length in the highest byte.
    #[inline(always)]
    pub(crate) fn of_word(word: u128) -> Self {
        Self(word)
    }

    /// Tell whether a whole piece can have it.
    #[inline(always)]
    pub(crate) fn is_short(self) -> bool {
        (1..=KEY_LIMIT as u128).contains(&(self.0 >> LENGTH_SHIFT))
    }

    /// The same bytes as a whole piece.
    #[inline(always)]
    pub fn whole(self) -> Self {
        Self(self.0 & !(1 << PART_SHIFT))
    }

    /// The key of `text[start..end]`, or `None` if the piece is too long.
    ///
    /// `part` tells a part of a piece from a whole one: only whole pieces are looked up as tokens before they are
    /// merged, so the same bytes can have other ids.
    #[inline]
    pub fn new(text: &[u8], start: usize, end: usize, part: bool) -> Option<Self> {
        (end - start <= KEY_LIMIT).then(|| Self::or_none(text, start, end, part))
    }

    /// The key of `text[start..end]`, or one that no piece has if it is too long.
    #[inline(always)]
    pub fn or_none(text: &[u8], start: usize, end: usize, part: bool) -> Self {
        Self::clipped(sixteen(text, start), (end - start).min(KEY_LIMIT + 1)).or_part(part)
    }

    /// The key of a piece of `clipped` bytes that begins with `bytes`. Lengths are clipped to 16, and 16 gives a key
    /// that no piece has.
    #[inline(always)]
    pub(crate) fn clipped(bytes: u128, clipped: usize) -> Self {
        let KeyShape { mask, tag } = SHAPES[clipped % SHAPES.len()];
        Self(bytes & mask | tag)
    }

    /// The same bytes, as a part of a piece if `part`.
    #[inline(always)]
    pub(crate) fn or_part(self, part: bool) -> Self {
        Self(self.0 | u128::from(part) << PART_SHIFT)
    }

    /// As words of four bytes.
    #[cfg(test)]
    pub(crate) fn words(self) -> [u32; 4] {
        std::array::from_fn(|word| (self.0 >> (32 * word)) as u32)
    }
    #[inline(always)]
    pub(crate) fn hash(self) -> u64 {
        mix(self.0)
    }

    /// A number below `1 << bits` that depends on the whole key, shifted left by `up`. Both together are less than 64.
    #[inline(always)]
    pub fn place(self, bits: u32, up: u32) -> usize {
        // One shift in place of two.
        (self.hash() >> (u64::BITS - bits - up)) as usize & !((1 << up) - 1)
    }
}

/// A piece as two words: 31 bytes of text, then a byte of its length and kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct WideKey(pub(super) [u128; 2]);

impl WideKey {
    /// The key of `text[start..end]`, or `None` if the piece is too long.
    #[inline]
    pub fn new(text: &[u8], start: usize, end: usize, part: bool) -> Option<Self> {
        let length = end - start;
        if length > WIDE_LIMIT {
            return None;
        }
        let low = sixteen(text, start);
        let tag = u128::from(Self::tag(length, part)) << LENGTH_SHIFT;
        Some(Self(if length <= KEY_LIMIT {
            [low & SHAPES[length].mask, tag]
        } else {
            [low, sixteen(text, start + 16) & SHAPES[length - 16].mask | tag]
        }))
    }

    /// The highest byte.
    #[inline(always)]
    pub(crate) fn tag(length: usize, part: bool) -> u8 {
        length as u8 | u8::from(part) << WIDE_PART_BIT
    }

    /// Its first sixteen bytes, by which a bucket that has it is found.
    #[inline(always)]
    pub(crate) fn first(self) -> Key {
        Key(self.0[0])
    }

    #[inline(always)]
    pub(crate) fn hash(self) -> u64 {
        mix(self.0[0] ^ u128::from(mix(self.0[1])))
    }
}

/// The factors of the low and the high half of a key.
pub(crate) const MULTIPLIERS: [u64; 2] = [0x9E37_79B9_7F4A_7C15, 0xD6E8_FEB8_6659_FD93];

/// A hash whose upper bits are well mixed.
#[inline(always)]
pub(super) fn mix(word: u128) -> u64 {
    let (low, high) = (word as u64, (word >> 64) as u64);
    low.wrapping_mul(MULTIPLIERS[0]).wrapping_add(high.wrapping_mul(MULTIPLIERS[1]))
}
