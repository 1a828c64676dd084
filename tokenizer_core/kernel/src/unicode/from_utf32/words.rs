//! Each character becomes a word of four bytes; then the unused bytes of these words are left
//! out, on each level in its own way.

use std::mem::MaybeUninit;

use super::WINDOW;
use crate::simd::level::{OnLevel, Portable};

/// Each level's way to write the characters of a window that is not ASCII.
pub(super) trait WriteWindow: Copy {
    /// Write the first `length` characters, none of which has more than `MOST` bytes; returns how many bytes they have.
    ///
    /// # Safety
    /// There is room for four bytes each, and for a window.
    unsafe fn write<const MOST: usize>(self, window: &[u32; WINDOW], length: usize, to: *mut u8) -> usize;
}

/// Returns the number of bytes written to `bytes`; `None` if a number is not a character of Unicode.
pub(super) struct FromUtf32<'a> {
    pub(super) characters: &'a [u32],
    /// Room for four of each character and a window.
    pub(super) bytes: &'a mut [MaybeUninit<u8>],
}

impl<W: WriteWindow> OnLevel<W> for FromUtf32<'_> {
    type Output = Option<usize>;

    #[inline(always)]
    fn run(self, simd: W) -> Option<usize> {
        from_utf32(simd, self.characters, self.bytes)
    }
}

#[inline(always)]
fn from_utf32(simd: impl WriteWindow, characters: &[u32], bytes: &mut [MaybeUninit<u8>]) -> Option<usize> {
    assert!(bytes.len() >= characters.len() * super::MOST + WINDOW);
    let mut count = 0;
    let (windows, rest) = characters.as_chunks::<WINDOW>();
    let mut last = [0; WINDOW];
    last[..rest.len()].copy_from_slice(rest);
    let windows = windows.iter().map(|window| (window, WINDOW)).chain([(&last, rest.len())]);
    for (window, length) in windows {
        // SAFETY: what came before has four bytes a character at the most, so there is room for those of the rest and a
        // window: see the assertion.
        let to = unsafe { bytes.as_mut_ptr().add(count) }.cast::<u8>();
        // Whether a character has two, three or four bytes shows in its bits, and so in those of all together.
        let bits = window.iter().fold(0, |bits, character| bits | character);
        // All are looked at, which the compiler does many at a time, instead of up to the first.
        let any = |is_it: fn(u32) -> bool| window.iter().fold(false, |any, character| any | is_it(*character));
        // SAFETY: as above.
        count += unsafe {
            match bits {
                0..0x80 => {
                    to.cast::<[u8; WINDOW]>().write_unaligned(window.map(|character| character as u8));
                    length
                }
                0x80..0x800 => simd.write::<2>(window, length, to),
                _ if any(|character| character & !0x7FF == 0xD800) => return None,
                0x800..0x1_0000 => simd.write::<3>(window, length, to),
                _ if any(|character| character > 0x10_FFFF) => return None,
                _ => simd.write::<4>(window, length, to),
            }
        };
    }
    Some(count)
}

/// Each word is written over the unused bytes of the one before.
impl WriteWindow for Portable {
    #[inline(always)]
    unsafe fn write<const MOST: usize>(self, window: &[u32; WINDOW], length: usize, to: *mut u8) -> usize {
        let words = window.map(word::<MOST>);
        let lengths = window.map(|character| {
            let beyond = |least: i32| u32::from(character as i32 >= least);
            1 + beyond(0x80) + if MOST > 2 { beyond(0x800) } else { 0 } + if MOST > 3 { beyond(0x1_0000) } else { 0 }
        });
        let mut count = 0;
        for (word, bytes) in words[..length].iter().zip(&lengths) {
            // SAFETY: the caller's promise.
            unsafe { to.add(count).cast::<u32>().write_unaligned(word.to_le()) };
            count += *bytes as usize;
        }
        count
    }
}

/// The bytes of a character, the first lowest.
#[inline(always)]
fn word<const MOST: usize>(character: u32) -> u32 {
    let tail = |right: u32, left: u32| (character >> right & 0x3F | 0x80) << left;
    let mut word = if character as i32 >= 0x80 { character >> 6 | 0xC0 | tail(0, 8) } else { character };
    if MOST > 2 {
        word = if character as i32 >= 0x800 { character >> 12 | 0xE0 | tail(6, 8) | tail(0, 16) } else { word };
    }
    if MOST > 3 {
        let four = character >> 18 | 0xF0 | tail(12, 8) | tail(6, 16) | tail(0, 24);
        word = if character as i32 >= 0x1_0000 { four } else { word };
    }
    word
}
