//! Distinct pieces and how often each occurs: a hash table with open addressing.
//!
//! Most pieces are short and are stored in the entries of the table, half a cache line each; longer ones are in an
//! arena. A text has more distinct pieces than fit in the processor's caches, so pieces are counted in batches whose
//! memory is prefetched.

use std::hash::{BuildHasher, Hasher, RandomState};

use crate::error::{Code, Error, Result};
use crate::hashing::fold;
use crate::simd::prefetch::prefetch;

/// Pieces counted together.
const BATCH: usize = 64;

/// The most bytes that an entry holds itself.
const SHORT: usize = 16;

/// One piece: its bytes as [`short_key`] has them or, of a longer one, its place in the arena and its whole hash.
#[derive(Debug, Clone, Copy)]
#[repr(align(32))]
struct TableEntry {
    key: (u64, u64),
    count: u64,
    length: u32,
    hash: u32,
}

/// A piece as the table looks for it.
#[derive(Debug, Clone, Copy)]
struct Wanted<'a> {
    piece: &'a [u8],
    hash: u64,
    /// The key of a short one.
    key: (u64, u64),
}

/// The most pieces that the index can number. A word of it is the high half of a piece's hash, then its number plus
/// one.
const INDEX_LIMIT: usize = u32::MAX as usize;

/// Counts by piece.
#[derive(Debug, Clone)]
pub struct PieceTable {
    /// Pieces that are not short.
    arena: Vec<u8>,
    entries: Vec<TableEntry>,
    /// A power of two of them, at most three quarters in use.
    index: Vec<u64>,
    seed: u64,
}

impl Default for PieceTable {
    /// An empty table with a random seed, so that no corpus can be made to collide. The seed decides where pieces are
    /// in memory, and nothing else.
    fn default() -> Self {
        let seed = RandomState::new().build_hasher().finish();
        Self { arena: Vec::new(), entries: Vec::new(), index: vec![0; 1024], seed }
    }
}

impl PieceTable {
    /// The number of distinct pieces.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// True without any piece.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Bytes of memory that are in use.
    pub fn memory(&self) -> u64 {
        (self.arena.len() + size_of_val(&*self.entries) + size_of_val(&*self.index)) as u64
    }

    /// Make sure that `pieces` more can be numbered.
    ///
    /// # Errors
    /// `corpus_too_large`.
    pub fn check_room(&self, pieces: usize) -> Result<()> {
        if self.entries.len() + pieces < INDEX_LIMIT {
            return Ok(());
        }
        Err(Error::new(Code::CorpusTooLarge, "there are more than 4 billion distinct pieces"))
    }

    /// Count a piece `times` more.
    pub fn add(&mut self, piece: &[u8], times: u64) {
        self.count(&wanted(piece, self.seed), times);
    }

    /// Count pieces, each as many times as given.
    pub fn add_all<'p>(&mut self, mut pieces: impl Iterator<Item = (&'p [u8], u64)>) {
        let none = (wanted(&[], self.seed), 0);
        let mut batch = [none; BATCH];
        loop {
            let mut length = 0;
            for (slot, (piece, times)) in batch.iter_mut().zip(&mut pieces) {
                let wanted = wanted(piece, self.seed);
                prefetch(&self.index, self.place(wanted.hash));
                *slot = (wanted, times);
                length += 1;
            }
            for (wanted, _) in &batch[..length] {
                let word = self.index[self.place(wanted.hash)];
                if word >> 32 == wanted.hash >> 32 {
                    prefetch(&self.entries, (word as u32).wrapping_sub(1) as usize);
                }
            }
            for (wanted, times) in &batch[..length] {
                self.count(wanted, *times);
            }
            if length < BATCH {
                return;
            }
        }
    }

    fn place(&self, hash: u64) -> usize {
        hash as usize & (self.index.len() - 1)
    }

    fn count(&mut self, wanted: &Wanted<'_>, times: u64) {
        let mask = self.index.len() - 1;
        let tag = wanted.hash >> 32;
        let mut at = self.place(wanted.hash);
        loop {
            let word = self.index[at];
            if word == 0 {
                break;
            }
            if word >> 32 == tag {
                let entry = &mut self.entries[(word as u32 - 1) as usize];
                if is(entry, wanted, &self.arena) {
                    entry.count = entry.count.saturating_add(times);
                    return;
                }
            }
            at = (at + 1) & mask;
        }
        let length = wanted.piece.len();
        let key = if length <= SHORT {
            wanted.key
        } else {
            self.arena.extend_from_slice(wanted.piece);
            ((self.arena.len() - length) as u64, wanted.hash)
        };
        self.entries.push(TableEntry { key, count: times, length: length as u32, hash: wanted.hash as u32 });
        self.index[at] = tag << 32 | self.entries.len() as u64;
        if self.entries.len() * 4 > self.index.len() * 3 {
            self.grow();
        }
    }

    fn grow(&mut self) {
        let old = std::mem::take(&mut self.index);
        self.index = vec![0; old.len() * 2];
        let mask = self.index.len() - 1;
        for word in old.into_iter().filter(|word| *word != 0) {
            let mut at = self.entries[(word as u32 - 1) as usize].hash as usize & mask;
            while self.index[at] != 0 {
                at = (at + 1) & mask;
            }
            self.index[at] = word;
        }
    }

    /// Add all of another table's counts.
    pub fn absorb(&mut self, other: &Self) {
        let mut short = vec![0; SHORT * other.entries.len()];
        let shorts = short.chunks_exact_mut(SHORT);
        self.add_all(other.entries.iter().zip(shorts).map(|(entry, room)| {
            if entry.length as usize <= SHORT {
                (write_short(entry, room), entry.count)
            } else {
                (long(entry, &other.arena), entry.count)
            }
        }));
    }

    /// An arena, and `(start, length, count)` of every piece.
    pub fn into_parts(self) -> (Vec<u8>, impl ExactSizeIterator<Item = (u64, u32, u64)>) {
        let Self { mut arena, mut entries, .. } = self;
        for entry in entries.iter_mut().filter(|entry| entry.length as usize <= SHORT) {
            let start = arena.len();
            arena.extend_from_slice(write_short(entry, &mut [0; SHORT]));
            entry.key.0 = start as u64;
        }
        (arena, entries.into_iter().map(|entry| (entry.key.0, entry.length, entry.count)))
    }
}

fn long<'a>(entry: &TableEntry, arena: &'a [u8]) -> &'a [u8] {
    let start = entry.key.0 as usize;
    arena.get(start..start + entry.length as usize).unwrap_or_default()
}

fn is(entry: &TableEntry, wanted: &Wanted<'_>, arena: &[u8]) -> bool {
    let length = wanted.piece.len();
    if entry.length as usize != length {
        return false;
    }
    if length <= SHORT {
        entry.key == wanted.key
    } else {
        entry.key.1 == wanted.hash && long(entry, arena) == wanted.piece
    }
}

fn wanted(piece: &[u8], seed: u64) -> Wanted<'_> {
    let key = if piece.len() <= SHORT { short_key(piece) } else { (0, 0) };
    Wanted { piece, hash: hash(piece, key, seed), key }
}

/// A short piece as two words that together cover all of it; with its length they identify it.
#[inline]
fn short_key(piece: &[u8]) -> (u64, u64) {
    let length = piece.len();
    if length < 8 {
        let mut short = [0; 8];
        short[..length].copy_from_slice(piece);
        (u64::from_le_bytes(short), 0)
    } else {
        (word(piece), word(&piece[length - 8..]))
    }
}

/// The bytes of a short piece.
fn write_short<'a>(entry: &TableEntry, room: &'a mut [u8]) -> &'a [u8] {
    let (length, (first, last)) = (entry.length as usize, entry.key);
    room[..8].copy_from_slice(&first.to_le_bytes());
    if length >= 8 {
        room[length - 8..length].copy_from_slice(&last.to_le_bytes());
    }
    &room[..length]
}

const FIRST: u64 = 0x9E37_79B9_7F4A_7C15;
const SECOND: u64 = 0xD6E8_FEB8_6659_FD93;

#[inline]
fn word(bytes: &[u8]) -> u64 {
    let mut word = [0; 8];
    word.copy_from_slice(&bytes[..8]);
    u64::from_le_bytes(word)
}

/// Hash a piece; most are short, and then their key is all that is needed.
#[inline]
fn hash(piece: &[u8], key: (u64, u64), seed: u64) -> u64 {
    let length = piece.len();
    let (one, other) = if length <= SHORT {
        key
    } else {
        let mut state = seed;
        for chunk in piece[..length - 1].chunks_exact(16) {
            state = fold(word(chunk) ^ state, word(&chunk[8..]) ^ SECOND);
        }
        (word(&piece[length - 16..]) ^ state, word(&piece[length - 8..]))
    };
    fold(fold(one ^ seed, other ^ FIRST) ^ length as u64, SECOND ^ seed)
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use proptest::prelude::*;

    use super::*;

    fn contents(table: PieceTable) -> HashMap<Vec<u8>, u64> {
        let (arena, entries) = table.into_parts();
        let slice = |start: u64, length: u32| arena[start as usize..][..length as usize].to_vec();
        let all: Vec<_> = entries.map(|(start, length, count)| (slice(start, length), count)).collect();
        let distinct: HashMap<_, _> = all.iter().cloned().collect();
        assert_eq!(distinct.len(), all.len());
        distinct
    }

    #[test]
    fn more_pieces_than_can_be_numbered_are_refused() {
        let mut table = PieceTable::default();
        assert!(table.check_room(INDEX_LIMIT - 1).is_ok());
        table.add(b"one", 1);
        let refused = table.check_room(INDEX_LIMIT - 1).map_err(|error| error.code);
        assert_eq!(refused, Err(Code::CorpusTooLarge));
    }

    proptest! {
        #[test]
        fn counts_are_those_of_a_map(
            pieces in prop::collection::vec((prop::collection::vec(0_u8..3, 0..40), 0_u64..5), 0..3000),
            cut in 0_usize..3000,
        ) {
            let cut = cut.min(pieces.len());
            let (mut one, mut other) = (PieceTable::default(), PieceTable::default());
            one.add_all(pieces[..cut].iter().map(|(piece, times)| (piece.as_slice(), *times)));
            pieces[cut..].iter().for_each(|(piece, times)| other.add(piece, *times));
            one.absorb(&other);
            let mut truth: HashMap<Vec<u8>, u64> = HashMap::new();
            pieces.into_iter().for_each(|(piece, times)| *truth.entry(piece).or_default() += times);
            prop_assert_eq!(contents(one), truth);
        }
    }
}
