//! Distinct pieces and how often each occurs: an open table over one arena.

use std::hash::{BuildHasher, Hasher, RandomState};

/// One piece.
#[derive(Debug, Clone, Copy)]
struct Entry {
    start: u64,
    count: u64,
    length: u32,
    hash: u32,
}

/// How many pieces the index names; a word of it is the piece's number plus one under the high half of its hash.
const INDEX_LIMIT: usize = u32::MAX as usize;

/// Counts by piece.
#[derive(Debug, Clone)]
pub struct PieceTable {
    arena: Vec<u8>,
    entries: Vec<Entry>,
    /// A power of two of them, at most three quarters in use.
    index: Vec<u64>,
    seed: u64,
}

impl Default for PieceTable {
    /// An empty table, with a seed that no corpus can have been made for: it decides where pieces stand in memory, and
    /// nothing else.
    fn default() -> Self {
        let seed = RandomState::new().build_hasher().finish();
        Self { arena: Vec::new(), entries: Vec::new(), index: vec![0; 1024], seed }
    }
}

impl PieceTable {
    /// How many distinct pieces there are.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Whether so many more pieces can get a number.
    pub fn has_room(&self, pieces: usize) -> bool {
        self.entries.len() + pieces < INDEX_LIMIT
    }

    /// Count a piece `times` more.
    #[inline]
    pub fn add(&mut self, piece: &[u8], times: u64) {
        self.add_hashed(piece, hash(piece, self.seed), times);
    }

    #[inline]
    fn add_hashed(&mut self, piece: &[u8], hash: u64, times: u64) {
        let mask = self.index.len() - 1;
        let tag = hash >> 32;
        let mut at = hash as usize & mask;
        loop {
            let word = self.index[at];
            if word == 0 {
                break;
            }
            if word >> 32 == tag {
                let entry = &mut self.entries[(word as u32 - 1) as usize];
                let start = entry.start as usize;
                if self.arena.get(start..start + entry.length as usize) == Some(piece) {
                    entry.count = entry.count.saturating_add(times);
                    return;
                }
            }
            at = (at + 1) & mask;
        }
        let start = self.arena.len() as u64;
        self.arena.extend_from_slice(piece);
        self.entries.push(Entry { start, count: times, length: piece.len() as u32, hash: hash as u32 });
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
        for (piece, count) in other.iter() {
            self.add(piece, count);
        }
    }

    /// Every piece with its count, in no order that means anything.
    pub fn iter(&self) -> impl Iterator<Item = (&[u8], u64)> {
        self.entries.iter().map(|entry| {
            let start = entry.start as usize;
            (&self.arena[start..start + entry.length as usize], entry.count)
        })
    }

    /// The arena, and `(start, length, count)` of every piece.
    pub fn into_parts(self) -> (Vec<u8>, impl ExactSizeIterator<Item = (u64, u32, u64)>) {
        (self.arena, self.entries.into_iter().map(|entry| (entry.start, entry.length, entry.count)))
    }
}

const FIRST: u64 = 0x9E37_79B9_7F4A_7C15;
const SECOND: u64 = 0xD6E8_FEB8_6659_FD93;

/// Both halves of the product, folded: every input bit reaches every output bit.
#[inline]
fn fold(one: u64, other: u64) -> u64 {
    let product = u128::from(one) * u128::from(other);
    product as u64 ^ (product >> 64) as u64
}

#[inline]
fn word(bytes: &[u8]) -> u64 {
    let mut word = [0; 8];
    word.copy_from_slice(&bytes[..8]);
    u64::from_le_bytes(word)
}

/// Hash a piece; most have at most 16 bytes.
#[inline]
fn hash(piece: &[u8], seed: u64) -> u64 {
    let length = piece.len();
    let (one, other) = match length {
        0..8 => {
            let mut short = [0; 8];
            short[..length].copy_from_slice(piece);
            (u64::from_le_bytes(short), 0)
        }
        8..=16 => (word(piece), word(&piece[length - 8..])),
        _ => {
            let mut state = seed;
            for chunk in piece[..length - 1].chunks_exact(16) {
                state = fold(word(chunk) ^ state, word(&chunk[8..]) ^ SECOND);
            }
            (word(&piece[length - 16..]) ^ state, word(&piece[length - 8..]))
        }
    };
    fold(fold(one ^ seed, other ^ FIRST) ^ length as u64, SECOND ^ seed)
}
