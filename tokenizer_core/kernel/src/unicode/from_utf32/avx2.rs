//! The same with AVX2: of eight characters at a time, the unused bytes of their words are shuffled out.

use super::WINDOW;
use super::words::WriteWindow;
use crate::simd::level::{Avx2, Portable};
use core::arch::x86_64::{
    __m256i, _mm_load_si128, _mm_shuffle_epi8, _mm_storeu_si128, _mm256_and_si256, _mm256_blendv_epi8,
    _mm256_castsi256_ps, _mm256_castsi256_si128, _mm256_cmpgt_epi32, _mm256_extracti128_si256, _mm256_loadu_si256,
    _mm256_movemask_ps, _mm256_or_si256, _mm256_set1_epi32, _mm256_slli_epi32, _mm256_srli_epi32,
};

/// Characters of a vector, and those whose bytes are shuffled together.
const LANES: usize = 8;
const HALF: usize = LANES / 2;

/// The bits of the first half.
const FIRST: u32 = (1 << HALF) - 1;

/// Vectors of sixteen bytes.
#[repr(align(16))]
struct PlaceTable([[u8; 16]; 1 << LANES]);

/// The used bytes of four words, by a bit for each character of two bytes or more, below one for each of three.
static PLACES: PlaceTable = {
    /// Gives a zero.
    const UNUSED: u8 = 0x80;
    let mut places = [[UNUSED; 16]; 1 << LANES];
    let mut bits = 0;
    while bits < places.len() {
        let (mut character, mut to) = (0, 0);
        while character < HALF {
            let bytes = 1 + (bits >> character & 1) + (bits >> (character + HALF) & 1);
            let mut byte = 0;
            while byte < bytes {
                places[bits][to] = (4 * character + byte) as u8;
                to += 1;
                byte += 1;
            }
            character += 1;
        }
        bits += 1;
    }
    PlaceTable(places)
};

impl WriteWindow for Avx2 {
    #[inline(always)]
    unsafe fn write<const MOST: usize>(self, window: &[u32; WINDOW], length: usize, to: *mut u8) -> usize {
        // SAFETY: the token proves AVX2, and the caller promises the room. A window is whole vectors. Of the characters
        // before and the first half of a vector, at most seven are not among the first `length`; these have one byte
        // each, so there is room for the sixteen bytes of each half.
        unsafe {
            if MOST > 3 {
                return Portable.write::<MOST>(window, length, to);
            }
            let mut count = 0;
            for at in (0..length).step_by(LANES) {
                let characters = _mm256_loadu_si256(window.as_ptr().add(at).cast());
                let (words, [wide, three]) = words_of::<MOST>(self, characters);
                let first = (_mm256_castsi256_si128(words), (wide & FIRST) | ((three & FIRST) << HALF));
                let second = (_mm256_extracti128_si256::<1>(words), (wide >> HALF) | (three & !FIRST));
                for (words, bits) in [first, second] {
                    let places = _mm_load_si128(PLACES.0[bits as usize % PLACES.0.len()].as_ptr().cast());
                    _mm_storeu_si128(to.add(count).cast(), _mm_shuffle_epi8(words, places));
                    count += HALF + bits.count_ones() as usize;
                }
            }
            // Those after the last are zeros, a byte each.
            count - (length.next_multiple_of(LANES) - length)
        }
    }
}

/// The bytes of each character, none of which has more than three or `MOST`, the first lowest, and a bit for each that
/// has two or more, and for each that has three.
#[inline(always)]
fn words_of<const MOST: usize>(_: Avx2, characters: __m256i) -> (__m256i, [u32; 2]) {
    // SAFETY: the token proves AVX2.
    unsafe {
        let mark = _mm256_set1_epi32(0x80);
        let tail = _mm256_or_si256(_mm256_and_si256(characters, _mm256_set1_epi32(0x3F)), mark);
        let lead = _mm256_or_si256(_mm256_srli_epi32::<6>(characters), _mm256_set1_epi32(0xC0));
        let wide = _mm256_cmpgt_epi32(characters, _mm256_set1_epi32(0x7F));
        let words = _mm256_or_si256(lead, _mm256_slli_epi32::<8>(tail));
        let words = _mm256_blendv_epi8(characters, words, wide);
        let is_wide = _mm256_movemask_ps(_mm256_castsi256_ps(wide)) as u32;
        if MOST < 3 {
            return (words, [is_wide, 0]);
        }
        let three = _mm256_cmpgt_epi32(characters, _mm256_set1_epi32(0x7FF));
        let middle = _mm256_and_si256(_mm256_srli_epi32::<6>(characters), _mm256_set1_epi32(0x3F));
        let middle = _mm256_slli_epi32::<8>(_mm256_or_si256(middle, mark));
        let lead = _mm256_or_si256(_mm256_srli_epi32::<12>(characters), _mm256_set1_epi32(0xE0));
        let longer = _mm256_or_si256(_mm256_or_si256(lead, middle), _mm256_slli_epi32::<16>(tail));
        let is_three = _mm256_movemask_ps(_mm256_castsi256_ps(three)) as u32;
        (_mm256_blendv_epi8(words, longer, three), [is_wide, is_three])
    }
}
