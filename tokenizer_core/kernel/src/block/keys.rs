//! The keys of a block. Each step is done for all pieces before the next begins, so that each step's values fit in
//! registers and the compiler vectorizes some steps.

use super::{Keys, PIECES, Pieces, last_bytes};
use crate::piece_cache::{Caches, KEY_LIMIT, Key};
use crate::simd::words::sixteen;

/// Bytes of a key.
const BYTES: usize = KEY_LIMIT + 1;

/// Make the keys of all pieces, prefetch their buckets, and note which are longer.
#[inline(always)]
pub(super) fn make(pieces: &Pieces<'_>, caches: &Caches, keys: &mut Keys) {
    let count = pieces.count();
    // Until the place of a piece is known, its clipped length is here.
    clip(pieces, &mut keys.places[..count]);
    read(pieces, &keys.places[..count], &mut keys.keys[..count]);
    let longer = place(count, caches, keys);
    keys.long_pieces.begin(longer);
}

/// The length of each piece, clipped to one byte more than a key has of text.
#[inline(always)]
fn clip(pieces: &Pieces<'_>, clipped: &mut [u32]) {
    let ends = &pieces.ends[..clipped.len()];
    let starts = ends.split_last().map_or_else(Default::default, |(_, starts)| starts);
    let Some((first, clipped)) = clipped.split_first_mut() else { return };
    *first = ends[0].wrapping_sub(pieces.start as u32).min(BYTES as u32);
    for ((clipped, start), end) in clipped.iter_mut().zip(starts).zip(&ends[1..]) {
        *clipped = end.wrapping_sub(*start).min(BYTES as u32);
    }
}

/// Take the bytes of each piece out of the text.
#[inline(always)]
fn read(pieces: &Pieces<'_>, clipped: &[u32], keys: &mut [Key]) {
    let (text, count) = (pieces.text, keys.len());
    let (clipped, ends) = (&clipped[..count], &pieces.ends[..count]);
    let (near, last_from) = (text.len().saturating_sub(KEY_LIMIT), text.len().saturating_sub(BYTES));
    let last = last_bytes(text);
    let (mut at, mut start) = (0, pieces.start);
    let of = |at: usize| (clipped[at] as usize, ends[at] as usize);
    while at < count && start < near {
        let (clipped, end) = of(at);
        // SAFETY: `start < near` and `near` is the length of the text less 15, so sixteen bytes from `start` on are
        // text; an array of bytes needs no alignment.
        let bytes = unsafe { text.as_ptr().add(start).cast::<[u8; BYTES]>().read() };
        keys[at] = Key::clipped(u128::from_le_bytes(bytes), clipped);
        (at, start) = (at + 1, end);
    }
    while at < count {
        let (clipped, end) = of(at);
        keys[at] = Key::clipped(sixteen(&last, start.wrapping_sub(last_from).min(BYTES)), clipped);
        (at, start) = (at + 1, end);
    }
    for (key, part) in keys.iter_mut().zip(pieces.parts) {
        *key = key.or_part(*part);
    }
}

/// Compute the place of each piece and prefetch its bucket, and note those that are longer. Returns how many these are.
#[inline(always)]
fn place(count: usize, caches: &Caches, keys: &mut Keys) -> usize {
    let mut longer = 0;
    for at in 0..count {
        let (key, clipped) = (keys.keys[at], keys.places[at] as usize);
        let place = caches.buckets.place(key);
        caches.buckets.prefetch(place);
        keys.places[at] = place as u32;
        keys.long_pieces.places[longer % PIECES] = at as u32;
        longer += usize::from(clipped > KEY_LIMIT);
    }
    longer
}
