//! A hash table of all tokens: most pieces that a cache has never seen are a single token.

use std::collections::HashSet;
use std::sync::Arc;

use crate::error::Result;
use crate::hashing::KeyedHash;
use crate::model::bpe::split_table::SplitTable;
use crate::piece_cache::{KEY_LIMIT, Key, WideKey};
use crate::simd::pages::Table;
use crate::simd::prefetch::prefetch;
use crate::simd::tagged_line::{Line, WAYS};
use crate::vocabulary::Vocabulary;
use crate::vocabulary::token_table::{SHORT, TokenTable};

/// The slot of a line that has a tag, or 0; no two slots have the same tag. All slots are looked at, since a branch on
/// which one it is would be unpredictable.
#[inline(always)]
fn slot(Line(slots): &Line, tag: u32, tags: u32) -> u32 {
    slots.iter().fold(0, |all, slot| all | if slot & tags == tag { *slot } else { 0 })
}

/// The line of a hash's token, and its tag there.
#[derive(Debug, Clone, Copy)]
struct Address {
    line: usize,
    tag: u32,
}

/// From bytes to the token that has exactly these bytes.
///
/// A token of up to 31 bytes is in the line of its hash, as its id and a tag, or in the neighbour of that line if its
/// own is full. The bytes, which a piece is compared with, are in the token's cell. Longer tokens, and those that find
/// both lines full or their tag in one of them, are in an overflow table: open addressing under a keyed hash, at most
/// half full.
#[derive(Debug)]
pub struct TokenIndex {
    table: Arc<TokenTable>,
    /// For each token a few bits of its hash, then a bit that is set if merges do not make it, then its id.
    lines: Table<Line>,
    line_bits: u32,
    /// The bits of an id.
    ids: u32,
    overflow: Box<[IndexSlot]>,
    hash: KeyedHash,
    distinct: usize,
    has_whole_only: bool,
}

/// A token in the overflow table.
#[derive(Debug, Clone, Copy)]
struct IndexSlot {
    /// As in a line, without a tag.
    token: u32,
    /// The upper half of the hash.
    tag: u32,
}

const NO_TOKEN: u32 = u32::MAX;

/// The result of looking up a piece in its line: a slot with its tag, [`ELSEWHERE`], or 0 if it is not a token.
#[derive(Debug, Clone, Copy, Default)]
pub struct Candidate(u32);

/// If the piece is a token at all, it is not in its own line. No slot has this value, since the lowest bit of each tag
/// is set.
const ELSEWHERE: u32 = 1;

/// The bit in which the indices of a line and its neighbour differ.
const NEIGHBOUR: usize = 1;

const FREE: IndexSlot = IndexSlot { token: NO_TOKEN, tag: 0 };

impl TokenIndex {
    /// Index all tokens but opaque entries, each for whole pieces.
    ///
    /// # Errors
    /// Those of [`TokenTable::new`].
    pub fn of_all(vocabulary: &Vocabulary) -> Result<Self> {
        Ok(Self::new(vocabulary, Arc::new(TokenTable::new(vocabulary, &[])?), None, &HashSet::new(), true))
    }

    /// Index the tokens that a piece can become, except those in `never` and opaque entries, which are not text. A
    /// token that merges make of its bytes is found for any piece; any other one only for whole pieces, and only with
    /// `ignore_merges`. Without a split table, what merges make is unknown. `table` has the vocabulary, with
    /// added tokens or without.
    pub fn new(
        vocabulary: &Vocabulary,
        table: Arc<TokenTable>,
        split_table: Option<&SplitTable>,
        never: &HashSet<u32>,
        ignore_merges: bool,
    ) -> Self {
        let is_reachable = |id: u32| split_table.is_some_and(|split_table| split_table.is_reachable(id));
        let mut never: Vec<u32> = never.iter().copied().collect();
        never.sort_unstable();
        let is_never = |id: u32| vocabulary.is_opaque(id) || never.binary_search(&id).is_ok();
        let count = if ignore_merges || split_table.is_some() { vocabulary.id_limit() as usize } else { 0 };
        // At most four fifths full: of cl100k_base one line in six is full, and one token in fifty lies in the
        // neighbour.
        let line_bits = (count * 5 / (4 * WAYS)).next_power_of_two().ilog2().max(1);
        let mut index = Self {
            table,
            lines: Table::new(1 << line_bits),
            line_bits,
            ids: vocabulary.id_limit().next_power_of_two() - 1,
            overflow: Box::default(),
            hash: KeyedHash::new(),
            distinct: 0,
            has_whole_only: false,
        };
        let mut rest = Vec::new();
        // Of two with the same bytes the first counts.
        for (id, _) in vocabulary.tokens().filter(|(id, _)| (ignore_merges || is_reachable(*id)) && !is_never(*id)) {
            let token = if is_reachable(id) { id } else { id | index.whole_only() };
            index.has_whole_only |= token != id;
            if !index.put(token) {
                rest.push(token);
            }
        }
        index.overflow = vec![FREE; (rest.len().max(4) * 2).next_power_of_two()].into_boxed_slice();
        for token in rest {
            let id = token & index.ids;
            let bytes = index.table.get(id).unwrap_or_default();
            let key = Some(index.key_of(id)).filter(|key| key.is_short());
            if index.get(key, bytes, false).is_none() {
                let hash = index.hash.of(bytes);
                let at = index.find(hash, bytes);
                index.overflow[at] = IndexSlot { token, tag: tag(hash) };
                index.distinct += 1;
            }
        }
        index
    }

    /// Return the number of different tokens.
    pub fn distinct(&self) -> usize {
        self.distinct
    }

    /// Tell whether some token is found for whole pieces only.
    pub fn has_whole_only(&self) -> bool {
        self.has_whole_only
    }

    /// The bit of a token that is found for whole pieces only, since merges make something else of its bytes.
    #[inline(always)]
    fn whole_only(&self) -> u32 {
        self.ids + 1
    }

    /// The hash under which a piece or token of up to 31 bytes is found: that of its key as a whole piece.
    #[inline]
    pub fn hash_of(bytes: &[u8]) -> Option<u64> {
        let short = || Key::new(bytes, 0, bytes.len(), false).map(Key::hash);
        short().or_else(|| WideKey::new(bytes, 0, bytes.len(), false).map(WideKey::hash))
    }

    /// The key of a short token as a whole piece; a long token or a hole has a key that no piece has.
    #[inline(always)]
    fn key_of(&self, id: u32) -> Key {
        const { assert!(SHORT == KEY_LIMIT) };
        Key::of_word(self.table.word(id))
    }

    /// Put a token into its line or the neighbour; `false` if there is no room, or it is too long.
    fn put(&mut self, token: u32) -> bool {
        let (id, tags) = (token & self.ids, self.tags());
        let key = self.key_of(id);
        let short = key.is_short().then(|| key.hash());
        let Some(hash) = short.or_else(|| Self::hash_of(self.table.get(id)?)) else { return false };
        let Address { line, tag } = self.address(hash);
        // Of two tokens with one tag the second goes to the overflow, so that at most one slot of a line has a tag, and
        // a piece that is not the token with its tag in its own line is not in the neighbour.
        if slot(&self.lines[line], tag, tags) != 0 {
            return false;
        }
        let line = if self.lines[line].is_full() { line ^ NEIGHBOUR } else { line };
        let line = &mut self.lines[line];
        if line.is_full() || slot(line, tag, tags) != 0 {
            return false;
        }
        line.0[line.taken()] = tag | token;
        self.distinct += 1;
        true
    }

    /// Prefetch the line of a [hash](Self::hash_of).
    #[inline(always)]
    pub fn prefetch(&self, hash: u64) {
        prefetch(&self.lines, self.address(hash).line);
    }

    /// Look up a hash in its line, which should have been prefetched. Prefetch the bytes of the token, and the
    /// neighbouring line if the token can be there.
    #[inline(always)]
    pub fn candidate(&self, hash: u64) -> Candidate {
        let candidate = self.in_line(hash);
        self.table.prefetch(candidate.0 & self.ids);
        let other = if candidate.0 == ELSEWHERE { NEIGHBOUR } else { 0 };
        prefetch(&self.lines, self.address(hash).line ^ other);
        candidate
    }

    /// The token that a short piece, or a part of one, is; `key` is the key of `bytes` as a whole piece.
    #[inline(always)]
    pub fn confirm(&self, candidate: Candidate, key: Key, bytes: &[u8], part: bool) -> Option<u32> {
        self.settle(candidate, bytes, part, |id| self.key_of(id) == key)
    }

    /// As [`Self::confirm`] for a piece of any length that has a [hash](Self::hash_of).
    #[inline]
    pub fn confirm_wide(&self, candidate: Candidate, bytes: &[u8], part: bool) -> Option<u32> {
        self.settle(candidate, bytes, part, |id| self.table.get(id) == Some(bytes))
    }

    #[inline(always)]
    fn settle(
        &self,
        Candidate(slot): Candidate,
        bytes: &[u8],
        part: bool,
        is_same: impl FnOnce(u32) -> bool,
    ) -> Option<u32> {
        let token = match slot {
            0 => return None,
            ELSEWHERE => self.find_in_neighbour(bytes),
            slot if is_same(slot & self.ids) => slot & !self.tags(),
            _ => self.find_in_overflow(bytes),
        };
        self.id_of(token, part)
    }

    /// As [`Self::confirm`] for a piece of any length, which has a key if it is short.
    #[inline]
    pub fn get(&self, key: Option<Key>, bytes: &[u8], part: bool) -> Option<u32> {
        match key {
            Some(key) => self.confirm(self.in_line(key.hash()), key, bytes, part),
            None => match Self::hash_of(bytes) {
                Some(hash) => self.confirm_wide(self.in_line(hash), bytes, part),
                None => self.id_of(self.find_in_overflow(bytes), part),
            },
        }
    }

    /// The token of a piece whose own line is full without it.
    #[inline(never)]
    fn find_in_neighbour(&self, bytes: &[u8]) -> u32 {
        let Some(Address { line, tag }) = Self::hash_of(bytes).map(|hash| self.address(hash)) else {
            return self.find_in_overflow(bytes);
        };
        if self.lines[line].is_full() {
            let neighbour = &self.lines[line ^ NEIGHBOUR];
            let slot = slot(neighbour, tag, self.tags());
            if slot == 0 && !neighbour.is_full() {
                return NO_TOKEN;
            }
            if slot != 0 && self.table.get(slot & self.ids) == Some(bytes) {
                return slot & !self.tags();
            }
        }
        self.find_in_overflow(bytes)
    }

    /// The token of a piece that is in no line.
    #[inline(never)]
    fn find_in_overflow(&self, bytes: &[u8]) -> u32 {
        self.overflow[self.find(self.hash.of(bytes), bytes)].token
    }

    /// The id of a token, unless it is found for whole pieces only and the piece is a part.
    #[inline(always)]
    fn id_of(&self, token: u32, part: bool) -> Option<u32> {
        let known = token != NO_TOKEN && !(part && token & self.whole_only() != 0);
        known.then_some(token & self.ids)
    }

    /// Prefetch the line of `bytes`, if they have a [hash](Self::hash_of).
    #[inline]
    pub fn prefetch_whole(&self, bytes: &[u8]) {
        if let Some(hash) = Self::hash_of(bytes) {
            self.prefetch(hash);
        }
    }

    /// The token that is exactly `bytes`.
    #[inline]
    pub fn find_whole(&self, bytes: &[u8]) -> Option<u32> {
        self.get(Key::new(bytes, 0, bytes.len(), false), bytes, false)
    }

    #[inline(always)]
    fn in_line(&self, hash: u64) -> Candidate {
        let Address { line, tag } = self.address(hash);
        let line = &self.lines[line];
        let slot = slot(line, tag, self.tags());
        let is_elsewhere = slot == 0 && line.is_full();
        Candidate(if is_elsewhere { ELSEWHERE } else { slot })
    }

    #[inline(always)]
    fn address(&self, hash: u64) -> Address {
        let lowest = 2 * self.whole_only();
        // The lowest bit of a tag is set, so that none is zero.
        let tag = (hash << self.line_bits >> 32) as u32 & self.tags() | lowest;
        Address { line: (hash >> (64 - self.line_bits)) as usize, tag }
    }

    /// The bits of a slot that are the tag.
    #[inline(always)]
    fn tags(&self) -> u32 {
        !(self.whole_only() | self.ids)
    }

    fn find(&self, hash: u64, bytes: &[u8]) -> usize {
        let mask = self.overflow.len() - 1;
        let mut at = hash as usize & mask;
        loop {
            let IndexSlot { token, tag: other } = self.overflow[at];
            if token == NO_TOKEN || other == tag(hash) && self.table.get(token & self.ids) == Some(bytes) {
                return at;
            }
            at = (at + 1) & mask;
        }
    }
}

fn tag(hash: u64) -> u32 {
    (hash >> 32) as u32
}
