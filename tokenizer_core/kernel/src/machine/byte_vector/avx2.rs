//! Thirty-two bytes by AVX2.

use core::arch::x86_64::{
    __m256i, _mm256_add_epi8, _mm256_add_epi32, _mm256_cmpeq_epi8, _mm256_cmpgt_epi8, _mm256_loadu_si256,
    _mm256_movemask_epi8, _mm256_or_si256, _mm256_set1_epi8, _mm256_set1_epi32, _mm256_storeu_si256,
};

use super::ByteVector;
use crate::machine::lanes::lanes_of;

impl ByteVector for __m256i {
    const BYTES: usize = 32;

    #[inline(always)]
    unsafe fn load(from: *const u8) -> Self {
        // SAFETY: the caller's promise; any alignment will do.
        unsafe { _mm256_loadu_si256(from.cast()) }
    }

    #[inline(always)]
    unsafe fn all(byte: u8) -> Self {
        // SAFETY: the caller's promise, that the machine has AVX2, as for all of these.
        unsafe { _mm256_set1_epi8(byte as i8) }
    }

    #[inline(always)]
    unsafe fn or(self, other: Self) -> Self {
        // SAFETY: as above.
        unsafe { _mm256_or_si256(self, other) }
    }

    #[inline(always)]
    unsafe fn plus(self, other: Self) -> Self {
        // SAFETY: as above.
        unsafe { _mm256_add_epi8(self, other) }
    }

    #[inline(always)]
    unsafe fn is(self, other: Self) -> Self {
        // SAFETY: as above.
        unsafe { _mm256_cmpeq_epi8(self, other) }
    }

    #[inline(always)]
    unsafe fn exceeds(self, other: Self) -> Self {
        // SAFETY: as above.
        unsafe { _mm256_cmpgt_epi8(self, other) }
    }

    #[inline(always)]
    unsafe fn high_bits(self) -> u64 {
        // SAFETY: as above.
        u64::from(unsafe { _mm256_movemask_epi8(self) } as u32)
    }

    #[inline(always)]
    unsafe fn write_places(bits: u64, at: u32, room: &mut [u32; u64::BITS as usize]) {
        // SAFETY: as above. Each byte before has given at most eight places, so there is room for eight.
        unsafe {
            let mut first = _mm256_set1_epi32(at as i32);
            let mut count = 0;
            for byte in bits.to_le_bytes() {
                let places = _mm256_add_epi32(lanes_of(byte), first);
                _mm256_storeu_si256(room.as_mut_ptr().add(count).cast(), places);
                count += byte.count_ones() as usize;
                first = _mm256_add_epi32(first, _mm256_set1_epi32(8));
            }
        }
    }
}
