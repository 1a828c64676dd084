//! Runs of white space by their bytes, with AVX2.

use core::arch::x86_64::{
    __m256i, _mm_loadl_epi64, _mm_loadu_si128, _mm_set_epi64x, _mm256_blendv_epi8, _mm256_cmpeq_epi8,
    _mm256_cmpeq_epi32, _mm256_cvtepu8_epi32, _mm256_loadu_si256, _mm256_movemask_epi8, _mm256_set_m128i,
    _mm256_set1_epi8, _mm256_set1_epi32, _mm256_storeu_si256,
};
use std::mem::MaybeUninit;

use crate::merging::white_space::WhiteSpace;

/// Ids written together.
const IDS: usize = 8;

/// As [`WhiteSpace::is_run`]. Vectors that follow each other share a byte, so that two newlines side by side lie in one
/// of them.
///
/// # Safety
/// The machine has AVX2.
#[inline(always)]
pub(super) unsafe fn is_run(white: WhiteSpace, piece: &[u8]) -> bool {
    let (Some(first), Some(last)) = (piece.first_chunk::<8>(), piece.last_chunk::<8>()) else {
        return white.is_run(piece);
    };
    // SAFETY: the caller's promise, for all of this function.
    unsafe {
        let load = |bytes: &[u8; 32]| _mm256_loadu_si256(bytes.as_ptr().cast());
        if let Some(last) = piece.last_chunk::<32>() {
            let mut all = is_white(white, load(last), u32::MAX);
            for at in (0..piece.len() - last.len()).step_by(last.len() - 1) {
                all &= piece[at..].first_chunk::<32>().is_some_and(|bytes| is_white(white, load(bytes), u32::MAX));
            }
            return all;
        }
        let half = |bytes: &[u8; 16]| _mm_loadu_si128(bytes.as_ptr().cast());
        let (low, high, borders) = match (piece.first_chunk(), piece.last_chunk()) {
            (Some(first), Some(last)) => (half(first), half(last), 1 << 15),
            _ => {
                let both = _mm_set_epi64x(i64::from_le_bytes(*last), i64::from_le_bytes(*first));
                (both, both, 1 << 7 | 1 << 15 | 1 << 23)
            }
        };
        is_white(white, _mm256_set_m128i(high, low), !borders)
    }
}

/// As [`WhiteSpace::write`], eight ids at a time; the last eight may be written twice.
///
/// # Safety
/// The machine has AVX2.
#[inline(always)]
pub(super) unsafe fn write(white: WhiteSpace, piece: &[u8], ids: &mut [MaybeUninit<u32>]) {
    let (Some(last), Some(room)) = (piece.len().checked_sub(IDS), ids.get_mut(..piece.len())) else {
        return white.write(piece, ids);
    };
    // SAFETY: the caller's promise; eight bytes of the piece and room for eight ids begin at `last` and before.
    unsafe {
        let mut at = 0;
        while at < last {
            write_eight(white, piece.as_ptr().add(at), room.as_mut_ptr().add(at));
            at += IDS;
        }
        write_eight(white, piece.as_ptr().add(last), room.as_mut_ptr().add(last));
    }
}

/// Write the ids of eight bytes.
///
/// # Safety
/// The machine has AVX2; eight bytes can be read, and eight ids be written.
#[inline(always)]
unsafe fn write_eight(white: WhiteSpace, from: *const u8, to: *mut MaybeUninit<u32>) {
    // SAFETY: the caller's promise.
    unsafe {
        let bytes = _mm256_cvtepu8_epi32(_mm_loadl_epi64(from.cast()));
        let is_space = _mm256_cmpeq_epi32(bytes, _mm256_set1_epi32(i32::from(b' ')));
        let (space, newline) = (_mm256_set1_epi32(white.space as i32), _mm256_set1_epi32(white.newline as i32));
        _mm256_storeu_si256(to.cast(), _mm256_blendv_epi8(newline, space, is_space));
    }
}

/// Whether a vector has only spaces and newlines, and no two newlines that join. `pairs` are the bytes that the next
/// one stands behind in the text.
///
/// # Safety
/// The machine has AVX2.
#[inline(always)]
unsafe fn is_white(white: WhiteSpace, bytes: __m256i, pairs: u32) -> bool {
    // SAFETY: the caller's promise.
    let is = |byte: u8| unsafe { _mm256_movemask_epi8(_mm256_cmpeq_epi8(bytes, _mm256_set1_epi8(byte as i8))) as u32 };
    let newline = is(b'\n');
    let joined = newline & newline >> 1 & pairs;
    is(b' ') | newline == u32::MAX && !(white.newlines_join && joined != 0)
}
