//! Bytes of a text loaded as words, and the set bits of a word.

use std::num::NonZeroU64;

/// Sixteen bytes from `start` on, with zeros after the end of the text.
#[inline(always)]
pub fn sixteen(text: &[u8], start: usize) -> u128 {
    match text.get(start..).and_then(<[u8]>::first_chunk::<16>) {
        Some(bytes) => u128::from_le_bytes(*bytes),
        None => padded(text.get(start..).unwrap_or_default()),
    }
}

/// `BYTES` bytes from `at` on; near the end of the text a copy of them, with zeros after the end.
#[inline(always)]
pub(crate) fn bytes_at<'w, const BYTES: usize>(
    text: &'w [u8],
    at: usize,
    copy: &'w mut [u8; BYTES],
) -> &'w [u8; BYTES] {
    match text[at..].first_chunk() {
        Some(bytes) => bytes,
        None => {
            copy[..text.len() - at].copy_from_slice(&text[at..]);
            copy
        }
    }
}

/// Fewer than sixteen bytes as a word, padded with zeros. Two loads that overlap: a copy of variable length is a call.
#[inline(never)]
pub fn padded(bytes: &[u8]) -> u128 {
    if let (Some(first), Some(last)) = (bytes.first_chunk(), bytes.last_chunk()) {
        let (first, last) = (u64::from_le_bytes(*first), u64::from_le_bytes(*last));
        u128::from(first) | u128::from(last) << (8 * (bytes.len() - 8))
    } else if let (Some(first), Some(last)) = (bytes.first_chunk(), bytes.last_chunk()) {
        let (first, last) = (u32::from_le_bytes(*first), u32::from_le_bytes(*last));
        u128::from(u64::from(first) | u64::from(last) << (8 * (bytes.len() - 4)))
    } else {
        bytes.iter().rev().fold(0, |word, byte| word << 8 | u128::from(*byte))
    }
}

/// The positions of the set bits of a word, the lowest first.
#[inline(always)]
pub(crate) fn places(mut word: u32) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        let at = word.trailing_zeros() as usize;
        (word != 0).then(|| {
            word &= word - 1;
            at
        })
    })
}

/// The position of the lowest set bit of a word.
///
/// # Safety
/// The word is not zero. (Without BMI1, checking that would take as long as the answer.)
#[inline(always)]
pub(crate) unsafe fn lowest_bit(word: u64) -> usize {
    // SAFETY: the caller's promise.
    unsafe { NonZeroU64::new_unchecked(word) }.trailing_zeros() as usize
}

/// The position of the highest set bit of a word.
///
/// # Safety
/// The word is not zero.
#[inline(always)]
pub(crate) unsafe fn highest_bit(word: u64) -> usize {
    // SAFETY: the caller's promise.
    63 - unsafe { NonZeroU64::new_unchecked(word) }.leading_zeros() as usize
}
