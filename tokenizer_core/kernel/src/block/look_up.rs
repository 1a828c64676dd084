//! How each level makes the keys of a block and copies the ids that the buckets have.

use std::ops::Range;

use super::long_pieces::LongPieces;
use super::{Found, Keys, Pieces, Room, copy_hits, keys};
use crate::output::Sink;
#[cfg(test)]
use crate::piece_cache::{Buckets, Key};
use crate::piece_cache::{Caches, WideKey};
use crate::simd::level::Portable;

/// The steps that every piece of a text goes through.
pub(super) trait LookUp: Copy {
    /// Make the keys of all pieces, and prefetch what is remembered about them. Where a piece is looked for in the
    /// buckets is for the level to choose.
    fn keys(self, pieces: &Pieces<'_>, caches: &Caches, keys: &mut Keys);

    /// Where the level looks for a piece in a cache, by definition.
    #[cfg(test)]
    fn place(self, cache: &Buckets, key: Key) -> usize {
        cache.place(key)
    }

    /// Append the ids that the buckets have of the pieces at `places`, whose keys [`LookUp::keys`] made for that
    /// cache; or only add their number, if the sink counts.
    ///
    /// # Safety
    /// [`LookUp::keys`] made the keys at `places`, for these caches; after what `found` has
    /// there is room for [`IDS_LIMIT`](crate::piece_cache::IDS_LIMIT) ids and a miss of each of these pieces.
    unsafe fn copy_hits<S: Sink>(
        self,
        places: Range<usize>,
        caches: &Caches,
        keys: &Keys,
        found: &mut Found,
        ids: &mut Room,
    );

    /// The key of a piece of 16 to 31 bytes.
    #[inline(always)]
    fn wide_key(self, text: &[u8], piece: Range<usize>, part: bool) -> WideKey {
        WideKey::new(text, piece.start, piece.end, part).unwrap_or_default()
    }
}

impl LookUp for Portable {
    #[inline(never)]
    fn keys(self, pieces: &Pieces<'_>, caches: &Caches, keys: &mut Keys) {
        keys::make(pieces, caches, keys);
        if keys.long_pieces.count > 0 {
            prefetch_long_pieces(&mut keys.long_pieces, pieces, caches);
        }
    }

    #[inline(never)]
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
}

/// As [`LongPieces::prefetch`]; not inlined, since it happens once in a block.
#[inline(never)]
fn prefetch_long_pieces(long_pieces: &mut LongPieces, pieces: &Pieces<'_>, caches: &Caches) {
    long_pieces.prefetch(Portable, pieces, caches);
}
