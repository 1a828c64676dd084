//! Short pieces of few ids: an entry is half a cache line.

use super::key::{COUNT_SHIFT, Key};
use crate::pages::{Table, Zeroed};
use crate::prefetch::prefetch;

/// Most ids that an entry holds.
pub const IDS_LIMIT: usize = 4;

#[derive(Debug, Clone, Copy)]
struct Entry {
    /// The key with the number of ids in the three bits above it; zero is empty.
    key: u128,
    ids: [u32; IDS_LIMIT],
}

impl Entry {
    #[inline(always)]
    fn is_of(&self, key: Key) -> bool {
        (self.key ^ key.0) << (128 - COUNT_SHIFT) == 0
    }
}

/// Two entries in one cache line.
#[derive(Debug, Clone, Copy)]
#[repr(align(64))]
struct Bucket([Entry; 2]);

const _: () = assert!(size_of::<Bucket>() == 64);

// SAFETY: integers alone.
unsafe impl Zeroed for Bucket {}

/// The cache; its size is fixed when it is made.
#[derive(Debug)]
pub struct ShortCache {
    buckets: Table<Bucket>,
    bits: u32,
}

impl ShortCache {
    /// A cache of at most `bytes` bytes, and at least two buckets.
    pub fn new(bytes: usize) -> Self {
        let bits = (bytes / size_of::<Bucket>()).max(2).ilog2();
        Self { buckets: Table::new(1 << bits), bits }
    }

    /// What it takes, in bytes.
    pub fn bytes(&self) -> usize {
        size_of_val(&*self.buckets)
    }

    /// Where a piece is looked for; its cache line is being loaded from now on.
    #[inline(always)]
    pub fn place(&self, key: Key) -> usize {
        let place = key.place(self.bits) & (self.buckets.len() - 1);
        prefetch(&self.buckets, place);
        place
    }

    /// The ids of the piece whose place is `place` and how many of them count: none if the piece is not remembered.
    #[inline(always)]
    pub fn get(&self, place: usize, key: Key) -> ([u32; IDS_LIMIT], usize) {
        let Bucket([first, second]) = &self.buckets[place & (self.buckets.len() - 1)];
        let entry = if first.is_of(key) { first } else { second };
        let count = if entry.is_of(key) { (entry.key >> COUNT_SHIFT) as usize } else { 0 };
        (entry.ids, count)
    }

    /// Remember the 1 to 4 ids of a piece; the older entry of the bucket goes. Returns whether it held another piece.
    #[inline]
    pub fn insert(&mut self, key: Key, ids: &[u32]) -> bool {
        if ids.len() > IDS_LIMIT {
            return false;
        }
        let mut entry = Entry { key: key.0 | (ids.len() as u128) << COUNT_SHIFT, ids: [0; IDS_LIMIT] };
        entry.ids[..ids.len()].copy_from_slice(ids);
        let at = key.place(self.bits) & (self.buckets.len() - 1);
        let Bucket(entries) = &mut self.buckets[at];
        if entries.iter().any(|entry| entry.is_of(key)) {
            // Two of them were missed together.
            return false;
        }
        let evicted = entries[1].key != 0;
        entries[1] = entries[0];
        entries[0] = entry;
        evicted
    }
}
