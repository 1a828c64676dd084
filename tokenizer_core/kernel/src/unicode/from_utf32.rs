//! UTF-32 to UTF-8, 64 characters at a time.

#[cfg(target_arch = "x86_64")]
mod avx2;
mod words;

use std::ops::Deref;

use self::words::FromUtf32;
use crate::capacity::reserve;
use crate::simd::level::SimdLevel;

/// The most bytes a character becomes.
const MOST: usize = 4;

/// Characters that are looked at together, and the bytes that are written at once.
const WINDOW: usize = 64;

/// Text in UTF-8, put together of whole characters.
#[derive(Debug)]
pub struct Utf8 {
    bytes: Vec<u8>,
    level: SimdLevel,
}

impl Utf8 {
    /// Room for so many `characters`; `None` if the system refuses it.
    pub fn with_room(characters: usize, level: SimdLevel) -> Option<Self> {
        let mut bytes = Vec::new();
        bytes.try_reserve_exact(characters.checked_mul(MOST)?.checked_add(WINDOW)?).ok()?;

        Some(Self { bytes, level })
    }

    /// Append characters; `None`, and nothing of them, if one is a surrogate or beyond U+10FFFF.
    pub fn push(&mut self, characters: &[u32]) -> Option<()> {
        reserve(&mut self.bytes, characters.len() * MOST + WINDOW);
        let written = self.level.run(FromUtf32 { characters, bytes: self.bytes.spare_capacity_mut() });
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
