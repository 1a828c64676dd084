//! Spans of eight tokens at a time: their steps are put into words of four, one for even places and one for odd ones,
//! and summed by one multiplication.

use core::arch::x86_64::{
    _mm_cvtsi64_si128, _mm_unpackhi_epi32, _mm_unpacklo_epi16, _mm_unpacklo_epi32, _mm256_add_epi32,
    _mm256_cvtepu16_epi32, _mm256_set1_epi32, _mm256_set1_epi64x, _mm256_storeu_si256,
};
use std::mem::MaybeUninit;

use super::{AHEAD, INSIDE, PADDING, UNITS};
use crate::machine::prefetch::prefetch_at;

/// Tokens that are looked at together.
pub const TOGETHER: usize = 8;

/// Bits of a number in a word of four.
const BITS: usize = 16;

/// A number four times.
const fn four(number: u8) -> u64 {
    number as u64 * 0x0001_0001_0001_0001
}

/// Write the spans of tokens that tile the text from `start` on, up to the first eight among which one has no packed
/// step; returns how many, and where they end. `packed` ends with [`PADDING`] bytes that belong to no token.
///
/// # Safety
/// The machine has [`crate::machine::path::Path::Avx2`].
#[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
pub unsafe fn tile(packed: &[u8], ids: &[u32], start: u32, spans: &mut [MaybeUninit<[u32; 2]>]) -> (usize, u32) {
    let packed = &packed[..packed.len().saturating_sub(PADDING)];
    // Starts are one too great in their words, since the first may be one less than nothing.
    let less = _mm256_set1_epi64x(i64::from(u32::MAX));
    let (mut at, mut place) = (0, start);
    'groups: for (ids, spans) in ids.as_chunks::<TOGETHER>().0.iter().zip(spans.as_chunks_mut::<TOGETHER>().0) {
        let mut steps = [0; 2];
        for (lane, id) in ids.iter().enumerate() {
            let Some(step) = packed.get(*id as usize) else { break 'groups };
            steps[lane % 2] |= u64::from(*step) << (BITS * (lane / 2));
        }
        // What is not zero carries into the bit above its byte.
        let known = steps.map(|steps| steps + four(u8::MAX));
        if known[0] & known[1] & !four(u8::MAX) != four(1) << u8::BITS {
            break;
        }
        let [even, odd] = steps.map(|steps| steps & four(UNITS));
        let [even_outside, odd_outside] = steps.map(|steps| !steps >> INSIDE.trailing_zeros() & four(1));
        // The sums of all units up to each; the lowest is of the first two tokens.
        let odd_ends = (even + odd).wrapping_mul(four(1));
        let even_ends = odd_ends - odd;
        let even_starts = even_ends - even + even_outside;
        let odd_starts = even_ends + odd_outside;
        let words = |words: u64| _mm_cvtsi64_si128(words as i64);
        let even = _mm_unpacklo_epi16(words(even_starts), words(even_ends));
        let odd = _mm_unpacklo_epi16(words(odd_starts), words(odd_ends));
        let from = _mm256_add_epi32(_mm256_set1_epi32(place as i32), less);
        let first = _mm256_add_epi32(from, _mm256_cvtepu16_epi32(_mm_unpacklo_epi32(even, odd)));
        let second = _mm256_add_epi32(from, _mm256_cvtepu16_epi32(_mm_unpackhi_epi32(even, odd)));
        let to = spans.as_mut_ptr();
        prefetch_at(to.wrapping_add(AHEAD));
        // SAFETY: there are eight spans of two numbers each, four of which are one store.
        unsafe {
            _mm256_storeu_si256(to.cast(), first);
            _mm256_storeu_si256(to.add(TOGETHER / 2).cast(), second);
        }
        place = place.wrapping_add((odd_ends >> (3 * BITS)) as u32);
        at += TOGETHER;
    }
    (at, place)
}
