//! Thirty-two bytes by AVX2.

use core::arch::x86_64::{
    __m256i, _mm256_add_epi8, _mm256_add_epi32, _mm256_cmpeq_epi8, _mm256_cmpgt_epi8, _mm256_loadu_si256,
    _mm256_movemask_epi8, _mm256_or_si256, _mm256_set1_epi8, _mm256_set1_epi32, _mm256_storeu_si256,
};

use super::{ByteVector, Simd, WINDOW};
use crate::simd::lanes::lanes_of;
use crate::simd::level::Avx2;

/// A register of them, which only the token of the level makes.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Bytes(__m256i);

impl ByteVector for Bytes {
    const BYTES: usize = 32;

    operations! { or: _mm256_or_si256, plus: _mm256_add_epi8, is: _mm256_cmpeq_epi8, exceeds: _mm256_cmpgt_epi8 }

    #[inline(always)]
    fn high_bits(self) -> u64 {
        // SAFETY: who has a vector has AVX2.
        u64::from(unsafe { _mm256_movemask_epi8(self.0) } as u32)
    }
}

impl Simd for Avx2 {
    type Bytes = Bytes;

    #[inline(always)]
    fn load(self, window: &[u8; WINDOW], at: usize) -> Bytes {
        let bytes: &[u8; Bytes::BYTES] = &window.as_chunks().0[at / Bytes::BYTES];
        // SAFETY: the token proves AVX2; there are thirty-two bytes, and any alignment will do.
        Bytes(unsafe { _mm256_loadu_si256(bytes.as_ptr().cast()) })
    }

    #[inline(always)]
    fn all(self, byte: u8) -> Bytes {
        // SAFETY: the token proves AVX2.
        Bytes(unsafe { _mm256_set1_epi8(byte as i8) })
    }

    #[inline(always)]
    fn write_places(self, bits: u64, at: u32, room: &mut [u32; u64::BITS as usize]) {
        // SAFETY: the token proves AVX2. Each byte before has given at most eight places, so there is room for eight.
        unsafe {
            let mut first = _mm256_set1_epi32(at as i32);
            let mut count = 0;
            for byte in bits.to_le_bytes() {
                let places = _mm256_add_epi32(lanes_of(self, byte), first);
                _mm256_storeu_si256(room.as_mut_ptr().add(count).cast(), places);
                count += byte.count_ones() as usize;
                first = _mm256_add_epi32(first, _mm256_set1_epi32(8));
            }
        }
    }
}
