//! Sixteen bytes by NEON, which every machine of this kind has.

use core::arch::aarch64::{
    uint8x16_t, vaddq_u8, vaddv_u8, vandq_u8, vceqq_u8, vcgtq_s8, vdupq_n_u8, vget_high_u8, vget_low_u8, vld1q_u8,
    vorrq_u8, vreinterpretq_s8_u8, vreinterpretq_u8_s8, vshrq_n_s8,
};

use super::ByteVector;

/// The bit of each byte among those of its half.
static BITS: [u8; 16] = [1, 2, 4, 8, 16, 32, 64, 128, 1, 2, 4, 8, 16, 32, 64, 128];

impl ByteVector for uint8x16_t {
    const BYTES: usize = 16;

    #[inline(always)]
    unsafe fn load(from: *const u8) -> Self {
        // SAFETY: the caller's promise; any alignment will do.
        unsafe { vld1q_u8(from) }
    }

    #[inline(always)]
    unsafe fn all(byte: u8) -> Self {
        // SAFETY: every machine of this kind has NEON, as for all of these.
        unsafe { vdupq_n_u8(byte) }
    }

    #[inline(always)]
    unsafe fn or(self, other: Self) -> Self {
        // SAFETY: as above.
        unsafe { vorrq_u8(self, other) }
    }

    #[inline(always)]
    unsafe fn plus(self, other: Self) -> Self {
        // SAFETY: as above.
        unsafe { vaddq_u8(self, other) }
    }

    #[inline(always)]
    unsafe fn is(self, other: Self) -> Self {
        // SAFETY: as above.
        unsafe { vceqq_u8(self, other) }
    }

    #[inline(always)]
    unsafe fn exceeds(self, other: Self) -> Self {
        // SAFETY: as above.
        unsafe { vcgtq_s8(vreinterpretq_s8_u8(self), vreinterpretq_s8_u8(other)) }
    }

    #[inline(always)]
    unsafe fn high_bits(self) -> u64 {
        // SAFETY: as above; there are sixteen bits to load.
        unsafe {
            // The highest bit fills its byte, of which the bit of the place is kept: the sum of a half holds its eight.
            let filled = vreinterpretq_u8_s8(vshrq_n_s8::<7>(vreinterpretq_s8_u8(self)));
            let bits = vandq_u8(filled, vld1q_u8(BITS.as_ptr()));
            u64::from(vaddv_u8(vget_low_u8(bits))) | u64::from(vaddv_u8(vget_high_u8(bits))) << 8
        }
    }
}
