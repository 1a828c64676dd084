//! Pairs of characters of two bytes, eight at a time: a script of such characters has one at every second byte.

use core::arch::x86_64::{
    __m256i, _mm_cvtsi32_si128, _mm256_and_si256, _mm256_andnot_si256, _mm256_castsi256_ps, _mm256_movemask_ps,
    _mm256_mullo_epi32, _mm256_set1_epi32, _mm256_setr_epi32, _mm256_sllv_epi32, _mm256_srl_epi32, _mm256_srli_epi32,
    _mm256_storeu_si256, _mm256_xor_si256, _pdep_u64,
};

use super::crossings::{Crossings, MIX};
use super::windows::{ApartTwo, apart_one_by_one};
use crate::machine::words::highest_bit;

/// Pairs in a vector.
const GROUP: usize = 8;

/// Fewer pairs are looked up one by one.
const FEW: u32 = 6;

impl ApartTwo for __m256i {
    #[inline(always)]
    unsafe fn apart_two(crossings: &Crossings, window: *const u8, pairs: u64) -> u64 {
        // SAFETY: the caller's promise.
        unsafe {
            if pairs.count_ones() < FEW {
                apart_one_by_one(crossings, window, pairs)
            } else {
                apart_in_groups(crossings, window, pairs)
            }
        }
    }
}

/// As [`ApartTwo::apart_two`], for one pair or more.
///
/// # Safety
/// The machine has [`crate::machine::path::Path::Avx2`]; and what `apart_two` demands.
#[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
#[inline]
unsafe fn apart_in_groups(crossings: &Crossings, window: *const u8, pairs: u64) -> u64 {
    // SAFETY: the caller's promise, for all of this function. A word's place is below the number of words, as in
    // `Crossings::place`; what is stored has eight places.
    unsafe {
        // Repeated where a group is not full.
        let last = 1 << highest_bit(pairs);
        let (mut left, mut apart) = (pairs, 0);
        while left != 0 {
            let group = left;
            let mut next = || {
                let place = (left | last).trailing_zeros() as usize;
                left &= left.wrapping_sub(1);
                window.add(place).sub(2).cast::<i32>().read_unaligned()
            };
            let bytes = _mm256_setr_epi32(next(), next(), next(), next(), next(), next(), next(), next());
            let right = _mm256_and_si256(bytes, _mm256_set1_epi32(!0xFFFF));
            let before = _mm256_and_si256(_mm256_srli_epi32::<8>(bytes), _mm256_set1_epi32(0xFF));
            let mixed = _mm256_mullo_epi32(right, _mm256_set1_epi32(MIX as i32));
            let mut places = [0_u32; GROUP];
            let shifted = _mm256_srl_epi32(mixed, _mm_cvtsi32_si128(crossings.shift as i32));
            _mm256_storeu_si256(places.as_mut_ptr().cast(), _mm256_xor_si256(shifted, before));
            let word = |at: usize| *crossings.words.get_unchecked(places[at] as usize) as i32;
            let words = _mm256_setr_epi32(word(0), word(1), word(2), word(3), word(4), word(5), word(6), word(7));
            // The bit of each pair in the highest place: 31 less the lowest five bits of its bytes.
            let moved = _mm256_sllv_epi32(words, _mm256_andnot_si256(bytes, _mm256_set1_epi32(31)));
            let spanned = _mm256_movemask_ps(_mm256_castsi256_ps(moved)) as u8;
            apart |= _pdep_u64(u64::from(!spanned), group);
        }
        apart
    }
}
