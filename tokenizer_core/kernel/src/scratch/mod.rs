//! Buffers and piece caches that one encoding call leaves to the next. They are pooled, one scratch a core.

use std::cell::UnsafeCell;
use std::ops::{Deref, DerefMut};
use std::sync::atomic::{
    AtomicBool, AtomicU64, AtomicUsize,
    Ordering::{Acquire, Relaxed, Release},
};
use std::thread;

use crate::block::{PIECES, PieceBlock};
use crate::capacity::give_back;
use crate::error::Result;
use crate::model::sampling::Sampler;
use crate::model::{Cuts, ModelBuffers};
use crate::normalize::written::Written;
use crate::parallel::{allowed_cores, core_count, on_threads};
use crate::piece_cache::{CacheStatistics, Caches};

/// A call that finds no free slot gets caches of this size, made for that call.
const TEMPORARY_CACHE_BYTES: usize = 64 * 1024;

/// Default bound of one thread's piece cache: a larger one gains nothing in English and Japanese.
pub const CACHE_BYTES: usize = 8 << 20;

/// The largest bound: enough for more pieces than any text has. The memory of a larger one might be refused, which
/// would end the process at its first text.
pub const MAX_CACHE_BYTES: usize = 1 << 30;

/// Buffers longer than this, in entries, are shrunk after the call that needed them.
const BUFFER_LIMIT: usize = 1 << 16;

/// A text shorter than this, in bytes, makes no buffer that long.
const SHORT: usize = BUFFER_LIMIT / 8;

/// Pieces that are cut before they are looked up.
const ENDS: usize = 4 * PIECES;

/// The state of one encoding call.
#[derive(Debug)]
pub struct Scratch {
    pub(crate) caches: Caches,
    pub(crate) work: ModelBuffers,
    /// Boxed by `Box::default`, which makes it in place: on their way over the stack its 130 KB touched 50 more pages.
    pub(crate) block: Box<PieceBlock>,
    /// The ends of the pieces of a few blocks: a scanner that starts again looks again at what it had left undecided.
    pub(crate) ends: [u32; ENDS],
    pub(crate) cuts: Cuts,
    /// The ids of words that are to be joined.
    pub(crate) words: Vec<u32>,
    /// Words as a normalizer has rewritten them.
    pub(crate) written: Written<()>,
    /// A text behind a space.
    pub(crate) spaced: String,
    /// The sampler of segmentations, in a call that asks for it, in place of block and caches.
    pub(crate) sampler: Option<Sampler>,
    /// The longest text since the buffers were last shrunk, in bytes.
    pub(crate) longest: usize,
}

impl Scratch {
    fn new(cache_bytes: usize) -> Self {
        Self {
            caches: Caches::new(cache_bytes),
            work: ModelBuffers::default(),
            block: Box::default(),
            ends: [0; ENDS],
            cuts: Cuts::default(),
            words: Vec::new(),
            written: Written::default(),
            spaced: String::new(),
            sampler: None,
            longest: 0,
        }
    }

    /// Give back what a long text took.
    fn shrink(&mut self) {
        if std::mem::take(&mut self.longest) < SHORT {
            return;
        }
        self.work.shrink(BUFFER_LIMIT);
        self.block.shrink(BUFFER_LIMIT);
        self.cuts.shrink(BUFFER_LIMIT);
        give_back(&mut self.words, BUFFER_LIMIT);
        self.written.shrink(BUFFER_LIMIT);
        self.spaced.clear();
        self.spaced.shrink_to(BUFFER_LIMIT);
    }
}

/// The scratch of every call that may run at the same time: as many as there are cores, however many callers.
///
/// Each lives as long as the tokenizer, so a core's caches stay warm from call to call and die with it; nothing is
/// kept in thread-locals, which would outlive the tokenizer and be lost in a fork. No call waits for another one.
#[derive(Debug)]
pub struct ScratchPool {
    cache_bytes: usize,
    /// The first is used most, so its caches know most.
    slots: Box<[ScratchSlot]>,
    /// The statistics of calls that found no slot.
    temporary: SharedStatistics,
}

/// A slot for one scratch. No two slots share a cache line.
#[derive(Debug, Default)]
#[repr(align(128))]
struct ScratchSlot {
    /// True if a call has it. Not a mutex, since no call waits for a slot, and unlocking a mutex would wait until all
    /// earlier stores are done, some of them to cache lines that are not near.
    taken: AtomicBool,
    /// Made when it is first used.
    scratch: UnsafeCell<Option<Box<Scratch>>>,
    statistics: SharedStatistics,
}

// SAFETY: only the thread that has set `taken` accesses the scratch: only `try_take` makes a `SlotGuard`. `Acquire` and
// `Release` order its accesses after those of the thread before, and a scratch may move between threads.
unsafe impl Sync for ScratchSlot where Scratch: Send {}

/// Access to the scratch of a slot for the call that has taken it; frees the slot when it is dropped.
struct SlotGuard<'p>(&'p ScratchSlot);

impl Deref for SlotGuard<'_> {
    type Target = Option<Box<Scratch>>;

    #[inline]
    fn deref(&self) -> &Self::Target {
        // SAFETY: a `SlotGuard` exists only while its slot is taken, and `try_take` makes one at a time.
        unsafe { &*self.0.scratch.get() }
    }
}

impl DerefMut for SlotGuard<'_> {
    #[inline]
    fn deref_mut(&mut self) -> &mut Self::Target {
        // SAFETY: as above, and `&mut self` is the only borrow.
        unsafe { &mut *self.0.scratch.get() }
    }
}

impl Drop for SlotGuard<'_> {
    #[inline]
    fn drop(&mut self) {
        if thread::panicking() {
            // The call panicked in the middle of its work: nothing it left is trusted.
            **self = None;
        }
        self.0.taken.store(false, Release);
    }
}

/// Statistics that any thread may read.
#[derive(Debug, Default)]
struct SharedStatistics {
    bytes: AtomicU64,
    pieces: AtomicU64,
    misses: AtomicU64,
    evictions: AtomicU64,
}

impl SharedStatistics {
    /// Add where no other thread does at the same time: cheaper than an atomic addition.
    fn add(&self, more: &CacheStatistics) {
        self.each(more, |to, more| to.store(to.load(Relaxed) + more, Relaxed));
    }

    fn add_atomically(&self, more: &CacheStatistics) {
        self.each(more, |to, more| {
            to.fetch_add(more, Relaxed);
        });
    }

    #[inline(always)]
    fn each(&self, more: &CacheStatistics, add: impl Fn(&AtomicU64, u64)) {
        let CacheStatistics { bytes, pieces, misses, evictions } = *more;
        add(&self.bytes, bytes);
        add(&self.pieces, pieces);
        add(&self.misses, misses);
        add(&self.evictions, evictions);
    }

    fn read(&self) -> CacheStatistics {
        let Self { bytes, pieces, misses, evictions } = self;
        CacheStatistics {
            bytes: bytes.load(Relaxed),
            pieces: pieces.load(Relaxed),
            misses: misses.load(Relaxed),
            evictions: evictions.load(Relaxed),
        }
    }
}

impl ScratchSlot {
    /// Take the slot, unless another call has it.
    #[inline]
    fn try_take(&self) -> Option<SlotGuard<'_>> {
        self.taken.compare_exchange(false, true, Acquire, Relaxed).is_ok().then(|| SlotGuard(self))
    }
}

impl ScratchPool {
    /// An empty pool; `cache_bytes` bounds the piece cache of each scratch.
    pub fn new(cache_bytes: usize) -> Self {
        let slots = std::iter::repeat_with(ScratchSlot::default).take(core_count()).collect();
        Self { cache_bytes, slots, temporary: SharedStatistics::default() }
    }

    /// The number of threads for `wanted`, at most `most`; 0 means one a core.
    pub(crate) fn threads_for(&self, wanted: usize, most: usize) -> usize {
        let cores = self.slots.len().min(allowed_cores());
        if wanted == 0 { cores } else { wanted.min(cores * 4) }.min(most)
    }

    /// Do `shares` shares of work on this thread, which has `own`, and on others, each with one scratch for all that it
    /// does; return the outcomes in the order of the shares.
    ///
    /// # Errors
    /// That of a thread that panics.
    pub(crate) fn spread<T: Send>(
        &self,
        own: &mut Scratch,
        threads: usize,
        shares: usize,
        work: impl Fn(&mut Scratch, usize) -> T + Sync,
    ) -> Result<Vec<T>> {
        let next = AtomicUsize::new(0);
        let take = |scratch: &mut Scratch| -> Vec<(usize, T)> {
            let shares = std::iter::from_fn(|| Some(next.fetch_add(1, Relaxed)).filter(|share| *share < shares));
            shares.map(|share| (share, work(scratch, share))).collect()
        };
        let done = on_threads(threads, || take(own), || self.with(take))?;
        let mut done: Vec<_> = done.into_iter().flatten().collect();
        done.sort_unstable_by_key(|(share, _)| *share);
        Ok(done.into_iter().map(|(_, done)| done).collect())
    }

    /// Run `work` with a scratch that no other call has.
    pub fn with<T>(&self, work: impl FnOnce(&mut Scratch) -> T) -> T {
        let Some((slot, mut guard)) = self.slots.iter().find_map(|slot| Some((slot, slot.try_take()?))) else {
            return self.with_temporary(work);
        };
        let scratch = guard.get_or_insert_with(|| self.new_scratch(slot));
        let outcome = work(scratch);
        scratch.shrink();
        slot.statistics.add(&std::mem::take(&mut scratch.caches.statistics));
        outcome
    }

    /// Make the scratch of a slot; not inlined, since every call would reserve the stack that this needs.
    #[cold]
    #[inline(never)]
    fn new_scratch(&self, slot: &ScratchSlot) -> Box<Scratch> {
        let scratch = Box::new(Scratch::new(self.cache_bytes));
        slot.statistics.add(&CacheStatistics { bytes: scratch.caches.bytes(), ..CacheStatistics::default() });
        scratch
    }

    /// Run `work` with a scratch of its own, which is dropped afterwards.
    #[cold]
    #[inline(never)]
    fn with_temporary<T>(&self, work: impl FnOnce(&mut Scratch) -> T) -> T {
        let mut scratch = Box::new(Scratch::new(self.cache_bytes.min(TEMPORARY_CACHE_BYTES)));
        let outcome = work(&mut scratch);
        self.temporary.add_atomically(&scratch.caches.statistics);
        outcome
    }

    /// The statistics of all calls that have ended.
    pub fn statistics(&self) -> CacheStatistics {
        let mut all = self.temporary.read();
        self.slots.iter().for_each(|slot| all.add(&slot.statistics.read()));
        all
    }
}

#[cfg(test)]
#[path = "../../tests/unit/scratch.rs"]
mod tests;
