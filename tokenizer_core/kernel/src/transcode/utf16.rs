//! UTF-8 to UTF-16, 64 bytes at a time; compare Clausecker and Lemire, "Transcoding Unicode characters with AVX-512
//! instructions" (2023).

use crate::machine::path::Path;
use crate::machine::room::reserve;

/// Units that are written at once.
const WINDOW: usize = 64;

/// Text in UTF-16, put together of whole characters.
#[derive(Debug)]
pub struct Units(Vec<u16>);

impl Units {
    /// Room for what `bytes` bytes become; `None` on paths that are no faster than Python, and if there is no room.
    pub fn with_room(bytes: usize, path: Path) -> Option<Self> {
        let mut units = Vec::new();
        let has_room = path == Path::Avx512 && path.is_available() && units.try_reserve_exact(bytes + WINDOW).is_ok();
        has_room.then_some(Self(units))
    }

    /// Append characters; `None` if the bytes are not whole characters.
    pub fn push(&mut self, bytes: &[u8]) -> Option<()> {
        // A character has no more units than bytes, and the last store is of a whole window.
        reserve(&mut self.0, bytes.len() + WINDOW);
        #[cfg(target_arch = "x86_64")]
        // SAFETY: the machine has AVX-512, or `with_room` would have made no units; the room has been reserved.
        let written = unsafe { avx512::from_utf8(bytes, self.0.spare_capacity_mut()) };
        #[cfg(not(target_arch = "x86_64"))]
        let written: Option<usize> = None;
        // SAFETY: `written` more units have been written within the capacity.
        unsafe { self.0.set_len(self.0.len() + written?) };
        Some(())
    }

    /// The units.
    pub fn as_slice(&self) -> &[u16] {
        &self.0
    }
}

#[cfg(target_arch = "x86_64")]
mod avx512 {
    use core::arch::x86_64::{
        __m512i, _mm512_and_si512, _mm512_castsi512_si256, _mm512_cmpeq_epu8_mask, _mm512_cmpge_epu8_mask,
        _mm512_cmpge_epu16_mask, _mm512_cmplt_epi8_mask, _mm512_cmplt_epu8_mask, _mm512_cvtepu8_epi16,
        _mm512_extracti64x4_epi64, _mm512_mask_mov_epi16, _mm512_maskz_compress_epi8, _mm512_maskz_loadu_epi8,
        _mm512_movepi8_mask, _mm512_or_si512, _mm512_set1_epi8, _mm512_set1_epi16, _mm512_slli_epi16,
        _mm512_storeu_si512,
    };

    use std::mem::MaybeUninit;

    use super::WINDOW;

    /// How many units were written to `units`; `None` if the bytes are not UTF-8.
    ///
    /// # Safety
    /// The machine has [`crate::machine::path::Path::Avx512`], and `units` room for `bytes.len() + WINDOW`.
    #[target_feature(enable = "avx512f,avx512bw,avx512vbmi,avx512vbmi2,avx2,bmi1,bmi2,lzcnt,popcnt")]
    pub unsafe fn from_utf8(bytes: &[u8], units: &mut [MaybeUninit<u16>]) -> Option<usize> {
        let (mut at, mut count) = (0, 0);
        // Bytes at the beginning of a window that end the character before.
        let mut carried = 0;
        while at < bytes.len() {
            let [first, second, third] = [0, 1, 2].map(|shift| load(bytes.get(at + shift..).unwrap_or_default()));
            let left = bytes.len() - at;
            // SAFETY: `count` is at most `at`, so there is room for `left + WINDOW` units from `to` on. Each turn
            // writes at most `WINDOW` of them.
            let to = unsafe { units.as_mut_ptr().add(count) };
            let high = _mm512_movepi8_mask(first);
            if high == 0 && carried == 0 && left >= WINDOW {
                let halves = [_mm512_castsi512_si256(first), _mm512_extracti64x4_epi64::<1>(first)];
                for (half, bytes) in halves.into_iter().enumerate() {
                    // SAFETY: as above.
                    unsafe { _mm512_storeu_si512(to.add(32 * half).cast(), _mm512_cvtepu8_epi16(bytes)) };
                }
                (at, count) = (at + WINDOW, count + WINDOW);
                continue;
            }
            let at_least = |byte: u8| _mm512_cmpge_epu8_mask(first, _mm512_set1_epi8(byte as i8));
            let four = at_least(0xF0);
            if four & 1 == 1 {
                let char = four_bytes(&bytes[at..])?;
                let mut pair = [0; 2];
                char.encode_utf16(&mut pair);
                // SAFETY: as above.
                unsafe { to.cast::<[u16; 2]>().write_unaligned(pair) };
                (at, count) = (at + 4, count + 2);
                continue;
            }
            // A character of four bytes is left for a window of its own.
            let length = left.min(WINDOW).min(four.trailing_zeros() as usize);
            let inside = u64::MAX >> (WINDOW - length);
            let tails = continuation(first) & inside;
            let leads = inside & !tails;
            let wide = high & leads;
            let three = at_least(0xE0) & inside;
            let equal = |byte: u8| _mm512_cmpeq_epu8_mask(first, _mm512_set1_epi8(byte as i8)) & inside;
            let second_low = _mm512_cmplt_epu8_mask(second, _mm512_set1_epi8(0xA0_u8 as i8));
            let wrong = wide & !at_least(0xC2)
                | wide & !continuation(second)
                | three & !continuation(third)
                | equal(0xE0) & second_low
                | equal(0xED) & !second_low
                | tails ^ (carried | wide << 1 | three << 2) & inside;
            if wrong != 0 {
                return None;
            }
            carried = (u128::from(wide) << 1 | u128::from(three) << 2 | u128::from(carried))
                .unbounded_shr(length as u32) as u64;
            let [first, second, third] = [first, second, third].map(|bytes| _mm512_maskz_compress_epi8(leads, bytes));
            // SAFETY: as above.
            unsafe {
                let low = [first, second, third].map(|bytes| _mm512_cvtepu8_epi16(_mm512_castsi512_si256(bytes)));
                _mm512_storeu_si512(to.cast(), characters(low));
                let high =
                    [first, second, third].map(|bytes| _mm512_cvtepu8_epi16(_mm512_extracti64x4_epi64::<1>(bytes)));
                _mm512_storeu_si512(to.add(32).cast(), characters(high));
            }
            (at, count) = (at + length, count + leads.count_ones() as usize);
        }
        (carried == 0).then_some(count)
    }

    /// Up to 64 bytes, with zeros after them.
    #[target_feature(enable = "avx512f,avx512bw,avx512vbmi,avx512vbmi2,avx2,bmi1,bmi2,lzcnt,popcnt")]
    fn load(bytes: &[u8]) -> __m512i {
        let mask = u64::MAX.unbounded_shr(WINDOW.saturating_sub(bytes.len()) as u32);
        // SAFETY: the mask has a bit for each byte of the slice, up to 64, and no other byte is read.
        unsafe { _mm512_maskz_loadu_epi8(mask, bytes.as_ptr().cast()) }
    }

    #[target_feature(enable = "avx512f,avx512bw,avx512vbmi,avx512vbmi2,avx2,bmi1,bmi2,lzcnt,popcnt")]
    fn continuation(bytes: __m512i) -> u64 {
        _mm512_cmplt_epi8_mask(bytes, _mm512_set1_epi8(0xC0_u8 as i8))
    }

    /// Characters of up to three bytes, of which the bytes that they lack are anything.
    #[target_feature(enable = "avx512f,avx512bw,avx512vbmi,avx512vbmi2,avx2,bmi1,bmi2,lzcnt,popcnt")]
    fn characters([first, second, third]: [__m512i; 3]) -> __m512i {
        let six = _mm512_set1_epi16(0x3F);
        let (second, third) = (_mm512_and_si512(second, six), _mm512_and_si512(third, six));
        let two = _mm512_or_si512(_mm512_slli_epi16::<6>(_mm512_and_si512(first, _mm512_set1_epi16(0x1F))), second);
        let three =
            _mm512_or_si512(_mm512_slli_epi16::<12>(first), _mm512_or_si512(_mm512_slli_epi16::<6>(second), third));
        let is_wide = _mm512_cmpge_epu16_mask(first, _mm512_set1_epi16(0xC0));
        let is_three = _mm512_cmpge_epu16_mask(first, _mm512_set1_epi16(0xE0));
        _mm512_mask_mov_epi16(_mm512_mask_mov_epi16(first, is_wide, two), is_three, three)
    }

    #[cold]
    fn four_bytes(bytes: &[u8]) -> Option<char> {
        std::str::from_utf8(bytes.get(..4)?).ok()?.chars().next()
    }
}
