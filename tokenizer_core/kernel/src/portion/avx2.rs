//! Keys of eight pieces at once, both keys of a bucket compared at once, eight ids copied at once.

use core::arch::x86_64::{
    __m256i, _mm_cvtsi32_si128, _mm_cvtsi64_si128, _mm_loadu_si128, _mm256_add_epi32, _mm256_add_epi64,
    _mm256_and_si256, _mm256_andnot_si256, _mm256_blend_epi32, _mm256_broadcastsi128_si256, _mm256_castps_si256,
    _mm256_castsi128_si256, _mm256_castsi256_pd, _mm256_castsi256_ps, _mm256_cmpeq_epi32, _mm256_cmpeq_epi64,
    _mm256_cmpgt_epi8, _mm256_cmpgt_epi32, _mm256_cvtepu8_epi32, _mm256_inserti128_si256, _mm256_loadu_si256,
    _mm256_max_epu32, _mm256_min_epu32, _mm256_movemask_pd, _mm256_movemask_ps, _mm256_mul_epu32, _mm256_mullo_epi32,
    _mm256_or_si256, _mm256_permutevar8x32_epi32, _mm256_set1_epi32, _mm256_set1_epi64x, _mm256_setr_epi32,
    _mm256_setr_epi64x, _mm256_setzero_si256, _mm256_shuffle_epi8, _mm256_shuffle_epi32, _mm256_shuffle_ps,
    _mm256_slli_epi32, _mm256_srl_epi32, _mm256_storeu_si256, _mm256_sub_epi32, _mm256_unpackhi_epi32,
    _mm256_unpackhi_epi64, _mm256_unpacklo_epi32, _mm256_unpacklo_epi64, _pext_u32,
};
use std::mem::MaybeUninit;
use std::ops::Range;

use super::longer::{BLANK, BLANK_MASK, LongerPieces, RUN_FROM};
use super::look_up::LookUp;
use super::take::{self, Equal, KEYS, ReadBucket};
use super::{Found, Keys, PIECES, Pieces, Room, last_bytes, runs_avx2};
use crate::machine::lanes::lanes_of;
use crate::machine::path::Avx2;
use crate::merging::white_space::WhiteSpace;
use crate::piece_cache::{Caches, ID, KEY_LIMIT, KEY_MULTIPLIERS, Key, PART_BIT, PLACE_SHIFT};
use crate::sink::Sink;

/// Pieces whose keys are made together.
const GROUP: usize = 8;

/// Pieces whose keys are a vector.
const PAIR: usize = 2;

/// Bytes of a key.
const BYTES: usize = KEY_LIMIT + 1;

const _: () = assert!(PIECES.is_multiple_of(GROUP) && BYTES == 16);

/// 32 bytes to load.
#[repr(align(32))]
struct Vector<T>(T);

/// By pair of a group: the byte of the group's words of length and tag, those of every first piece before those of
/// every second, that says which bytes of a key are text, and for the highest byte what it is.
static SPREAD: Vector<[[u8; 32]; GROUP / PAIR]> = {
    let mut spread = [[0; 32]; GROUP / PAIR];
    let mut at = 0;
    while at < 32 * GROUP / PAIR {
        let (pair, byte) = (at / 32, at % 32);
        spread[pair][byte] = (4 * pair) as u8 + (byte % BYTES == KEY_LIMIT) as u8;
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

/// Where the ids begin, by which halves of the two keys of a bucket are equal.
static HALVES: Equal<16> = Equal::new();

impl ReadBucket for Avx2 {
    #[inline(always)]
    unsafe fn find(bucket: *const u64, key: &Key) -> usize {
        // SAFETY: the caller's promise; a key has sixteen bytes, and those of a bucket are two.
        let equal = unsafe {
            let key = _mm256_broadcastsi128_si256(_mm_loadu_si128(std::ptr::from_ref(key).cast()));
            let keys = _mm256_loadu_si256(bucket.add(KEYS).cast());
            _mm256_movemask_pd(_mm256_castsi256_pd(_mm256_cmpeq_epi64(keys, key)))
        };
        HALVES.find(equal as usize)
    }

    #[inline(always)]
    unsafe fn copy(from: *const u32, to: *mut u32) {
        // SAFETY: the caller's promise; eight ids are a vector.
        unsafe {
            let words = _mm256_loadu_si256(from.cast());
            let plain = _mm256_and_si256(words, _mm256_setr_epi32(ID as i32, -1, -1, -1, -1, -1, -1, -1));
            _mm256_storeu_si256(to.cast(), plain);
        }
    }
}

impl LookUp for Avx2 {
    #[inline(always)]
    unsafe fn keys(pieces: &Pieces<'_>, caches: &Caches, white: Option<WhiteSpace>, room: &mut Keys) {
        // SAFETY: the caller's promise.
        unsafe {
            match pieces.parts {
                [] => keys::<false>(pieces, caches, white, room),
                _ => keys::<true>(pieces, caches, white, room),
            }
        }
    }

    #[inline(always)]
    unsafe fn take<S: Sink>(places: Range<usize>, caches: &Caches, keys: &Keys, found: &mut Found, ids: &mut Room) {
        // SAFETY: the caller's promise.
        unsafe { take::take::<Self, S>(places, caches, keys, found, ids) };
    }

    #[inline(always)]
    unsafe fn is_run(white: WhiteSpace, piece: &[u8]) -> bool {
        // SAFETY: the caller's promise.
        unsafe { runs_avx2::is_run(white, piece) }
    }

    #[inline(always)]
    unsafe fn write_run(white: WhiteSpace, piece: &[u8], ids: &mut [MaybeUninit<u32>]) {
        // SAFETY: the caller's promise.
        unsafe { runs_avx2::write(white, piece, ids) };
    }
}

/// Load a vector.
///
/// # Safety
/// The machine has AVX2.
#[inline(always)]
unsafe fn load<T>(from: &T) -> __m256i {
    const { assert!(size_of::<T>() == 32) };
    // SAFETY: the caller's promise; the size is checked.
    unsafe { _mm256_loadu_si256(std::ptr::from_ref(from).cast()) }
}

/// Make the keys of a group, whose bytes are at `bytes_of`, and the upper `bits` bits of their hashes; `words` has the
/// length of each piece, of up to 16, in its lowest byte, and in the next the tag of its key.
///
/// # Safety
/// The machine has AVX2; sixteen bytes can be read at each place.
#[inline(always)]
unsafe fn make(
    words: __m256i,
    bits: u32,
    bytes_of: impl Fn(usize) -> *const u8,
    keys: &mut [Key; GROUP],
    places: &mut [u32; GROUP],
) {
    // The words of first pieces, then those of second ones; and back.
    const APART: [i32; GROUP] = [0, 2, 4, 6, 1, 3, 5, 7];
    const TOGETHER: [i32; GROUP] = [0, 4, 1, 5, 2, 6, 3, 7];
    // SAFETY: the caller's promise, for all of this function; four vectors of two keys are the eight there are.
    unsafe {
        let order = |[a, b, c, d, e, f, g, h]: [i32; GROUP]| _mm256_setr_epi32(a, b, c, d, e, f, g, h);
        let words = _mm256_permutevar8x32_epi32(words, order(APART));
        let [low, high] = KEY_MULTIPLIERS.map(|multiplier| multiplier as i64);
        let multipliers = _mm256_setr_epi64x(low, high, low, high);
        let crossed = _mm256_shuffle_epi32::<0b10_11_00_01>(multipliers);
        // Of each half of a key, as two numbers of 32 bits, the product of the lower ones, and those that count above
        // it.
        let mut products = [_mm256_setzero_si256(); GROUP / PAIR];
        let mut above = products;
        for pair in 0..GROUP / PAIR {
            let at = |lane| _mm_loadu_si128(bytes_of(PAIR * pair + lane).cast());
            let bytes = _mm256_inserti128_si256::<1>(_mm256_castsi128_si256(at(0)), at(1));
            let spread = _mm256_shuffle_epi8(words, load(&SPREAD.0[pair]));
            let text = _mm256_and_si256(bytes, _mm256_cmpgt_epi8(spread, load(&WITHIN.0)));
            let tags = _mm256_and_si256(spread, _mm256_setr_epi32(0, 0, 0, TAG, 0, 0, 0, TAG));
            let key = _mm256_or_si256(text, tags);
            _mm256_storeu_si256(keys.as_mut_ptr().add(PAIR * pair).cast(), key);
            products[pair] = _mm256_mul_epu32(key, multipliers);
            above[pair] = _mm256_mullo_epi32(key, crossed);
        }
        // The sum of both halves' products, of which the upper half is kept, and of the four that count in it.
        let [a, b, c, d] = products;
        let halves = |a, b| _mm256_add_epi64(_mm256_unpacklo_epi64(a, b), _mm256_unpackhi_epi64(a, b));
        let (first, second) = (_mm256_castsi256_ps(halves(a, b)), _mm256_castsi256_ps(halves(c, d)));
        let sums = _mm256_castps_si256(_mm256_shuffle_ps::<0b11_01_11_01>(first, second));
        let [a, b, c, d] = above;
        let quarters = |a, b| _mm256_add_epi32(_mm256_unpacklo_epi32(a, b), _mm256_unpackhi_epi32(a, b));
        let (first, second) = (quarters(a, b), quarters(c, d));
        let more = _mm256_add_epi32(_mm256_unpacklo_epi64(first, second), _mm256_unpackhi_epi64(first, second));
        let hashes = _mm256_permutevar8x32_epi32(_mm256_add_epi32(sums, more), order(TOGETHER));
        let shift = _mm_cvtsi32_si128(u32::BITS as i32 - bits as i32);
        let hashes = _mm256_slli_epi32::<{ PLACE_SHIFT as i32 }>(_mm256_srl_epi32(hashes, shift));
        _mm256_storeu_si256(places.as_mut_ptr().cast(), hashes);
    }
}

/// What the tags of the next pieces have for those that are parts.
///
/// # Safety
/// The machine has AVX2.
#[inline(always)]
unsafe fn part_tags(parts: &[bool]) -> __m256i {
    let word = match parts.first_chunk::<GROUP>() {
        Some(parts) => u64::from_le_bytes(parts.map(u8::from)),
        None => parts.iter().rev().fold(0, |word, part| word << 8 | u64::from(*part)),
    };
    // SAFETY: the caller's promise.
    unsafe { _mm256_slli_epi32::<{ PART_BIT as i32 }>(_mm256_cvtepu8_epi32(_mm_cvtsi64_si128(word as i64))) }
}

/// As [`LookUp::keys`], where some are `PARTS` or none is; not inlined, so that it has all registers.
///
/// # Safety
/// The machine has AVX2.
#[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
#[inline(never)]
unsafe fn keys<const PARTS: bool>(pieces: &Pieces<'_>, caches: &Caches, white: Option<WhiteSpace>, keys: &mut Keys) {
    let (text, count) = (pieces.text, pieces.count());
    let (near, last_from) = (text.len().saturating_sub(KEY_LIMIT), text.len().saturating_sub(BYTES));
    let last_bytes = last_bytes(text);
    // Texts are shorter than 4 GiB.
    let limit = u32::try_from(near).unwrap_or(u32::MAX);
    let (mut start, mut longer) = (pieces.start as u32, 0);
    for group in (0..count).step_by(GROUP) {
        let mut few;
        let ends = match pieces.ends[group..count].first_chunk::<GROUP>() {
            Some(ends) => ends,
            None => {
                // The last piece is followed by empty ones.
                few = [pieces.ends[count - 1]; GROUP];
                few[..count - group].copy_from_slice(&pieces.ends[group..count]);
                &few
            }
        };
        // SAFETY: the caller's promise.
        let (words, wide, blank, is_near, starts) = unsafe {
            let last = load(ends);
            let before = _mm256_permutevar8x32_epi32(last, _mm256_setr_epi32(7, 0, 1, 2, 3, 4, 5, 6));
            let start = _mm256_castsi128_si256(_mm_cvtsi32_si128(start as i32));
            let starts = _mm256_blend_epi32::<1>(before, start);
            let lengths = _mm256_sub_epi32(last, starts);
            let most = _mm256_set1_epi32(BYTES as i32);
            let clipped = _mm256_min_epu32(lengths, most);
            let wide = _mm256_cmpeq_epi32(clipped, most);
            let mut tags = _mm256_andnot_si256(wide, clipped);
            if PARTS && let Some(parts) = pieces.parts.get(group..) {
                tags = _mm256_or_si256(tags, part_tags(parts));
            }
            let words = _mm256_or_si256(clipped, _mm256_slli_epi32::<8>(tags));
            let bits = |lanes| _mm256_movemask_ps(_mm256_castsi256_ps(lanes)) as u32;
            let blank = _mm256_cmpgt_epi32(clipped, _mm256_set1_epi32(RUN_FROM as i32 - 1));
            let is_far = _mm256_cmpeq_epi32(_mm256_max_epu32(starts, _mm256_set1_epi32(limit as i32)), starts);
            (words, bits(wide), bits(blank), bits(is_far) == 0, starts)
        };
        let room = keys.keys[group..].first_chunk_mut().zip(keys.places[group..].first_chunk_mut());
        let Some((room, places)) = room else { break };
        if is_near {
            let start_of = |lane: usize| if lane == 0 { start } else { ends[lane - 1] };
            // SAFETY: the caller's promise. All pieces begin before `near`, so each has sixteen bytes of text.
            unsafe {
                make(words, caches.short.bits(), |lane| text.as_ptr().add(start_of(lane) as usize), room, places);
            }
        } else {
            let mut starts_of = Vector([0_u32; GROUP]);
            // SAFETY: the caller's promise; eight places are a vector.
            unsafe { _mm256_storeu_si256(starts_of.0.as_mut_ptr().cast(), starts) };
            // SAFETY: the caller's promise. Before `near` there are sixteen bytes of text; after it the place in the
            // 32 `last_bytes` is at most 16.
            unsafe {
                let bytes_of = |lane: usize| {
                    let start = starts_of.0[lane] as usize;
                    if start < near {
                        text.as_ptr().add(start)
                    } else {
                        last_bytes.as_ptr().add(start.wrapping_sub(last_from).min(BYTES))
                    }
                };
                make(words, caches.short.bits(), bytes_of, room, places);
            }
        }
        start = ends[GROUP - 1];
        let wide = match white {
            // SAFETY: the caller's promise.
            Some(_) => wide | blank & unsafe { blanks(room) },
            None => wide,
        };
        if let Some(room) = keys.longer.places[longer..].first_chunk_mut::<GROUP>() {
            // SAFETY: the caller's promise; there is room for eight places.
            unsafe {
                let places = _mm256_add_epi32(lanes_of(wide as u8), _mm256_set1_epi32(group as i32));
                _mm256_storeu_si256(room.as_mut_ptr().cast(), places);
            }
        }
        longer += wide.count_ones() as usize;
    }
    keys.places[..count].iter().for_each(|place| caches.short.prefetch(*place as usize));
    keys.longer.begin(longer);
    if longer > 0 {
        // SAFETY: the caller's promise.
        unsafe { prefetch_longer(&mut keys.longer, pieces, caches, white) };
    }
}

/// Which keys of a group are blank after their first byte.
///
/// # Safety
/// The machine has AVX2 and BMI2.
#[inline(always)]
unsafe fn blanks(keys: &[Key; GROUP]) -> u32 {
    // The lower half of each key.
    const LOW: u32 = 0x5555;
    let mut blank = 0;
    for pair in 0..GROUP / PAIR {
        // SAFETY: the caller's promise; four vectors of two keys are the eight there are.
        let same = unsafe {
            let keys = _mm256_loadu_si256(keys.as_ptr().add(PAIR * pair).cast());
            let behind = _mm256_and_si256(keys, _mm256_set1_epi64x(BLANK_MASK as i64));
            _mm256_movemask_pd(_mm256_castsi256_pd(_mm256_cmpeq_epi64(behind, _mm256_set1_epi64x(BLANK as i64))))
        };
        blank |= (same as u32) << (2 * PAIR * pair);
    }
    // SAFETY: the caller's promise.
    unsafe { _pext_u32(blank, LOW) }
}

/// As [`LongerPieces::prefetch`]; not inlined, since it happens once in a portion.
///
/// # Safety
/// The machine has AVX2.
#[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
#[inline(never)]
unsafe fn prefetch_longer(longer: &mut LongerPieces, pieces: &Pieces<'_>, caches: &Caches, white: Option<WhiteSpace>) {
    // SAFETY: the caller's promise.
    unsafe { longer.prefetch::<Avx2>(pieces, caches, white) };
}
