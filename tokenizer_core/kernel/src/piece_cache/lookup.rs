//! How each path makes the key of a short piece and finds it.

use super::key::Key;
use super::short::{IDS_LIMIT, ShortCache};

/// What is done for every piece of a text.
pub trait Lookup {
    /// As [`Key::or_none`].
    ///
    /// # Safety
    /// The machine has the path.
    unsafe fn key(text: &[u8], start: usize, end: usize, part: bool) -> Key;

    /// As [`ShortCache::get`].
    ///
    /// # Safety
    /// The machine has the path.
    unsafe fn get(cache: &ShortCache, place: usize, key: Key, ids: &mut [u32; IDS_LIMIT]) -> usize;
}

/// What every machine has.
pub struct Portable;

impl Lookup for Portable {
    #[inline(always)]
    unsafe fn key(text: &[u8], start: usize, end: usize, part: bool) -> Key {
        Key::or_none(text, start, end, part)
    }

    #[inline(always)]
    unsafe fn get(cache: &ShortCache, place: usize, key: Key, ids: &mut [u32; IDS_LIMIT]) -> usize {
        cache.get(place, key, ids)
    }
}

#[cfg(target_arch = "x86_64")]
pub use self::avx512::Avx512;

#[cfg(target_arch = "x86_64")]
mod avx512 {
    use core::arch::x86_64::{
        __m128i, _bzhi_u32, _mm_cvtsi128_si32, _mm_insert_epi8, _mm_loadu_si128, _mm_maskz_loadu_epi8,
        _mm_storeu_si128, _mm256_and_si256, _mm256_broadcastsi128_si256, _mm256_castsi256_si128,
        _mm256_cmpeq_epi64_mask, _mm256_loadu_si256, _mm256_setr_epi32, _mm256_storeu_si256,
    };

    use super::super::key::{KEY_LIMIT, Key, PART_BIT};
    use super::super::short::{COUNT_SHIFT, HALF, ID, IDS_LIMIT, ShortCache};
    use super::Lookup;

    /// A load of just the bytes of a piece, and both keys of a bucket compared at once.
    pub struct Avx512;

    impl Lookup for Avx512 {
        #[inline(always)]
        unsafe fn key(text: &[u8], start: usize, end: usize, part: bool) -> Key {
            // Of a piece that is too long 15 bytes and the length 0, which no piece has.
            let piece = &text[start..end];
            let length = piece.len().min(KEY_LIMIT + 1) as u32;
            let mut key = 0_u128;
            // SAFETY: the caller's promise. The mask leaves out bytes behind the piece, which are not touched then; a `u128`
            // has 16 bytes.
            unsafe {
                let mask = _bzhi_u32((1 << KEY_LIMIT) - 1, length) as u16;
                let word = _mm_maskz_loadu_epi8(mask, piece.as_ptr().cast());
                let tag = length & KEY_LIMIT as u32 | u32::from(part) << PART_BIT;
                let word = _mm_insert_epi8::<{ KEY_LIMIT as i32 }>(word, tag as i32);
                _mm_storeu_si128((&raw mut key).cast(), word);
            }
            Key(key)
        }

        #[inline(always)]
        unsafe fn get(cache: &ShortCache, place: usize, key: Key, ids: &mut [u32; IDS_LIMIT]) -> usize {
            let bucket = cache.bucket(place);
            // SAFETY: the caller's promise. A bucket has two keys of 16 bytes each and before them two times four ids, so
            // that eight words from the second four on are in it too; `ids` has room for eight.
            unsafe {
                let key: __m128i = _mm_loadu_si128((&raw const key.0).cast());
                let keys = _mm256_loadu_si256(bucket.keys.as_ptr().cast());
                let equal = usize::from(_mm256_cmpeq_epi64_mask(keys, _mm256_broadcastsi128_si256(key)));
                let both = equal & equal >> 1;
                let (second, hit) = (both >> 2, (both | both >> 2) & 1);
                let words = (&raw const *bucket).cast::<u32>().add(second * HALF);
                let words = _mm256_loadu_si256(words.cast());
                let first = _mm_cvtsi128_si32(_mm256_castsi256_si128(words)) as u32;
                let plain = _mm256_and_si256(words, _mm256_setr_epi32(ID as i32, -1, -1, -1, -1, -1, -1, -1));
                _mm256_storeu_si256(ids.as_mut_ptr().cast(), plain);
                (first >> COUNT_SHIFT) as usize * hit
            }
        }
    }
}
