//! A cache line of sixteen entries of four bytes, each with a tag in its upper bits.

use bytemuck::{Pod, Zeroable};

#[cfg(target_arch = "x86_64")]
use crate::simd::level::Avx2;
use crate::simd::level::Portable;

/// Entries of a line.
pub(crate) const WAYS: usize = 16;

/// The entries of a line, filled from the first on; zero is free.
#[derive(Debug, Clone, Copy, Zeroable, Pod)]
#[repr(C, align(64))]
pub(crate) struct Line(pub(crate) [u32; WAYS]);

const _: () = assert!(size_of::<Line>() == 64);

impl Line {
    /// Tell whether no entry is free.
    #[inline(always)]
    pub(crate) fn is_full(&self) -> bool {
        self.0[WAYS - 1] != 0
    }

    /// Count the entries that are taken.
    #[inline(always)]
    pub(crate) fn taken(&self) -> usize {
        self.0.iter().map(|entry| usize::from(*entry != 0)).sum()
    }
}

/// Each level's search for a tag in a line.
pub(crate) trait FindTag: Copy {
    /// A bit for each entry whose bits in `mask` are the tag; free entries have the tag zero.
    fn find_tag(self, line: &Line, tag: u32, mask: u32) -> u32;
}

impl FindTag for Portable {
    #[cfg(target_arch = "x86_64")]
    #[inline(always)]
    fn find_tag(self, line: &Line, tag: u32, mask: u32) -> u32 {
        use core::arch::x86_64::{
            __m128i, _mm_and_si128, _mm_cmpeq_epi32, _mm_loadu_si128, _mm_movemask_epi8, _mm_packs_epi16,
            _mm_packs_epi32, _mm_set1_epi32,
        };
        // SAFETY: every machine of this kind has SSE2, and there are four vectors of four entries.
        unsafe {
            let (tag, mask) = (_mm_set1_epi32(tag as i32), _mm_set1_epi32(mask as i32));
            let four = |at: usize| {
                let entries = _mm_loadu_si128(line.0.as_ptr().cast::<__m128i>().add(at));
                _mm_cmpeq_epi32(_mm_and_si128(entries, mask), tag)
            };
            let (low, high) = (_mm_packs_epi32(four(0), four(1)), _mm_packs_epi32(four(2), four(3)));
            _mm_movemask_epi8(_mm_packs_epi16(low, high)) as u32
        }
    }

    #[cfg(not(target_arch = "x86_64"))]
    #[inline(always)]
    fn find_tag(self, line: &Line, tag: u32, mask: u32) -> u32 {
        (0..).zip(&line.0).fold(0, |all, (at, entry)| all | u32::from(entry & mask == tag) << at)
    }
}

#[cfg(target_arch = "x86_64")]
impl FindTag for Avx2 {
    #[inline(always)]
    fn find_tag(self, line: &Line, tag: u32, mask: u32) -> u32 {
        use core::arch::x86_64::{
            __m256i, _mm256_and_si256, _mm256_castsi256_ps, _mm256_cmpeq_epi32, _mm256_loadu_si256, _mm256_movemask_ps,
            _mm256_set1_epi32,
        };
        // SAFETY: the token proves AVX2; there are two vectors of eight entries.
        unsafe {
            let (tag, mask) = (_mm256_set1_epi32(tag as i32), _mm256_set1_epi32(mask as i32));
            let eight = |at: usize| {
                let entries = _mm256_loadu_si256(line.0.as_ptr().cast::<__m256i>().add(at));
                let same = _mm256_cmpeq_epi32(_mm256_and_si256(entries, mask), tag);
                _mm256_movemask_ps(_mm256_castsi256_ps(same)) as u32
            };
            eight(0) | eight(1) << 8
        }
    }
}
