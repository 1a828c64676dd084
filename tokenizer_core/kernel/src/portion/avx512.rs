//! Keys of sixteen pieces at once.

use core::arch::x86_64::{
    __m512i, _mm_cmpeq_epi8_mask, _mm_cvtsi32_si128, _mm_loadu_si128, _mm_maskz_loadu_epi8, _mm_set1_epi8,
    _mm512_add_epi32, _mm512_add_epi64, _mm512_alignr_epi32, _mm512_castsi128_si512, _mm512_cmpeq_epi8_mask,
    _mm512_cmpge_epu32_mask, _mm512_cmple_epu32_mask, _mm512_cmplt_epu8_mask, _mm512_cvtepu8_epi32, _mm512_inserti32x4,
    _mm512_loadu_si512, _mm512_mask_mov_epi8, _mm512_mask_mov_epi32, _mm512_mask_shuffle_epi32,
    _mm512_maskz_compress_epi32, _mm512_maskz_loadu_epi8, _mm512_maskz_loadu_epi32, _mm512_maskz_mov_epi8,
    _mm512_maskz_mov_epi32, _mm512_min_epu32, _mm512_mullo_epi64, _mm512_or_si512, _mm512_permutexvar_epi8,
    _mm512_permutexvar_epi32, _mm512_set1_epi8, _mm512_set1_epi32, _mm512_set1_epi64, _mm512_setzero_si512,
    _mm512_shuffle_epi32, _mm512_slli_epi32, _mm512_srl_epi32, _mm512_storeu_si512, _mm512_sub_epi32,
    _mm512_testn_epi64_mask, _mm512_xor_si512, _pext_u32,
};
use std::mem::MaybeUninit;
use std::ops::Range;

use super::longer::{BLANK, BLANK_MASK, LongerPieces, RUN_FROM};
use super::look_up::LookUp;
use super::{Found, GROUP, Keys, PIECES, Pieces, Room, take};
use crate::machine::path::{Avx2, Avx512};
use crate::machine::words::sixteen;
use crate::merging::white_space::WhiteSpace;
use crate::piece_cache::{Caches, KEY_LIMIT, KEY_MULTIPLIERS, Key, PART_BIT, PLACE_SHIFT};
use crate::sink::Sink;

/// Keys in a vector.
const QUARTER: usize = 4;

/// Bytes of a key.
const BYTES: usize = KEY_LIMIT + 1;

const _: () = assert!(PIECES.is_multiple_of(GROUP) && GROUP == QUARTER * QUARTER && BYTES == 16);

/// 64 bytes to load.
#[repr(align(64))]
struct Vector<T>(T);

/// By quarter of a group: the byte of the group's words of length and tag that says which bytes of a key are text, and
/// for the highest byte what it is.
static SPREAD: Vector<[[u8; 64]; QUARTER]> = {
    let mut spread = [[0; 64]; QUARTER];
    let mut at = 0;
    while at < 64 * QUARTER {
        let (quarter, byte) = (at / 64, at % 64);
        let tag = byte % BYTES == KEY_LIMIT;
        spread[quarter][byte] = (4 * (QUARTER * quarter + byte / BYTES)) as u8 + tag as u8;
        at += 1;
    }
    Vector(spread)
};

/// The place of each byte within its key; the highest byte is not below any length.
static WITHIN: Vector<[u8; 64]> = {
    let mut within = [0; 64];
    let mut at = 0;
    while at < 64 {
        let byte = at % BYTES;
        within[at] = if byte == KEY_LIMIT { u8::MAX } else { byte as u8 };
        at += 1;
    }
    Vector(within)
};

/// The highest byte of each key.
const TAGS: u64 = 0x8000_8000_8000_8000;

/// The hash of piece `QUARTER * quarter + lane` comes about at `QUARTER * lane + quarter`.
static ORDER: Vector<[u32; GROUP]> = {
    let mut order = [0; GROUP];
    let mut at = 0;
    while at < GROUP {
        order[at] = (QUARTER * (at % QUARTER) + at / QUARTER) as u32;
        at += 1;
    }
    Vector(order)
};

/// The number of each lane.
static LANES: Vector<[u32; GROUP]> = {
    let mut lanes = [0; GROUP];
    let mut at = 0;
    while at < GROUP {
        lanes[at] = at as u32;
        at += 1;
    }
    Vector(lanes)
};

static MULTIPLIERS: Vector<[[u64; 2]; QUARTER]> = Vector([KEY_MULTIPLIERS; QUARTER]);

/// Load a vector.
///
/// # Safety
/// The machine has AVX-512.
#[inline(always)]
unsafe fn load<T>(from: &T) -> __m512i {
    const { assert!(size_of::<T>() == 64) };
    // SAFETY: the caller's promise; the size is checked.
    unsafe { _mm512_loadu_si512(std::ptr::from_ref(from).cast()) }
}

/// The mask of the first `count` lanes.
#[inline(always)]
fn first_lanes(count: usize) -> u16 {
    if count < GROUP { (1 << count) - 1 } else { u16::MAX }
}

/// Make the keys of a group, whose bytes are at `bytes_of`, and the upper `bits` bits of their hashes; `words` has the
/// length of each piece, of up to 16, in its lowest byte, and in the next the tag of its key.
///
/// # Safety
/// The machine has AVX-512; sixteen bytes can be read at each place.
#[inline(always)]
unsafe fn make(
    words: __m512i,
    bits: u32,
    bytes_of: impl Fn(usize) -> *const u8,
    keys: &mut [Key; GROUP],
    places: &mut [u32; GROUP],
) {
    // SAFETY: the caller's promise, for all of this function; four vectors of four keys are the sixteen there are.
    unsafe {
        let mut hashes = _mm512_setzero_si512();
        for quarter in 0..QUARTER {
            let at = |lane| _mm_loadu_si128(bytes_of(QUARTER * quarter + lane).cast());
            let bytes = _mm512_inserti32x4::<1>(_mm512_castsi128_si512(at(0)), at(1));
            let bytes = _mm512_inserti32x4::<3>(_mm512_inserti32x4::<2>(bytes, at(2)), at(3));
            let spread = _mm512_permutexvar_epi8(load(&SPREAD.0[quarter]), words);
            let within = _mm512_cmplt_epu8_mask(load(&WITHIN.0), spread);
            let key = _mm512_mask_mov_epi8(_mm512_maskz_mov_epi8(TAGS, spread), within, bytes);
            _mm512_storeu_si512(keys.as_mut_ptr().add(QUARTER * quarter).cast(), key);
            let products = _mm512_mullo_epi64(key, load(&MULTIPLIERS.0));
            let sums = _mm512_add_epi64(products, _mm512_shuffle_epi32::<0b01_00_11_10>(products));
            // The upper half of each hash.
            hashes = _mm512_mask_shuffle_epi32::<0b01_01_01_01>(hashes, 0x1111 << quarter, sums);
        }
        let hashes = _mm512_permutexvar_epi32(load(&ORDER.0), hashes);
        let shift = _mm_cvtsi32_si128(u32::BITS as i32 - bits as i32);
        let hashes = _mm512_slli_epi32::<PLACE_SHIFT>(_mm512_srl_epi32(hashes, shift));
        _mm512_storeu_si512(places.as_mut_ptr().cast(), hashes);
    }
}

impl LookUp for Avx512 {
    #[inline(always)]
    unsafe fn keys(pieces: &Pieces<'_>, caches: &Caches, white: Option<WhiteSpace>, keys: &mut Keys) {
        let count = pieces.count();
        // The last place that has sixteen bytes of text. A piece that begins later is loaded from `last_bytes`, which
        // are the last sixteen with zeros after them, and are written long before they are read, since a load that
        // spans two stores waits for both. Texts are shorter than 4 GiB.
        let limit = pieces.text.len().checked_sub(BYTES).map(|limit| u32::try_from(limit).unwrap_or(u32::MAX));
        let mut last_bytes = [0; 2 * BYTES];
        if let Some(bytes) = pieces.text.last_chunk::<BYTES>() {
            last_bytes[..BYTES].copy_from_slice(bytes);
        }
        let (mut start, mut longer) = (pieces.start as u32, 0);
        for group in (0..count).step_by(GROUP) {
            let lanes = first_lanes(count - group);
            let ends = &pieces.ends[group..count.min(group + GROUP)];
            // SAFETY: the caller's promise. Only `lanes` are loaded, and there are as many ends and as many parts.
            let (words, wide, blank, near, starts) = unsafe {
                let last = _mm512_maskz_loadu_epi32(lanes, ends.as_ptr().cast());
                let starts = _mm512_alignr_epi32::<15>(last, _mm512_set1_epi32(start as i32));
                let lengths = _mm512_sub_epi32(last, starts);
                let short = _mm512_cmple_epu32_mask(lengths, _mm512_set1_epi32(KEY_LIMIT as i32));
                let mut tags = _mm512_maskz_mov_epi32(short, lengths);
                if let Some(parts) = pieces.parts.get(group..group + ends.len()) {
                    let parts = _mm_maskz_loadu_epi8(lanes, parts.as_ptr().cast());
                    tags = _mm512_or_si512(tags, _mm512_slli_epi32::<PART_BIT>(_mm512_cvtepu8_epi32(parts)));
                }
                let clipped = _mm512_min_epu32(lengths, _mm512_set1_epi32(BYTES as i32));
                let near = _mm512_cmple_epu32_mask(starts, _mm512_set1_epi32(limit.unwrap_or(0) as i32));
                let blank = _mm512_cmpge_epu32_mask(lengths, _mm512_set1_epi32(RUN_FROM as i32));
                let words = _mm512_or_si512(clipped, _mm512_slli_epi32::<8>(tags));
                (words, lanes & !short, lanes & blank, near, starts)
            };
            let room = keys.keys[group..].first_chunk_mut().zip(keys.places[group..].first_chunk_mut());
            let Some((room, places)) = room else { break };
            let whole = ends.first_chunk::<GROUP>().filter(|_| limit.is_some() && near == u16::MAX);
            if let Some(ends) = whole {
                let text = pieces.text.as_ptr();
                let start_of = |lane: usize| if lane == 0 { start } else { ends[lane - 1] };
                // SAFETY: the caller's promise. `near` says of each piece that it begins at the limit or before, so it
                // has sixteen bytes of text.
                unsafe { make(words, caches.lines.bits(), |lane| text.add(start_of(lane) as usize), room, places) };
            } else if let Some(limit) = limit {
                let mut places_of = Vector([0; GROUP]);
                // SAFETY: the caller's promise; sixteen places are a vector.
                unsafe { _mm512_storeu_si512(places_of.0.as_mut_ptr().cast(), starts) };
                let (text, last_bytes) = (pieces.text.as_ptr(), last_bytes.as_ptr());
                // SAFETY: the caller's promise. At the limit and before it there are sixteen bytes of text; after it
                // the place in the 32 `last_bytes` is at most 16.
                unsafe {
                    let bytes_of = |lane: usize| {
                        let start = places_of.0[lane];
                        if start <= limit {
                            text.add(start as usize)
                        } else {
                            last_bytes.add(BYTES.min((start - limit) as usize))
                        }
                    };
                    make(words, caches.lines.bits(), bytes_of, room, places);
                }
            } else {
                let mut copies = [0; GROUP];
                for (copy, start) in copies.iter_mut().zip(std::iter::once(&start).chain(ends)) {
                    *copy = sixteen(pieces.text, *start as usize);
                }
                // SAFETY: the caller's promise; each copy has sixteen bytes.
                unsafe { make(words, caches.lines.bits(), |lane| (&raw const copies[lane]).cast(), room, places) };
            }
            start = ends.last().copied().unwrap_or(start);
            let wide = match white {
                // SAFETY: the caller's promise.
                Some(_) => wide | blank & unsafe { blanks(room) },
                None => wide,
            };
            if let Some(room) = keys.longer.places[longer..].first_chunk_mut::<GROUP>() {
                // SAFETY: the caller's promise; there is room for sixteen places.
                unsafe {
                    let places = _mm512_add_epi32(load(&LANES.0), _mm512_set1_epi32(group as i32));
                    _mm512_storeu_si512(room.as_mut_ptr().cast(), _mm512_maskz_compress_epi32(wide, places));
                }
            }
            longer += wide.count_ones() as usize;
        }
        keys.places[..count].iter().for_each(|place| caches.lines.prefetch(*place as usize));
        keys.longer.begin(longer);
        if longer > 0 {
            // SAFETY: the caller's promise.
            unsafe { prefetch_longer(&mut keys.longer, pieces, caches, white) };
        }
    }

    #[inline(always)]
    unsafe fn take<S: Sink>(places: Range<usize>, caches: &Caches, keys: &Keys, found: &mut Found, ids: &mut Room) {
        // SAFETY: the caller's promise.
        unsafe { take::take::<Avx2, S>(places, caches, keys, found, ids) };
    }

    #[inline(always)]
    unsafe fn is_run(white: WhiteSpace, piece: &[u8]) -> bool {
        let join = if white.newlines_join { u64::MAX } else { 0 };
        // Whether a newline stands before.
        let mut before = 0;
        for bytes in piece.chunks(64) {
            let within = u64::MAX >> (64 - bytes.len());
            // SAFETY: the caller's promise; only the bytes within are loaded.
            let (space, newline) = unsafe {
                let bytes = _mm512_maskz_loadu_epi8(within, bytes.as_ptr().cast());
                let is = |byte: u8| _mm512_cmpeq_epi8_mask(bytes, _mm512_set1_epi8(byte as i8));
                (is(b' '), is(b'\n'))
            };
            if space | newline != within || newline & (newline << 1 | before) & join != 0 {
                return false;
            }
            before = newline >> 63;
        }
        true
    }

    #[inline(always)]
    unsafe fn write_run(white: WhiteSpace, piece: &[u8], ids: &mut [MaybeUninit<u32>]) {
        for (bytes, at) in piece.chunks(GROUP).zip((0..).step_by(GROUP)) {
            let Some(room) = ids[at..].first_chunk_mut::<GROUP>() else { return white.write(bytes, &mut ids[at..]) };
            // SAFETY: the caller's promise; only the bytes there are are loaded, and there is room for sixteen ids.
            unsafe {
                let bytes = _mm_maskz_loadu_epi8(first_lanes(bytes.len()), bytes.as_ptr().cast());
                let newline = _mm_cmpeq_epi8_mask(bytes, _mm_set1_epi8(b'\n' as i8));
                let (space, other) = (_mm512_set1_epi32(white.space as i32), _mm512_set1_epi32(white.newline as i32));
                _mm512_storeu_si512(room.as_mut_ptr().cast(), _mm512_mask_mov_epi32(space, newline, other));
            }
        }
    }
}

/// As [`LongerPieces::prefetch`]; not inlined, since it happens once in a portion.
///
/// # Safety
/// The machine has AVX-512.
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vbmi,avx512vbmi2,avx2,bmi1,bmi2,lzcnt,popcnt")]
#[inline(never)]
unsafe fn prefetch_longer(longer: &mut LongerPieces, pieces: &Pieces<'_>, caches: &Caches, white: Option<WhiteSpace>) {
    // SAFETY: the caller's promise.
    unsafe { longer.prefetch::<Avx512>(pieces, caches, white) };
}

/// Which keys of a group are blank after their first byte.
///
/// # Safety
/// The machine has AVX-512 and BMI2.
#[inline(always)]
unsafe fn blanks(keys: &[Key; GROUP]) -> u16 {
    // The lower half of each key.
    const LOW: u32 = 0x5555_5555;
    let mut blank = 0;
    for quarter in 0..QUARTER {
        // SAFETY: the caller's promise; four vectors of four keys are the sixteen there are.
        let same = unsafe {
            let keys = _mm512_loadu_si512(keys.as_ptr().add(QUARTER * quarter).cast());
            let others = _mm512_xor_si512(keys, _mm512_set1_epi64(BLANK as i64));
            _mm512_testn_epi64_mask(others, _mm512_set1_epi64(BLANK_MASK as i64))
        };
        blank |= u32::from(same) << (2 * QUARTER * quarter);
    }
    // SAFETY: the caller's promise.
    unsafe { _pext_u32(blank, LOW) as u16 }
}
