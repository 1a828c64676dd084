//! What one encoding call needs and the next can use again: buffers, and the piece cache above all.

use std::num::NonZero;
use std::sync::{Mutex, PoisonError};
use std::thread;

use crate::merge::Merger;
use crate::piece_cache::{IDS_LIMIT, Key, LongCache, ShortCache};

/// Calls beyond the number that is kept get a cache of this size, made for the one call.
const PASSING_CACHE_BYTES: usize = 64 * 1024;

/// Buffers longer than this are given back after the call that needed them, in entries.
const BUFFER_LIMIT: usize = 1 << 16;

/// The state of one encoding call.
#[derive(Debug)]
pub struct Scratch {
    pub(crate) short: ShortCache,
    pub(crate) long: LongCache,
    pub(crate) merger: Merger,
    pub(crate) ids: Vec<u32>,
    /// Goes back to the pool.
    kept: bool,
}

impl Scratch {
    fn new(cache_bytes: usize, kept: bool) -> Self {
        Self {
            short: ShortCache::new(cache_bytes / 2),
            long: LongCache::new(cache_bytes / 2),
            merger: Merger::default(),
            ids: Vec::new(),
            kept,
        }
    }

    /// Remember a whole piece where there is room for it.
    pub(crate) fn remember(&mut self, key: Option<Key>, piece: &[u8], ids: &[u32]) {
        match key {
            Some(key) if ids.len() <= IDS_LIMIT => self.short.insert(key, ids),
            _ => self.long.insert(piece, ids),
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
    idle: Vec<Scratch>,
    made: usize,
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
        if scratch.kept {
            scratch.merger.shrink(BUFFER_LIMIT);
            scratch.ids.clear();
            scratch.ids.shrink_to(BUFFER_LIMIT);
            self.lock().idle.push(scratch);
        }
        outcome
    }

    fn take(&self) -> Scratch {
        let mut state = self.lock();
        if let Some(scratch) = state.idle.pop() {
            return scratch;
        }
        let kept = state.made < self.most;
        state.made += usize::from(kept);
        drop(state);
        Scratch::new(if kept { self.cache_bytes } else { self.cache_bytes.min(PASSING_CACHE_BYTES) }, kept)
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, PoolState> {
        // A panic while the lock is held cannot leave a half-changed list.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
