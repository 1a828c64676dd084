//! The turn of a lane with AVX-512. From the lookups to the next merge its keys are in vectors, which are written and
//! read whole, so no load waits for a narrower store.

use core::arch::x86_64::{
    __m512i, _mm_cvtsi32_si128, _mm_insert_epi32, _mm_mask_mov_epi8, _mm_maskz_loadu_epi8, _mm_movepi8_mask,
    _mm512_castsi128_si512, _mm512_castsi512_si128, _mm512_cvtepu8_epi32, _mm512_load_si512, _mm512_loadu_si512,
    _mm512_mask_i32gather_epi32, _mm512_mask_or_epi32, _mm512_mask_set1_epi32, _mm512_maskz_compress_epi32,
    _mm512_maskz_expand_epi32, _mm512_maskz_mov_epi32, _mm512_maskz_or_epi32, _mm512_max_epu32, _mm512_or_si512,
    _mm512_permutex2var_epi8, _mm512_reduce_max_epu32, _mm512_set1_epi32, _mm512_setzero_si512, _mm512_slli_epi32,
    _mm512_store_si512, _mm512_storeu_si512, _mm512_sub_epi32,
};
use std::mem::offset_of;

use super::plain::Plain;
use super::{Lane, LaneOps, NONE, PLACE_BITS, key, merge_of};
use crate::machine::branch::cold_path;
use crate::machine::path::{Avx2, Avx512};
use crate::merging::ranks::MergeTable;

/// Keys in a vector.
const WORDS: usize = 16;

/// Vectors of the longest lane.
const VECTORS: usize = (1 << PLACE_BITS) / WORDS;

pub(super) struct Vectors;

impl LaneOps for Vectors {
    #[inline(always)]
    unsafe fn begin<const N: usize>(lane: &mut Lane<N>, table: &MergeTable, piece: &[u8]) {
        // SAFETY: the caller's promise.
        unsafe {
            match table.narrow_byte_ids() {
                Some(ids) => begin(lane, table, ids, piece),
                None => Plain::<Avx2>::begin(lane, table, piece),
            }
        }
    }

    #[inline(always)]
    unsafe fn first<const N: usize>(lane: &mut Lane<N>, table: &MergeTable) -> bool {
        // SAFETY: the caller's promise; as in `keys`.
        unsafe {
            let from = lane.keys.as_ptr().cast::<__m512i>();
            let mut keys = [_mm512_setzero_si512(); VECTORS];
            for (at, keys) in keys.iter_mut().enumerate().take(N / WORDS) {
                *keys = _mm512_load_si512(from.add(at));
            }
            let highest = highest::<N>(keys);
            next(lane, table, keys, highest)
        }
    }

    /// Left to the next merge, since all keys would have to be read once more here.
    #[inline(always)]
    unsafe fn look<const N: usize>(_: &mut Lane<N>, _: &MergeTable) {}

    #[inline(always)]
    unsafe fn next<const N: usize>(lane: &mut Lane<N>, table: &MergeTable, _: bool) -> bool {
        // SAFETY: the caller's promise.
        let found = unsafe { lane.precedences::<Avx512>(table) };
        let [before, at] = lane.changed();
        // In about one case of eight a new pair comes first. In all others the next merge waits for nothing.
        let last = key(found[0], before).max(key(found[1], at));
        let mut highest = lane.rest;
        if last > highest {
            cold_path();
            highest = last;
        }
        // SAFETY: the caller's promise.
        unsafe {
            let keys = keys(lane, found);
            next(lane, table, keys, highest)
        }
    }

    #[inline(always)]
    unsafe fn finish<const N: usize>(lane: &mut Lane<N>) {
        let symbols = lane.symbols();
        lane.count = 0;
        for vector in 0..N / WORDS {
            let here = within(symbols, vector);
            // SAFETY: the caller's promise; the ids are `N / WORDS` vectors, and no more ids are before these than
            // places.
            unsafe {
                let ids = lane.ids.as_mut_ptr();
                let packed = _mm512_maskz_compress_epi32(here, _mm512_loadu_si512(ids.add(vector * WORDS).cast()));
                _mm512_storeu_si512(ids.add(lane.count).cast(), packed);
            }
            lane.count += here.count_ones() as usize;
        }
    }
}

/// What a key of the first places has in its lowest bits.
#[repr(align(64))]
struct Places([u32; WORDS]);

static PLACES: Places = {
    let mut places = [0; WORDS];
    let mut at = 0;
    while at < WORDS {
        places[at] = NONE - at as u32;
        at += 1;
    }
    Places(places)
};

/// The bits of the places in one of the vectors.
#[inline(always)]
fn within(bits: u64, vector: usize) -> u16 {
    (bits >> (WORDS * vector)) as u16
}

/// A bit for each of two places.
#[inline(always)]
fn bits([one, other]: [usize; 2]) -> u64 {
    1 << one | 1 << other
}

/// The keys of a lane, with the new ones of the two places that changed.
///
/// # Safety
/// The machine has AVX-512.
#[inline(always)]
unsafe fn keys<const N: usize>(lane: &Lane<N>, found: [u32; 2]) -> [__m512i; VECTORS] {
    const { assert!(offset_of!(Lane<N>, keys) == 0 && N.is_multiple_of(WORDS), "keys are whole vectors") };
    // SAFETY: the caller's promise; a lane is aligned to a vector, and its keys come first, which are `N / WORDS`
    // vectors.
    unsafe {
        let from = lane.keys.as_ptr().cast::<__m512i>();
        let mut keys = [_mm512_setzero_si512(); VECTORS];
        for (at, keys) in keys.iter_mut().enumerate().take(N / WORDS) {
            let old = _mm512_load_si512(from.add(at));
            *keys = if N == WORDS {
                // The symbol before comes first.
                let found = _mm_insert_epi32::<1>(_mm_cvtsi32_si128(found[0] as i32), found[1] as i32);
                let changed = within(bits(lane.changed()), 0);
                let found = _mm512_maskz_expand_epi32(changed, _mm512_castsi128_si512(found));
                let places = _mm512_load_si512(PLACES.0.as_ptr().cast());
                _mm512_mask_or_epi32(old, changed, _mm512_slli_epi32::<PLACE_BITS>(found), places)
            } else {
                lane.changed().into_iter().zip(found).fold(old, |keys, (place, precedence)| {
                    _mm512_mask_set1_epi32(keys, within(1 << place, at), key(precedence, place) as i32)
                })
            };
        }
        keys
    }
}

/// Begin with a piece of 1 to `N - 2` bytes, of which `ids` are the ids. No step depends on how long the piece is.
///
/// # Safety
/// The machine has AVX-512.
#[inline(always)]
unsafe fn begin<const N: usize>(lane: &mut Lane<N>, table: &MergeTable, ids: &[u8; 256], piece: &[u8]) {
    let length = piece.len().min(N - 2);
    let inner = !(u64::MAX << length) << 1;
    // From the first symbol to the last but one.
    let pairs = inner & inner >> 1;
    let borders = 1 | 2 << length;
    lane.taken = inner | borders;
    let (keys, found) = (lane.keys.as_mut_ptr().cast::<__m512i>(), lane.ids.as_mut_ptr().cast::<__m512i>());
    for vector in 0..N / WORDS {
        let from = piece.as_ptr().wrapping_add(vector * WORDS);
        // SAFETY: the caller's promise; what the masks leave out is not read, the rest lies in the piece, whose first
        // byte has the second place; the table has four vectors of bytes, and a word for each two bytes; a lane is
        // aligned to a vector, and its keys and its ids are `N / WORDS` of them.
        unsafe {
            let bytes = _mm_maskz_loadu_epi8(within(inner, vector), from.wrapping_sub(1).cast());
            let behind = _mm_maskz_loadu_epi8(within(pairs, vector), from.cast());
            let wide = _mm512_castsi128_si512(bytes);
            let quarter = |at: usize| _mm512_loadu_si512(ids.as_ptr().add(at * size_of::<__m512i>()).cast());
            let low = _mm512_castsi512_si128(_mm512_permutex2var_epi8(quarter(0), wide, quarter(1)));
            let high = _mm512_castsi512_si128(_mm512_permutex2var_epi8(quarter(2), wide, quarter(3)));
            let own = _mm512_cvtepu8_epi32(_mm_mask_mov_epi8(low, _mm_movepi8_mask(bytes), high));
            let own = _mm512_mask_set1_epi32(own, within(borders, vector), table.no_token() as i32);
            _mm512_storeu_si512(found.add(vector), own);
            let at = _mm512_slli_epi32::<8>(_mm512_cvtepu8_epi32(behind));
            let at = _mm512_or_si512(_mm512_cvtepu8_epi32(bytes), at);
            let (pairs, none) = (within(pairs, vector), _mm512_setzero_si512());
            let precedences = _mm512_mask_i32gather_epi32::<4>(none, pairs, at, table.byte_pairs().as_ptr().cast());
            let first = _mm512_set1_epi32((vector * WORDS) as i32);
            let places = _mm512_sub_epi32(_mm512_load_si512(PLACES.0.as_ptr().cast()), first);
            let own = _mm512_maskz_or_epi32(pairs, _mm512_slli_epi32::<PLACE_BITS>(precedences), places);
            _mm512_store_si512(keys.add(vector), own);
        }
    }
}

/// The highest of all keys.
///
/// # Safety
/// The machine has AVX-512.
#[inline(always)]
unsafe fn highest<const N: usize>(keys: [__m512i; VECTORS]) -> u32 {
    // SAFETY: the caller's promise.
    unsafe {
        _mm512_reduce_max_epu32(keys[1..N / WORDS].iter().fold(keys[0], |all, keys| _mm512_max_epu32(all, *keys)))
    }
}

/// Make the leftmost merge of the lowest rank, whose key is the highest; `false` if none is left.
///
/// # Safety
/// The machine has AVX-512.
#[inline(always)]
unsafe fn next<const N: usize>(
    lane: &mut Lane<N>,
    table: &MergeTable,
    mut keys: [__m512i; VECTORS],
    mut key: u32,
) -> bool {
    // SAFETY: the caller's promise; as in `keys`.
    unsafe {
        loop {
            let Some((at, precedence)) = merge_of(key) else { return false };
            let (at, right) = (at % N, lane.after(at % N) % N);
            if table.holds(precedence, lane.ids[at], lane.ids[right]) {
                let changed = bits(lane.make(table, at, right, precedence));
                // A place that is no longer taken has no key, and one that changed has none yet.
                let kept = lane.taken & !changed;
                let to = lane.keys.as_mut_ptr().cast::<__m512i>();
                for (at, keys) in keys.iter_mut().enumerate().take(N / WORDS) {
                    *keys = _mm512_maskz_mov_epi32(within(kept, at), *keys);
                    _mm512_store_si512(to.add(at), *keys);
                }
                lane.rest = highest::<N>(keys);
                return true;
            }
            // The precedence is that of another pair, so this one does not merge.
            for (vector, keys) in keys.iter_mut().enumerate().take(N / WORDS) {
                *keys = _mm512_mask_set1_epi32(*keys, within(1 << at, vector), 0);
            }
            key = highest::<N>(keys);
        }
    }
}
