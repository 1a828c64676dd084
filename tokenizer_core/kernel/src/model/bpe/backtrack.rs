//! Long pieces from left to right: the longest token first, a shorter one where nothing fits after it. This is the
//! backtracking encoder of GitHub's crate `bpe` (rust-gems).
//!
//! A sequence of tokens in which all neighbours are valid pairs is what merges make of its bytes (`split_table`), so
//! every prefix of the piece has exactly one such sequence. A position after which nothing fits is therefore a dead end
//! whatever came before it, and is never tried again: the time is linear in the length of the piece.

use crate::capacity::give_back;
use crate::model::bpe::ranks::MergeTable;
use crate::model::bpe::split_table::SplitTable;
use crate::model::bpe::token_index::TokenIndex;
use crate::model::bpe::token_trie::{TokenTrie, TrieToken, run};
use crate::piece_cache::Key;
use crate::vocabulary::Vocabulary;

/// Longer tokens would make every position costly.
const TOKEN_LIMIT: usize = 256;

/// Shorter tokens are found by their bytes alone.
const SHORTEST: usize = 3;

/// Lengths below this have a bit each; the highest bit stands for tokens in the trie.
const LONG: usize = 31;

/// The number of cached answers of a kind: 16 KB.
const NEIGHBOURS: usize = 1 << 11;

const _: () = assert!(crate::vocabulary::MAX_IDS < 1 << 31);

/// The tokens of three bytes and more: those in the trie, and the lengths of all others by how they begin.
#[derive(Debug)]
pub struct Lengths {
    /// By a hash of the first three bytes.
    short: Box<[u32]>,
    trie: TokenTrie,
}

impl Lengths {
    /// Collect the tokens for which `is_reachable` is true; `None` if one of them is too long to search fast, or if too
    /// many are in the trie.
    pub fn new(vocabulary: &Vocabulary, is_reachable: impl Fn(u32) -> bool) -> Option<Self> {
        let mut short = vec![0; 1 << 16].into_boxed_slice();
        let mut listed = Vec::new();
        for (id, bytes) in vocabulary.tokens().filter(|(id, bytes)| bytes.len() >= SHORTEST && is_reachable(*id)) {
            if bytes.len() > TOKEN_LIMIT {
                return None;
            }
            let is_run = bytes.iter().all(|byte| *byte == bytes[0]);
            let in_trie = bytes.len() >= LONG || is_run || bytes.iter().all(|byte| WHITE_SPACE.contains(byte));
            if in_trie {
                listed.push((id, bytes));
            }
            short[place(bytes)] |= 1 << if in_trie { LONG } else { bytes.len() };
        }
        Some(Self { short, trie: TokenTrie::new(&listed)? })
    }
}

/// The bytes of white space: those of ASCII, and those of the no-break space.
const WHITE_SPACE: &[u8] = b" \n\t\r\xC2\xA0";

fn place(bytes: &[u8]) -> usize {
    let word = u32::from_le_bytes([bytes[0], bytes[1], bytes[2], 0]);
    (word.wrapping_mul(0x9E37_79B1) >> 16) as usize
}

/// A token that the rest of the piece begins with.
#[derive(Debug, Clone, Copy)]
struct Attempt {
    id: u32,
    length: u16,
    /// The longest token of the trie that is shorter.
    next: TrieToken,
}

const _: () = assert!(size_of::<Attempt>() == 8, "a long piece takes as much for each of its tokens");

impl Attempt {
    fn new(id: u32, length: usize, next: TrieToken) -> Self {
        Self { id, length: length as u16, next }
    }

    #[inline]
    fn length(&self) -> usize {
        usize::from(self.length)
    }
}

/// The tables of a vocabulary that the search needs.
#[derive(Debug, Clone, Copy)]
pub struct SearchTables<'a> {
    /// Its merges.
    pub merges: &'a MergeTable,
    /// The tokens that the merges make.
    pub split_table: &'a SplitTable,
    /// The lengths of these tokens.
    pub lengths: &'a Lengths,
    /// All tokens that a piece can be.
    pub tokens: &'a TokenIndex,
}

/// Buffers of the search, kept between pieces, and cached answers about pairs: all pieces use one vocabulary.
#[derive(Debug, Default)]
pub struct Backtracker {
    neighbours: Neighbours,
    row: Vec<Attempt>,
    ids: Vec<u32>,
    /// A bit for each position that is a dead end.
    dead: Vec<u64>,
}

impl Backtracker {
    /// The ids of a piece that is not empty, or `None` where the search cannot tell.
    pub fn encode(&mut self, tables: SearchTables<'_>, piece: &[u8]) -> Option<&[u32]> {
        if !tables.split_table.is_clear(piece) {
            return None;
        }
        self.search(tables, piece)?;
        self.ids.clear();
        self.ids.extend(self.row.iter().map(|token| token.id));
        Some(&self.ids)
    }

    #[inline(never)]
    fn search(&mut self, tables: SearchTables, piece: &[u8]) -> Option<()> {
        let Self { neighbours, row, dead, .. } = self;
        row.clear();
        dead.clear();
        dead.resize(piece.len() / 64 + 1, 0);
        let mut at = 0;
        // What was tried last at this position.
        let mut tried: Option<Attempt> = None;
        while at < piece.len() {
            let Some(token) = neighbours.next(tables, &piece[at..], row.last().copied(), tried) else {
                dead[at / 64] |= 1 << (at % 64);
                tried = row.pop();
                at -= tried?.length();
                continue;
            };
            let end = at + token.length();
            let is_dead = dead[end / 64] >> (end % 64) & 1 != 0;
            tried = Some(token);
            if !is_dead {
                row.push(token);
                at = end;
                tried = None;
            }
        }
        Some(())
    }

    /// Give back the memory of long pieces, down to `entries` entries a buffer.
    pub fn shrink(&mut self, entries: usize) {
        give_back(&mut self.row, entries);
        give_back(&mut self.ids, entries);
        give_back(&mut self.dead, entries);
    }
}

/// A token of the trie after another token, and what was found for the two.
#[derive(Debug, Clone, Copy)]
struct Follower {
    last: u32,
    from: TrieToken,
    found: TrieToken,
}

/// Caches of answers about neighbours: runs of one byte ask about the same ones again and again.
#[derive(Debug)]
struct Neighbours {
    /// By hash: the left token, the right one, and whether they are a valid pair in the lowest bit.
    pairs: Box<[u64]>,
    /// By hash: the longest token that can follow `last` of `from` and those that `from` begins with.
    followers: Box<[Follower]>,
}

impl Default for Neighbours {
    fn default() -> Self {
        let none = Follower { last: u32::MAX, from: TrieToken::default(), found: TrieToken::default() };
        Self { pairs: vec![u64::MAX; NEIGHBOURS].into(), followers: vec![none; NEIGHBOURS].into() }
    }
}

impl Neighbours {
    /// The longest token that `rest` begins with and that can follow `last`, or the next shorter one after what was
    /// `tried` there.
    #[inline]
    fn next(
        &mut self,
        tables: SearchTables,
        rest: &[u8],
        last: Option<Attempt>,
        tried: Option<Attempt>,
    ) -> Option<Attempt> {
        let SearchTables { merges, lengths, tokens, .. } = tables;
        let below = tried.map_or(usize::MAX, |tried| tried.length()).min(rest.len() + 1);
        let mut next = tried.map_or_else(TrieToken::default, |tried| tried.next);
        if below > SHORTEST {
            let place = place(rest);
            if tried.is_none() && lengths.short[place] >> LONG != 0 {
                next = lengths.trie.longest(rest);
            }
            next = last.map_or(next, |last| self.follower(tables, last.id, next));
            let listed = lengths.trie.get(next);
            // Those that are longer than the next one of the trie.
            let above = listed.map_or(SHORTEST - 1, |(_, length, _)| usize::from(length));
            // No other token is a run of one byte, so each is longer than the run here.
            let above = above.max(run(rest[0], &rest[..rest.len().min(LONG)]));
            let between = (1_u32 << below.min(LONG)).saturating_sub(2 << above.min(LONG - 1));
            let mut others = lengths.short[place] & between;
            while others != 0 {
                let length = others.ilog2() as usize;
                if let Some(id) = tokens.get(Key::new(rest, 0, length, false), &rest[..length], true)
                    && self.can_follow(tables, last, id)
                {
                    return Some(Attempt::new(id, length, next));
                }
                others &= !(1 << length);
            }
            if let Some((id, length, next)) = listed {
                return Some(Attempt { id, length, next });
            }
        }
        if below > 2
            && let [left, right, ..] = rest
            && let Some(id) = merges.product_of_bytes(*left, *right)
            && self.can_follow(tables, last, id)
        {
            return Some(Attempt::new(id, 2, next));
        }
        let id = merges.byte_id(rest[0]);
        (below > 1 && self.can_follow(tables, last, id)).then(|| Attempt::new(id, 1, next))
    }

    #[inline]
    fn can_follow(&mut self, tables: SearchTables, last: Option<Attempt>, id: u32) -> bool {
        last.is_none_or(|last| self.is_valid_pair(tables, last.id, id))
    }

    /// The longest token that can follow `last`, of `from` and those that it begins with.
    #[inline]
    fn follower(&mut self, tables: SearchTables, last: u32, from: TrieToken) -> TrieToken {
        let slot = slot(u64::from(last) << 32 | u64::from(from.number()));
        let known = self.followers[slot];
        if (known.last, known.from) == (last, from) {
            return known.found;
        }
        let mut found = from;
        while let Some((id, _, shorter)) = tables.lengths.trie.get(found)
            && !self.is_valid_pair(tables, last, id)
        {
            found = shorter;
        }
        self.followers[slot] = Follower { last, from, found };
        found
    }

    #[inline]
    fn is_valid_pair(&mut self, tables: SearchTables, left: u32, right: u32) -> bool {
        let pair = u64::from(left) << 32 | u64::from(right) << 1;
        let answer = &mut self.pairs[slot(pair)];
        if *answer & !1 != pair {
            *answer = pair | u64::from(tables.split_table.is_valid_pair(tables.merges, left, right));
        }
        *answer & 1 != 0
    }
}

fn slot(key: u64) -> usize {
    (key.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> (64 - NEIGHBOURS.ilog2())) as usize
}
