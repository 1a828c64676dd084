//! Keys of eight pieces at once, both keys of a bucket compared at once, eight ids copied at once.

use core::arch::x86_64::{
    __m256i, _mm_cvtsi32_si128, _mm_cvtsi64_si128, _mm_loadu_si128, _mm256_add_epi32, _mm256_and_si256,
    _mm256_broadcastsi128_si256, _mm256_castsi128_si256, _mm256_castsi256_pd, _mm256_castsi256_ps, _mm256_cmpeq_epi32,
    _mm256_cmpeq_epi64, _mm256_cmpgt_epi8, _mm256_cvtepu8_epi32, _mm256_inserti128_si256, _mm256_loadu_si256,
    _mm256_min_epu32, _mm256_movemask_pd, _mm256_movemask_ps, _mm256_mullo_epi32, _mm256_or_si256,
    _mm256_permutevar8x32_epi32, _mm256_set1_epi32, _mm256_setr_epi32, _mm256_setzero_si256, _mm256_shuffle_epi8,
    _mm256_slli_epi32, _mm256_srl_epi32, _mm256_storeu_si256, _mm256_sub_epi32, _mm256_unpackhi_epi32,
    _mm256_unpackhi_epi64, _mm256_unpacklo_epi32, _mm256_unpacklo_epi64,
};

use super::copy_hits::{Equal, KEYS, ReadBucket};
use super::keys::{BYTES, Borders, GROUP, MakeKeys, make};
use super::{BlockPieces, Keys};
#[cfg(test)]
use crate::piece_cache::Buckets;
use crate::piece_cache::{Caches, ID, KEY_LIMIT, Key, PART_BIT, PLACE_SHIFT};
use crate::simd::level::{Avx2, OnLevel};

/// Pieces whose keys are a vector.
const PAIR: usize = 2;

const _: () = assert!(BYTES == 16);

/// 32 bytes to load.
#[repr(align(32))]
struct Vector<T>(T);

/// By pair of a group: the byte of the words of its lengths, those of every first piece before those of every second,
/// that says which bytes of a key are text; for the highest byte of a key the byte that it is.
static SPREAD: Vector<[[u8; 32]; GROUP / PAIR]> = {
    let mut spread = [[0; 32]; GROUP / PAIR];
    let mut at = 0;
    while at < 32 * GROUP / PAIR {
        let (pair, byte) = (at / 32, at % 32);
        spread[pair][byte] = (4 * pair + byte % BYTES / KEY_LIMIT) as u8;
        at += 1;
    }
    Vector(spread)
};

/// The place of each byte within its key; the highest byte is not below any length.
static WITHIN: Vector<[u8; 32]> = {
    let mut within = [0; 32];
    let mut at = 0;
    while at < 32 {
        let byte = at % BYTES;
        within[at] = if byte == KEY_LIMIT { i8::MAX as u8 } else { byte as u8 };
        at += 1;
    }
    Vector(within)
};

/// The highest byte of a key, in the last of its words of four bytes.
const TAG: i32 = 0xFF00_0000_u32 as i32;

/// The factors of the four words of a key; the upper bits of the sum are the place of its bucket. Of natural pieces as
/// many share one as if places were drawn by lot.
const MULTIPLIERS: [u32; 4] = [0x85EB_CA6B, 0xC2B2_AE35, 0x27D4_EB2F, 0x1656_67B1];

/// The start of the ids, by the halves of the two keys of a bucket that are equal.
static HALVES: Equal<16> = Equal::new();

impl ReadBucket for Avx2 {
    #[inline(always)]
    unsafe fn find(self, bucket: *const u64, key: &Key) -> usize {
        // SAFETY: the token proves AVX2, the caller the bucket; a key has sixteen bytes, and those of a bucket are two.
        let equal = unsafe {
            let key = _mm256_broadcastsi128_si256(_mm_loadu_si128(std::ptr::from_ref(key).cast()));
            let keys = _mm256_loadu_si256(bucket.add(KEYS).cast());
            _mm256_movemask_pd(_mm256_castsi256_pd(_mm256_cmpeq_epi64(keys, key)))
        };
        HALVES.find(equal as usize)
    }

    #[inline(always)]
    unsafe fn copy(self, from: *const u32, to: *mut u32) {
        // SAFETY: the token proves AVX2, the caller the eight ids, which are a vector.
        unsafe {
            let words = _mm256_loadu_si256(from.cast());
            let plain = _mm256_and_si256(words, _mm256_setr_epi32(ID as i32, -1, -1, -1, -1, -1, -1, -1));
            _mm256_storeu_si256(to.cast(), plain);
        }
    }
}

/// As [`make`], compiled with the instructions of the level.
struct MakeAll<'a> {
    pieces: &'a BlockPieces<'a>,
    caches: &'a Caches,
    keys: &'a mut Keys,
}

impl OnLevel<Avx2> for MakeAll<'_> {
    type Output = ();

    #[inline(always)]
    fn run(self, simd: Avx2) {
        make(simd, self.pieces, self.caches, self.keys);
    }
}

/// Load a vector.
#[inline(always)]
fn load<T>(_: Avx2, from: &T) -> __m256i {
    const { assert!(size_of::<T>() == 32) };
    // SAFETY: the token proves AVX2; the size is checked.
    unsafe { _mm256_loadu_si256(std::ptr::from_ref(from).cast()) }
}

impl MakeKeys for Avx2 {
    #[inline(always)]
    fn all(self, pieces: &BlockPieces<'_>, caches: &Caches, keys: &mut Keys) {
        self.run(MakeAll { pieces, caches, keys });
    }

    #[inline(always)]
    fn group<'a>(
        self,
        bits: u32,
        borders: &Borders,
        parts: u64,
        bytes_of: impl Fn(u32) -> &'a [u8; BYTES],
        (keys, places): (&mut [Key; GROUP], &mut [u32; GROUP]),
    ) -> u8 {
        // First pieces of pairs, then second ones; and back.
        const APART: [i32; GROUP] = [0, 2, 4, 6, 1, 3, 5, 7];
        const TOGETHER: [i32; GROUP] = [0, 4, 1, 5, 2, 6, 3, 7];
        // SAFETY: the token proves AVX2. Eight borders begin at the first and at the second of nine; four vectors of
        // two keys are the eight there are, and eight places are a vector.
        unsafe {
            let order = |[a, b, c, d, e, f, g, h]: [i32; GROUP]| _mm256_setr_epi32(a, b, c, d, e, f, g, h);
            let starts = _mm256_loadu_si256(borders.as_ptr().cast());
            let ends = _mm256_loadu_si256(borders.as_ptr().add(1).cast());
            let most = _mm256_set1_epi32(BYTES as i32);
            let clipped = _mm256_min_epu32(_mm256_sub_epi32(ends, starts), most);
            // A length of 16 gives none.
            let lengths = _mm256_and_si256(clipped, _mm256_set1_epi32(KEY_LIMIT as i32));
            let parts = _mm256_cvtepu8_epi32(_mm_cvtsi64_si128(parts as i64));
            let tags = _mm256_or_si256(lengths, _mm256_slli_epi32::<{ PART_BIT as i32 }>(parts));
            let words = _mm256_or_si256(clipped, _mm256_slli_epi32::<8>(tags));
            let words = _mm256_permutevar8x32_epi32(words, order(APART));
            let tag = _mm256_setr_epi32(0, 0, 0, TAG, 0, 0, 0, TAG);
            let [a, b, c, d] = MULTIPLIERS.map(|multiplier| multiplier as i32);
            let multipliers = _mm256_setr_epi32(a, b, c, d, a, b, c, d);
            let mut products = [_mm256_setzero_si256(); GROUP / PAIR];
            for pair in 0..GROUP / PAIR {
                let at = |lane| _mm_loadu_si128(bytes_of(borders[PAIR * pair + lane]).as_ptr().cast());
                let bytes = _mm256_inserti128_si256::<1>(_mm256_castsi128_si256(at(0)), at(1));
                let spread = _mm256_shuffle_epi8(words, load(self, &SPREAD.0[pair]));
                let text = _mm256_and_si256(bytes, _mm256_cmpgt_epi8(spread, load(self, &WITHIN.0)));
                let made = _mm256_or_si256(text, _mm256_and_si256(spread, tag));
                _mm256_storeu_si256(keys.as_mut_ptr().add(PAIR * pair).cast(), made);
                products[pair] = _mm256_mullo_epi32(made, multipliers);
            }
            let [a, b, c, d] = products;
            let halves = |a, b| _mm256_add_epi32(_mm256_unpacklo_epi32(a, b), _mm256_unpackhi_epi32(a, b));
            let (first, second) = (halves(a, b), halves(c, d));
            let sums = _mm256_add_epi32(_mm256_unpacklo_epi64(first, second), _mm256_unpackhi_epi64(first, second));
            let hashes = _mm256_permutevar8x32_epi32(sums, order(TOGETHER));
            let shift = _mm_cvtsi32_si128(u32::BITS as i32 - bits as i32);
            let hashes = _mm256_slli_epi32::<{ PLACE_SHIFT as i32 }>(_mm256_srl_epi32(hashes, shift));
            _mm256_storeu_si256(places.as_mut_ptr().cast(), hashes);
            _mm256_movemask_ps(_mm256_castsi256_ps(_mm256_cmpeq_epi32(clipped, most))) as u8
        }
    }

    #[cfg(test)]
    fn place(self, cache: &Buckets, key: Key) -> usize {
        let products = key.words().into_iter().zip(MULTIPLIERS).map(|(word, multiplier)| word.wrapping_mul(multiplier));
        let hash = products.fold(0, u32::wrapping_add);
        ((hash >> (u32::BITS - cache.bits())) as usize) << PLACE_SHIFT
    }
}
