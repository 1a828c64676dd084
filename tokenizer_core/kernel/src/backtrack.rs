//! Long pieces from left to right: the longest token first, a shorter one where no row of neighbours leads on.
//!
//! A row of tokens of which all neighbours can be neighbours is what merges make of its bytes (`lineage`), so there is one
//! such row for every beginning of the piece. A place from which nothing leads on is therefore no use whatever came
//! before, and is never entered again: the time is linear in the piece.

use rustc_hash::FxHashMap;

use crate::piece_cache::Key;
use crate::ranks::Merged;
use crate::tables::Tables;
use crate::vocabulary::Vocabulary;

/// Tokens longer than this would make every place costly.
const TOKEN_LIMIT: usize = 256;

/// As would more lengths than this behind one beginning.
const LENGTHS_LIMIT: usize = 64;

/// Lengths below this have a bit each; the highest bit says that there are longer ones.
const LONG: usize = 31;

/// How long the tokens are that begin with three given bytes.
#[derive(Debug)]
pub struct Lengths {
    /// By a hash of the three bytes.
    short: Box<[u32]>,
    /// The longest first.
    long: FxHashMap<usize, Vec<u16>>,
}

impl Lengths {
    /// Learn the lengths of the tokens that `is_made` tells; `None` where there are too many for the time to be short.
    pub fn new(vocabulary: &Vocabulary, is_made: impl Fn(u32) -> bool) -> Option<Self> {
        let mut lengths = Self { short: vec![0; 1 << 16].into_boxed_slice(), long: FxHashMap::default() };
        for (id, bytes) in vocabulary.tokens() {
            if bytes.len() < 3 || !is_made(id) {
                continue;
            }
            if bytes.len() > TOKEN_LIMIT {
                return None;
            }
            let place = place(bytes);
            lengths.short[place] |= 1 << bytes.len().min(LONG);
            if bytes.len() >= LONG {
                lengths.long.entry(place).or_default().push(bytes.len() as u16);
            }
        }
        for long in lengths.long.values_mut() {
            long.sort_unstable_by(|left, right| right.cmp(left));
            long.dedup();
        }
        let few = lengths.long.values().all(|long| long.len() <= LENGTHS_LIMIT);
        few.then_some(lengths)
    }
}

fn place(bytes: &[u8]) -> usize {
    let word = u32::from_le_bytes([bytes[0], bytes[1], bytes[2], 0]);
    (word.wrapping_mul(0x9E37_79B1) >> 16) as usize
}

/// Buffers of the search, kept between pieces.
#[derive(Debug, Default)]
pub struct Backtracker {
    ids: Vec<u32>,
    /// Where each of the ids begins.
    starts: Vec<u32>,
    /// A bit for each place from which nothing leads on.
    dead: Vec<u64>,
}

impl Backtracker {
    /// The ids of a piece that is not empty, or `None` where the tables cannot tell.
    pub fn encode(&mut self, tables: &Tables, piece: &[u8]) -> Option<&[u32]> {
        let (lineage, lengths) = (tables.lineage.as_ref()?, tables.lengths.as_ref()?);
        self.ids.clear();
        self.starts.clear();
        self.dead.clear();
        self.dead.resize(piece.len() / 64 + 1, 0);
        let (mut at, mut below) = (0, usize::MAX);
        while at < piece.len() {
            let Some((id, length)) = longest(tables, lengths, piece, at, below) else {
                self.dead[at / 64] |= 1 << (at % 64);
                let start = self.starts.pop()? as usize;
                self.ids.pop();
                below = at - start;
                at = start;
                continue;
            };
            let end = at + length;
            let is_dead = self.dead[end / 64] >> (end % 64) & 1 != 0;
            if !is_dead && self.ids.last().is_none_or(|last| lineage.can_stand(&tables.merges, *last, id)) {
                self.ids.push(id);
                self.starts.push(at as u32);
                (at, below) = (end, usize::MAX);
            } else {
                below = length;
            }
        }
        Some(&self.ids)
    }

    /// Give back the memory of long pieces, down to `entries` entries a buffer.
    pub fn shrink(&mut self, entries: usize) {
        self.ids.clear();
        self.starts.clear();
        self.dead.clear();
        self.ids.shrink_to(entries);
        self.starts.shrink_to(entries);
        self.dead.shrink_to(entries);
    }
}

/// The longest token at `at` that merges make and that is shorter than `below`, and its length.
fn longest(tables: &Tables, lengths: &Lengths, piece: &[u8], at: usize, below: usize) -> Option<(u32, usize)> {
    let rest = &piece[at..];
    let below = below.min(rest.len() + 1);
    if below > 3 {
        let place = place(rest);
        let mut short = lengths.short[place];
        if short >> LONG != 0 && below > LONG {
            let long = lengths.long.get(&place)?.iter().map(|length| usize::from(*length));
            for length in long.filter(|length| *length < below) {
                if let Some(id) = tables.tokens.get(None, &rest[..length], true) {
                    return Some((id, length));
                }
            }
        }
        short &= (1 << below.min(LONG)) - 1;
        while short != 0 {
            let length = short.ilog2() as usize;
            let key = Key::new(piece, at, at + length, false);
            if let Some(id) = tables.tokens.get(key, &rest[..length], true) {
                return Some((id, length));
            }
            short &= !(1 << length);
        }
    }
    if below > 2 {
        let pair = tables.merges.of_bytes(rest[0], rest[1]);
        if pair != Merged::NEVER {
            return Some((pair.product(), 2));
        }
    }
    (below > 1).then(|| (tables.merges.byte_id(rest[0]), 1))
}
