//! What one encoding call needs and the next can use again: buffers, and the piece cache above all.

use std::num::NonZero;
use std::ops::Range;
use std::sync::{Mutex, PoisonError};
use std::thread;

use crate::backtrack::Backtracker;
use crate::merge::Merger;
use crate::piece_cache::{Key, LongCache, ShortCache, WideCache, WideKey};
use crate::portion::Portion;
use crate::safe_split::Cuts;

/// Calls beyond the number that is kept get a cache of this size, made for the one call.
const PASSING_CACHE_BYTES: usize = 64 * 1024;

/// Buffers longer than this are given back after the call that needed them, in entries.
const BUFFER_LIMIT: usize = 1 << 16;

/// What piece caches did.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct CacheStatistics {
    /// What they may take, in bytes.
    pub bytes: u64,
    /// Pieces looked up.
    pub pieces: u64,
    /// Pieces found in none of them.
    pub misses: u64,
    /// Pieces forgotten for others.
    pub evictions: u64,
}

impl CacheStatistics {
    fn add(&mut self, other: &Self) {
        self.pieces += other.pieces;
        self.misses += other.misses;
        self.evictions += other.evictions;
    }
}

/// What pieces became, as far as one thread remembers.
#[derive(Debug)]
pub struct Caches {
    pub(crate) short: ShortCache,
    pub(crate) wide: WideCache,
    pub(crate) long: LongCache,
    pub(crate) statistics: CacheStatistics,
}

impl Caches {
    /// Empty caches of at most about so many bytes.
    pub(crate) fn new(bytes: usize) -> Self {
        let (short, wide, long) = (ShortCache::new(bytes / 2), WideCache::new(bytes / 4), LongCache::new(bytes / 4));
        Self { short, wide, long, statistics: CacheStatistics::default() }
    }

    fn bytes(&self) -> u64 {
        (self.short.bytes() + self.wide.bytes() + self.long.bytes()) as u64
    }

    /// Remember the ids of `text[piece]`, which is in no cache.
    pub(crate) fn remember(&mut self, text: &[u8], piece: Range<usize>, part: bool, ids: &[u32]) {
        let (start, end) = (piece.start, piece.end);
        self.statistics.misses += 1;
        let short = Key::new(text, start, end, part).and_then(|key| self.short.insert(key, ids));
        let wide = || WideKey::new(text, start, end, part).and_then(|key| self.wide.insert(key, ids));
        let evicted = short.or_else(wide).unwrap_or_else(|| self.long.insert(&text[piece], part, ids));
        self.statistics.evictions += u64::from(evicted);
    }
}

/// What merges long pieces: where the vocabulary allows it the first, else the second.
#[derive(Debug, Default)]
pub struct Mergers {
    pub(crate) backtracker: Backtracker,
    pub(crate) queue: Merger,
}

/// The state of one encoding call.
#[derive(Debug)]
pub struct Scratch {
    pub(crate) caches: Caches,
    pub(crate) mergers: Mergers,
    pub(crate) portion: Portion,
    pub(crate) cuts: Cuts,
    /// Its place in the pool, to which it goes back; none if it was made for one call.
    place: Option<usize>,
}

impl Scratch {
    fn new(cache_bytes: usize, place: Option<usize>) -> Self {
        Self {
            caches: Caches::new(cache_bytes),
            mergers: Mergers::default(),
            portion: Portion::default(),
            cuts: Cuts::default(),
            place,
        }
    }
}

/// The scratch of every call that may run at the same time: as many as there are cores, however many callers.
///
/// Each lives as long as the tokenizer, so a core's caches stay warm from call to call and die with it; nothing is
/// kept in thread-locals, which would outlive the tokenizer and be lost in a fork.
#[derive(Debug)]
pub struct ScratchPool {
    cache_bytes: usize,
    most: usize,
    state: Mutex<PoolState>,
}

#[derive(Debug, Default)]
struct PoolState {
    statistics: CacheStatistics,
    /// Those that were made; empty where one is in use.
    places: Vec<Option<Box<Scratch>>>,
}

impl ScratchPool {
    /// An empty pool; `cache_bytes` bounds the piece cache of each scratch.
    pub fn new(cache_bytes: usize) -> Self {
        let most = thread::available_parallelism().map_or(1, NonZero::get);
        Self { cache_bytes, most, state: Mutex::default() }
    }

    /// Run `work` with a scratch that no other call has.
    pub fn with<T>(&self, work: impl FnOnce(&mut Scratch) -> T) -> T {
        let mut scratch = self.take();
        let outcome = work(&mut scratch);
        let statistics = std::mem::take(&mut scratch.caches.statistics);
        if scratch.place.is_some() {
            scratch.mergers.backtracker.shrink(BUFFER_LIMIT);
            scratch.mergers.queue.shrink(BUFFER_LIMIT);
            scratch.portion.shrink(BUFFER_LIMIT);
            scratch.cuts.shrink(BUFFER_LIMIT);
        }
        let mut state = self.lock();
        state.statistics.add(&statistics);
        if let Some(place) = scratch.place {
            state.places[place] = Some(scratch);
        }
        outcome
    }

    /// What the caches of all calls that have ended did.
    pub fn statistics(&self) -> CacheStatistics {
        self.lock().statistics
    }

    fn take(&self) -> Box<Scratch> {
        let mut state = self.lock();
        // The first was used most, so its caches know most.
        if let Some(scratch) = state.places.iter_mut().find_map(Option::take) {
            return scratch;
        }
        let place = Some(state.places.len()).filter(|place| *place < self.most);
        if place.is_some() {
            state.places.push(None);
        }
        drop(state);
        let bytes = if place.is_some() { self.cache_bytes } else { self.cache_bytes.min(PASSING_CACHE_BYTES) };
        let scratch = Box::new(Scratch::new(bytes, place));
        if place.is_some() {
            self.lock().statistics.bytes += scratch.caches.bytes();
        }
        scratch
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, PoolState> {
        // A panic while the lock is held cannot leave a half-changed list.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
