//! AVX2: the classes of ASCII by comparing, those of other characters looked up one by one.

use core::arch::x86_64::{
    __m256i, _mm256_add_epi8, _mm256_and_si256, _mm256_cmpeq_epi8, _mm256_cmpgt_epi8, _mm256_loadu_si256,
    _mm256_movemask_epi8, _mm256_or_si256, _mm256_set1_epi8, _mm256_setzero_si256, _pdep_u64, _pext_u64,
};

use super::super::rules::Rules;
use super::borders::Masks;
use super::{Block, READ, ROOM, WINDOW};
use crate::unicode::utf8::decode;
use crate::unicode::{LETTER, LOWER, MARK, NUMBER, SPACE, UPPER, class_of};

pub(super) struct Avx2;

/// Half a window.
const HALF: usize = WINDOW / 2;

/// Ends that are written at once, wanted or not.
const STRIDE: usize = 8;

/// A bit for each byte of both halves for which `test` has all bits set.
///
/// # Safety
/// The machine has AVX2.
#[inline(always)]
unsafe fn mask(window: &[u8; WINDOW], test: impl Fn(__m256i) -> __m256i) -> u64 {
    // SAFETY: the caller's promise; two loads of 32 bytes are the 64 there are, and any alignment will do.
    unsafe {
        let low = test(_mm256_loadu_si256(window.as_ptr().cast()));
        let high = test(_mm256_loadu_si256(window.as_ptr().add(HALF).cast()));
        u64::from(_mm256_movemask_epi8(low) as u32) | u64::from(_mm256_movemask_epi8(high) as u32) << HALF
    }
}

/// The bytes from `first` to `last`.
///
/// # Safety
/// The machine has AVX2.
#[inline(always)]
unsafe fn between(bytes: __m256i, first: u8, last: u8) -> __m256i {
    // SAFETY: the caller's promise. Moved so that `first` is the lowest signed byte.
    unsafe {
        let moved = _mm256_add_epi8(bytes, _mm256_set1_epi8(0x80_u8.wrapping_sub(first) as i8));
        _mm256_cmpgt_epi8(_mm256_set1_epi8(((last - first + 1) ^ 0x80) as i8), moved)
    }
}

impl Block for Avx2 {
    #[inline(always)]
    unsafe fn shape(window: &[u8; WINDOW]) -> (u64, u64) {
        // SAFETY: the caller's promise. As signed numbers the bytes 0x80 to 0xBF are the lowest.
        unsafe {
            (mask(window, |bytes| bytes), mask(window, |bytes| _mm256_cmpgt_epi8(bytes, _mm256_set1_epi8(-0x41))))
        }
    }

    #[inline(always)]
    unsafe fn classes<R: Rules>(bytes: &[u8; READ], leads: u64, wide: u64) -> Masks {
        let Some(window) = bytes.first_chunk() else { return Masks::default() };
        // SAFETY: the caller's promise, for all of this function.
        unsafe {
            let is = |byte: u8| leads & mask(window, |bytes| _mm256_cmpeq_epi8(bytes, _mm256_set1_epi8(byte as i8)));
            let within = |first: u8, last: u8| leads & mask(window, |bytes| between(bytes, first, last));
            let lower_case = |bytes| _mm256_or_si256(bytes, _mm256_set1_epi8(0x20));
            let blank = is(b' ');
            let mut masks = Masks {
                letter: leads & mask(window, |bytes| between(lower_case(bytes), b'a', b'z')),
                upper: if R::CASED { within(b'A', b'Z') } else { 0 },
                lower: if R::CASED { within(b'a', b'z') } else { 0 },
                mark: 0,
                number: within(b'0', b'9'),
                space: blank | within(b'\t', b'\r'),
                newline: is(b'\n') | is(b'\r'),
                blank,
                quote: is(b'\''),
                slash: if R::SLASH_TAIL { is(b'/') } else { 0 },
            };
            if wide != 0 {
                let classes = wide_classes(bytes, wide);
                let of = |bits: u8| {
                    let bits = _mm256_set1_epi8(bits as i8);
                    !mask(&classes, |classes| {
                        _mm256_cmpeq_epi8(_mm256_and_si256(classes, bits), _mm256_setzero_si256())
                    })
                };
                masks.letter |= of(LETTER);
                masks.number |= of(NUMBER);
                // No newline is beyond ASCII.
                masks.space |= of(SPACE);
                if R::CASED {
                    masks.upper |= of(UPPER);
                    masks.lower |= of(LOWER);
                    masks.mark = of(MARK);
                }
            }
            masks
        }
    }

    #[inline(always)]
    unsafe fn white(window: &[u8; WINDOW]) -> (u64, u64) {
        // SAFETY: the caller's promise, for all of this function.
        unsafe {
            let is = |byte: u8| mask(window, |bytes| _mm256_cmpeq_epi8(bytes, _mm256_set1_epi8(byte as i8)));
            (is(b' ') | mask(window, |bytes| between(bytes, b'\t', b'\r')), is(b'\n') | is(b'\r'))
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
    unsafe fn write(mut bits: u64, at: u32, ends: &mut [u32; ROOM]) {
        for ends in ends.chunks_exact_mut(STRIDE) {
            if bits == 0 {
                break;
            }
            for end in ends {
                // Behind the last bit this is of no meaning, and written over by the next window.
                *end = at.wrapping_add(bits.trailing_zeros());
                bits &= bits.wrapping_sub(1);
            }
        }
    }
}

/// The classes of the characters at `wide`, at their first bytes.
#[inline(always)]
fn wide_classes(bytes: &[u8; READ], mut wide: u64) -> [u8; WINDOW] {
    let mut classes = [0; WINDOW];
    while wide != 0 {
        let at = wide.trailing_zeros() as usize;
        classes[at] = class_of(decode(bytes, at, bytes[at]).0);
        wide &= wide - 1;
    }
    classes
}
