//! Keys of eight pieces at once, both keys of a bucket compared at once, eight ids copied at once.

use core::arch::x86_64::{
    __m256i, _mm_cvtsi32_si128, _mm_cvtsi64_si128, _mm_loadu_si128, _mm256_add_epi32, _mm256_and_si256,
    _mm256_broadcastsi128_si256, _mm256_castsi128_si256, _mm256_castsi256_pd, _mm256_castsi256_ps, _mm256_cmpeq_epi32,
    _mm256_cmpeq_epi64, _mm256_cmpgt_epi8, _mm256_cvtepu8_epi32, _mm256_inserti128_si256, _mm256_loadu_si256,
    _mm256_min_epu32, _mm256_movemask_pd, _mm256_movemask_ps, _mm256_mullo_epi32, _mm256_or_si256,
    _mm256_permutevar8x32_epi32, _mm256_set1_epi8, _mm256_set1_epi32, _mm256_setr_epi32, _mm256_setzero_si256,
    _mm256_shuffle_epi8, _mm256_slli_epi32, _mm256_srl_epi32, _mm256_storeu_si256, _mm256_sub_epi32,
    _mm256_unpackhi_epi32, _mm256_unpackhi_epi64, _mm256_unpacklo_epi32, _mm256_unpacklo_epi64,
};
use std::ops::Range;

use super::copy_hits::{self, Equal, KEYS, ReadBucket};
use super::long_pieces::LongPieces;
use super::look_up::LookUp;
use super::{Found, Keys, PIECES, Pieces, Room, last_bytes};
use crate::output::Sink;
#[cfg(test)]
use crate::piece_cache::Buckets;
use crate::piece_cache::{Caches, ID, KEY_LIMIT, Key, PART_BIT, PLACE_SHIFT, WIDE_LIMIT, WideKey};
use crate::simd::lanes::lanes_of;
use crate::simd::level::{Avx2, OnLevel};
use crate::simd::words::bytes_at;

/// Pieces whose keys are made together.
const GROUP: usize = 8;

/// Pieces whose keys are a vector.
const PAIR: usize = 2;

/// Bytes of a key.
const BYTES: usize = KEY_LIMIT + 1;

const _: () = assert!(PIECES.is_multiple_of(GROUP) && BYTES == 16);

/// 32 bytes to load.
#[repr(align(32))]
struct Vector<T>(T);

/// By pair of a group: the byte of the words of its lengths, those of every first piece before those of every second,
/// that says which bytes of a key are text.
static SPREAD: Vector<[[u8; 32]; GROUP / PAIR]> = spread(0);

/// As [`SPREAD`], but the highest byte of a key is the next byte of the words.
static SPREAD_WITH_TAGS: Vector<[[u8; 32]; GROUP / PAIR]> = spread(1);

const fn spread(tag: u8) -> Vector<[[u8; 32]; GROUP / PAIR]> {
    let mut spread = [[0; 32]; GROUP / PAIR];
    let mut at = 0;
    while at < 32 * GROUP / PAIR {
        let (pair, byte) = (at / 32, at % 32);
        spread[pair][byte] = (4 * pair) as u8 + if byte % BYTES == KEY_LIMIT { tag } else { 0 };
        at += 1;
    }
    Vector(spread)
}

/// The place of each byte within its key; the highest byte is not below any length.
static WITHIN: Vector<[u8; 32]> = {
    let mut within = [0; 32];
    let mut at = 0;
    while at < 32 {
        let byte = at % BYTES;
        within[at] = if byte == KEY_LIMIT { i8::MAX as u8 } else { byte as u8 };
        at += 1;
    }
    Vector(within)
};

/// The place of each byte within a wide key.
static AT: Vector<[u8; 32]> = {
    let mut at = [0; 32];
    let mut place = 0;
    while place < 32 {
        at[place] = place as u8;
        place += 1;
    }
    Vector(at)
};

/// The highest byte of a wide key.
static HIGHEST: Vector<[u8; 32]> = {
    let mut highest = [0; 32];
    highest[31] = 0xFF;
    Vector(highest)
};

/// The length in the highest byte of a key; 16 gives none.
const LENGTH: i32 = 0x0F00_0000;

/// The highest byte of a key, in the last of its words of four bytes.
const TAG: i32 = 0xFF00_0000_u32 as i32;

/// What the four words of a key are multiplied by; the upper bits of the sum are the place of its bucket. Of natural
/// pieces as many share one as if places were drawn by lot.
const MULTIPLIERS: [u32; 4] = [0x85EB_CA6B, 0xC2B2_AE35, 0x27D4_EB2F, 0x1656_67B1];

/// Where the ids begin, by which halves of the two keys of a bucket are equal.
static HALVES: Equal<16> = Equal::new();

impl ReadBucket for Avx2 {
    #[inline(always)]
    unsafe fn find(self, bucket: *const u64, key: &Key) -> usize {
        // SAFETY: the token proves AVX2, the caller the bucket; a key has sixteen bytes, and those of a bucket are two.
        let equal = unsafe {
            let key = _mm256_broadcastsi128_si256(_mm_loadu_si128(std::ptr::from_ref(key).cast()));
            let keys = _mm256_loadu_si256(bucket.add(KEYS).cast());
            _mm256_movemask_pd(_mm256_castsi256_pd(_mm256_cmpeq_epi64(keys, key)))
        };
        HALVES.find(equal as usize)
    }

    #[inline(always)]
    unsafe fn copy(self, from: *const u32, to: *mut u32) {
        // SAFETY: the token proves AVX2, the caller the eight ids, which are a vector.
        unsafe {
            let words = _mm256_loadu_si256(from.cast());
            let plain = _mm256_and_si256(words, _mm256_setr_epi32(ID as i32, -1, -1, -1, -1, -1, -1, -1));
            _mm256_storeu_si256(to.cast(), plain);
        }
    }
}

impl LookUp for Avx2 {
    #[inline(always)]
    fn keys(self, pieces: &Pieces<'_>, caches: &Caches, keys: &mut Keys) {
        match pieces.parts {
            [] => self.run(MakeKeys::<false> { pieces, caches, keys }),
            _ => self.run(MakeKeys::<true> { pieces, caches, keys }),
        }
    }

    #[cfg(test)]
    fn place(self, cache: &Buckets, key: Key) -> usize {
        let products = key.words().into_iter().zip(MULTIPLIERS).map(|(word, multiplier)| word.wrapping_mul(multiplier));
        let hash = products.fold(0, u32::wrapping_add);
        ((hash >> (u32::BITS - cache.bits())) as usize) << PLACE_SHIFT
    }

    #[inline(always)]
    unsafe fn copy_hits<S: Sink>(
        self,
        places: Range<usize>,
        caches: &Caches,
        keys: &Keys,
        found: &mut Found,
        ids: &mut Room,
    ) {
        // SAFETY: the caller's promise.
        unsafe { copy_hits::copy_hits::<Self, S>(self, places, caches, keys, found, ids) };
    }

    #[inline(always)]
    fn wide_key(self, text: &[u8], piece: Range<usize>, part: bool) -> WideKey {
        let mut copy = [0; 2 * BYTES];
        let bytes = bytes_at(text, piece.start, &mut copy);
        wide_key(self, bytes, piece.len(), part)
    }
}

/// Load a vector.
#[inline(always)]
fn load<T>(_: Avx2, from: &T) -> __m256i {
    const { assert!(size_of::<T>() == 32) };
    // SAFETY: the token proves AVX2; the size is checked.
    unsafe { _mm256_loadu_si256(std::ptr::from_ref(from).cast()) }
}

/// Where the pieces of a group begin and where the last one ends.
type Borders = [u32; GROUP + 1];

/// Make the keys of a group, whose bytes are at `bytes_of`, and their places; returns a bit for each piece that is
/// longer than a key: those of every first piece, then those of every second.
///
/// # Safety
/// Sixteen bytes can be read where each piece is, and eight keys and places be written.
#[inline(always)]
unsafe fn make<const PARTS: bool>(
    simd: Avx2,
    bits: u32,
    borders: &Borders,
    parts: &[bool],
    bytes_of: impl Fn(usize) -> *const u8,
    keys: *mut Key,
    places: *mut u32,
) -> u8 {
    // First pieces of pairs, then second ones; and back.
    const APART: [i32; GROUP] = [0, 2, 4, 6, 1, 3, 5, 7];
    const TOGETHER: [i32; GROUP] = [0, 4, 1, 5, 2, 6, 3, 7];
    // SAFETY: the token proves AVX2, the caller the rest, for all of this function; four vectors of two keys are the
    // eight there are, and eight borders begin at the first and at the second of nine.
    unsafe {
        let order = |[a, b, c, d, e, f, g, h]: [i32; GROUP]| _mm256_setr_epi32(a, b, c, d, e, f, g, h);
        let starts = _mm256_loadu_si256(borders.as_ptr().cast());
        let ends = _mm256_loadu_si256(borders.as_ptr().add(1).cast());
        let most = _mm256_set1_epi32(BYTES as i32);
        let clipped = _mm256_min_epu32(_mm256_sub_epi32(ends, starts), most);
        let lengths = _mm256_permutevar8x32_epi32(clipped, order(APART));
        let words = if PARTS {
            let tags = _mm256_and_si256(clipped, _mm256_set1_epi32(KEY_LIMIT as i32));
            let tags = _mm256_slli_epi32::<8>(_mm256_or_si256(tags, part_tags(simd, parts)));
            _mm256_permutevar8x32_epi32(_mm256_or_si256(clipped, tags), order(APART))
        } else {
            lengths
        };
        let (spread, tag) = if PARTS { (&SPREAD_WITH_TAGS.0, TAG) } else { (&SPREAD.0, LENGTH) };
        let tag = _mm256_setr_epi32(0, 0, 0, tag, 0, 0, 0, tag);
        let [a, b, c, d] = MULTIPLIERS.map(|multiplier| multiplier as i32);
        let multipliers = _mm256_setr_epi32(a, b, c, d, a, b, c, d);
        let mut made = [_mm256_setzero_si256(); GROUP / PAIR];
        let mut products = made;
        for pair in 0..GROUP / PAIR {
            let at = |lane| _mm_loadu_si128(bytes_of(PAIR * pair + lane).cast());
            let bytes = _mm256_inserti128_si256::<1>(_mm256_castsi128_si256(at(0)), at(1));
            let spread = _mm256_shuffle_epi8(words, load(simd, &spread[pair]));
            let text = _mm256_and_si256(bytes, _mm256_cmpgt_epi8(spread, load(simd, &WITHIN.0)));
            made[pair] = _mm256_or_si256(text, _mm256_and_si256(spread, tag));
            _mm256_storeu_si256(keys.add(PAIR * pair).cast(), made[pair]);
            products[pair] = _mm256_mullo_epi32(made[pair], multipliers);
        }
        let [a, b, c, d] = products;
        let halves = |a, b| _mm256_add_epi32(_mm256_unpacklo_epi32(a, b), _mm256_unpackhi_epi32(a, b));
        let (first, second) = (halves(a, b), halves(c, d));
        let sums = _mm256_add_epi32(_mm256_unpacklo_epi64(first, second), _mm256_unpackhi_epi64(first, second));
        let hashes = _mm256_permutevar8x32_epi32(sums, order(TOGETHER));
        let shift = _mm_cvtsi32_si128(u32::BITS as i32 - bits as i32);
        let hashes = _mm256_slli_epi32::<{ PLACE_SHIFT as i32 }>(_mm256_srl_epi32(hashes, shift));
        _mm256_storeu_si256(places.cast(), hashes);
        let longer = _mm256_cmpeq_epi32(lengths, most);
        _mm256_movemask_ps(_mm256_castsi256_ps(longer)) as u8
    }
}

/// The key of a piece of up to 31 bytes that begins with `bytes`.
#[inline(always)]
fn wide_key(simd: Avx2, bytes: &[u8; 2 * BYTES], length: usize, part: bool) -> WideKey {
    const { assert!(WIDE_LIMIT == 2 * BYTES - 1) };
    let mut words = [0_u128; 2];
    // SAFETY: the token proves AVX2; two words are a vector.
    unsafe {
        let is_text = _mm256_cmpgt_epi8(_mm256_set1_epi8(length as i8), load(simd, &AT.0));
        let tag = _mm256_and_si256(_mm256_set1_epi8(WideKey::tag(length, part) as i8), load(simd, &HIGHEST.0));
        let key = _mm256_or_si256(_mm256_and_si256(load(simd, bytes), is_text), tag);
        _mm256_storeu_si256(words.as_mut_ptr().cast(), key);
    }
    WideKey::of_words(words)
}

/// What the tags of the next pieces have for those that are parts.
#[inline(always)]
fn part_tags(_: Avx2, parts: &[bool]) -> __m256i {
    let word = match parts.first_chunk::<GROUP>() {
        Some(parts) => u64::from_le_bytes(parts.map(u8::from)),
        None => parts.iter().rev().fold(0, |word, part| word << 8 | u64::from(*part)),
    };
    // SAFETY: the token proves AVX2.
    unsafe { _mm256_slli_epi32::<{ PART_BIT as i32 }>(_mm256_cvtepu8_epi32(_mm_cvtsi64_si128(word as i64))) }
}

/// As [`LookUp::keys`], where some are `PARTS` or none is: a function of its own, so that it has all registers.
struct MakeKeys<'a, const PARTS: bool> {
    pieces: &'a Pieces<'a>,
    caches: &'a Caches,
    keys: &'a mut Keys,
}

impl<const PARTS: bool> OnLevel<Avx2> for MakeKeys<'_, PARTS> {
    type Output = ();

    #[inline(always)]
    fn run(self, simd: Avx2) {
        make_all::<PARTS>(simd, self.pieces, self.caches, self.keys);
    }
}

#[inline(always)]
fn make_all<const PARTS: bool>(simd: Avx2, pieces: &Pieces<'_>, caches: &Caches, keys: &mut Keys) {
    let (text, count) = (pieces.text, pieces.count());
    let (near, last_from) = (text.len().saturating_sub(KEY_LIMIT), text.len().saturating_sub(BYTES));
    let last_bytes = last_bytes(text);
    let bits = caches.buckets.bits();
    let whole = count - count % GROUP;
    // By group.
    let mut longer = [0; PIECES / GROUP];
    for group in (0..count).step_by(GROUP) {
        let outer;
        let borders = if group == 0 || group == whole {
            outer = outer_borders(pieces, group);
            &outer
        } else {
            // SAFETY: the piece before the group and its own eight have ends.
            unsafe { &*pieces.ends.as_ptr().add(group - 1).cast::<Borders>() }
        };
        let parts = if PARTS { pieces.parts.get(group..).unwrap_or_default() } else { &[] };
        // SAFETY: a group begins before `count`, which is at most `PIECES`, a multiple of
        // `GROUP`, so all arrays have room for it. A piece that begins before `near` has sixteen bytes of text; for
        // another one the place in the 32 `last_bytes` is at most 16.
        longer[group / GROUP] = unsafe {
            let (room, places) = (keys.keys.as_mut_ptr().add(group), keys.places.as_mut_ptr().add(group));
            let in_text = |lane: usize| text.as_ptr().add(borders[lane] as usize);
            if (borders[GROUP - 1] as usize) < near {
                make::<PARTS>(simd, bits, borders, parts, in_text, room, places)
            } else {
                let bytes_of = |lane: usize| match borders[lane] as usize {
                    start if start < near => in_text(lane),
                    start => last_bytes.as_ptr().add(start.wrapping_sub(last_from).min(BYTES)),
                };
                make::<PARTS>(simd, bits, borders, parts, bytes_of, room, places)
            }
        };
    }
    keys.places[..count].iter().for_each(|place| caches.buckets.prefetch(*place as usize));
    let count = note(simd, &in_order(&longer)[..count.div_ceil(GROUP)], &mut keys.long_pieces.places);
    keys.long_pieces.begin(count);
    if count > 0 {
        simd.run(PrefetchLongPieces { long_pieces: &mut keys.long_pieces, pieces, caches });
    }
}

/// The borders of the first or the last group; the last piece is followed by empty ones.
#[inline(never)]
fn outer_borders(pieces: &Pieces<'_>, group: usize) -> Borders {
    let ends = &pieces.ends[..pieces.count()];
    let last = ends.last().copied().unwrap_or_default();
    std::array::from_fn(|border| match (group + border).checked_sub(1) {
        Some(piece) => ends.get(piece).copied().unwrap_or(last),
        None => pieces.start as u32,
    })
}

/// Write the numbers of long pieces to `places`, and return how many there are; `bits` are those of each group.
#[inline(always)]
fn note(simd: Avx2, bits: &[u8], places: &mut [u32; PIECES + super::GROUP]) -> usize {
    let mut count = 0;
    // SAFETY: the token proves AVX2. A group has eight pieces at the most, so behind what was counted there is room for
    // eight of each of the `PIECES / GROUP` groups, and for eight more.
    unsafe {
        let mut first = _mm256_setzero_si256();
        for bits in &bits[..bits.len().min(PIECES / GROUP)] {
            let numbers = _mm256_add_epi32(lanes_of(simd, *bits), first);
            _mm256_storeu_si256(places.as_mut_ptr().add(count).cast(), numbers);
            count += bits.count_ones() as usize;
            first = _mm256_add_epi32(first, _mm256_set1_epi32(GROUP as i32));
        }
    }
    count
}

/// The bits of each group, the lower half of which are those of first pieces, in the order of pieces.
#[inline(always)]
fn in_order(groups: &[u8; PIECES / GROUP]) -> [u8; PIECES / GROUP] {
    let swap = |bits: u8, by: u32, which: u8| {
        let differ = (bits ^ bits >> by) & which;
        bits ^ differ ^ differ << by
    };
    groups.map(|bits| swap(swap(bits, 2, 0x0C), 1, 0x22))
}

/// As [`LongPieces::prefetch`]: a function of its own, since it happens once in a block.
struct PrefetchLongPieces<'a> {
    long_pieces: &'a mut LongPieces,
    pieces: &'a Pieces<'a>,
    caches: &'a Caches,
}

impl OnLevel<Avx2> for PrefetchLongPieces<'_> {
    type Output = ();

    #[inline(always)]
    fn run(self, simd: Avx2) {
        self.long_pieces.prefetch(simd, self.pieces, self.caches);
    }
}
