//! AVX-512: a class for each byte by one permutation, and pages of 64 characters beyond ASCII by one each.

use core::arch::x86_64::{
    __m512i, _mm512_add_epi32, _mm512_and_si512, _mm512_cmpeq_epi8_mask, _mm512_cmpge_epi8_mask,
    _mm512_cmple_epu8_mask, _mm512_cvtepu8_epi32, _mm512_extracti32x4_epi32, _mm512_loadu_si512,
    _mm512_mask_cmpeq_epi8_mask, _mm512_mask_cmpge_epu8_mask, _mm512_mask_mov_epi8, _mm512_maskz_compress_epi8,
    _mm512_maskz_permutex2var_epi8, _mm512_maskz_permutexvar_epi8, _mm512_movepi8_mask, _mm512_or_si512,
    _mm512_permutex2var_epi8, _mm512_set1_epi8, _mm512_set1_epi32, _mm512_slli_epi16, _mm512_storeu_si512,
    _mm512_sub_epi8, _mm512_test_epi8_mask, _pdep_u64, _pext_u64,
};

use super::super::rules::Rules;
use super::borders::Masks;
use super::{Block, READ, ROOM, WINDOW};
use crate::machine::path::Avx512;
use crate::unicode::utf8::decode;
use crate::unicode::{ASCII, LETTER, LOWER, MARK, NEWLINE, NUMBER, SPACE, UPPER, class_of, class_of_all, pages_of};

/// Every place of a window.
pub(crate) static PLACES: [u8; WINDOW] = {
    let mut places = [0; WINDOW];
    let mut at = 0;
    while at < WINDOW {
        places[at] = at as u8;
        at += 1;
    }
    places
};

/// By the low six bits of a first byte: the class of all characters of three bytes that begin with it, 0 if they
/// differ.
static UNIFORM: [u8; WINDOW] = uniform();

/// The class of all characters from U+4E00 to U+4FFF.
const IDEOGRAPH: u8 = class_of_all(0x4E00..0x5000);

const fn uniform() -> [u8; WINDOW] {
    let mut classes = [0; WINDOW];
    let mut low = 1;
    while low < 16 {
        classes[0x20 + low] = class_of_all(low << 12..(low + 1) << 12);
        low += 1;
    }
    classes
}

/// Load 64 bytes.
///
/// # Safety
/// The machine has AVX-512.
#[inline(always)]
unsafe fn load(bytes: &[u8; WINDOW]) -> __m512i {
    // SAFETY: there are 64 bytes, and any alignment will do.
    unsafe { _mm512_loadu_si512(bytes.as_ptr().cast()) }
}

impl Block for Avx512 {
    const SPREAD: bool = false;

    #[inline(always)]
    unsafe fn shape(window: &[u8; WINDOW]) -> (u64, u64) {
        // SAFETY: the caller's promise. As signed numbers the bytes 0x80 to 0xBF are the lowest.
        unsafe {
            let bytes = load(window);
            (_mm512_movepi8_mask(bytes), _mm512_cmpge_epi8_mask(bytes, _mm512_set1_epi8(-0x40)))
        }
    }

    #[inline(always)]
    unsafe fn classes<R: Rules>(text: &[u8; READ], leads: u64, wide: u64, _: u64) -> Masks {
        // SAFETY: the caller's promise, for all of this function; what is loaded has 64 bytes or more, and the table of
        // ASCII 256.
        unsafe {
            let bytes = _mm512_loadu_si512(text.as_ptr().cast());
            let (low, high) = (ASCII.as_ptr().cast(), ASCII.as_ptr().add(WINDOW).cast());
            let (low, high) = (_mm512_loadu_si512(low), _mm512_loadu_si512(high));
            let mut classes = _mm512_maskz_permutex2var_epi8(leads & !wide, low, bytes, high);
            if wide != 0 {
                classes = wide_classes(text, wide, classes);
            }
            let of = |bits: u8| _mm512_test_epi8_mask(classes, _mm512_set1_epi8(bits as i8));
            let is = |byte: u8| _mm512_cmpeq_epi8_mask(bytes, _mm512_set1_epi8(byte as i8)) & leads;
            Masks {
                letter: of(LETTER),
                upper: if R::CASED { of(UPPER) } else { 0 },
                lower: if R::CASED { of(LOWER) } else { 0 },
                mark: if R::CASED { of(MARK) } else { 0 },
                number: of(NUMBER),
                space: of(SPACE),
                newline: of(NEWLINE),
                blank: is(b' '),
                quote: is(b'\''),
                slash: if R::SLASH_TAIL { is(b'/') } else { 0 },
            }
        }
    }

    #[inline(always)]
    unsafe fn white(window: &[u8; WINDOW]) -> (u64, u64) {
        // SAFETY: the caller's promise, for all of this function; the table has 64 bytes.
        unsafe {
            let bytes = load(window);
            let is = |byte: u8| _mm512_cmpeq_epi8_mask(bytes, _mm512_set1_epi8(byte as i8));
            let past_tab = _mm512_sub_epi8(bytes, _mm512_set1_epi8(b'\t' as i8));
            let control = _mm512_cmple_epu8_mask(past_tab, _mm512_set1_epi8((b'\r' - b'\t') as i8));
            (is(b' ') | control, is(b'\n') | is(b'\r'))
        }
    }

    #[inline(always)]
    unsafe fn gather(bits: u64, mask: u64) -> u64 {
        // SAFETY: the caller's promise.
        unsafe { _pext_u64(bits, mask) }
    }

    #[inline(always)]
    unsafe fn scatter(bits: u64, mask: u64) -> u64 {
        // SAFETY: the caller's promise.
        unsafe { _pdep_u64(bits, mask) }
    }

    #[inline(always)]
    unsafe fn write(bits: u64, at: u32, ends: &mut [u32; ROOM]) {
        let count = bits.count_ones();
        // SAFETY: the caller's promise; the four stores together are 64 words, one less than there is room for.
        unsafe {
            let places = _mm512_maskz_compress_epi8(bits, load(&PLACES));
            let at = _mm512_set1_epi32(at as i32);
            let to = ends.as_mut_ptr();
            let first = _mm512_cvtepu8_epi32(_mm512_extracti32x4_epi32::<0>(places));
            _mm512_storeu_si512(to.cast(), _mm512_add_epi32(first, at));
            if count > 16 {
                let second = _mm512_cvtepu8_epi32(_mm512_extracti32x4_epi32::<1>(places));
                _mm512_storeu_si512(to.add(16).cast(), _mm512_add_epi32(second, at));
            }
            if count > 32 {
                let third = _mm512_cvtepu8_epi32(_mm512_extracti32x4_epi32::<2>(places));
                let fourth = _mm512_cvtepu8_epi32(_mm512_extracti32x4_epi32::<3>(places));
                _mm512_storeu_si512(to.add(32).cast(), _mm512_add_epi32(third, at));
                _mm512_storeu_si512(to.add(48).cast(), _mm512_add_epi32(fourth, at));
            }
        }
    }
}

/// Put the classes of the characters at `wide` into `classes`: two pages of 64 characters at a time, since those of one
/// window mostly lie on few.
///
/// # Safety
/// The machine has AVX-512.
#[inline(always)]
unsafe fn wide_classes(text: &[u8; READ], wide: u64, mut classes: __m512i) -> __m512i {
    // SAFETY: the caller's promise, for all of this function; 64 bytes are loaded from 0, 1 and 2 of the 68 in `text`,
    // and both halves of the 128 classes of a pair of pages.
    unsafe {
        let all = |byte: u8| _mm512_set1_epi8(byte as i8);
        let from = |at: usize| _mm512_loadu_si512(text.as_ptr().add(at).cast());
        let (bytes, next, next_but_one) = (from(0), from(1), from(2));
        let mut left = wide;
        if _mm512_mask_cmpge_epu8_mask(wide, bytes, all(0xE0)) != 0 {
            let uniform = _mm512_maskz_permutexvar_epi8(wide, bytes, load(&UNIFORM));
            // Ideographs that share their first byte with what is none.
            let shared = wide & _mm512_cmpeq_epi8_mask(bytes, all(0xE4));
            let ideographs = _mm512_mask_cmpge_epu8_mask(shared, next, all(0xB8));
            let uniform = _mm512_mask_mov_epi8(uniform, ideographs, all(IDEOGRAPH));
            let known = _mm512_test_epi8_mask(uniform, uniform);
            classes = _mm512_mask_mov_epi8(classes, known, uniform);
            left &= !known;
        }
        // The last bit of the byte before the last chooses the page of a pair.
        let even = |bytes| _mm512_and_si512(bytes, all(0xFE));
        let within = |page, place| {
            let page = _mm512_and_si512(_mm512_slli_epi16::<6>(page), all(0x40));
            _mm512_or_si512(page, _mm512_and_si512(place, all(0x3F)))
        };
        while left != 0 {
            let at = left.trailing_zeros() as usize;
            let first = text[at];
            let (code, length) = decode(text, at, first);
            if length == 4 {
                classes = _mm512_mask_mov_epi8(classes, 1 << at, all(class_of(code)));
                left &= left - 1;
                continue;
            }
            let pages = pages_of(code).as_ptr();
            let (low, high) = (_mm512_loadu_si512(pages.cast()), _mm512_loadu_si512(pages.add(WINDOW).cast()));
            let (same, place) = if length == 2 {
                (_mm512_mask_cmpeq_epi8_mask(left, even(bytes), all(first & 0xFE)), within(bytes, next))
            } else {
                let same = _mm512_mask_cmpeq_epi8_mask(left, bytes, all(first));
                let same = _mm512_mask_cmpeq_epi8_mask(same, even(next), all(text[at + 1] & 0xFE));
                (same, within(next, next_but_one))
            };
            classes = _mm512_mask_mov_epi8(classes, same, _mm512_permutex2var_epi8(low, place, high));
            left &= !same;
        }
        classes
    }
}
