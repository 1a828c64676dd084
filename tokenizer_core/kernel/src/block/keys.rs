//! The keys of a block, and where they are looked up. Each step is done for all pieces before the next begins, so that
//! many loads are under way at once.

use super::{BlockPieces, Keys, PIECES, last_bytes};
#[cfg(test)]
use crate::piece_cache::Buckets;
use crate::piece_cache::{Caches, KEY_LIMIT, Key, PLACE_SHIFT};
use crate::simd::level::Portable;

/// Pieces whose keys are made together.
pub(super) const GROUP: usize = 8;

/// Bytes of a key.
pub(super) const BYTES: usize = KEY_LIMIT + 1;

const _: () = assert!(PIECES.is_multiple_of(GROUP));

/// The start of each piece of a group, and the end of the last one.
pub(super) type Borders = [u32; GROUP + 1];

/// The making of keys, by each level in its own way.
pub(super) trait MakeKeys: Copy {
    /// Make the keys of all pieces of a block, in a function of its own, so that it has all registers; see [`make`].
    fn all(self, pieces: &BlockPieces<'_>, caches: &Caches, keys: &mut Keys);

    /// Make the keys of a group and their places, which have so many bits in buckets. The bytes from a border on are
    /// `bytes_of`; a byte of `parts` is 1 for each piece that is a part. Returns a bit for each piece that is longer
    /// than a key.
    fn group<'a>(
        self,
        bits: u32,
        borders: &Borders,
        parts: u64,
        bytes_of: impl Fn(u32) -> &'a [u8; BYTES],
        made: (&mut [Key; GROUP], &mut [u32; GROUP]),
    ) -> u8;

    /// Return the place at which the level looks for a piece in a cache, by definition.
    #[cfg(test)]
    fn place(self, cache: &Buckets, key: Key) -> usize {
        cache.place(key)
    }
}

impl MakeKeys for Portable {
    #[inline(never)]
    fn all(self, pieces: &BlockPieces<'_>, caches: &Caches, keys: &mut Keys) {
        make(self, pieces, caches, keys);
    }

    #[inline(always)]
    fn group<'a>(
        self,
        bits: u32,
        borders: &Borders,
        parts: u64,
        bytes_of: impl Fn(u32) -> &'a [u8; BYTES],
        (keys, places): (&mut [Key; GROUP], &mut [u32; GROUP]),
    ) -> u8 {
        let mut longer = 0;
        for at in 0..GROUP {
            let length = borders[at + 1].wrapping_sub(borders[at]).min(BYTES as u32);
            let bytes = u128::from_le_bytes(*bytes_of(borders[at]));
            keys[at] = Key::clipped(bytes, length as usize).or_part(parts >> (8 * at) & 1 != 0);
            places[at] = keys[at].place(bits, PLACE_SHIFT) as u32;
            longer |= u8::from(length > KEY_LIMIT as u32) << at;
        }
        longer
    }
}

/// Make the keys of all pieces, prefetch their buckets, and note which are longer.
#[inline(always)]
pub(super) fn make(simd: impl MakeKeys, pieces: &BlockPieces<'_>, caches: &Caches, keys: &mut Keys) {
    let (text, ends) = (pieces.text, &pieces.ends[..pieces.count()]);
    let (near, last_from) = (text.len().saturating_sub(KEY_LIMIT), text.len().saturating_sub(BYTES));
    let last = last_bytes(text);
    // SAFETY: it is only called for starts before `near`, from each of which on the text has sixteen bytes.
    let in_text = |start: u32| unsafe { &*text.as_ptr().add(start as usize).cast::<[u8; BYTES]>() };
    let bytes_of = |start: u32| match start as usize {
        at if at < near => in_text(start),
        at => last[at.wrapping_sub(last_from).min(BYTES)..].first_chunk().unwrap_or(&[0; BYTES]),
    };
    let bits = caches.buckets.bits();
    let made = keys.keys.as_chunks_mut().0.iter_mut().zip(keys.places.as_chunks_mut().0);
    // By group.
    let mut longer = [0_u8; PIECES / GROUP];
    for (first, made) in (0..ends.len()).step_by(GROUP).zip(made) {
        let outer;
        let borders = match first.checked_sub(1).and_then(|before| ends[before..].first_chunk()) {
            Some(borders) => borders,
            None => {
                outer = outer_borders(pieces.start, ends, first);
                &outer
            }
        };
        let parts = parts_of(pieces.parts, first);
        longer[first / GROUP] = if (borders[GROUP - 1] as usize) < near {
            simd.group(bits, borders, parts, in_text, made)
        } else {
            simd.group(bits, borders, parts, bytes_of, made)
        };
    }
    keys.places[..ends.len()].iter().for_each(|place| caches.buckets.prefetch(*place as usize));
    let mut count = 0;
    for (first, groups) in (0..).step_by(u64::BITS as usize).zip(longer.as_chunks().0) {
        let mut bits = u64::from_le_bytes(*groups);
        while bits != 0 {
            keys.long_pieces.places[count % PIECES] = first + bits.trailing_zeros();
            bits &= bits - 1;
            count += 1;
        }
    }
    keys.long_pieces.begin(count);
}

/// The borders of the first or the last group; the last piece is followed by empty ones.
#[inline(never)]
fn outer_borders(start: usize, ends: &[u32], first: usize) -> Borders {
    let last = ends.last().copied().unwrap_or_default();
    std::array::from_fn(|border| match (first + border).checked_sub(1) {
        Some(piece) => ends.get(piece).copied().unwrap_or(last),
        None => start as u32,
    })
}

/// A byte for each piece of a group: 1 if it is a part.
#[inline(always)]
fn parts_of(parts: &[bool], first: usize) -> u64 {
    match parts.get(first..).unwrap_or_default() {
        [] => 0,
        parts => match parts.first_chunk::<GROUP>() {
            Some(parts) => u64::from_le_bytes(parts.map(u8::from)),
            None => parts.iter().rev().fold(0, |word, part| word << 8 | u64::from(*part)),
        },
    }
}
