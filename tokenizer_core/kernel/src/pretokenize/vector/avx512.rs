//! AVX-512: a class for each byte by one permutation, and pages of 64 characters beyond ASCII by one each.

use core::arch::x86_64::{
    __m512i, _mm512_add_epi32, _mm512_cmpeq_epi8_mask, _mm512_cmpge_epi8_mask, _mm512_cvtepu8_epi32,
    _mm512_extracti32x4_epi32, _mm512_loadu_si512, _mm512_mask_mov_epi8, _mm512_mask_permutexvar_epi8,
    _mm512_maskz_compress_epi8, _mm512_maskz_permutex2var_epi8, _mm512_maskz_permutexvar_epi8, _mm512_movepi8_mask,
    _mm512_permutexvar_epi8, _mm512_set1_epi8, _mm512_set1_epi32, _mm512_storeu_si512, _mm512_test_epi8_mask,
    _pdep_u64, _pext_u64,
};

use super::super::rules::Rules;
use super::borders::Masks;
use super::{Block, ROOM, WINDOW};
use crate::unicode::utf8::decode;
use crate::unicode::{ASCII, LETTER, LOWER, MARK, NEWLINE, NUMBER, SPACE, UPPER, class_of, page_of, uniform_class};

pub(crate) struct Avx512;

/// The bytes from `first` on.
const fn counted(first: u8) -> [u8; WINDOW] {
    let mut bytes = [0; WINDOW];
    let mut at = 0;
    while at < WINDOW {
        bytes[at] = first.wrapping_add(at as u8);
        at += 1;
    }
    bytes
}

/// Every place of a window.
pub(crate) static PLACES: [u8; WINDOW] = counted(0);
static NEXT: [u8; WINDOW] = counted(1);
static NEXT_BUT_ONE: [u8; WINDOW] = counted(2);

/// By the low six bits of a first byte: the class of all characters of three bytes that begin with it, 0 if they differ.
static UNIFORM: [u8; WINDOW] = uniform();

const fn uniform() -> [u8; WINDOW] {
    let mut classes = [0; WINDOW];
    let mut low = 1;
    while low < 16 {
        classes[0x20 + low] = uniform_class(low);
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
    #[inline(always)]
    unsafe fn shape(window: &[u8; WINDOW]) -> (u64, u64) {
        // SAFETY: the caller's promise. As signed numbers the bytes 0x80 to 0xBF are the lowest.
        unsafe {
            let bytes = load(window);
            (_mm512_movepi8_mask(bytes), _mm512_cmpge_epi8_mask(bytes, _mm512_set1_epi8(-0x40)))
        }
    }

    #[inline(always)]
    unsafe fn classes<R: Rules>(window: &[u8; WINDOW], leads: u64, wide: u64) -> Masks {
        // SAFETY: the caller's promise, for all of this function; the table of ASCII has 256 bytes.
        unsafe {
            let bytes = load(window);
            let (low, high) = (ASCII.as_ptr().cast(), ASCII.as_ptr().add(WINDOW).cast());
            let (low, high) = (_mm512_loadu_si512(low), _mm512_loadu_si512(high));
            let mut classes = _mm512_maskz_permutex2var_epi8(leads & !wide, low, bytes, high);
            if wide != 0 {
                classes = wide_classes(window, bytes, wide, classes);
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

/// Put the classes of the characters at `wide` into `classes`: pages of 64 characters one after the other, since those
/// of one window mostly lie on few.
///
/// # Safety
/// The machine has AVX-512.
#[inline(always)]
unsafe fn wide_classes(window: &[u8; WINDOW], bytes: __m512i, wide: u64, mut classes: __m512i) -> __m512i {
    // SAFETY: the caller's promise, for all of this function.
    unsafe {
        let uniform = _mm512_maskz_permutexvar_epi8(wide, bytes, load(&UNIFORM));
        let known = _mm512_test_epi8_mask(uniform, uniform);
        classes = _mm512_mask_mov_epi8(classes, known, uniform);
        let mut left = wide & !known;
        let next = _mm512_permutexvar_epi8(load(&NEXT), bytes);
        let next_but_one = _mm512_permutexvar_epi8(load(&NEXT_BUT_ONE), bytes);
        while left != 0 {
            let at = left.trailing_zeros() as usize;
            let first = window[at];
            let (code, length) = decode(window, at, first);
            let mut same = _mm512_cmpeq_epi8_mask(bytes, _mm512_set1_epi8(first as i8)) & left;
            match length {
                2 => classes = _mm512_mask_permutexvar_epi8(classes, same, next, load(page_of(code))),
                3 => {
                    let second = window.get(at + 1).copied().unwrap_or(0);
                    same &= _mm512_cmpeq_epi8_mask(next, _mm512_set1_epi8(second as i8));
                    classes = _mm512_mask_permutexvar_epi8(classes, same, next_but_one, load(page_of(code)));
                }
                _ => {
                    same = 1 << at;
                    classes = _mm512_mask_mov_epi8(classes, same, _mm512_set1_epi8(class_of(code) as i8));
                }
            }
            left &= !same;
        }
        classes
    }
}
