//! Pieces too long for a key: runs of white space, long words, text without spaces; and the ids of shorter ones that
//! have too many for an entry.

use std::ops::Range;

use super::key::{MULTIPLIERS, mix};
use crate::machine::pages::{Table, Zeroed};
use crate::machine::prefetch::prefetch;
use crate::machine::words::{padded, sixteen};

/// The longest piece that is remembered, in bytes: longer ones hardly come twice.
const PIECE_LIMIT: usize = 256;

/// The bit of a length that marks a part of a piece, whose ids can differ from those of a whole piece.
const PART: u16 = 1 << 15;

/// A remembered piece: where its bytes and ids lie.
#[derive(Debug, Clone, Copy, Default)]
#[repr(align(16))]
struct Entry {
    /// Zero is empty; [`PART`] marks a part of a piece.
    length: u16,
    count: u16,
    bytes: u32,
    ids: u32,
    /// The lower bits of the hash, which the place does not tell.
    check: u32,
}

// SAFETY: integers alone.
unsafe impl Zeroed for Entry {}

/// Where a piece is looked for, and a check that tells it from most others there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Spot {
    place: u32,
    check: u32,
}

/// Ids that [`LongCache`] keeps for an entry of another cache, until it is emptied.
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

/// Two neighbouring places for each hash, and two arenas, which are both emptied when one is full.
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
        let entries = (bytes / 4 / size_of::<Entry>()).max(2);
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

    /// Where a piece is looked for, if it is one that is remembered at all.
    #[inline]
    pub fn spot(&self, piece: &[u8]) -> Option<Spot> {
        let bits = self.entries.len().ilog2();
        (piece.len() <= PIECE_LIMIT).then(|| {
            let hash = hash(piece);
            Spot { place: (hash >> (u64::BITS - bits)) as u32, check: hash as u32 }
        })
    }

    /// Begin to load what is remembered at a spot.
    #[inline]
    pub fn prefetch(&self, spot: Spot) {
        prefetch(&self.entries, spot.place as usize);
    }

    /// The ids of a piece whose spot this is, if it is remembered: where they are [among all of them](Self::ids).
    #[inline]
    pub fn find(&self, spot: Spot, piece: &[u8], part: bool) -> Option<Range<usize>> {
        let (place, tagged) = (spot.place as usize, tagged(piece, part));
        let is_it = |entry: &&Entry| entry.check == spot.check && entry.length == tagged;
        let Entry { count, bytes, ids, .. } =
            [&self.entries[place], &self.entries[place ^ 1]].into_iter().find(is_it)?;
        let (bytes, ids) = (*bytes as usize, *ids as usize);
        equal(&self.bytes[bytes..bytes + piece.len()], piece).then(|| ids..ids + usize::from(*count))
    }

    /// All ids that are remembered, as they stand until something is [remembered](Self::insert) or [kept](Self::keep)
    /// for which there is no [room](Self::has_room).
    #[inline]
    pub fn ids(&self) -> &[u32] {
        &self.ids
    }

    /// Remember a piece that is not empty; of two others in its places the older one is forgotten. Returns whether one
    /// was.
    pub fn insert(&mut self, piece: &[u8], part: bool, ids: &[u32]) -> bool {
        let Some(Spot { place, check }) = self.spot(piece) else { return false };
        self.make_room(piece.len(), ids.len());
        // A piece has no more ids than bytes, so both lengths fit.
        let entry = Entry {
            length: tagged(piece, part),
            count: ids.len() as u16,
            bytes: self.bytes.len() as u32,
            ids: self.ids.len() as u32,
            check,
        };
        self.bytes.extend_from_slice(piece);
        self.ids.extend_from_slice(ids);
        let place = place as usize;
        let before = std::mem::replace(&mut self.entries[place], entry);
        // The same piece was missed twice in one portion.
        if before.length == 0 || before.check == check {
            return false;
        }
        std::mem::replace(&mut self.entries[place ^ 1], before).length != 0
    }

    /// Keep the ids of a piece that another cache has.
    pub fn keep(&mut self, ids: &[u32]) -> Kept {
        self.make_room(0, ids.len());
        let start = self.ids.len() as u32;
        self.ids.extend_from_slice(ids);
        Kept { start, count: ids.len() as u32, generation: self.generation }
    }

    /// Where what was kept is [among all ids](Self::ids), unless it is forgotten.
    #[inline]
    pub fn kept(&self, kept: Kept) -> Option<Range<usize>> {
        let start = kept.start as usize;
        (kept.generation == self.generation).then(|| start..start + kept.count as usize)
    }

    /// Whether `bytes` bytes and `ids` ids can be added without forgetting all others.
    #[inline]
    pub fn has_room(&self, bytes: usize, ids: usize) -> bool {
        self.bytes.len() + bytes <= self.arena_limit && (self.ids.len() + ids) * 4 <= self.arena_limit * 2
    }

    /// Forget everything unless there is room for `bytes` bytes and `ids` ids.
    fn make_room(&mut self, bytes: usize, ids: usize) {
        if !self.has_room(bytes, ids) {
            self.bytes.clear();
            self.ids.clear();
            self.entries.fill(Entry::default());
            self.generation = self.generation.wrapping_add(1);
        }
    }
}

/// A hash of which the upper bits are the good ones.
#[inline]
fn hash(piece: &[u8]) -> u64 {
    const TURN: u32 = 23;
    let step = |hash: u64, word: u128| hash.rotate_left(TURN).wrapping_add(mix(word));
    let words = piece.chunks_exact(16).map(|word| sixteen(word, 0));
    // The last sixteen bytes, most of them a second time: a copy of the rest would have a variable length.
    let last = piece.last_chunk::<16>().map_or_else(|| padded(piece), |last| u128::from_le_bytes(*last));
    let hash = step(words.fold(piece.len() as u64, step), last);
    (hash ^ hash >> 32).wrapping_mul(MULTIPLIERS[0])
}

/// Whether two pieces of the same length are equal. Most are short, and `memcmp` would be a call.
#[inline]
fn equal(left: &[u8], right: &[u8]) -> bool {
    let ((chunks, _), (others, _)) = (left.as_chunks::<32>(), right.as_chunks::<32>());
    match (left.last_chunk::<32>(), right.last_chunk::<32>()) {
        (Some(last), Some(other)) => last == other && chunks.iter().zip(others).all(|(chunk, other)| chunk == other),
        _ => left == right,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Their hashes tell pieces apart before their bytes are looked at, so that no text would show a byte that is not.
    #[test]
    fn pieces_are_equal_that_differ_in_no_byte() {
        for length in 1..=PIECE_LIMIT {
            let piece: Vec<u8> = (0..length).map(|at| (at * 7) as u8).collect();
            let mut other = piece.clone();
            assert!(equal(&piece, &other));
            for at in 0..length {
                other[at] ^= 0x80;
                assert!(!equal(&piece, &other), "byte {at} of {length}");
                other[at] ^= 0x80;
            }
        }
    }
}
