//! All caches of one thread, and their statistics.

use std::ops::Range;

use super::few_ids::FewIds;
use super::key::{Key, WideKey};
use super::long::LongCache;
use super::short::ShortCache;
use super::wide::WideCache;

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
    pub(crate) short: ShortCache,
    pub(crate) wide: WideCache,
    pub(crate) long: LongCache,
    pub(crate) statistics: CacheStatistics,
}

impl Caches {
    /// Empty caches of at most about `bytes` bytes.
    pub(crate) fn new(bytes: usize) -> Self {
        let (short, wide, long) = (ShortCache::new(bytes / 2), WideCache::new(bytes / 4), LongCache::new(bytes / 4));
        Self { short, wide, long, statistics: CacheStatistics::default() }
    }

    pub(crate) fn bytes(&self) -> u64 {
        (self.short.bytes() + self.wide.bytes() + self.long.bytes()) as u64
    }

    /// Remember the ids of `text[piece]`, a piece without a key or with too many ids for one.
    pub(crate) fn remember(&mut self, text: &[u8], piece: Range<usize>, part: bool, ids: &[u32]) {
        let Self { short, wide, long, .. } = self;
        let evicted = if let Some(key) = Key::new(text, piece.start, piece.end, part) {
            short.insert_stored(key, long.store(ids))
        } else if let Some(key) = WideKey::new(text, piece.start, piece.end, part) {
            wide.insert(key, ids, |ids| long.store(ids))
        } else {
            long.insert(&text[piece], part, ids)
        };
        self.count(evicted);
    }

    /// Remember the ids of a piece that has a key.
    #[inline(always)]
    pub(crate) fn remember_short(&mut self, key: Key, ids: &FewIds) {
        let evicted = self.short.insert(key, ids);
        self.count(evicted);
    }

    fn count(&mut self, evicted: bool) {
        self.statistics.misses += 1;
        self.statistics.evictions += u64::from(evicted);
    }
}
