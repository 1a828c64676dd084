//! The cache of pieces too long for a key: runs of white space, long words, text without spaces. It also stores the ids
//! of shorter pieces that have too many for an entry of their own cache.

use std::ops::Range;

use bytemuck::{Pod, Zeroable};

use super::id_chunk::COUNT_SHIFT;
use super::key::{MULTIPLIERS, mix};
use crate::simd::pages::Table;
use crate::simd::prefetch::prefetch;
use crate::simd::words::{padded, sixteen};

/// The longest piece that is remembered, in bytes: longer ones hardly come twice.
const PIECE_LIMIT: usize = 256;

/// The bit of a length that marks a part of a piece, whose ids can differ from those of a whole piece.
const PART: u16 = 1 << 15;

/// A remembered piece: where its bytes and ids lie.
#[derive(Debug, Clone, Copy, Default, Zeroable, Pod)]
#[repr(C, align(16))]
struct LongEntry {
    /// Zero is empty; [`PART`] marks a part of a piece.
    length: u16,
    count: u16,
    bytes: u32,
    ids: u32,
    /// The lower bits of the hash; the place is the upper ones.
    tag: u32,
}

/// The hash of a piece: where it is looked for, and a tag that tells it from most others there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LongHash {
    place: u32,
    tag: u32,
}

/// A handle of ids that [`LongCache`] stores for an entry of another cache, valid until the cache is emptied.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StoredIds {
    pub(super) start: u32,
    pub(super) count: u32,
    /// The number of times that the cache had been emptied.
    pub(super) generation: u32,
}

fn length_and_part(piece: &[u8], part: bool) -> u16 {
    piece.len() as u16 | if part { PART } else { 0 }
}

/// Two neighbouring places for each hash, and two arenas, which are both emptied when one is full.
#[derive(Debug)]
pub struct LongCache {
    entries: Table<LongEntry>,
    bytes: Vec<u8>,
    ids: Vec<u32>,
    arena_limit: usize,
    /// The number of times that the cache has been emptied.
    generation: u32,
}

impl LongCache {
    /// A cache of at most about `bytes` bytes.
    pub fn new(bytes: usize) -> Self {
        let entries = (bytes / 4 / size_of::<LongEntry>()).max(2);
        Self {
            entries: Table::new(1 << entries.ilog2()),
            bytes: Vec::new(),
            ids: Vec::new(),
            // Positions of ids have to fit below the count of a bucket.
            arena_limit: (bytes / 4).min(1 << COUNT_SHIFT),
            generation: 0,
        }
    }

    /// The most it can take, in bytes.
    pub fn bytes(&self) -> usize {
        size_of_val(&*self.entries) + 3 * self.arena_limit
    }

    /// The hash of a piece, if it is short enough to be remembered at all.
    #[inline]
    pub fn hash(&self, piece: &[u8]) -> Option<LongHash> {
        let bits = self.entries.len().ilog2();
        (piece.len() <= PIECE_LIMIT).then(|| {
            let hash = hash(piece);
            LongHash { place: (hash >> (u64::BITS - bits)) as u32, tag: hash as u32 }
        })
    }

    /// Prefetch the entries of a hash.
    #[inline]
    pub fn prefetch(&self, hash: LongHash) {
        prefetch(&self.entries, hash.place as usize);
    }

    /// The range of the ids of a piece with this hash [among all ids](Self::ids), if it is remembered.
    #[inline]
    pub fn find(&self, hash: LongHash, piece: &[u8], part: bool) -> Option<Range<usize>> {
        let (place, length_and_part) = (hash.place as usize, length_and_part(piece, part));
        let is_it = |entry: &&LongEntry| entry.tag == hash.tag && entry.length == length_and_part;
        let LongEntry { count, bytes, ids, .. } =
            [&self.entries[place], &self.entries[place ^ 1]].into_iter().find(is_it)?;
        let (bytes, ids) = (*bytes as usize, *ids as usize);
        equal(&self.bytes[bytes..bytes + piece.len()], piece).then(|| ids..ids + usize::from(*count))
    }

    /// All ids that are remembered. They stay where they are until something is [remembered](Self::insert) or
    /// [stored](Self::store) for which there is no [room](Self::has_room).
    #[inline]
    pub fn ids(&self) -> &[u32] {
        &self.ids
    }

    /// Remember a piece that is not empty; of two others in its places the older one is evicted. Returns whether one
    /// was.
    pub fn insert(&mut self, piece: &[u8], part: bool, ids: &[u32]) -> bool {
        let Some(LongHash { place, tag }) = self.hash(piece) else { return false };
        self.make_room(piece.len(), ids.len());
        // A piece has no more ids than bytes, so both lengths fit.
        let entry = LongEntry {
            length: length_and_part(piece, part),
            count: ids.len() as u16,
            bytes: self.bytes.len() as u32,
            ids: self.ids.len() as u32,
            tag,
        };
        self.bytes.extend_from_slice(piece);
        self.ids.extend_from_slice(ids);
        let place = place as usize;
        let before = std::mem::replace(&mut self.entries[place], entry);
        // The same piece was missed twice in one block.
        if before.length == 0 || before.tag == tag {
            return false;
        }
        std::mem::replace(&mut self.entries[place ^ 1], before).length != 0
    }

    /// Store the ids of a piece that another cache has.
    pub fn store(&mut self, ids: &[u32]) -> StoredIds {
        self.make_room(0, ids.len());
        let start = self.ids.len() as u32;
        self.ids.extend_from_slice(ids);
        StoredIds { start, count: ids.len() as u32, generation: self.generation }
    }

    /// The range of stored ids [among all ids](Self::ids), unless the cache has been emptied since.
    #[inline]
    pub fn range_of(&self, stored: StoredIds) -> Option<Range<usize>> {
        let start = stored.start as usize;
        (stored.generation == self.generation).then(|| start..start + stored.count as usize)
    }

    /// Tell whether `bytes` bytes and `ids` ids can be added without emptying the cache.
    #[inline]
    pub fn has_room(&self, bytes: usize, ids: usize) -> bool {
        self.bytes.len() + bytes <= self.arena_limit && (self.ids.len() + ids) * 4 <= self.arena_limit * 2
    }

    /// Empty the cache unless there is room for `bytes` bytes and `ids` ids.
    fn make_room(&mut self, bytes: usize, ids: usize) {
        if !self.has_room(bytes, ids) {
            self.bytes.clear();
            self.ids.clear();
            self.entries.fill(LongEntry::default());
            self.generation = self.generation.wrapping_add(1);
        }
    }
}

/// A hash whose upper bits are the well-mixed ones.
#[inline]
fn hash(piece: &[u8]) -> u64 {
    const TURN: u32 = 23;
    let step = |hash: u64, word: u128| hash.rotate_left(TURN).wrapping_add(mix(word));
    let words = piece.chunks_exact(16).map(|word| sixteen(word, 0));
    // The last sixteen bytes, some of them for the second time: a copy of the rest would have a variable length.
    let last = piece.last_chunk::<16>().map_or_else(|| padded(piece), |last| u128::from_le_bytes(*last));
    let hash = step(words.fold(piece.len() as u64, step), last);
    (hash ^ hash >> 32).wrapping_mul(MULTIPLIERS[0])
}

/// Tell whether two pieces of the same length are equal. Most are short, and `memcmp` would be a call.
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

    /// Hashes tell pieces apart before their bytes are compared, so no test on texts would notice a byte that is not
    /// compared.
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
