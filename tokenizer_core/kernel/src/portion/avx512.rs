//! Keys of sixteen pieces at once.

use core::arch::x86_64::{
    __m512i, _mm_cvtsi32_si128, _mm_loadu_si128, _mm_maskz_loadu_epi8, _mm256_mask_set1_epi8, _mm256_maskz_loadu_epi8,
    _mm256_storeu_si256, _mm512_add_epi32, _mm512_aesenc_epi128, _mm512_alignr_epi32, _mm512_and_si512,
    _mm512_castsi128_si512, _mm512_cmpeq_epi8_mask, _mm512_cmpeq_epi32_mask, _mm512_cmpge_epu32_mask,
    _mm512_cmplt_epu8_mask, _mm512_cvtepu8_epi32, _mm512_inserti32x4, _mm512_loadu_si512, _mm512_mask_mov_epi8,
    _mm512_mask_mov_epi32, _mm512_mask_shuffle_epi32, _mm512_maskz_compress_epi32, _mm512_maskz_loadu_epi8,
    _mm512_maskz_loadu_epi32, _mm512_maskz_mov_epi8, _mm512_min_epu32, _mm512_or_si512, _mm512_permutexvar_epi8,
    _mm512_permutexvar_epi32, _mm512_set1_epi8, _mm512_set1_epi32, _mm512_setzero_si512, _mm512_slli_epi32,
    _mm512_srl_epi32, _mm512_storeu_si512, _mm512_sub_epi32,
};
use std::mem::MaybeUninit;
use std::ops::Range;

use super::longer::{BLANK, BLANK_MASK, LongerPieces, RUN_FROM};
use super::look_up::LookUp;
use super::{Found, GROUP, Keys, PIECES, Pieces, Room, last_bytes, take};
use crate::machine::path::{Avx2, Avx512};
use crate::merging::white_space::WhiteSpace;
#[cfg(test)]
use crate::piece_cache::Lines;
use crate::piece_cache::{Caches, KEY_LIMIT, Key, PART_BIT, PLACE_SHIFT, WIDE_LIMIT, WideKey};
use crate::sink::Sink;

/// Keys in a vector.
const QUARTER: usize = 4;

/// Bytes of a run of white space that are looked at together.
const RUN: usize = 64;

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

/// What is taken from piece `QUARTER * quarter + lane` comes about at `QUARTER * lane + quarter`.
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

/// The key of both rounds of the cipher that hash a key; any will do that is not regular.
static ROUND_KEYS: Vector<[u128; QUARTER]> = Vector([0x9E37_79B9_7F4A_7C15_D6E8_FEB8_6659_FD93; QUARTER]);

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

/// Make the keys of a group, whose bytes are at `bytes_of`, and their places, which have `bits` bits; returns which
/// keys are blank after their first byte, if that is asked for. `words` has the length of each piece, of up to 16, in
/// its lowest byte, and in the next the tag of its key.
///
/// A place is a part of what two rounds of AES make of the key: each of its bytes depends on all of the key's.
///
/// # Safety
/// The machine has AVX-512 and VAES; sixteen bytes can be read where each piece is, and sixteen keys and places be
/// written.
#[inline(always)]
unsafe fn make<const WHITE: bool>(
    words: __m512i,
    bits: u32,
    bytes_of: impl Fn(usize) -> *const u8,
    keys: *mut Key,
    places: *mut u32,
) -> u16 {
    // SAFETY: the caller's promise, for all of this function; four vectors of four keys are the sixteen there are.
    unsafe {
        let (mut hashes, mut firsts) = (_mm512_setzero_si512(), _mm512_setzero_si512());
        let round_keys = load(&ROUND_KEYS.0);
        for quarter in 0..QUARTER {
            let at = |lane| _mm_loadu_si128(bytes_of(QUARTER * quarter + lane).cast());
            let bytes = _mm512_inserti32x4::<1>(_mm512_castsi128_si512(at(0)), at(1));
            let bytes = _mm512_inserti32x4::<3>(_mm512_inserti32x4::<2>(bytes, at(2)), at(3));
            let spread = _mm512_permutexvar_epi8(load(&SPREAD.0[quarter]), words);
            let within = _mm512_cmplt_epu8_mask(load(&WITHIN.0), spread);
            let key = _mm512_mask_mov_epi8(_mm512_maskz_mov_epi8(TAGS, spread), within, bytes);
            _mm512_storeu_si512(keys.add(QUARTER * quarter).cast(), key);
            let hash = _mm512_aesenc_epi128(_mm512_aesenc_epi128(key, round_keys), round_keys);
            // A word of each, at all its places: only the one of this quarter is taken.
            hashes = _mm512_mask_shuffle_epi32::<0>(hashes, 0x1111 << quarter, hash);
            if WHITE {
                firsts = _mm512_mask_shuffle_epi32::<0>(firsts, 0x1111 << quarter, key);
            }
        }
        let order = load(&ORDER.0);
        let shift = _mm_cvtsi32_si128(u32::BITS as i32 - bits as i32);
        let hashes = _mm512_srl_epi32(_mm512_permutexvar_epi32(order, hashes), shift);
        _mm512_storeu_si512(places.cast(), _mm512_slli_epi32::<PLACE_SHIFT>(hashes));
        if !WHITE {
            return 0;
        }
        let behind = _mm512_and_si512(firsts, _mm512_set1_epi32(BLANK_MASK as i32));
        _mm512_cmpeq_epi32_mask(_mm512_permutexvar_epi32(order, behind), _mm512_set1_epi32(BLANK as i32))
    }
}

/// As [`LookUp::keys`], where some are `PARTS` or none is, and where there is `WHITE` space to recognise or none; not
/// inlined, so that it has all registers.
///
/// # Safety
/// The machine has AVX-512 and VAES.
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vbmi,avx512vbmi2,vaes,avx2,bmi1,bmi2,lzcnt,popcnt")]
#[inline(never)]
unsafe fn keys<const PARTS: bool, const WHITE: bool>(
    pieces: &Pieces<'_>,
    caches: &Caches,
    white: Option<WhiteSpace>,
    keys: &mut Keys,
) {
    let (text, count) = (pieces.text, pieces.count());
    let (near, last_from) = (text.len().saturating_sub(KEY_LIMIT), text.len().saturating_sub(BYTES));
    let last_bytes = last_bytes(text);
    let bits = caches.lines.bits();
    let mut before = _mm512_set1_epi32(pieces.start as i32);
    let (mut start, mut longer) = (pieces.start as u32, 0);
    for group in (0..count).step_by(GROUP) {
        let lanes = first_lanes(count - group);
        let parts = if PARTS { pieces.parts.get(group..).unwrap_or_default() } else { &[] };
        // SAFETY: the caller's promise. A group begins before `count`, which is at most `PIECES`, a multiple of
        // `GROUP`, so all arrays have room for it, and for sixteen more places of longer pieces than there were before.
        // Only `lanes` are loaded, of which there are as many ends. A piece that begins before `near` has sixteen bytes
        // of text; for another one the place in the 32 `last_bytes` is at most 16.
        unsafe {
            let ends = _mm512_maskz_loadu_epi32(lanes, pieces.ends.as_ptr().add(group).cast());
            let starts = _mm512_alignr_epi32::<15>(ends, before);
            before = ends;
            let clipped = _mm512_min_epu32(_mm512_sub_epi32(ends, starts), _mm512_set1_epi32(BYTES as i32));
            // The tag is the length, and for 16 it is 0.
            let mut tags = _mm512_and_si512(clipped, _mm512_set1_epi32(KEY_LIMIT as i32));
            if PARTS {
                let lanes = lanes & first_lanes(parts.len());
                let parts = _mm512_cvtepu8_epi32(_mm_maskz_loadu_epi8(lanes, parts.as_ptr().cast()));
                tags = _mm512_or_si512(tags, _mm512_slli_epi32::<PART_BIT>(parts));
            }
            let words = _mm512_or_si512(clipped, _mm512_slli_epi32::<8>(tags));
            let (room, places) = (keys.keys.as_mut_ptr().add(group), keys.places.as_mut_ptr().add(group));
            let ends_of = pieces.ends.get(group..).and_then(<[u32]>::first_chunk::<GROUP>);
            let whole = ends_of.filter(|ends| lanes == u16::MAX && (ends[GROUP - 2] as usize) < near);
            let blank = if let Some(ends) = whole {
                let start_of = |lane: usize| if lane == 0 { start } else { ends[lane - 1] };
                let in_text = |lane| text.as_ptr().add(start_of(lane) as usize);
                let blank = make::<WHITE>(words, bits, in_text, room, places);
                start = ends[GROUP - 1];
                blank
            } else {
                let mut starts_of = Vector([0_u32; GROUP]);
                _mm512_storeu_si512((&raw mut starts_of).cast(), starts);
                start = pieces.ends[count.min(group + GROUP) - 1];
                let bytes_of = |lane: usize| match starts_of.0[lane] as usize {
                    start if start < near => text.as_ptr().add(start),
                    start => last_bytes.as_ptr().add(start.wrapping_sub(last_from).min(BYTES)),
                };
                make::<WHITE>(words, bits, bytes_of, room, places)
            };
            let mut is_longer = _mm512_cmpeq_epi32_mask(clipped, _mm512_set1_epi32(BYTES as i32));
            if WHITE {
                is_longer |= blank & _mm512_cmpge_epu32_mask(clipped, _mm512_set1_epi32(RUN_FROM as i32));
            }
            is_longer &= lanes;
            let numbers = _mm512_add_epi32(load(&LANES.0), _mm512_set1_epi32(group as i32));
            let room = keys.longer.places.as_mut_ptr().add(longer);
            _mm512_storeu_si512(room.cast(), _mm512_maskz_compress_epi32(is_longer, numbers));
            longer += is_longer.count_ones() as usize;
        }
    }
    keys.places[..count].iter().for_each(|place| caches.lines.prefetch(*place as usize));
    keys.longer.begin(longer);
    if longer > 0 {
        // SAFETY: the caller's promise.
        unsafe { prefetch_longer(&mut keys.longer, pieces, caches, white) };
    }
}

/// As [`LookUp::place`].
///
/// # Safety
/// The machine has AVX-512 and VAES.
#[cfg(test)]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vbmi,avx512vbmi2,vaes,avx2,bmi1,bmi2,lzcnt,popcnt")]
unsafe fn place(cache: &Lines, key: Key) -> usize {
    use core::arch::x86_64::{_mm_aesenc_si128, _mm_cvtsi128_si32};
    let words = key.words();
    // SAFETY: both are sixteen bytes.
    let (key, round_key) =
        unsafe { (_mm_loadu_si128(words.as_ptr().cast()), _mm_loadu_si128(ROUND_KEYS.0.as_ptr().cast())) };
    let hash = _mm_cvtsi128_si32(_mm_aesenc_si128(_mm_aesenc_si128(key, round_key), round_key)) as u32;
    ((hash >> (u32::BITS - cache.bits())) as usize) << PLACE_SHIFT
}

impl LookUp for Avx512 {
    #[inline(always)]
    unsafe fn keys(pieces: &Pieces<'_>, caches: &Caches, white: Option<WhiteSpace>, room: &mut Keys) {
        // SAFETY: the caller's promise.
        unsafe {
            match (pieces.parts, white) {
                ([], None) => keys::<false, false>(pieces, caches, white, room),
                ([], Some(_)) => keys::<false, true>(pieces, caches, white, room),
                (_, None) => keys::<true, false>(pieces, caches, white, room),
                (_, Some(_)) => keys::<true, true>(pieces, caches, white, room),
            }
        }
    }

    #[cfg(test)]
    fn place(cache: &Lines, key: Key) -> usize {
        // SAFETY: tests ask where the path is available.
        unsafe { place(cache, key) }
    }

    #[inline(always)]
    unsafe fn take<S: Sink>(places: Range<usize>, caches: &Caches, keys: &Keys, found: &mut Found, ids: &mut Room) {
        // SAFETY: the caller's promise.
        unsafe { take::take::<Avx2, S>(places, caches, keys, found, ids) };
    }

    #[inline(always)]
    unsafe fn wide_key(text: &[u8], piece: Range<usize>, part: bool) -> WideKey {
        const { assert!(WIDE_LIMIT == 2 * BYTES - 1) };
        let (piece, mut words) = (&text[piece], [0_u128; 2]);
        let within = !(u32::MAX << piece.len().min(WIDE_LIMIT));
        // SAFETY: the caller's promise; only the bytes of the piece are loaded, and two words are a vector.
        unsafe {
            let bytes = _mm256_maskz_loadu_epi8(within, piece.as_ptr().cast());
            let key = _mm256_mask_set1_epi8(bytes, 1 << WIDE_LIMIT, WideKey::tag(piece.len(), part) as i8);
            _mm256_storeu_si256(words.as_mut_ptr().cast(), key);
        }
        WideKey::of_words(words)
    }

    #[inline(always)]
    unsafe fn is_run(white: WhiteSpace, piece: &[u8]) -> bool {
        let join = if white.newlines_join { u64::MAX } else { 0 };
        // Whether a newline stands before.
        let mut before = 0;
        for bytes in piece.chunks(RUN) {
            let within = u64::MAX >> (RUN - bytes.len());
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
        for (bytes, at) in piece.chunks(RUN).zip((0..).step_by(RUN)) {
            let Some(room) = ids[at..].first_chunk_mut::<RUN>() else { return white.write(bytes, &mut ids[at..]) };
            let within = u64::MAX >> (RUN - bytes.len());
            // SAFETY: the caller's promise; only the bytes there are are loaded, and there is room for four times
            // sixteen ids. All are written, so that nothing waits for the length of the run.
            unsafe {
                let bytes = _mm512_maskz_loadu_epi8(within, bytes.as_ptr().cast());
                let newlines = _mm512_cmpeq_epi8_mask(bytes, _mm512_set1_epi8(b'\n' as i8));
                let (space, other) = (_mm512_set1_epi32(white.space as i32), _mm512_set1_epi32(white.newline as i32));
                let room: *mut u32 = room.as_mut_ptr().cast();
                for at in (0..RUN).step_by(GROUP) {
                    let ids = _mm512_mask_mov_epi32(space, (newlines >> at) as u16, other);
                    _mm512_storeu_si512(room.add(at).cast(), ids);
                }
            }
        }
    }
}

/// As [`LongerPieces::prefetch`]; not inlined, since it happens once in a portion.
///
/// # Safety
/// The machine has AVX-512.
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vbmi,avx512vbmi2,vaes,avx2,bmi1,bmi2,lzcnt,popcnt")]
#[inline(never)]
unsafe fn prefetch_longer(longer: &mut LongerPieces, pieces: &Pieces<'_>, caches: &Caches, white: Option<WhiteSpace>) {
    // SAFETY: the caller's promise.
    unsafe { longer.prefetch::<Avx512>(pieces, caches, white) };
}
