//! The buckets of longer pieces, of which each has one for itself.
//!
//! A piece may be in any of four neighbouring buckets; the second two are used when the first two are taken.

use super::buckets::{Bucket, Buckets, GROUP, HALF, PLACE_SHIFT, packed, words};
use super::id_chunk::IdChunk;
use super::key::WideKey;
use super::long::StoredIds;

/// The ids of a piece.
#[derive(Debug, Clone, Copy)]
pub enum WideIds {
    /// In the bucket.
    Inline(IdChunk),
    /// Too many for the bucket.
    Stored(StoredIds),
}

impl Buckets {
    /// The place of a wide piece.
    #[inline(always)]
    pub fn wide_place(&self, key: WideKey) -> usize {
        let place = (key.hash() >> (u64::BITS - self.wide_bits)) as usize;
        ((1 << self.short_bits) + place) << PLACE_SHIFT
    }

    /// Prefetch what is remembered of the wide pieces at a place.
    #[inline(always)]
    pub fn prefetch_wide(&self, place: usize) {
        self.prefetch(place);
        self.prefetch(way(place, 1));
    }

    /// The place where a wide piece is that is looked for at `place`, if it is remembered.
    #[inline(always)]
    pub fn find_wide(&self, place: usize, key: WideKey) -> Option<usize> {
        let is_it = |at: &usize| self.bucket(*at).keys == key.0;
        let found = [place, way(place, 1)].into_iter().find(is_it);
        if found.is_some() || self.is_free_for_wide(place) || self.is_free_for_wide(way(place, 1)) {
            return found;
        }
        [way(place, 2), way(place, 3)].into_iter().find(is_it)
    }

    /// The ids of the wide piece at the place where [`Self::find_wide`] found it.
    #[inline(always)]
    pub fn wide_ids(&self, place: usize) -> WideIds {
        let bucket = self.bucket(place);
        bucket.stored(0).map_or_else(|| WideIds::Inline(bucket.few()), WideIds::Stored)
    }

    /// Remember the ids of a wide piece, or where `store` puts them if they are more than 8. If all places are taken,
    /// an older piece is evicted. Returns whether one was.
    #[inline]
    pub fn insert_wide(&mut self, key: WideKey, ids: &[u32], store: impl FnOnce(&[u32]) -> StoredIds) -> bool {
        let ids = IdChunk::new(ids).map_or_else(|| [words(store(ids)), [0; HALF]], |few| packed(&few));
        let (bucket, place) = (Bucket { ids, keys: key.0 }, self.wide_place(key));
        // The piece was missed twice in one block, or its stored ids are gone.
        let known = self.find_wide(place, key);
        let free = || (0..GROUP).map(|number| way(place, number)).find(|at| self.is_free_for_wide(*at));
        if let Some(at) = known.or_else(free) {
            *self.bucket_mut(at) = bucket;
            return false;
        }
        let before = std::mem::replace(self.bucket_mut(place), bucket);
        *self.bucket_mut(way(place, 1)) = before;
        true
    }

    /// A key says how long its piece is, so it is not zero.
    #[inline(always)]
    fn is_free_for_wide(&self, place: usize) -> bool {
        self.bucket(place).keys[1] == 0
    }
}

/// One of the four places that begin with `place`.
#[inline(always)]
fn way(place: usize, number: usize) -> usize {
    place ^ number << PLACE_SHIFT
}
