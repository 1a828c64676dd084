//! Sixteen bytes by NEON, which every machine of this kind has.

use core::arch::aarch64::{
    uint8x16_t, vaddq_u8, vaddv_u8, vandq_u8, vceqq_u8, vcgtq_s8, vdupq_n_u8, vget_high_u8, vget_low_u8, vld1q_u8,
    vorrq_u8, vreinterpretq_s8_u8, vreinterpretq_u8_s8, vshrq_n_s8,
};

use super::ByteVector;

/// The bit of each byte among those of its half.
static BITS: [u8; 16] = [1, 2, 4, 8, 16, 32, 64, 128, 1, 2, 4, 8, 16, 32, 64, 128];

/// A register of them.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Bytes(uint8x16_t);

impl Bytes {
    #[inline(always)]
    pub(super) fn load(bytes: &[u8; 16]) -> Self {
        // SAFETY: there are sixteen bytes; any alignment will do.
        Self(unsafe { vld1q_u8(bytes.as_ptr()) })
    }

    /// The same byte everywhere.
    #[inline(always)]
    pub(super) fn all(byte: u8) -> Self {
        // SAFETY: every machine of this kind has NEON, as for those below.
        Self(unsafe { vdupq_n_u8(byte) })
    }
}

impl ByteVector for Bytes {
    const BYTES: usize = 16;

    operations! { or: vorrq_u8, plus: vaddq_u8, is: vceqq_u8 }

    #[inline(always)]
    fn exceeds(self, other: Self) -> Self {
        // SAFETY: as above.
        Self(unsafe { vcgtq_s8(vreinterpretq_s8_u8(self.0), vreinterpretq_s8_u8(other.0)) })
    }

    #[inline(always)]
    fn high_bits(self) -> u64 {
        // SAFETY: as above.
        unsafe {
            // The highest bit fills its byte, of which the bit of the place is kept: the sum of a half holds its eight.
            let filled = vreinterpretq_u8_s8(vshrq_n_s8::<7>(vreinterpretq_s8_u8(self.0)));
            let bits = vandq_u8(filled, Self::load(&BITS).0);
            u64::from(vaddv_u8(vget_low_u8(bits))) | u64::from(vaddv_u8(vget_high_u8(bits))) << 8
        }
    }
}
