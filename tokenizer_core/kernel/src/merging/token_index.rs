//! Pieces that are a single token: most of those that a cache has never seen.

use std::collections::HashSet;
use std::sync::Arc;

use crate::decode::cells::Cells;
use crate::error::Result;
use crate::hashing::KeyedHash;
use crate::machine::pages::Table;
use crate::machine::prefetch::prefetch;
use crate::machine::tagged_line::{Line, WAYS};
use crate::merging::lineage::Lineage;
use crate::piece_cache::{Key, WideKey};
use crate::vocabulary::Vocabulary;

/// The slot of a line with a tag, or 0; no two slots have the same tag. All are looked at, since a branch on which one
/// it is would be unpredictable.
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

/// From bytes to the token that is exactly them.
///
/// A token of up to 31 bytes lies in the line of its hash, by its id and a tag, or in the neighbour of that line if it
/// found its own full: its bytes are in its cell, which a piece is compared with. Longer ones, and those that find both
/// lines full or their tag in one of them, are in an open-addressed table under a keyed hash, at most half full.
#[derive(Debug)]
pub struct TokenIndex {
    cells: Arc<Cells>,
    /// For each token a few bits of its hash, then a bit that is set unless merges make it, then its id.
    lines: Table<Line>,
    line_bits: u32,
    /// The bits of an id.
    ids: u32,
    rest: Box<[Slot]>,
    hash: KeyedHash,
    distinct: usize,
    has_whole_only: bool,
}

/// A token in the second table.
#[derive(Debug, Clone, Copy)]
struct Slot {
    /// As in a line, without a tag.
    token: u32,
    /// The upper half of the hash.
    tag: u32,
}

const NO_TOKEN: u32 = u32::MAX;

/// What the line of a piece says: a slot with its tag, [`ELSEWHERE`], or 0 if it is not a token.
#[derive(Debug, Clone, Copy, Default)]
pub struct Candidate(u32);

/// If the piece is a token at all, it is not in this line. No slot has this value, since the lowest bit of each tag is
/// set.
const ELSEWHERE: u32 = 1;

/// The bit in which the numbers of a line and its neighbour differ.
const BESIDE: usize = 1;

const FREE: Slot = Slot { token: NO_TOKEN, tag: 0 };

impl TokenIndex {
    /// Index all tokens but opaque entries, each for whole pieces.
    ///
    /// # Errors
    /// Those of [`Cells::new`].
    pub fn of_all(vocabulary: &Vocabulary) -> Result<Self> {
        Ok(Self::new(vocabulary, Arc::new(Cells::new(vocabulary, &[])?), None, &HashSet::new(), true))
    }

    /// Index the tokens that pieces can be taken for, but for those in `never`; opaque entries are not text. A token
    /// that merges make of its bytes stands for any piece; another one only for whole pieces, and only where
    /// `ignore_merges` says so. Without a lineage nothing is known about what merges make. `cells` are those of the
    /// vocabulary, with added tokens or without.
    pub fn new(
        vocabulary: &Vocabulary,
        cells: Arc<Cells>,
        lineage: Option<&Lineage>,
        never: &HashSet<u32>,
        ignore_merges: bool,
    ) -> Self {
        let is_made = |id: u32| lineage.is_some_and(|lineage| lineage.is_made(id));
        let mut never: Vec<u32> = never.iter().copied().collect();
        never.sort_unstable();
        let is_never = |id: u32| vocabulary.is_opaque(id) || never.binary_search(&id).is_ok();
        let count = if ignore_merges || lineage.is_some() { vocabulary.id_limit() as usize } else { 0 };
        // At most four fifths full: of cl100k_base one line in six is full, and one token in fifty lies in the
        // neighbour.
        let line_bits = (count * 5 / (4 * WAYS)).next_power_of_two().ilog2().max(1);
        let mut index = Self {
            cells,
            lines: Table::new(1 << line_bits),
            line_bits,
            ids: vocabulary.id_limit().next_power_of_two() - 1,
            rest: Box::default(),
            hash: KeyedHash::new(),
            distinct: 0,
            has_whole_only: false,
        };
        let mut rest = Vec::new();
        // Of two with the same bytes the first counts.
        for (id, _) in vocabulary.tokens().filter(|(id, _)| (ignore_merges || is_made(*id)) && !is_never(*id)) {
            let token = if is_made(id) { id } else { id | index.whole_only() };
            index.has_whole_only |= token != id;
            if !index.put(token) {
                rest.push(token);
            }
        }
        index.rest = vec![FREE; (rest.len().max(4) * 2).next_power_of_two()].into_boxed_slice();
        for token in rest {
            let id = token & index.ids;
            let bytes = index.cells.get(id).unwrap_or_default();
            let key = Some(index.cells.key(id)).filter(|key| key.is_short());
            if index.get(key, bytes, false).is_none() {
                let hash = index.hash.of(bytes);
                let at = index.find(hash, bytes);
                index.rest[at] = Slot { token, tag: tag(hash) };
                index.distinct += 1;
            }
        }
        index
    }

    /// How many different tokens there are.
    pub fn distinct(&self) -> usize {
        self.distinct
    }

    /// Whether some token stands for whole pieces only.
    pub fn has_whole_only(&self) -> bool {
        self.has_whole_only
    }

    /// The bit of a token that only whole pieces are taken for, since merges make something else out of its bytes.
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

    /// Put a token into its line or the neighbour; `false` if it has no room there, or is too long.
    fn put(&mut self, token: u32) -> bool {
        let (id, tags) = (token & self.ids, self.tags());
        let key = self.cells.key(id);
        let short = key.is_short().then(|| key.hash());
        let Some(hash) = short.or_else(|| Self::hash_of(self.cells.get(id)?)) else { return false };
        let Address { line, tag } = self.address(hash);
        // Of two with one tag the second lies elsewhere, so that the slots of a line tell one token at the most, and
        // one that is not what its own line tells is not in the neighbour.
        if slot(&self.lines[line], tag, tags) != 0 {
            return false;
        }
        let line = if self.lines[line].is_full() { line ^ BESIDE } else { line };
        let line = &mut self.lines[line];
        if line.is_full() || slot(line, tag, tags) != 0 {
            return false;
        }
        line.0[line.taken()] = tag | token;
        self.distinct += 1;
        true
    }

    /// Prefetch the line of a piece that has a [hash](Self::hash_of).
    #[inline(always)]
    pub fn prefetch(&self, hash: u64) {
        prefetch(&self.lines, self.address(hash).line);
    }

    /// What the line of a piece says, which should have been prefetched. Prefetches the bytes of its token, and the
    /// neighbouring line if the token can be there.
    #[inline(always)]
    pub fn candidate(&self, hash: u64) -> Candidate {
        let candidate = self.in_line(hash);
        self.cells.prefetch(candidate.0 & self.ids);
        let other = if candidate.0 == ELSEWHERE { BESIDE } else { 0 };
        prefetch(&self.lines, self.address(hash).line ^ other);
        candidate
    }

    /// The token that a short piece, or a part of one, is taken for; `key` is the key of `bytes` as a whole piece.
    #[inline(always)]
    pub fn confirm(&self, candidate: Candidate, key: Key, bytes: &[u8], part: bool) -> Option<u32> {
        self.settle(candidate, bytes, part, |id| self.cells.key(id) == key)
    }

    /// As [`Self::confirm`] for a piece of any length that has a [hash](Self::hash_of).
    #[inline]
    pub fn confirm_wide(&self, candidate: Candidate, bytes: &[u8], part: bool) -> Option<u32> {
        self.settle(candidate, bytes, part, |id| self.cells.get(id) == Some(bytes))
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
            ELSEWHERE => self.beside(bytes),
            slot if is_same(slot & self.ids) => slot & !self.tags(),
            _ => self.apart(bytes),
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
                None => self.id_of(self.apart(bytes), part),
            },
        }
    }

    /// The token whose own line says that it is elsewhere.
    #[inline(never)]
    fn beside(&self, bytes: &[u8]) -> u32 {
        let Some(Address { line, tag }) = Self::hash_of(bytes).map(|hash| self.address(hash)) else {
            return self.apart(bytes);
        };
        if self.lines[line].is_full() {
            let beside = &self.lines[line ^ BESIDE];
            let slot = slot(beside, tag, self.tags());
            if slot == 0 && !beside.is_full() {
                return NO_TOKEN;
            }
            if slot != 0 && self.cells.get(slot & self.ids) == Some(bytes) {
                return slot & !self.tags();
            }
        }
        self.apart(bytes)
    }

    /// The token that is in no line.
    #[inline(never)]
    fn apart(&self, bytes: &[u8]) -> u32 {
        self.rest[self.find(self.hash.of(bytes), bytes)].token
    }

    /// The id of a token, if it stands for a part or for a whole piece.
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
        let mask = self.rest.len() - 1;
        let mut at = hash as usize & mask;
        loop {
            let Slot { token, tag: other } = self.rest[at];
            if token == NO_TOKEN || other == tag(hash) && self.cells.get(token & self.ids) == Some(bytes) {
                return at;
            }
            at = (at + 1) & mask;
        }
    }
}

fn tag(hash: u64) -> u32 {
    (hash >> 32) as u32
}
