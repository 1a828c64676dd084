//! Sixteen bytes by SSE2, which every machine of this kind has.

use core::arch::x86_64::{
    __m128i, _mm_add_epi8, _mm_cmpeq_epi8, _mm_cmpgt_epi8, _mm_loadu_si128, _mm_movemask_epi8, _mm_or_si128,
    _mm_set1_epi8,
};

use super::ByteVector;

impl ByteVector for __m128i {
    const BYTES: usize = 16;

    #[inline(always)]
    unsafe fn load(from: *const u8) -> Self {
        // SAFETY: the caller's promise; any alignment will do.
        unsafe { _mm_loadu_si128(from.cast()) }
    }

    #[inline(always)]
    unsafe fn all(byte: u8) -> Self {
        // SAFETY: every machine of this kind has SSE2, as for all of these.
        unsafe { _mm_set1_epi8(byte as i8) }
    }

    #[inline(always)]
    unsafe fn or(self, other: Self) -> Self {
        // SAFETY: as above.
        unsafe { _mm_or_si128(self, other) }
    }

    #[inline(always)]
    unsafe fn plus(self, other: Self) -> Self {
        // SAFETY: as above.
        unsafe { _mm_add_epi8(self, other) }
    }

    #[inline(always)]
    unsafe fn is(self, other: Self) -> Self {
        // SAFETY: as above.
        unsafe { _mm_cmpeq_epi8(self, other) }
    }

    #[inline(always)]
    unsafe fn exceeds(self, other: Self) -> Self {
        // SAFETY: as above.
        unsafe { _mm_cmpgt_epi8(self, other) }
    }

    #[inline(always)]
    unsafe fn high_bits(self) -> u64 {
        // SAFETY: as above.
        u64::from(unsafe { _mm_movemask_epi8(self) } as u16)
    }
}
