//! Sixteen bytes by SSE2, which every machine of this kind has.

use core::arch::x86_64::{
    __m128i, _mm_add_epi8, _mm_cmpeq_epi8, _mm_cmpgt_epi8, _mm_loadu_si128, _mm_movemask_epi8, _mm_or_si128,
    _mm_set1_epi8,
};

use super::ByteVector;

/// A register of them.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Bytes(__m128i);

impl Bytes {
    #[inline(always)]
    pub(super) fn load(bytes: &[u8; 16]) -> Self {
        // SAFETY: there are sixteen bytes; any alignment will do.
        Self(unsafe { _mm_loadu_si128(bytes.as_ptr().cast()) })
    }

    /// The same byte everywhere.
    #[inline(always)]
    pub(super) fn all(byte: u8) -> Self {
        // SAFETY: every machine of this kind has SSE2.
        Self(unsafe { _mm_set1_epi8(byte as i8) })
    }
}

impl ByteVector for Bytes {
    const BYTES: usize = 16;

    operations! { or: _mm_or_si128, plus: _mm_add_epi8, is: _mm_cmpeq_epi8, exceeds: _mm_cmpgt_epi8 }

    #[inline(always)]
    fn high_bits(self) -> u64 {
        // SAFETY: every machine of this kind has SSE2.
        u64::from(unsafe { _mm_movemask_epi8(self.0) } as u16)
    }
}
