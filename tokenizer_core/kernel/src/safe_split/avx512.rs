//! The same cut with AVX-512: sixteen characters at a time, without a branch on what they are.

use core::arch::x86_64::{
    __m512i, _mm_cvtsi32_si128, _mm_set_epi32, _mm512_add_epi8, _mm512_add_epi32, _mm512_alignr_epi32,
    _mm512_and_si512, _mm512_castsi128_si512, _mm512_castsi512_si128, _mm512_castsi512_si256, _mm512_cmpeq_epi32_mask,
    _mm512_cmpge_epu8_mask, _mm512_cmplt_epu32_mask, _mm512_cvtepu8_epi32, _mm512_cvtepu32_epi64,
    _mm512_extracti64x4_epi64, _mm512_i32gather_epi32, _mm512_inserti32x4, _mm512_loadu_si512, _mm512_mask_mov_epi32,
    _mm512_maskz_compress_epi8, _mm512_maskz_loadu_epi8, _mm512_maskz_set1_epi8, _mm512_maskz_sllv_epi64,
    _mm512_movepi8_mask, _mm512_mullo_epi32, _mm512_or_si512, _mm512_permutex2var_epi16, _mm512_permutexvar_epi8,
    _mm512_permutexvar_epi32, _mm512_reduce_or_epi64, _mm512_rorv_epi32, _mm512_set1_epi8, _mm512_set1_epi32,
    _mm512_set1_epi64, _mm512_shuffle_epi8, _mm512_srl_epi32, _mm512_srli_epi32, _mm512_storeu_si512, _mm512_sub_epi32,
    _mm512_test_epi32_mask, _mm512_testn_epi32_mask, _mm512_xor_si512,
};

use super::crossings::{BLANK, Crossings, FAR, MIX};
use super::{Cuts, SafeSplit};
use crate::machine::byte_vector::WINDOW;
use crate::machine::path::Avx512;
use crate::machine::words::bytes_at;
use crate::pretokenize::vector::{Block, PLACES, ROOM, lowest_bits, whole_characters};

/// Characters that are looked up together.
const LANES: usize = 16;

/// For each lane of 32 bits its lowest byte four times.
static FOUR_TIMES: [u8; WINDOW] = {
    let mut places = [0; WINDOW];
    let mut at = 0;
    while at < WINDOW {
        places[at] = (at & 0x0C) as u8;
        at += 1;
    }
    places
};

/// How many bytes are beyond ASCII, and whether one of them begins a character from U+3000 on.
///
/// # Safety
/// The machine has [`crate::machine::path::Path::Avx512`].
#[target_feature(enable = "avx512f,avx512bw,avx512vbmi,avx512vbmi2,avx2,bmi1,bmi2,lzcnt,popcnt")]
pub(super) unsafe fn beyond_and_far(text: &[u8]) -> (usize, bool) {
    let (mut beyond, mut far) = (0, 0);
    let (windows, rest) = text.as_chunks::<WINDOW>();
    let mut look = |bytes: __m512i| {
        beyond += _mm512_movepi8_mask(bytes).count_ones() as usize;
        far |= _mm512_cmpge_epu8_mask(bytes, _mm512_set1_epi8(0xE3_u8 as i8));
    };
    for window in windows {
        // SAFETY: the caller's promise; a window has 64 bytes.
        look(unsafe { _mm512_loadu_si512(window.as_ptr().cast()) });
    }
    // SAFETY: as above; no byte after the text is loaded.
    look(unsafe { _mm512_maskz_loadu_epi8(lowest_bits(rest.len()), rest.as_ptr().cast()) });
    (beyond, far > 0)
}

/// Whether the instruction that gathers words is faster here than loads one after the other. AMD's take 5.3 ns for
/// sixteen instead of 3.1 (Zen 5), and in Intel's before Sapphire Rapids a correction slows it down (Gather Data
/// Sampling). Those it is good on are known by their arithmetic of 16 bits.
fn gathers_fast() -> bool {
    is_x86_feature_detected!("avx512fp16")
}

/// As [`SafeSplit::cut`].
///
/// # Safety
/// The machine has [`crate::machine::path::Path::Avx512`].
pub(super) unsafe fn cut(
    split: &SafeSplit,
    text: &[u8],
    start: usize,
    ends: &[u32],
    tell_parts: bool,
    cuts: &mut Cuts,
) {
    let cut = if gathers_fast() { cut_with::<true> } else { cut_with::<false> };
    // SAFETY: the caller's promise.
    unsafe { cut(split, text, start, ends, tell_parts, cuts) };
}

/// As [`cut`]; words are gathered by the instruction for that if `GATHERS`.
///
/// # Safety
/// As there.
#[target_feature(enable = "avx512f,avx512bw,avx512vbmi,avx512vbmi2,avx2,bmi1,bmi2,lzcnt,popcnt")]
pub(super) unsafe fn cut_with<const GATHERS: bool>(
    split: &SafeSplit,
    text: &[u8],
    start: usize,
    ends: &[u32],
    tell_parts: bool,
    cuts: &mut Cuts,
) {
    let end = ends.last().map_or(start, |end| *end as usize);
    cuts.reserve(end - start + ROOM, tell_parts);
    let (mut at, mut count, mut next) = (start, 0, 0);
    // Whether the character before is ASCII, and whether the last cut was one between parts.
    let (mut ascii_before, mut part_before) = (1, 0);
    let mut before = _mm512_set1_epi32(FAR as i32);
    while at < end {
        let mut copy = [0; WINDOW];
        let window = bytes_at(text, at, &mut copy);
        // SAFETY: the caller's promise, for each call in this function.
        let (wide, first) = unsafe { Avx512::shape(window) };
        let length = if end - at <= WINDOW {
            end - at
        } else if wide == 0 {
            WINDOW
        } else {
            let whole = whole_characters(window, first);
            // SAFETY: as above.
            unsafe { full_lanes(first, whole) }
        };
        let leads = first & lowest_bits(length);
        let ascii = leads & !wide;
        // SAFETY: as above.
        let pieces = unsafe { ends_within(ends, &mut next, at, length) };
        let mut inside = 0;
        if ascii != leads || ascii_before == 0 {
            // SAFETY: as above.
            unsafe {
                let ascii = Avx512::gather(ascii, leads);
                let lasts = (leads >> 1) | 1 << (length - 1);
                let apart = pairs_apart::<GATHERS>(&split.crossings, window, lasts, &mut before);
                inside = Avx512::scatter(apart & !(ascii & (ascii << 1 | ascii_before)), leads) & !pieces;
            }
        } else {
            before = _mm512_set1_epi32(i32::from(window[length - 1]) << 24);
        }
        let all = pieces | inside;
        ascii_before = !wide >> (length - 1) & 1;
        let given = all.count_ones() as usize;
        if let Some(ends) = cuts.ends[count..].first_chunk_mut() {
            // SAFETY: as above.
            unsafe { Avx512::write(all, at as u32, ends) };
        }
        if tell_parts && let Some(parts) = cuts.parts[count..].first_chunk_mut::<WINDOW>() {
            // SAFETY: as above; 64 bytes are written where there are 64, each of them 0 or 1 as in any bool.
            unsafe {
                let cut_inside = Avx512::gather(inside, all);
                let parts_of = _mm512_maskz_set1_epi8(cut_inside | cut_inside << 1 | part_before, 1);
                _mm512_storeu_si512(parts.as_mut_ptr().cast(), parts_of);
                if given > 0 {
                    part_before = cut_inside >> (given - 1) & 1;
                }
            }
        }
        count += given;
        at += length;
    }
    if !ends.is_empty() {
        cuts.ends[count] = end as u32;
        if tell_parts {
            cuts.parts[count] = part_before != 0;
        }
        count += 1;
    }
    cuts.count = count;
}

/// The length of as many of the first characters as fill all lanes each time, if there are so many among `whole` bytes,
/// since a few more would cost as much time as sixteen.
///
/// # Safety
/// The machine has AVX-512.
#[inline(always)]
unsafe fn full_lanes(leads: u64, whole: usize) -> usize {
    let full = (leads.count_ones() as usize - 1) / LANES * LANES;
    // SAFETY: the caller's promise.
    let next = unsafe { Avx512::scatter(1 << full, leads) };
    if full > 0 { next.trailing_zeros() as usize } else { whole }
}

/// Those of `ends` from `next` on that lie within `length` bytes from `at` on, a bit each; `next` moves after them.
///
/// # Safety
/// The machine has AVX-512.
#[inline(always)]
unsafe fn ends_within(ends: &[u32], next: &mut usize, at: usize, length: usize) -> u64 {
    let mut pieces = 0;
    while let Some(some) = ends.get(*next..).and_then(<[u32]>::first_chunk::<LANES>) {
        // SAFETY: the caller's promise; what is loaded are sixteen ends.
        let within = unsafe {
            let offsets = _mm512_sub_epi32(_mm512_loadu_si512(some.as_ptr().cast()), _mm512_set1_epi32(at as i32));
            let within = _mm512_cmplt_epu32_mask(offsets, _mm512_set1_epi32(length as i32));
            let (low, high) = (_mm512_castsi512_si256(offsets), _mm512_extracti64x4_epi64::<1>(offsets));
            let (low, high) = (_mm512_cvtepu32_epi64(low), _mm512_cvtepu32_epi64(high));
            let one = _mm512_set1_epi64(1);
            let low = _mm512_maskz_sllv_epi64(within as u8, one, low);
            let high = _mm512_maskz_sllv_epi64((within >> 8) as u8, one, high);
            pieces |= _mm512_reduce_or_epi64(_mm512_or_si512(low, high)) as u64;
            within
        };
        *next += within.count_ones() as usize;
        if within != u16::MAX {
            return pieces;
        }
    }
    while let Some(end) = ends.get(*next).filter(|end| (**end as usize) < at + length) {
        pieces |= 1_u64 << (*end as usize - at);
        *next += 1;
    }
    pieces
}

/// The characters of a window that no token joins to the one before, a bit each; `lasts` are their last bytes. Lane 15
/// of `before` is the character before the first, and then the last one.
///
/// # Safety
/// The machine has AVX-512; `lasts` has a bit.
#[inline(always)]
unsafe fn pairs_apart<const GATHERS: bool>(
    crossings: &Crossings,
    window: &[u8; WINDOW],
    lasts: u64,
    before: &mut __m512i,
) -> u64 {
    let count = lasts.count_ones() as usize;
    let (mut apart, mut last) = (0, *before);
    // SAFETY: the caller's promise, for all of this function. Arrays of 64 bytes are loaded, and the two halves of
    // `first_bytes`, which has 128. The places of words are below their number: see `Crossings::place`.
    unsafe {
        let all = |number: u32| _mm512_set1_epi32(number as i32);
        let shift = _mm_cvtsi32_si128(crossings.shift as i32);
        let first_bytes: *const __m512i = crossings.first_bytes.as_ptr().cast();
        let first_bytes = (_mm512_loadu_si512(first_bytes), _mm512_loadu_si512(first_bytes.add(1)));
        let bytes = _mm512_loadu_si512(window.as_ptr().cast());
        let mut places = _mm512_maskz_compress_epi8(lasts, _mm512_loadu_si512(PLACES.as_ptr().cast()));
        for first in (0..count).step_by(LANES) {
            let right = characters(bytes, _mm512_cvtepu8_epi32(_mm512_castsi512_si128(places)));
            places = _mm512_alignr_epi32::<4>(places, places);
            let left = _mm512_alignr_epi32::<15>(right, last);
            let last_byte = _mm512_srli_epi32::<24>(left);
            let places_of = _mm512_xor_si512(_mm512_srl_epi32(_mm512_mullo_epi32(right, all(MIX)), shift), last_byte);
            let word = if GATHERS {
                _mm512_i32gather_epi32::<4>(places_of, crossings.words.as_ptr().cast())
            } else {
                loaded(&crossings.words, places_of)
            };
            let bit = _mm512_add_epi32(_mm512_srli_epi32::<16>(left), _mm512_srli_epi32::<5>(left));
            let known = _mm512_rorv_epi32(word, bit);
            let partly = _mm512_permutex2var_epi16(first_bytes.0, last_byte, first_bytes.1);
            let partly = _mm512_rorv_epi32(_mm512_and_si512(partly, all(0xFFFF)), _mm512_srli_epi32::<8>(right));
            let crossed = _mm512_test_epi32_mask(known, all(1))
                | _mm512_test_epi32_mask(partly, all(1)) & _mm512_test_epi32_mask(right, all(0xFF00))
                | _mm512_cmpeq_epi32_mask(left, all(BLANK))
                | _mm512_test_epi32_mask(_mm512_or_si512(left, right), all(FAR));
            apart |= u64::from(!crossed) << first;
            last = right;
        }
        *before = _mm512_permutexvar_epi32(all(count as u32 - 1), last);
    }
    apart & lowest_bits(count)
}

/// The words at sixteen places, loaded one after the other.
///
/// # Safety
/// The machine has AVX-512, and all places are below the number of words.
#[inline(always)]
unsafe fn loaded(words: &[u32], places: __m512i) -> __m512i {
    let mut at = [0_u32; LANES];
    // SAFETY: the caller's promise; sixteen places are stored in as many.
    unsafe {
        _mm512_storeu_si512(at.as_mut_ptr().cast(), places);
        let word = |lane: usize| *words.get_unchecked(at[lane] as usize) as i32;
        let four = |lane: usize| _mm_set_epi32(word(lane + 3), word(lane + 2), word(lane + 1), word(lane));
        let low = _mm512_inserti32x4::<1>(_mm512_castsi128_si512(four(0)), four(4));
        _mm512_inserti32x4::<3>(_mm512_inserti32x4::<2>(low, four(8)), four(12))
    }
}

/// The characters that end at `places` of `bytes`, and begin there too.
///
/// # Safety
/// The machine has AVX-512.
#[inline(always)]
unsafe fn characters(bytes: __m512i, places: __m512i) -> __m512i {
    // SAFETY: the caller's promise.
    unsafe {
        let all = |number: u32| _mm512_set1_epi32(number as i32);
        let places = _mm512_shuffle_epi8(places, _mm512_loadu_si512(FOUR_TIMES.as_ptr().cast()));
        let places = _mm512_add_epi8(places, all(0x00FF_FEFD));
        let four = _mm512_permutexvar_epi8(places, bytes);
        // Of the bytes after the first none has the second bit from above.
        let two_or_one = _mm512_test_epi32_mask(four, all(0x40_0000));
        let three = _mm512_test_epi32_mask(four, all(0x4000));
        let one = _mm512_testn_epi32_mask(four, all(0x8000_0000));
        let belong = _mm512_mask_mov_epi32(all(u32::MAX), three, all(0xFFFF_FF00));
        let belong = _mm512_mask_mov_epi32(belong, two_or_one, all(0xFFFF_0000));
        let belong = _mm512_mask_mov_epi32(belong, one, all(0xFF00_0000));
        _mm512_and_si512(four, belong)
    }
}
