//! Longer pieces, and short ones of many ids: an entry is a cache line.

use super::key::WideKey;
use crate::pages::{Table, Zeroed};
use crate::prefetch::prefetch;

/// Most ids that an entry holds.
const WIDE_IDS_LIMIT: usize = 7;

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

/// Two neighbouring places a hash; the size is fixed when it is made.
#[derive(Debug)]
pub struct WideCache {
    entries: Table<Entry>,
}

impl WideCache {
    /// A cache of at most `bytes` bytes, and at least two entries.
    pub fn new(bytes: usize) -> Self {
        let bits = (bytes / size_of::<Entry>()).max(2).ilog2();
        Self { entries: Table::new(1 << bits) }
    }

    /// What it takes, in bytes.
    pub fn bytes(&self) -> usize {
        size_of_val(&*self.entries)
    }

    /// Begin to load what is remembered of a piece.
    #[inline]
    pub fn prefetch(&self, key: WideKey) {
        let place = self.place(key);
        prefetch(&self.entries, place);
        prefetch(&self.entries, place ^ 1);
    }

    /// The ids of a piece, if it is remembered.
    #[inline]
    pub fn get(&self, key: WideKey) -> Option<&[u32]> {
        let place = self.place(key);
        let is_it = |place: &usize| self.entries[*place].key == key;
        let entry = &self.entries[[place, place ^ 1].into_iter().find(is_it)?];
        (entry.count > 0).then(|| &entry.ids[..entry.count as usize])
    }

    /// Remember the 1 to 7 ids of a piece that is in neither of its places; the older of two goes. Returns whether one
    /// went; `None` if there are too many ids.
    #[inline]
    pub fn insert(&mut self, key: WideKey, ids: &[u32]) -> Option<bool> {
        if ids.len() > WIDE_IDS_LIMIT {
            return None;
        }
        let mut entry = Entry { key, count: ids.len() as u32, ids: [0; WIDE_IDS_LIMIT] };
        entry.ids[..ids.len()].copy_from_slice(ids);
        let place = self.place(key);
        let before = std::mem::replace(&mut self.entries[place], entry);
        if before.key == key {
            // Two of them were missed together.
            return Some(false);
        }
        let evicted = std::mem::replace(&mut self.entries[place ^ 1], before);
        Some(evicted.count > 0 && evicted.key != key)
    }

    #[inline]
    fn place(&self, key: WideKey) -> usize {
        (key.hash() >> 32) as usize & (self.entries.len() - 1)
    }
}
