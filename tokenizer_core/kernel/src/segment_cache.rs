//! The ids of texts between added tokens, kept from request to request: an agent sends its whole conversation at each
//! turn, of which only the last message is new.
//!
//! No merge crosses an added token. So the ids of a segment depend on its bytes and on whether the text begins with it,
//! and on nothing else; [`Pipeline::keeps_segments`](crate::encode::Pipeline) says for which tokenizers that is not so.
//! All of a key is compared, so a hash that collides costs a miss and never a wrong id.

use std::hash::{BuildHasherDefault, Hash, Hasher};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use quick_cache::sync::{Cache, DefaultLifecycle};
use quick_cache::{Equivalent, Weighter};
use rustc_hash::FxHasher;
use sha2::{Digest, Sha256};

use crate::hashing::{KeyedHash, fold};

/// Bytes of the shortest segment that is worth an entry: a shorter one is encoded about as fast as it is found.
pub const SHORTEST: usize = 256;

/// Bytes of an entry beside its text and its ids: key, value, two allocations, and its share of the table.
const ENTRY: u64 = 256;

/// Bytes of a usual entry; a wrong guess costs a little memory.
const USUAL: usize = 8192;

/// The part of a shard's room that a text may have.
const LARGEST: usize = 8;

/// The caller whose entries a request may find, by the hash of its names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Owner(u128);

impl Owner {
    /// The owner of the entries of callers with one key and one salt.
    pub fn new(key: &str, salt: &str) -> Self {
        if key.is_empty() && salt.is_empty() {
            return Self(0);
        }
        let mut hash = Sha256::new_with_prefix((key.len() as u64).to_le_bytes());
        hash.update(key);
        hash.update(salt);
        Self(hash.finalize().first_chunk().copied().map_or(0, u128::from_le_bytes))
    }
}

/// A bounded cache that the tokenizers of a process share. Entries that were asked for again stay longest.
#[derive(Debug)]
pub struct SegmentCache {
    entries: Cache<Kept, SegmentIds, Bytes, BuildHasherDefault<FxHasher>>,
    hash: KeyedHash,
    shortest: usize,
    hits: AtomicU64,
    misses: AtomicU64,
}

/// The ids of a segment.
#[derive(Debug, Clone)]
pub(crate) struct SegmentIds {
    pub(crate) ids: Arc<[u32]>,
    /// True if they are of the segment's own bytes: nothing was rewritten, and nothing put before it.
    pub(crate) is_verbatim: bool,
}

/// The bytes of a cache, and what became of look-ups.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SegmentStatistics {
    /// Bytes of all entries.
    pub bytes: u64,
    /// Segments that were found.
    pub hits: u64,
    /// Segments that were not.
    pub misses: u64,
}

/// The entries of one owner and one tokenizer.
#[derive(Debug, Clone, Copy)]
pub struct Segments<'c> {
    cache: &'c SegmentCache,
    owner: Owner,
}

/// All that decides the ids of a segment.
#[derive(Debug, PartialEq, Eq)]
struct SegmentKey<T> {
    hash: u64,
    pipeline: u64,
    owner: Owner,
    begins_text: bool,
    text: T,
}

type Kept = SegmentKey<Box<str>>;

impl<T> Hash for SegmentKey<T> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        state.write_u64(self.hash);
    }
}

impl Equivalent<Kept> for SegmentKey<&str> {
    fn equivalent(&self, kept: &Kept) -> bool {
        let SegmentKey { hash, pipeline, owner, begins_text, text } = kept;
        (self.hash, self.pipeline, self.owner, self.begins_text) == (*hash, *pipeline, *owner, *begins_text)
            && *self.text == **text
    }
}

#[derive(Debug, Clone, Copy)]
struct Bytes;

impl Weighter<Kept, SegmentIds> for Bytes {
    fn weight(&self, key: &Kept, value: &SegmentIds) -> u64 {
        ENTRY + key.text.len() as u64 + size_of_val::<[u32]>(&value.ids) as u64
    }
}

impl SegmentCache {
    /// An empty cache of at most so many bytes, for segments of `shortest` bytes and more.
    pub fn new(bytes: usize, shortest: usize) -> Self {
        let entries =
            Cache::with(bytes / USUAL, bytes as u64, Bytes, BuildHasherDefault::default(), DefaultLifecycle::default());
        Self { entries, hash: KeyedHash::new(), shortest, hits: AtomicU64::new(0), misses: AtomicU64::new(0) }
    }

    /// The entries of an owner.
    pub fn of(&self, owner: Owner) -> Segments<'_> {
        Segments { cache: self, owner }
    }

    /// The statistics.
    pub fn statistics(&self) -> SegmentStatistics {
        let (hits, misses) = (self.hits.load(Relaxed), self.misses.load(Relaxed));
        SegmentStatistics { bytes: self.entries.weight(), hits, misses }
    }

    /// Tell whether a text is worth an entry, and may have one: no one takes more than a fraction of the room.
    fn takes(&self, text: &str) -> bool {
        (self.shortest..=self.entries.shard_capacity() as usize / LARGEST).contains(&text.len())
    }
}

impl Segments<'_> {
    /// The ids of a segment: those that are kept, or those that `encode` gives, which are kept then. `None` if such a
    /// segment is never kept. No lock is held meanwhile.
    ///
    /// # Errors
    /// Those of `encode`; nothing is kept.
    pub(crate) fn ids<E>(
        &self,
        pipeline: u64,
        text: &str,
        begins_text: bool,
        encode: impl FnOnce() -> Result<SegmentIds, E>,
    ) -> Option<Result<SegmentIds, E>> {
        let Self { cache, owner } = *self;
        if !cache.takes(text) {
            return None;
        }
        // Owners have entries at places of their own, or one could push another's texts out by knowing them.
        let hash = fold(cache.hash.of(text.as_bytes()) ^ owner.0 as u64, pipeline | 1);
        let key = SegmentKey { hash, pipeline, owner, begins_text, text };
        if let Some(ids) = cache.entries.get(&key) {
            cache.hits.fetch_add(1, Relaxed);
            return Some(Ok(ids));
        }
        cache.misses.fetch_add(1, Relaxed);
        Some(encode().inspect(|ids| {
            cache.entries.insert(SegmentKey { text: text.into(), hash, pipeline, owner, begins_text }, ids.clone());
        }))
    }
}
