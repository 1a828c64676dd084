//! Pieces that are tokens already: most of those that a cache has never seen.

use std::collections::HashSet;

use crate::hashing::KeyedHash;
use crate::lineage::Lineage;
use crate::pages::{Table, Zeroed};
use crate::piece_cache::Key;
use crate::prefetch::prefetch;
use crate::vocabulary::Vocabulary;

const WAYS: usize = 4;

/// Tokens put in together, so that the loads of their buckets overlap.
const PORTION: usize = 64;

/// A cache line of keys.
#[derive(Debug, Clone, Copy)]
#[repr(align(64))]
struct Bucket([Key; WAYS]);

// SAFETY: integers alone.
unsafe impl Zeroed for Bucket {}
// SAFETY: integers alone.
unsafe impl Zeroed for [u32; WAYS] {}

const _: () = assert!(Key::EMPTY.is_zero());

const NO_TOKEN: u32 = u32::MAX;

/// Set in an id: whole pieces alone are taken for this token, since merges make something else of its bytes.
const WHOLE_ONLY: u32 = 1 << 31;

const _: () = assert!(crate::vocabulary::MAX_IDS <= WHOLE_ONLY);

/// From bytes to the token that is exactly them.
///
/// A short token lies in the one bucket of its key, so that a look-up is one cache line; the others, and those that find
/// their bucket full, in an open-addressed table, at most half full.
#[derive(Debug)]
pub struct TokenIndex {
    buckets: Table<Bucket>,
    ids: Table<[u32; WAYS]>,
    bits: u32,
    rest: Box<[Slot]>,
    arena: Vec<u8>,
    hash: KeyedHash,
}

/// A token whose bytes are in the arena.
#[derive(Debug, Clone, Copy)]
struct Slot {
    tagged: u32,
    /// The upper half of the hash.
    tag: u32,
    start: u32,
    length: u32,
}

const FREE: Slot = Slot { tagged: NO_TOKEN, tag: 0, start: 0, length: 0 };

impl TokenIndex {
    /// Index the tokens that pieces can be taken for, but for those in `never`; opaque entries are no text. A token that
    /// merges make of its bytes stands for any piece; another one only for whole pieces, and only where
    /// `ignore_merges` says so. Without a lineage nothing is known about what merges make.
    pub fn new(vocabulary: &Vocabulary, lineage: Option<&Lineage>, never: &HashSet<u32>, ignore_merges: bool) -> Self {
        let is_made = |id: u32| lineage.is_some_and(|lineage| lineage.is_made(id));
        let taken = |id: u32| (ignore_merges || is_made(id)) && !vocabulary.is_opaque(id) && !never.contains(&id);
        let count = if ignore_merges || lineage.is_some() { vocabulary.id_limit().max(8) as usize } else { 8 };
        let bits = (count * 2 / WAYS).next_power_of_two().ilog2();
        let mut index = Self {
            buckets: Table::new(1 << bits),
            ids: Table::new(1 << bits),
            bits,
            rest: Box::default(),
            arena: Vec::new(),
            hash: KeyedHash::new(),
        };
        let mut rest = Vec::new();
        let mut tokens = vocabulary.tokens().filter(|(id, _)| taken(*id));
        let mut portion = Vec::with_capacity(PORTION);
        loop {
            portion.clear();
            portion.extend(tokens.by_ref().take(PORTION).map(|(id, bytes)| {
                let key = Key::new(bytes, 0, bytes.len(), false);
                key.inspect(|key| index.prefetch(*key));
                (if is_made(id) { id } else { id | WHOLE_ONLY }, bytes, key)
            }));
            if portion.is_empty() {
                break;
            }
            for (tagged, bytes, key) in portion.drain(..) {
                if !key.is_some_and(|key| index.put(key, tagged)) {
                    rest.push((tagged, bytes));
                }
            }
        }
        index.rest = vec![FREE; (rest.len().max(4) * 2).next_power_of_two()].into_boxed_slice();
        for (tagged, bytes) in rest {
            let hash = index.hash.of(bytes);
            let at = index.find(hash, bytes);
            if index.rest[at].tagged == NO_TOKEN {
                let (start, length) = (index.arena.len() as u32, bytes.len() as u32);
                index.rest[at] = Slot { tagged, tag: tag(hash), start, length };
                index.arena.extend_from_slice(bytes);
            }
        }
        index
    }

    /// Put a short token into its bucket; `false` if that is full. Of two with the same bytes the first counts.
    fn put(&mut self, key: Key, tagged: u32) -> bool {
        let place = key.place(self.bits);
        let Bucket(keys) = &mut self.buckets[place];
        match keys.iter().position(|other| *other == key || *other == Key::EMPTY) {
            Some(way) if keys[way] == Key::EMPTY => {
                keys[way] = key;
                self.ids[place][way] = tagged;
                true
            }
            Some(_) => true,
            None => false,
        }
    }

    /// Begin to load what is known of a short piece.
    #[inline]
    pub fn prefetch(&self, key: Key) {
        let place = key.place(self.bits);
        prefetch(&self.buckets, place);
        prefetch(&self.ids, place);
    }

    /// The token that a piece, or a part of one, is taken for; `key` is the key of `bytes` as a whole piece.
    #[inline]
    pub fn get(&self, key: Option<Key>, bytes: &[u8], part: bool) -> Option<u32> {
        let tagged = match key.map(|key| self.in_bucket(key)) {
            Some(Some(tagged)) => tagged,
            Some(None) | None => self.rest[self.find(self.hash.of(bytes), bytes)].tagged,
        };
        let known = tagged != NO_TOKEN && !(part && tagged & WHOLE_ONLY != 0);
        known.then_some(tagged & !WHOLE_ONLY)
    }

    /// Begin to load what is known of `bytes`, if they are short.
    #[inline]
    pub fn prefetch_whole(&self, bytes: &[u8]) {
        if let Some(key) = Key::new(bytes, 0, bytes.len(), false) {
            self.prefetch(key);
        }
    }

    /// The token that is exactly `bytes`.
    #[inline]
    pub fn find_whole(&self, bytes: &[u8]) -> Option<u32> {
        self.get(Key::new(bytes, 0, bytes.len(), false), bytes, false)
    }

    /// What the bucket of a key says: an id, no token, or nothing because it is full.
    #[inline]
    fn in_bucket(&self, key: Key) -> Option<u32> {
        let place = key.place(self.bits);
        let (Bucket(keys), ids) = (&self.buckets[place], &self.ids[place]);
        // All of them are looked at, since a branch on which it is cannot be foreseen.
        let tagged = keys.iter().zip(ids).map(|(other, id)| if *other == key { *id } else { NO_TOKEN });
        let tagged = tagged.fold(NO_TOKEN, |all, id| all & id);
        (tagged != NO_TOKEN || keys[WAYS - 1] == Key::EMPTY).then_some(tagged)
    }

    fn find(&self, hash: u64, bytes: &[u8]) -> usize {
        let mask = self.rest.len() - 1;
        let mut at = hash as usize & mask;
        loop {
            let Slot { tagged, tag: other, start, length } = self.rest[at];
            let same = || &self.arena[start as usize..start as usize + length as usize] == bytes;
            if tagged == NO_TOKEN || other == tag(hash) && same() {
                return at;
            }
            at = (at + 1) & mask;
        }
    }
}

fn tag(hash: u64) -> u32 {
    (hash >> 32) as u32
}
