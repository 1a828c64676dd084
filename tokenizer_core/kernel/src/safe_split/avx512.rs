//! The same cut with AVX-512: sixteen characters at a time, without a branch on what they are.

use core::arch::x86_64::{
    __m512i, _mm_loadu_si128, _mm512_add_epi8, _mm512_add_epi32, _mm512_alignr_epi32, _mm512_and_si512,
    _mm512_cmplt_epu32_mask, _mm512_cvtepu8_epi32, _mm512_i32gather_epi32, _mm512_loadu_si512,
    _mm512_mask_i32gather_epi32, _mm512_mask_mov_epi32, _mm512_maskz_compress_epi8, _mm512_maskz_set1_epi8,
    _mm512_mullo_epi32, _mm512_or_si512, _mm512_permutexvar_epi8, _mm512_set1_epi32, _mm512_setzero_si512,
    _mm512_shuffle_epi8, _mm512_slli_epi32, _mm512_srli_epi32, _mm512_srlv_epi32, _mm512_storeu_si512,
    _mm512_testn_epi32_mask,
};

use super::{ANY, Cuts, SafeSplit};
use crate::pretokenize::vector::{Avx512, Block, PLACES, ROOM, WINDOW, lowest, whole_characters, window_at};
use crate::unicode::utf8::decode;

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

/// As [`SafeSplit::cut`].
///
/// # Safety
/// The machine has [`crate::path::Path::Avx512`].
#[target_feature(enable = "avx512f,avx512bw,avx512vbmi,avx512vbmi2,avx2,bmi1,bmi2,lzcnt,popcnt")]
pub(super) unsafe fn cut(split: &SafeSplit, text: &[u8], start: usize, ends: &[u32], cuts: &mut Cuts) {
    let end = ends.last().map_or(start, |end| *end as usize);
    cuts.reserve(end - start + ROOM);
    let (mut at, mut count, mut next) = (start, 0, 0);
    // The character before: its class, and whether it is ASCII; and whether the last cut was one between parts.
    let (mut left, mut ascii_before, mut part_before) = (ANY, 1, 0);
    while at < end {
        let mut copy = [0; WINDOW];
        let window = window_at(text, at, &mut copy);
        // SAFETY: the caller's promise, as for all that follow.
        let (wide, first) = unsafe { Avx512::shape(window) };
        let length = if end - at > WINDOW { whole_characters(window, first) } else { end - at };
        let leads = first & lowest(length);
        let ascii = leads & !wide;
        let mut pieces = 0;
        while let Some(end) = ends.get(next).filter(|end| (**end as usize) < at + length) {
            pieces |= 1_u64 << (*end as usize - at);
            next += 1;
        }
        let mut inside = 0;
        if ascii != leads || ascii_before == 0 {
            // SAFETY: as above.
            unsafe {
                let ascii = Avx512::gather(ascii, leads);
                let cuts = cuts_between(split, window, leads, left) & !(ascii & (ascii << 1 | ascii_before));
                inside = Avx512::scatter(cuts, leads) & !pieces;
            }
        }
        let all = pieces | inside;
        let last = 63 - leads.leading_zeros() as usize;
        left = split.class(decode(window, last, window[last]).0) >> 16;
        ascii_before = ascii >> last & 1;
        // SAFETY: as above.
        let cut_inside = unsafe { Avx512::gather(inside, all) };
        if let Some(ends) = cuts.ends[count..].first_chunk_mut() {
            // SAFETY: as above.
            unsafe { Avx512::write(all, at as u32, ends) };
        }
        if let Some(parts) = cuts.parts[count..].first_chunk_mut::<WINDOW>() {
            // SAFETY: as above; 64 bytes are written where there are 64, each of them 0 or 1 as in any bool.
            unsafe {
                let parts_of = _mm512_maskz_set1_epi8(cut_inside | cut_inside << 1 | part_before, 1);
                _mm512_storeu_si512(parts.as_mut_ptr().cast(), parts_of);
            }
        }
        let given = all.count_ones() as usize;
        if given > 0 {
            part_before = cut_inside >> (given - 1) & 1;
        }
        count += given;
        at += length;
    }
    if !ends.is_empty() {
        cuts.ends[count] = end as u32;
        cuts.parts[count] = part_before != 0;
        count += 1;
    }
    cuts.count = count;
}

/// The characters of a window that no token joins to the one before, a bit each; `left` is the class of the one before the
/// first.
///
/// # Safety
/// The machine has AVX-512; `leads` are the first bytes of whole characters.
#[inline(always)]
unsafe fn cuts_between(split: &SafeSplit, window: &[u8; WINDOW], leads: u64, left: u32) -> u64 {
    let SafeSplit { classes, rows, words, .. } = split;
    let count = leads.count_ones() as usize;
    let mut cuts = 0;
    // SAFETY: the caller's promise, for all of this function. What is loaded and stored are arrays of 64 bytes, and 16 of
    // them from a place that is at most 48. The indexes of the first lookup are below the number of classes, since lanes
    // with more are not looked up; those of the second are a row there is and a word of it, for any class.
    unsafe {
        let bytes = _mm512_loadu_si512(window.as_ptr().cast());
        let mut places = [0_u8; WINDOW];
        let compressed = _mm512_maskz_compress_epi8(leads, _mm512_loadu_si512(PLACES.as_ptr().cast()));
        _mm512_storeu_si512(places.as_mut_ptr().cast(), compressed);
        let mut before = _mm512_set1_epi32(left as i32);
        for first in (0..count).step_by(LANES) {
            let places = _mm512_cvtepu8_epi32(_mm_loadu_si128(places.as_ptr().add(first).cast()));
            let (code, in_plane) = code_points(bytes, places);
            let class =
                _mm512_mask_i32gather_epi32::<4>(_mm512_setzero_si512(), in_plane, code, classes.as_ptr().cast());
            let right = _mm512_and_si512(class, _mm512_set1_epi32(0xFFFF));
            let class = _mm512_srli_epi32::<16>(class);
            let row = _mm512_alignr_epi32::<15>(class, before);
            let row = _mm512_mullo_epi32(row, _mm512_set1_epi32(2 * *words as i32));
            let word = _mm512_add_epi32(row, _mm512_srli_epi32::<5>(right));
            let word = _mm512_i32gather_epi32::<4>(word, rows.as_ptr().cast());
            let bit = _mm512_srlv_epi32(word, _mm512_and_si512(right, _mm512_set1_epi32(31)));
            cuts |= u64::from(_mm512_testn_epi32_mask(bit, _mm512_set1_epi32(1))) << first;
            before = class;
        }
    }
    cuts & lowest(count)
}

/// The code points of the characters that begin at `places` of `bytes`, and the lanes where they are below U+10000.
///
/// # Safety
/// The machine has AVX-512.
#[inline(always)]
unsafe fn code_points(bytes: __m512i, places: __m512i) -> (__m512i, u16) {
    // SAFETY: the caller's promise. A place beyond the window is taken modulo 64, and its byte belongs to no character.
    unsafe {
        let all = |number: i32| _mm512_set1_epi32(number);
        let places = _mm512_shuffle_epi8(places, _mm512_loadu_si512(FOUR_TIMES.as_ptr().cast()));
        let four = _mm512_permutexvar_epi8(_mm512_add_epi8(places, all(0x0302_0100)), bytes);
        let first = _mm512_and_si512(four, all(0xFF));
        let second = _mm512_and_si512(_mm512_srli_epi32::<8>(four), all(0x3F));
        let third = _mm512_and_si512(_mm512_srli_epi32::<16>(four), all(0x3F));
        let two = _mm512_or_si512(_mm512_slli_epi32::<6>(_mm512_and_si512(four, all(0x1F))), second);
        let three = _mm512_slli_epi32::<12>(_mm512_and_si512(four, all(0x0F)));
        let three = _mm512_or_si512(three, _mm512_or_si512(_mm512_slli_epi32::<6>(second), third));
        let code = _mm512_mask_mov_epi32(three, _mm512_cmplt_epu32_mask(first, all(0xE0)), two);
        let code = _mm512_mask_mov_epi32(code, _mm512_cmplt_epu32_mask(first, all(0x80)), first);
        (code, _mm512_cmplt_epu32_mask(first, all(0xF0)))
    }
}
