//! Spans of eight tokens at a time: their steps are loaded one by one, and summed by three shifted additions.

use core::arch::x86_64::{
    _mm_add_epi16, _mm_and_si128, _mm_cmpeq_epi8, _mm_cvtepu8_epi16, _mm_movemask_epi8, _mm_set_epi64x, _mm_set1_epi16,
    _mm_setzero_si128, _mm_slli_si128, _mm_srli_epi16, _mm_sub_epi16, _mm256_add_epi32, _mm256_cmpeq_epi32,
    _mm256_cvtepi16_epi32, _mm256_extract_epi32, _mm256_loadu_si256, _mm256_min_epu32, _mm256_movemask_epi8,
    _mm256_permute2x128_si256, _mm256_permutevar8x32_epi32, _mm256_set1_epi32, _mm256_storeu_si256,
    _mm256_unpackhi_epi32, _mm256_unpacklo_epi32,
};
use std::mem::MaybeUninit;

use super::{AHEAD, INSIDE, PADDING, UNITS};
use crate::machine::prefetch::prefetch_at;

/// Tokens that are looked at together.
pub const TOGETHER: usize = 8;

/// Write the spans of tokens that tile the text from `start` on, up to the first eight among which one has no packed
/// step; returns how many, and where they end. `packed` ends with [`PADDING`] bytes that belong to no token.
///
/// # Safety
/// The machine has [`crate::machine::path::Path::Avx2`].
#[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
pub unsafe fn tile(packed: &[u8], ids: &[u32], start: u32, spans: &mut [MaybeUninit<[u32; 2]>]) -> (usize, u32) {
    let Some(last) = packed.len().checked_sub(PADDING + 1) else { return (0, start) };
    let last = _mm256_set1_epi32(last as i32);
    let mut place = _mm256_set1_epi32(start as i32);
    let mut at = 0;
    for (ids, spans) in ids.as_chunks::<TOGETHER>().0.iter().zip(spans.as_chunks_mut::<TOGETHER>().0) {
        // SAFETY: there are eight ids.
        let words = unsafe { _mm256_loadu_si256(ids.as_ptr().cast()) };
        if _mm256_movemask_epi8(_mm256_cmpeq_epi32(_mm256_min_epu32(words, last), words)) != -1 {
            break;
        }
        let mut steps = 0;
        for (lane, id) in ids.iter().enumerate() {
            // SAFETY: none of the ids is beyond the last token of the table.
            let step = unsafe { packed.get_unchecked(*id as usize) };
            steps |= u64::from(*step) << (8 * lane);
        }
        let steps = _mm_set_epi64x(-1, steps as i64);
        if _mm_movemask_epi8(_mm_cmpeq_epi8(steps, _mm_setzero_si128())) != 0 {
            break;
        }
        // Sums of eight bytes need two each.
        let steps = _mm_cvtepu8_epi16(steps);
        let units = _mm_and_si128(steps, _mm_set1_epi16(i16::from(UNITS)));
        let inside = _mm_srli_epi16::<{ INSIDE.trailing_zeros() as i32 }>(steps);
        // The sum of the units up to each, over two, four and eight.
        let sums = _mm_add_epi16(units, _mm_slli_si128::<2>(units));
        let sums = _mm_add_epi16(sums, _mm_slli_si128::<4>(sums));
        let sums = _mm_add_epi16(sums, _mm_slli_si128::<8>(sums));
        let starts = _mm_sub_epi16(_mm_sub_epi16(sums, units), inside);
        let ends = _mm256_add_epi32(place, _mm256_cvtepi16_epi32(sums));
        let starts = _mm256_add_epi32(place, _mm256_cvtepi16_epi32(starts));
        // Starts and ends in turn, of the first two and of the second two in each half.
        let (low, high) = (_mm256_unpacklo_epi32(starts, ends), _mm256_unpackhi_epi32(starts, ends));
        let to = spans.as_mut_ptr();
        prefetch_at(to.wrapping_add(AHEAD));
        // SAFETY: there are eight spans of two numbers each, four of which are one store.
        unsafe {
            _mm256_storeu_si256(to.cast(), _mm256_permute2x128_si256::<0x20>(low, high));
            _mm256_storeu_si256(to.add(TOGETHER / 2).cast(), _mm256_permute2x128_si256::<0x31>(low, high));
        }
        place = _mm256_permutevar8x32_epi32(ends, _mm256_set1_epi32(TOGETHER as i32 - 1));
        at += TOGETHER;
    }
    (at, _mm256_extract_epi32::<0>(place) as u32)
}
