//! All caches of one thread, and their statistics.

use std::ops::Range;

use super::buckets::{Buckets, HALF};
use super::id_chunk::IdChunk;
use super::key::{Key, WideKey};
use super::long::LongCache;

/// Statistics of piece caches.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct CacheStatistics {
    /// The most memory they can take, in bytes.
    pub bytes: u64,
    /// Pieces looked up.
    pub pieces: u64,
    /// Pieces that none of them had.
    pub misses: u64,
    /// Pieces that made room for others.
    pub evictions: u64,
}

impl CacheStatistics {
    pub(crate) fn add(&mut self, other: &Self) {
        self.bytes += other.bytes;
        self.pieces += other.pieces;
        self.misses += other.misses;
        self.evictions += other.evictions;
    }
}

/// The caches of one thread, from pieces to their ids.
#[derive(Debug)]
pub struct Caches {
    pub(crate) buckets: Buckets,
    pub(crate) long: LongCache,
    pub(crate) statistics: CacheStatistics,
}

impl Caches {
    /// Empty caches of at most about `bytes` bytes.
    pub(crate) fn new(bytes: usize) -> Self {
        let (buckets, long) = (Buckets::new(bytes / 2, bytes / 4), LongCache::new(bytes / 4));
        Self { buckets, long, statistics: CacheStatistics::default() }
    }

    pub(crate) fn bytes(&self) -> u64 {
        (self.buckets.bytes() + self.long.bytes()) as u64
    }

    /// Remember the ids of `text[piece]`, a piece without a [`Key`].
    pub(crate) fn remember_long_piece(&mut self, text: &[u8], piece: Range<usize>, part: bool, ids: &[u32]) {
        let Self { buckets, long, .. } = self;
        let evicted = match WideKey::new(text, piece.start, piece.end, part) {
            Some(key) => buckets.insert_wide(key, ids, |ids| long.store(ids)),
            None => long.insert(&text[piece], part, ids),
        };
        self.count(evicted);
    }

    /// Remember the ids of a piece that has a key, but too many ids to stand beside it.
    pub(crate) fn remember_many(&mut self, place: usize, key: Key, ids: &[u32]) {
        let evicted = self.buckets.insert_stored(place, key, self.long.store(ids));
        self.count(evicted);
    }

    /// Give `take` the ids of a short piece that its own bucket does not have, if they are stored or in the neighbour.
    #[inline(always)]
    pub(crate) fn find_elsewhere<T>(&self, place: usize, key: Key, take: impl FnOnce(&[u32]) -> T) -> Option<T> {
        let stored = self.buckets.stored(place, key).and_then(|stored| self.long.range_of(stored));
        match stored {
            Some(range) => Some(take(&self.long.ids()[range])),
            None => self.buckets.get_in_neighbour(place, key).map(|few| take(few.as_slice())),
        }
    }

    /// Remember the ids of the piece that has a key and is looked for at `place`.
    #[inline(always)]
    pub(crate) fn remember_short(&mut self, place: usize, key: Key, ids: &IdChunk) {
        let count = ids.count as usize;
        let evicted = if count > HALF && !self.buckets.is_free(place) && self.long.has_room(0, count) {
            self.buckets.insert_stored(place, key, self.long.store(&ids.ids[..count]))
        } else {
            self.buckets.insert(place, key, ids)
        };
        self.count(evicted);
    }

    fn count(&mut self, evicted: bool) {
        self.statistics.misses += 1;
        self.statistics.evictions += u64::from(evicted);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::piece_cache::IDS_LIMIT;

    /// As a block looks a short piece up.
    fn recalled(caches: &Caches, key: Key) -> Option<Vec<u32>> {
        let (mut ids, place) = ([0; IDS_LIMIT], caches.buckets.place(key));
        match caches.buckets.get(place, key, &mut ids) {
            0 => caches.find_elsewhere(place, key, <[u32]>::to_vec),
            count => Some(ids[..count].to_vec()),
        }
    }

    proptest! {
        /// Of so few buckets that each has more pieces than it holds, and pieces of so many ids that only one fits.
        #[test]
        fn pieces_that_share_lines_keep_their_ids(
            ids in prop::collection::vec(prop::collection::vec(0_u32..1 << 22, 1..11), 1..24),
            order in prop::collection::vec((any::<prop::sample::Index>(), any::<bool>()), 0..300),
            bytes in prop::sample::select(vec![256_usize, 512, 1024, 1 << 16]),
        ) {
            let mut caches = Caches::new(bytes);
            for (index, part) in order {
                let at = index.index(ids.len());
                let (text, ids) = ([b'a', at as u8], &ids[at]);
                let key = Key::new(&text, 0, text.len(), part).unwrap();
                if let Some(found) = recalled(&caches, key) {
                    prop_assert_eq!(&found, ids);
                    continue;
                }
                match IdChunk::new(ids) {
                    Some(few) => caches.remember_short(caches.buckets.place(key), key, &few),
                    None => caches.remember_many(caches.buckets.place(key), key, ids),
                }
                prop_assert_eq!(recalled(&caches, key), Some(ids.clone()));
            }
        }
    }
}
