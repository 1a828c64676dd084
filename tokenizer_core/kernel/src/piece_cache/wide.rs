//! The cache of longer pieces: each entry is a cache line.

use super::few_ids::{FewIds, IDS_LIMIT};
use super::key::WideKey;
use super::long::StoredIds;
use crate::machine::pages::{Table, Zeroable};
use crate::machine::prefetch::prefetch;

/// Most ids that an entry holds.
const WIDE_IDS_LIMIT: usize = 7;

const _: () = assert!(WIDE_IDS_LIMIT <= IDS_LIMIT);

/// In place of a count: the ids are stored in the `LongCache`, and the entry says where.
const STORED: u32 = u32::MAX;

const _: () = assert!(STORED as usize > WIDE_IDS_LIMIT);

/// The ids of a piece.
#[derive(Debug, Clone, Copy)]
pub enum WideIds {
    /// In the entry.
    Inline(FewIds),
    /// Too many for the entry.
    Stored(StoredIds),
}

#[derive(Debug, Clone, Copy)]
#[repr(align(64))]
struct Entry {
    key: WideKey,
    /// Zero for an empty entry; may be [`STORED`].
    count: u32,
    ids: [u32; WIDE_IDS_LIMIT],
}

const _: () = assert!(size_of::<Entry>() == 64);

// SAFETY: integers alone.
unsafe impl Zeroable for Entry {}

/// Four neighbouring places for each hash; the second two are used when the first two are taken. The size is fixed.
#[derive(Debug)]
pub struct WideCache {
    entries: Table<Entry>,
}

impl WideCache {
    /// A cache of at most `bytes` bytes, and at least four entries.
    pub fn new(bytes: usize) -> Self {
        let bits = (bytes / size_of::<Entry>()).max(4).ilog2();
        Self { entries: Table::new(1 << bits) }
    }

    /// What it takes, in bytes.
    pub fn bytes(&self) -> usize {
        size_of_val(&*self.entries)
    }

    /// As [`Table::populate`].
    pub fn populate(&mut self) {
        self.entries.populate();
    }

    /// Prefetch what is remembered of a piece.
    #[inline]
    pub fn prefetch(&self, key: WideKey) {
        let place = self.place(key);
        prefetch(&self.entries, place);
        prefetch(&self.entries, place ^ 1);
    }

    /// The ids of a piece, if it is remembered.
    #[inline]
    pub fn get(&self, key: WideKey) -> Option<WideIds> {
        let Entry { count, ids, .. } = &self.entries[self.find(self.place(key), key)?];
        Some(match *count {
            STORED => WideIds::Stored(StoredIds { start: ids[0], count: ids[1], generation: ids[2] }),
            count => {
                let mut few = FewIds { ids: [0; IDS_LIMIT], count };
                few.ids[..WIDE_IDS_LIMIT].copy_from_slice(ids);
                WideIds::Inline(few)
            }
        })
    }

    /// Remember the ids of a piece, or where `store` puts them if they are more than 7. If all places are taken, an
    /// older piece is evicted. Returns whether one was.
    #[inline]
    pub fn insert(&mut self, key: WideKey, ids: &[u32], store: impl FnOnce(&[u32]) -> StoredIds) -> bool {
        let mut entry = Entry { key, count: ids.len() as u32, ids: [0; WIDE_IDS_LIMIT] };
        match entry.ids.get_mut(..ids.len()) {
            Some(room) => room.copy_from_slice(ids),
            None => {
                let StoredIds { start, count, generation } = store(ids);
                entry.ids[..3].copy_from_slice(&[start, count, generation]);
                entry.count = STORED;
            }
        }
        let place = self.place(key);
        // The piece was missed twice in one portion, or its stored ids are gone.
        let known = self.find(place, key);
        if let Some(at) = known.or_else(|| (0..4).map(|way| place ^ way).find(|at| self.is_free(*at))) {
            self.entries[at] = entry;
            return false;
        }
        let before = std::mem::replace(&mut self.entries[place], entry);
        self.entries[place ^ 1] = before;
        true
    }

    /// Where a piece is, among the four places that begin with `place`.
    #[inline]
    fn find(&self, place: usize, key: WideKey) -> Option<usize> {
        let is_it = |at: &usize| self.entries[*at].key == key && !self.is_free(*at);
        let found = [place, place ^ 1].into_iter().find(is_it);
        if found.is_some() || self.is_free(place) || self.is_free(place ^ 1) {
            return found;
        }
        [place ^ 2, place ^ 3].into_iter().find(is_it)
    }

    #[inline]
    fn is_free(&self, at: usize) -> bool {
        self.entries[at].count == 0
    }

    #[inline]
    fn place(&self, key: WideKey) -> usize {
        (key.hash() >> (u64::BITS - self.entries.len().ilog2())) as usize
    }
}
