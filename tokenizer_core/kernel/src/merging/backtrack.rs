//! Long pieces from left to right: the longest token first, a shorter one where nothing fits after it. This is the
//! backtracking encoder of GitHub's crate `bpe` (rust-gems).
//!
//! A sequence of tokens in which all neighbours are valid pairs is what merges make of its bytes (`lineage`), so every
//! prefix of the piece has exactly one such sequence. A position after which nothing fits is therefore a dead end
//! whatever came before it, and is never tried again: the time is linear in the length of the piece.

use rustc_hash::FxHashMap;

use crate::merging::lineage::Lineage;
use crate::merging::ranks::MergeTable;
use crate::merging::run_tokens::{self, RunLengths, RunTokens};
use crate::merging::token_index::TokenIndex;
use crate::merging::white_space_tokens::{NodeIndex, WhiteSpaceTokens};
use crate::piece_cache::Key;
use crate::vocabulary::Vocabulary;

/// Longer tokens would make every position costly.
const TOKEN_LIMIT: usize = 256;

/// Lengths below this have a bit each; the highest bit stands for all longer ones.
const LONG: usize = 31;

/// The binary logarithm of how many answers about pairs are cached: 16 KB.
const NEIGHBOUR_BITS: u32 = 11;

const _: () = assert!(crate::vocabulary::MAX_IDS < 1 << 31);

/// The lengths of the tokens that begin with three given bytes, except runs of one byte.
#[derive(Debug)]
pub struct Lengths {
    /// By a hash of the three bytes.
    short: Box<[u32]>,
    long: FxHashMap<usize, LongTokens>,
    white: Option<WhiteSpaceTokens>,
    runs: RunTokens,
}

impl Lengths {
    /// Collect the lengths of the tokens for which `is_made` is true; `None` if one of them is too long to search fast.
    pub fn new(vocabulary: &Vocabulary, is_made: impl Fn(u32) -> bool) -> Option<Self> {
        let mut short = vec![0; 1 << 16].into_boxed_slice();
        let mut long: FxHashMap<usize, Vec<(&[u8], u32)>> = FxHashMap::default();
        let (mut white, mut runs) = (Vec::new(), RunTokens::default());
        for (id, bytes) in vocabulary.tokens() {
            if bytes.len() < run_tokens::SHORTEST || !is_made(id) || runs.take(id, bytes) {
                continue;
            }
            if bytes.len() > TOKEN_LIMIT {
                return None;
            }
            let place = place(bytes);
            short[place] |= 1 << bytes.len().min(LONG);
            if bytes.len() >= LONG {
                long.entry(place).or_default().push((bytes, id));
            }
            if WhiteSpaceTokens::is_all(bytes) {
                white.push((id, bytes));
            }
        }
        let long = long.into_iter().map(|(place, tokens)| (place, LongTokens::new(tokens))).collect();
        Some(Self { short, long, white: WhiteSpaceTokens::new(&white), runs })
    }
}

/// The tokens of at least [`LONG`] bytes whose first three bytes have the same hash, in the order of their bytes.
///
/// If a text begins with one of them, so does the greatest of them that is not above the text.
#[derive(Debug)]
struct LongTokens(Box<[LongToken]>);

#[derive(Debug)]
struct LongToken {
    bytes: Box<[u8]>,
    id: u32,
    /// Where the longest other token is that it begins with, or where it is itself.
    shorter: u32,
}

impl LongTokens {
    fn new(mut tokens: Vec<(&[u8], u32)>) -> Self {
        tokens.sort_unstable();
        let mut all: Vec<LongToken> = Vec::with_capacity(tokens.len());
        for (at, (bytes, id)) in tokens.into_iter().enumerate() {
            let before = (at.wrapping_sub(1)) as u32;
            let shorter = Self::chain(&all, before).find(|shorter| bytes.starts_with(&all[*shorter as usize].bytes));
            all.push(LongToken { bytes: bytes.into(), id, shorter: shorter.unwrap_or(at as u32) });
        }
        Self(all.into_boxed_slice())
    }

    /// A token and those that it begins with, the longest first.
    fn chain(tokens: &[LongToken], first: u32) -> impl Iterator<Item = u32> {
        let first = tokens.get(first as usize).map(|_| first);
        std::iter::successors(first, |at| Some(tokens[*at as usize].shorter).filter(|shorter| shorter != at))
    }

    /// The longest that `rest` begins with and that is shorter than `below`.
    fn longest(&self, rest: &[u8], below: usize) -> Option<(u32, usize)> {
        let Self(tokens) = self;
        let above = tokens.partition_point(|token| *token.bytes <= *rest);
        let greatest = (above as u32).wrapping_sub(1);
        let common = tokens.get(greatest as usize)?.bytes.iter().zip(rest).take_while(|(left, right)| left == right);
        let limit = common.count().min(below - 1);
        let fits = |at: &u32| tokens[*at as usize].bytes.len() <= limit;
        let token = &tokens[Self::chain(tokens, greatest).find(fits)? as usize];
        Some((token.id, token.bytes.len()))
    }
}

fn place(bytes: &[u8]) -> usize {
    let word = u32::from_le_bytes([bytes[0], bytes[1], bytes[2], 0]);
    (word.wrapping_mul(0x9E37_79B1) >> 16) as usize
}

/// A token that the rest of the piece begins with.
#[derive(Debug, Clone, Copy)]
struct Candidate {
    id: u32,
    /// With [`RUN`] set for a run of one byte.
    length: u16,
    /// Its node in the trie of white space, if it was found there.
    node: NodeIndex,
}

/// Set in a length: the token is a run of one byte.
const RUN: u16 = 1 << 15;

const _: () = assert!(TOKEN_LIMIT < RUN as usize, "a candidate holds the length");
const _: () = assert!(size_of::<Candidate>() == 8, "a long piece takes as much for each of its tokens");

impl Candidate {
    fn new(id: u32, length: usize) -> Self {
        Self { id, length: length as u16, node: NodeIndex::default() }
    }

    fn run(id: u32, length: usize) -> Self {
        Self { length: length as u16 | RUN, ..Self::new(id, length) }
    }

    #[inline]
    fn length(&self) -> usize {
        usize::from(self.length & !RUN)
    }

    #[inline]
    fn is_run(&self) -> bool {
        self.length & RUN != 0
    }

    /// Whether this token, the last of `bytes`, is nothing but this byte.
    #[inline]
    fn is_run_of(&self, byte: u8, bytes: &[u8]) -> bool {
        let own = &bytes[bytes.len() - self.length()..];
        (self.is_run() || own.len() < run_tokens::SHORTEST) && own[0] == byte && own[own.len() - 1] == byte
    }
}

/// What the search needs of a vocabulary.
#[derive(Debug, Clone, Copy)]
pub struct SearchTables<'a> {
    /// Its merges.
    pub merges: &'a MergeTable,
    /// Which tokens the merges make.
    pub lineage: &'a Lineage,
    /// The lengths of these tokens.
    pub lengths: &'a Lengths,
    /// All tokens that a piece can be.
    pub tokens: &'a TokenIndex,
}

impl SearchTables<'_> {
    fn is_valid_pair(self, left: u32, right: u32) -> bool {
        self.lineage.is_valid_pair(self.merges, left, right)
    }
}

/// Finds the tokens of three bytes and more that the rest of a piece begins with, except runs of one byte; `run` equal
/// bytes come first, so all of them are longer than that.
trait Search {
    /// The longest.
    fn longest(&self, rest: &[u8], run: usize) -> Option<Candidate>;

    /// The next shorter one.
    fn shorter(&self, rest: &[u8], run: usize, than: Candidate) -> Option<Candidate>;
}

impl Search for &WhiteSpaceTokens {
    #[inline]
    fn longest(&self, rest: &[u8], _: usize) -> Option<Candidate> {
        let node = WhiteSpaceTokens::longest(self, rest);
        self.token(node).map(|(id, length)| Candidate { node, ..Candidate::new(id, usize::from(length)) })
    }

    #[inline]
    fn shorter(&self, _: &[u8], _: usize, than: Candidate) -> Option<Candidate> {
        let node = WhiteSpaceTokens::shorter(self, than.node);
        self.token(node).map(|(id, length)| Candidate { node, ..Candidate::new(id, usize::from(length)) })
    }
}

impl Search for SearchTables<'_> {
    #[inline]
    fn longest(&self, rest: &[u8], run: usize) -> Option<Candidate> {
        longest(*self, rest, run, usize::MAX)
    }

    #[inline]
    fn shorter(&self, rest: &[u8], run: usize, than: Candidate) -> Option<Candidate> {
        longest(*self, rest, run, than.length())
    }
}

/// Buffers of the search, kept between pieces, and cached answers about pairs: all pieces use one vocabulary.
#[derive(Debug, Default)]
pub struct Backtracker {
    neighbours: Neighbours,
    followers: Followers,
    row: Vec<Candidate>,
    ids: Vec<u32>,
    /// A bit for each position that is a dead end.
    dead: Vec<u64>,
}

impl Backtracker {
    /// The ids of a piece that is not empty, or `None` where the search cannot tell.
    pub fn encode(&mut self, tables: SearchTables<'_>, piece: &[u8]) -> Option<&[u32]> {
        if !tables.lineage.is_clear(piece) {
            return None;
        }
        match &tables.lengths.white {
            Some(tokens) if WhiteSpaceTokens::is_all(piece) => self.search(tables, piece, tokens)?,
            _ => self.search(tables, piece, tables)?,
        }
        self.ids.clear();
        self.ids.extend(self.row.iter().map(|token| token.id));
        Some(&self.ids)
    }

    #[inline(never)]
    fn search(&mut self, tables: SearchTables, piece: &[u8], tokens: impl Search) -> Option<()> {
        let Self { neighbours, followers, row, dead, .. } = self;
        row.clear();
        dead.clear();
        dead.resize(piece.len() / 64 + 1, 0);
        let mut at = 0;
        // What was tried last at this position.
        let mut tried: Option<Candidate> = None;
        while at < piece.len() {
            let last = row.last().copied();
            let candidate = followers.next(tables, &tokens, (&piece[..at], &piece[at..]), last, tried);
            let Some(token) = candidate else {
                dead[at / 64] |= 1 << (at % 64);
                tried = row.pop();
                at -= tried?.length();
                continue;
            };
            let end = at + token.length();
            let is_dead = dead[end / 64] >> (end % 64) & 1 != 0;
            let stands = last.is_none_or(|last| {
                token.is_run() && last.is_run_of(piece[at], &piece[..at])
                    || neighbours.is_valid_pair(tables, last.id, token.id)
            });
            tried = Some(token);
            if !is_dead && stands {
                row.push(token);
                at = end;
                tried = None;
            }
        }
        Some(())
    }

    /// Give back the memory of long pieces, down to `entries` entries a buffer.
    pub fn shrink(&mut self, entries: usize) {
        self.row.clear();
        self.ids.clear();
        self.dead.clear();
        self.row.shrink_to(entries);
        self.ids.shrink_to(entries);
        self.dead.shrink_to(entries);
    }
}

/// A cache of which pairs are valid: runs of white space ask about the same ones again and again.
#[derive(Debug)]
struct Neighbours {
    /// By hash: the left token, the right one, and the answer in the lowest bit.
    answers: Box<[u64]>,
}

impl Default for Neighbours {
    fn default() -> Self {
        Self { answers: vec![u64::MAX; 1 << NEIGHBOUR_BITS].into_boxed_slice() }
    }
}

impl Neighbours {
    #[inline]
    fn is_valid_pair(&mut self, tables: SearchTables, left: u32, right: u32) -> bool {
        let pair = u64::from(left) << 32 | u64::from(right) << 1;
        let place = (pair.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> (64 - NEIGHBOUR_BITS)) as usize;
        let answer = &mut self.answers[place];
        if *answer & !1 != pair {
            *answer = pair | u64::from(tables.is_valid_pair(left, right));
        }
        *answer & 1 != 0
    }
}

/// By the id of a run: which runs of the same byte can follow it. Only what was asked about is known: a vocabulary has
/// runs in dozens of lengths, and most texts need one answer.
#[derive(Debug, Default)]
struct Followers(FxHashMap<u32, RunFollowers>);

/// The lengths that can follow a run.
#[derive(Debug)]
struct RunFollowers {
    /// All but those that are known not to.
    possible: RunLengths,
    /// Those that are known to.
    sure: RunLengths,
}

impl Followers {
    /// The longest token that `rest` begins with, or the next one after what was `tried` there: first the tokens that
    /// are longer than the run of one byte at its start, then such runs, then tokens of two bytes and of one.
    #[inline]
    fn next(
        &mut self,
        tables: SearchTables,
        tokens: &impl Search,
        (done, rest): (&[u8], &[u8]),
        last: Option<Candidate>,
        tried: Option<Candidate>,
    ) -> Option<Candidate> {
        let run = tables.lengths.runs.run(rest);
        let mut below = usize::MAX;
        let longer = match tried {
            None if tables.lengths.runs.is_led(rest[0], run) => tokens.longest(rest, run),
            None => None,
            Some(token) if !token.is_run() && token.length() >= run_tokens::SHORTEST => {
                tokens.shorter(rest, run, token)
            }
            Some(token) => {
                below = token.length();
                None
            }
        };
        let before = last.filter(|last| last.is_run_of(rest[0], done));
        longer
            .or_else(|| self.longest_run(tables, rest[0], before, below.min(run + 1)))
            .or_else(|| short(tables.merges, rest, below))
    }

    /// The longest run of `byte` that is shorter than `below`, and that can follow `before` if that is one too.
    #[inline]
    fn longest_run(
        &mut self,
        tables: SearchTables,
        byte: u8,
        before: Option<Candidate>,
        below: usize,
    ) -> Option<Candidate> {
        let all = tables.lengths.runs.lengths(byte);
        let mut length = all.greatest(below)?;
        if let Some(before) = before {
            let RunFollowers { possible, sure } =
                self.0.entry(before.id).or_insert(RunFollowers { possible: all, sure: RunLengths::default() });
            length = possible.greatest(below)?;
            while !sure.has(length) {
                if tables.is_valid_pair(before.id, tables.lengths.runs.id(byte, length)) {
                    sure.insert(length);
                } else {
                    possible.remove(length);
                    length = possible.greatest(below)?;
                }
            }
        }
        Some(Candidate::run(tables.lengths.runs.id(byte, length), length))
    }
}

/// The longest token of one byte or two that `rest` begins with and that is shorter than `below`.
#[inline]
fn short(merges: &MergeTable, rest: &[u8], below: usize) -> Option<Candidate> {
    if below > 2
        && let [left, right, ..] = rest
        && let Some(id) = merges.product_of_bytes(*left, *right)
    {
        return Some(Candidate::new(id, 2));
    }
    (below > 1).then(|| Candidate::new(merges.byte_id(rest[0]), 1))
}

/// The longest token that merges make, that `rest` begins with, and that is longer than the `run` equal bytes there and
/// shorter than `below`, except those that are [`short`].
fn longest(
    SearchTables { lengths, tokens, .. }: SearchTables<'_>,
    rest: &[u8],
    run: usize,
    below: usize,
) -> Option<Candidate> {
    let below = below.min(rest.len() + 1);
    if below > 3 {
        let place = place(rest);
        let mut short = lengths.short[place];
        if short >> LONG != 0 && below > LONG {
            let long = lengths.long.get(&place).and_then(|tokens| tokens.longest(rest, below));
            if long.is_some() {
                return long.map(|(id, length)| Candidate::new(id, length));
            }
        }
        short &= (1 << below.min(LONG)) - (2 << run.min(LONG - 1));
        while short != 0 {
            let length = short.ilog2() as usize;
            let key = Key::new(rest, 0, length, false);
            if let Some(id) = tokens.get(key, &rest[..length], true) {
                return Some(Candidate::new(id, length));
            }
            short &= !(1 << length);
        }
    }
    None
}
