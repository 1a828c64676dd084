//! Bytes bytes in plain Rust, of which compilers make vectors.

use super::ByteVector;

/// Bytes bytes, whose bits are gathered by multiplications.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Bytes([u8; 16]);

impl Bytes {
    #[inline(always)]
    pub(super) fn load(bytes: &[u8; 16]) -> Self {
        Self(*bytes)
    }

    /// The same byte everywhere.
    #[inline(always)]
    pub(super) fn all(byte: u8) -> Self {
        Self([byte; 16])
    }

    #[inline(always)]
    fn with(mut self, other: Self, change: impl Fn(u8, u8) -> u8) -> Self {
        self.0.iter_mut().zip(other.0).for_each(|(byte, other)| *byte = change(*byte, other));
        self
    }
}

impl ByteVector for Bytes {
    const BYTES: usize = 16;

    #[inline(always)]
    fn or(self, other: Self) -> Self {
        self.with(other, |left, right| left | right)
    }

    #[inline(always)]
    fn plus(self, other: Self) -> Self {
        self.with(other, u8::wrapping_add)
    }

    #[inline(always)]
    fn is(self, other: Self) -> Self {
        self.with(other, |left, right| u8::from(left == right).wrapping_neg())
    }

    #[inline(always)]
    fn exceeds(self, other: Self) -> Self {
        self.with(other, |left, right| u8::from(left as i8 > right as i8).wrapping_neg())
    }

    #[inline(always)]
    fn high_bits(self) -> u64 {
        // Bit 7 of byte n goes to bit 56 + n; nothing else reaches the highest byte, and no two bits meet.
        let bits = |word: u64| (word >> 7 & 0x0101_0101_0101_0101).wrapping_mul(0x0102_0408_1020_4080) >> 56;
        let both = u128::from_le_bytes(self.0);
        bits(both as u64) | bits((both >> 64) as u64) << 8
    }
}
