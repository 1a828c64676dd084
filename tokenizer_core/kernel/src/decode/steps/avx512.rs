//! Spans of sixteen tokens at a time: their steps are gathered, and summed by four shifted additions.

use core::arch::x86_64::{
    _mm512_add_epi32, _mm512_alignr_epi32, _mm512_and_si512, _mm512_cmplt_epu32_mask, _mm512_cvtsi512_si32,
    _mm512_loadu_si512, _mm512_mask_i32gather_epi32, _mm512_permutex2var_epi32, _mm512_permutexvar_epi32,
    _mm512_set1_epi32, _mm512_setr_epi32, _mm512_setzero_si512, _mm512_srli_epi32, _mm512_storeu_si512,
    _mm512_sub_epi32, _mm512_test_epi32_mask,
};
use std::mem::MaybeUninit;

use super::{AHEAD, INSIDE, PADDING, UNITS};
use crate::machine::prefetch::prefetch_at;

/// Tokens that are looked at together.
pub const TOGETHER: usize = 16;

/// Write the spans of tokens that tile the text from `start` on, up to the first sixteen among which one has no packed
/// step; returns how many, and where they end. `packed` ends with [`PADDING`] bytes that belong to no token.
///
/// # Safety
/// The machine has [`crate::machine::path::Path::Avx512`].
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vbmi,avx512vbmi2,vaes,avx2,bmi1,bmi2,lzcnt,popcnt")]
pub unsafe fn tile(packed: &[u8], ids: &[u32], start: u32, spans: &mut [MaybeUninit<[u32; 2]>]) -> (usize, u32) {
    let limit = _mm512_set1_epi32(packed.len().saturating_sub(PADDING) as i32);
    let nothing = _mm512_setzero_si512();
    // Starts and ends in turn, of the first eight and of the others.
    let first = _mm512_setr_epi32(0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23);
    let second = _mm512_setr_epi32(8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31);
    let mut place = _mm512_set1_epi32(start as i32);
    let mut at = 0;
    for (ids, spans) in ids.as_chunks::<TOGETHER>().0.iter().zip(spans.as_chunks_mut::<TOGETHER>().0) {
        // SAFETY: there are sixteen ids. Of those below the limit four bytes from the id's on are in the table, and no
        // other is looked up.
        let packed = unsafe {
            let ids = _mm512_loadu_si512(ids.as_ptr().cast());
            let known = _mm512_cmplt_epu32_mask(ids, limit);
            _mm512_mask_i32gather_epi32::<1>(nothing, known, ids, packed.as_ptr().cast())
        };
        if _mm512_test_epi32_mask(packed, _mm512_set1_epi32(0xFF)) != !0 {
            break;
        }
        let units = _mm512_and_si512(packed, _mm512_set1_epi32(i32::from(UNITS)));
        let inside = _mm512_and_si512(_mm512_srli_epi32::<{ INSIDE.trailing_zeros() }>(packed), _mm512_set1_epi32(1));
        // The sum of the units up to each, over two, four, eight and sixteen.
        let sums = _mm512_add_epi32(units, _mm512_alignr_epi32::<15>(units, nothing));
        let sums = _mm512_add_epi32(sums, _mm512_alignr_epi32::<14>(sums, nothing));
        let sums = _mm512_add_epi32(sums, _mm512_alignr_epi32::<12>(sums, nothing));
        let sums = _mm512_add_epi32(sums, _mm512_alignr_epi32::<8>(sums, nothing));
        let ends = _mm512_add_epi32(place, sums);
        let starts = _mm512_sub_epi32(_mm512_sub_epi32(ends, units), inside);
        let to = spans.as_mut_ptr();
        prefetch_at(to.wrapping_add(AHEAD));
        prefetch_at(to.wrapping_add(AHEAD + TOGETHER / 2));
        // SAFETY: there are sixteen spans of two numbers each, eight of which are one store.
        unsafe {
            _mm512_storeu_si512(to.cast(), _mm512_permutex2var_epi32(starts, first, ends));
            _mm512_storeu_si512(to.add(TOGETHER / 2).cast(), _mm512_permutex2var_epi32(starts, second, ends));
        }
        place = _mm512_permutexvar_epi32(_mm512_set1_epi32(15), ends);
        at += TOGETHER;
    }
    (at, _mm512_cvtsi512_si32(place) as u32)
}
