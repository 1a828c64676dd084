//! UTF-32 to UTF-8, 64 characters at a time.

#[cfg(target_arch = "x86_64")]
mod avx2;
mod words;

use std::ops::Deref;

use crate::machine::path::{Path, Portable};
use crate::machine::room::reserve;

/// The most bytes a character becomes.
const MOST: usize = 4;

/// Characters that are looked at together, and the bytes that are written at once.
const WINDOW: usize = 64;

/// Text in UTF-8, put together of whole characters.
#[derive(Debug)]
pub struct Utf8 {
    bytes: Vec<u8>,
    /// One that the machine has.
    path: Path,
}

impl Utf8 {
    /// Room for so many `characters`; `None` if the system refuses it. The portable path writes them if the machine
    /// lacks `path`.
    pub fn with_room(characters: usize, path: Path) -> Option<Self> {
        let mut bytes = Vec::new();
        bytes.try_reserve_exact(characters.checked_mul(MOST)?.checked_add(WINDOW)?).ok()?;
        let path = if path.is_available() { path } else { Path::Portable };
        Some(Self { bytes, path })
    }

    /// Append characters; `None`, and nothing of them, if one is a surrogate or beyond U+10FFFF.
    pub fn push(&mut self, characters: &[u32]) -> Option<()> {
        reserve(&mut self.bytes, characters.len() * MOST + WINDOW);
        let spare = self.bytes.spare_capacity_mut();
        // SAFETY: `with_room` made sure that the machine has the path, and the room has been reserved.
        let written = unsafe {
            match self.path {
                #[cfg(target_arch = "x86_64")]
                Path::Avx512 => avx512::from_utf32(characters, spare),
                #[cfg(target_arch = "x86_64")]
                Path::Avx2 => avx2::from_utf32(characters, spare),
                _ => words::from_utf32::<Portable>(characters, spare),
            }
        };
        // SAFETY: `written` more bytes have been written into the spare room.
        unsafe { self.bytes.set_len(self.bytes.len() + written?) };
        Some(())
    }

    /// Append what is UTF-8 already.
    pub fn push_str(&mut self, text: &str) {
        reserve(&mut self.bytes, text.len());
        self.bytes.extend_from_slice(text.as_bytes());
    }
}

impl Deref for Utf8 {
    type Target = str;

    #[inline]
    fn deref(&self) -> &str {
        // SAFETY: `push` and `push_str` append whole characters in UTF-8 and nothing else.
        unsafe { std::str::from_utf8_unchecked(&self.bytes) }
    }
}

#[cfg(target_arch = "x86_64")]
mod avx512 {
    use core::arch::x86_64::{
        __m128i, __m512i, _mm_storeu_si128, _mm512_and_si512, _mm512_cmpeq_epi32_mask, _mm512_cmpge_epu32_mask,
        _mm512_cvtepi32_epi8, _mm512_mask_mov_epi32, _mm512_maskz_compress_epi8, _mm512_maskz_loadu_epi32,
        _mm512_or_si512, _mm512_set1_epi32, _mm512_slli_epi32, _mm512_srli_epi32, _mm512_storeu_si512, _pdep_u64,
    };

    use std::mem::MaybeUninit;

    use super::WINDOW;

    /// Characters of a vector.
    const LANES: usize = 16;

    /// The first byte of each lane.
    const FIRST: u64 = 0x1111_1111_1111_1111;

    /// How many bytes were written to `bytes`; `None` if a number is not a character of Unicode.
    ///
    /// # Safety
    /// The machine has [`crate::machine::path::Path::Avx512`], and `bytes` room for four of each character and a
    /// window.
    #[target_feature(enable = "avx512f,avx512bw,avx512vbmi,avx512vbmi2,avx2,bmi1,bmi2,lzcnt,popcnt")]
    pub unsafe fn from_utf32(characters: &[u32], bytes: &mut [MaybeUninit<u8>]) -> Option<usize> {
        let mut count = 0;
        for windows in characters.chunks(WINDOW) {
            // In European languages it is hard to predict whether sixteen characters are ASCII, and easy for four times
            // as many.
            let loaded: [__m512i; 4] = std::array::from_fn(|at| load(windows.get(LANES * at..).unwrap_or_default()));
            let [first, second, third, fourth] = loaded;
            let all = _mm512_or_si512(_mm512_or_si512(first, second), _mm512_or_si512(third, fourth));
            let is_ascii = at_least(all, 0x80) == 0;
            for (at, window) in loaded.into_iter().enumerate() {
                let length = windows.len().saturating_sub(LANES * at).min(LANES);
                // SAFETY: what came before has four bytes a character at the most, so there is room for a window.
                let to = unsafe { bytes.as_mut_ptr().add(count) };
                if is_ascii {
                    // SAFETY: as above.
                    unsafe { _mm_storeu_si128(to.cast::<__m128i>(), _mm512_cvtepi32_epi8(window)) };
                    count += length;
                } else {
                    let (units, places) = units(window, length)?;
                    // SAFETY: as above.
                    unsafe { _mm512_storeu_si512(to.cast(), _mm512_maskz_compress_epi8(places, units)) };
                    count += places.count_ones() as usize;
                }
            }
        }
        Some(count)
    }

    /// Up to 16 characters, with zeros after them.
    #[target_feature(enable = "avx512f,avx512bw,avx512vbmi,avx512vbmi2,avx2,bmi1,bmi2,lzcnt,popcnt")]
    fn load(characters: &[u32]) -> __m512i {
        let lanes = u16::MAX.unbounded_shr(LANES.saturating_sub(characters.len()) as u32);
        // SAFETY: the mask has a bit for each character of the slice, up to 16, and no other is read.
        unsafe { _mm512_maskz_loadu_epi32(lanes, characters.as_ptr().cast()) }
    }

    #[target_feature(enable = "avx512f,avx512bw,avx512vbmi,avx512vbmi2,avx2,bmi1,bmi2,lzcnt,popcnt")]
    fn at_least(characters: __m512i, least: i32) -> u16 {
        _mm512_cmpge_epu32_mask(characters, _mm512_set1_epi32(least))
    }

    /// The bytes of the first `length` characters in a lane each, and which bytes of the lanes they are.
    #[target_feature(enable = "avx512f,avx512bw,avx512vbmi,avx512vbmi2,avx2,bmi1,bmi2,lzcnt,popcnt")]
    fn units(characters: __m512i, length: usize) -> Option<(__m512i, u64)> {
        let lanes = u16::MAX.unbounded_shr((LANES - length) as u32);
        let (wide, three) = (at_least(characters, 0x80), at_least(characters, 0x800));
        let mut places = _pdep_u64(lanes.into(), FIRST) | _pdep_u64(wide.into(), FIRST << 1);
        let mut units = _mm512_mask_mov_epi32(characters, wide, two_bytes(characters));
        if three != 0 {
            let four = at_least(characters, 0x1_0000);
            let high = _mm512_and_si512(characters, _mm512_set1_epi32(!0x7FF));
            if _mm512_cmpeq_epi32_mask(high, _mm512_set1_epi32(0xD800)) | at_least(characters, 0x11_0000) != 0 {
                return None;
            }
            units = _mm512_mask_mov_epi32(units, three, three_bytes(characters));
            units = _mm512_mask_mov_epi32(units, four, four_bytes(characters));
            places |= _pdep_u64(three.into(), FIRST << 2) | _pdep_u64(four.into(), FIRST << 3);
        }
        Some((units, places))
    }

    /// Six bits of each character as a byte that continues one, moved to the left.
    #[target_feature(enable = "avx512f,avx512bw,avx512vbmi,avx512vbmi2,avx2,bmi1,bmi2,lzcnt,popcnt")]
    fn tail<const RIGHT: u32, const LEFT: u32>(characters: __m512i) -> __m512i {
        let bits = _mm512_and_si512(_mm512_srli_epi32::<RIGHT>(characters), _mm512_set1_epi32(0x3F));
        _mm512_slli_epi32::<LEFT>(_mm512_or_si512(bits, _mm512_set1_epi32(0x80)))
    }

    /// The bits from `RIGHT` on as the first byte, with its mark.
    #[target_feature(enable = "avx512f,avx512bw,avx512vbmi,avx512vbmi2,avx2,bmi1,bmi2,lzcnt,popcnt")]
    fn lead<const RIGHT: u32>(characters: __m512i, mark: i32) -> __m512i {
        _mm512_or_si512(_mm512_srli_epi32::<RIGHT>(characters), _mm512_set1_epi32(mark))
    }

    #[target_feature(enable = "avx512f,avx512bw,avx512vbmi,avx512vbmi2,avx2,bmi1,bmi2,lzcnt,popcnt")]
    fn two_bytes(characters: __m512i) -> __m512i {
        _mm512_or_si512(lead::<6>(characters, 0xC0), tail::<0, 8>(characters))
    }

    #[target_feature(enable = "avx512f,avx512bw,avx512vbmi,avx512vbmi2,avx2,bmi1,bmi2,lzcnt,popcnt")]
    fn three_bytes(characters: __m512i) -> __m512i {
        let tails = _mm512_or_si512(tail::<6, 8>(characters), tail::<0, 16>(characters));
        _mm512_or_si512(lead::<12>(characters, 0xE0), tails)
    }

    #[target_feature(enable = "avx512f,avx512bw,avx512vbmi,avx512vbmi2,avx2,bmi1,bmi2,lzcnt,popcnt")]
    fn four_bytes(characters: __m512i) -> __m512i {
        let tails = _mm512_or_si512(tail::<12, 8>(characters), tail::<6, 16>(characters));
        _mm512_or_si512(lead::<18>(characters, 0xF0), _mm512_or_si512(tails, tail::<0, 24>(characters)))
    }
}
