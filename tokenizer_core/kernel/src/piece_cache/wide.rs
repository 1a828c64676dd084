//! Longer pieces, and short ones of many ids: an entry is a cache line.

use super::key::WideKey;
use crate::pages::{Table, Zeroed};
use crate::prefetch::prefetch;

/// Most ids that an entry holds.
pub const WIDE_IDS_LIMIT: usize = 7;

#[derive(Debug, Clone, Copy)]
#[repr(align(64))]
struct Entry {
    key: WideKey,
    /// Zero is empty.
    count: u32,
    ids: [u32; WIDE_IDS_LIMIT],
}

const _: () = assert!(size_of::<Entry>() == 64);

// SAFETY: integers alone.
unsafe impl Zeroed for Entry {}

/// One place a hash; the size is fixed when it is made.
#[derive(Debug)]
pub struct WideCache {
    entries: Table<Entry>,
}

impl WideCache {
    /// A cache of at most `bytes` bytes, and at least one entry.
    pub fn new(bytes: usize) -> Self {
        let bits = (bytes / size_of::<Entry>()).max(1).ilog2();
        Self { entries: Table::new(1 << bits) }
    }

    /// What it takes, in bytes.
    pub fn bytes(&self) -> usize {
        size_of_val(&*self.entries)
    }

    /// Begin to load what is remembered of a piece.
    #[inline]
    pub fn prefetch(&self, key: WideKey) {
        prefetch(&self.entries, self.place(key));
    }

    /// The ids of a piece, if it is remembered.
    #[inline]
    pub fn get(&self, key: WideKey) -> Option<&[u32]> {
        let entry = &self.entries[self.place(key)];
        (entry.key == key && entry.count > 0).then(|| &entry.ids[..entry.count as usize])
    }

    /// Remember the 1 to 7 ids of a piece; what its place held is forgotten. Returns whether that was another piece.
    #[inline]
    pub fn insert(&mut self, key: WideKey, ids: &[u32]) -> bool {
        if ids.len() > WIDE_IDS_LIMIT {
            return false;
        }
        let mut entry = Entry { key, count: ids.len() as u32, ids: [0; WIDE_IDS_LIMIT] };
        entry.ids[..ids.len()].copy_from_slice(ids);
        let place = self.place(key);
        let before = std::mem::replace(&mut self.entries[place], entry);
        before.count > 0 && before.key != key
    }

    #[inline]
    fn place(&self, key: WideKey) -> usize {
        (key.hash() >> 32) as usize & (self.entries.len() - 1)
    }
}
