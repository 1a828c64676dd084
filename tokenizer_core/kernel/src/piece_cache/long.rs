//! Pieces too long for a key: runs of white space, long words, text without spaces; and the ids of shorter ones that have
//! too many for an entry.

use std::hash::Hasher;

use rustc_hash::FxHasher;

use crate::pages::{Table, Zeroed};

/// Longest piece that is remembered, in bytes: beyond it the same piece hardly comes twice.
const PIECE_LIMIT: usize = 256;

/// The bit of a length that tells a part from a whole piece, whose ids can be others.
const PART: u16 = 1 << 15;

/// A remembered piece: where its bytes and ids lie.
#[derive(Debug, Clone, Copy, Default)]
struct Entry {
    /// Zero is empty; [`PART`] marks a part of a piece.
    length: u16,
    count: u16,
    bytes: u32,
    ids: u32,
}

// SAFETY: integers alone.
unsafe impl Zeroed for Entry {}

/// Ids that [`LongCache`] keeps for an entry of another cache, until it forgets all of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Kept {
    pub(super) start: u32,
    pub(super) count: u32,
    /// How often everything was forgotten before.
    pub(super) generation: u32,
}

fn tagged(piece: &[u8], part: bool) -> u16 {
    piece.len() as u16 | if part { PART } else { 0 }
}

/// One place a hash, and two arenas that are emptied when one is full.
#[derive(Debug)]
pub struct LongCache {
    entries: Table<Entry>,
    bytes: Vec<u8>,
    ids: Vec<u32>,
    arena_limit: usize,
    /// How often everything was forgotten.
    generation: u32,
}

impl LongCache {
    /// A cache of at most about `bytes` bytes.
    pub fn new(bytes: usize) -> Self {
        let entries = (bytes / 4 / size_of::<Entry>()).max(1);
        Self {
            entries: Table::new(1 << entries.ilog2()),
            bytes: Vec::new(),
            ids: Vec::new(),
            // Where ids are kept has to fit below the count of an entry.
            arena_limit: (bytes / 4).min(1 << 28),
            generation: 0,
        }
    }

    /// What it may take, in bytes.
    pub fn bytes(&self) -> usize {
        size_of_val(&*self.entries) + 3 * self.arena_limit
    }

    /// The ids of a piece, if it is remembered.
    #[inline]
    pub fn get(&self, piece: &[u8], part: bool) -> Option<&[u32]> {
        if piece.len() > PIECE_LIMIT {
            return None;
        }
        let Entry { length, count, bytes, ids } = self.entries[self.place(piece)];
        let (bytes, ids) = (bytes as usize, ids as usize);
        let known = length == tagged(piece, part) && &self.bytes[bytes..bytes + piece.len()] == piece;
        known.then(|| &self.ids[ids..ids + usize::from(count)])
    }

    /// Remember a piece that is not empty; what its place held is forgotten. Returns whether it held anything.
    pub fn insert(&mut self, piece: &[u8], part: bool, ids: &[u32]) -> bool {
        if piece.len() > PIECE_LIMIT {
            return false;
        }
        self.make_room(piece.len(), ids.len());
        // A piece has no more ids than bytes, so both lengths fit.
        let place = self.place(piece);
        let entry = Entry {
            length: tagged(piece, part),
            count: ids.len() as u16,
            bytes: self.bytes.len() as u32,
            ids: self.ids.len() as u32,
        };
        self.bytes.extend_from_slice(piece);
        self.ids.extend_from_slice(ids);
        std::mem::replace(&mut self.entries[place], entry).length != 0
    }

    /// Keep the ids of a piece that another cache has.
    pub fn keep(&mut self, ids: &[u32]) -> Kept {
        self.make_room(0, ids.len());
        let start = self.ids.len() as u32;
        self.ids.extend_from_slice(ids);
        Kept { start, count: ids.len() as u32, generation: self.generation }
    }

    /// What was kept, unless it is forgotten.
    #[inline]
    pub fn kept(&self, kept: Kept) -> Option<&[u32]> {
        let start = kept.start as usize;
        (kept.generation == self.generation).then(|| &self.ids[start..start + kept.count as usize])
    }

    /// Forget everything if there is no room for so many bytes and ids.
    fn make_room(&mut self, bytes: usize, ids: usize) {
        if self.bytes.len() + bytes > self.arena_limit || (self.ids.len() + ids) * 4 > self.arena_limit * 2 {
            self.bytes.clear();
            self.ids.clear();
            self.entries.fill(Entry::default());
            self.generation = self.generation.wrapping_add(1);
        }
    }

    #[inline]
    fn place(&self, piece: &[u8]) -> usize {
        let mut hasher = FxHasher::default();
        hasher.write(piece);
        hasher.finish() as usize & (self.entries.len() - 1)
    }
}
