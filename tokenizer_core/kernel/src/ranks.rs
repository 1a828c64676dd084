//! What two neighbours become.

use std::collections::HashSet;

use rustc_hash::FxHashMap;

use crate::error::{Code, Error, Result};
use crate::pages::{Table, Zeroed};
use crate::path::Path;
use crate::prefetch::prefetch;
use crate::vocabulary::{Merge, Vocabulary};

/// Above the rank of every merge: the pair does not merge.
pub const NEVER: u32 = (1 << 26) - 1;

/// So many merges ahead of the one at hand their lines are asked for, by whoever goes through all of them.
pub(crate) const AHEAD: usize = 16;

const WAYS: usize = 8;

/// A cache line of merges, filled from the first on.
#[derive(Debug, Clone, Copy)]
#[repr(align(64))]
struct Line {
    /// What tells a pair from the others whose line this is; zero is free.
    rests: [u32; WAYS],
    /// How far below [`NEVER`] the rank is.
    below: [u32; WAYS],
}

const _: () = assert!(size_of::<Line>() == 64);

// SAFETY: integers alone.
unsafe impl Zeroed for Line {}

impl Line {
    /// The rank of a pair or [`NEVER`]: all of the line is looked at, since a branch on which it is cannot be foreseen.
    #[inline(always)]
    fn rank(&self, rest: u32) -> u32 {
        let below = self.rests.iter().zip(&self.below).map(|(other, below)| if *other == rest { *below } else { 0 });
        NEVER - below.fold(0, |all, below| all | below)
    }

    #[inline(always)]
    fn is_full(&self) -> bool {
        self.rests[WAYS - 1] != 0
    }
}

/// Where the table tells the rank of a pair.
#[derive(Debug, Clone, Copy)]
pub struct Address {
    line: u32,
    /// One more than the lower bits of the mixed pair, of which there are at most 31.
    rest: u32,
}

impl Address {
    /// That of no pair.
    pub const NOWHERE: Self = Self { line: 0, rest: u32::MAX };
}

/// Odd, so that multiplying loses nothing: other pairs are other words, and their upper bits depend on every bit.
const FACTOR: u64 = 0x9E37_79B9_7F4A_7C15;

/// From a pair of ids to its merge.
///
/// A pair is one word of twice the bits of an id, which is mixed without loss: the upper bits tell the line, so the
/// lower ones alone tell the pair within it, and rank and pair take eight bytes. What finds its line full, a few in a
/// hundred, lies apart.
#[derive(Debug)]
pub struct MergeTable {
    byte_ids: [u32; 256],
    /// Ranks by the first byte times 256 and the second: every piece begins with as many of these as it has neighbours.
    byte_pairs: Box<[u32]>,
    lines: Table<Line>,
    apart: FxHashMap<(u32, u32), u32>,
    /// By rank; empty where the products are [in a row](Self::first_product).
    products: Vec<u32>,
    /// Of the lowest rank, where each product is one more than that of the rank below: nothing has to be loaded then.
    first_product: Option<u32>,
    id_bits: u32,
    rest_bits: u32,
    path: Path,
}

impl MergeTable {
    /// Index the merges of a vocabulary but for those whose product is one of `never`: text must not merge into a control
    /// token. Of two merges of one pair the later counts, as in Hugging Face.
    ///
    /// # Errors
    /// `missing_byte`; `invalid_file` for more merges than a rank can tell; `invalid_option` as [`Path::chosen`].
    pub fn new(vocabulary: &Vocabulary, never: &HashSet<u32>) -> Result<Self> {
        let merges = vocabulary.merges();
        let mut table = Self::with_room(vocabulary, merges.len())?;
        for (rank, merge) in merges.iter().enumerate() {
            if let Some(later) = merges.get(rank + AHEAD) {
                table.prefetch(later.left, later.right);
            }
            if !never.contains(&merge.product) {
                table.insert(*merge, rank as u32);
            }
        }
        let pairs = (0..=u16::MAX).map(u16::to_be_bytes);
        let first = merges.first().map_or(0, |merge| merge.product);
        if merges.iter().zip(first..).all(|(merge, product)| merge.product == product) {
            (table.first_product, table.products) = (Some(first), Vec::new());
        }
        table.byte_pairs = pairs.map(|[left, right]| table.rank(table.byte_id(left), table.byte_id(right))).collect();
        Ok(table)
    }

    /// A table without merges, with room for so many.
    ///
    /// # Errors
    /// As [`Self::new`].
    pub(crate) fn with_room(vocabulary: &Vocabulary, merges: usize) -> Result<Self> {
        if merges >= NEVER as usize {
            return Err(Error::new(Code::InvalidFile, format!("{merges} merges are not fewer than {NEVER}")));
        }
        let byte_ids = vocabulary.byte_ids()?;
        let id_bits = vocabulary.id_limit().ilog2() + 1;
        // Half full, and enough lines that a rest has no more than 31 bits.
        let line_bits =
            (merges * 2 / WAYS).next_power_of_two().ilog2().clamp((2 * id_bits).saturating_sub(31), 2 * id_bits);
        Ok(Self {
            byte_ids,
            byte_pairs: Box::default(),
            lines: Table::new(1 << line_bits),
            apart: FxHashMap::default(),
            products: vec![0; merges],
            first_product: None,
            id_bits,
            rest_bits: 2 * id_bits - line_bits,
            path: Path::chosen()?,
        })
    }

    /// Whose instructions merge.
    pub fn path(&self) -> Path {
        self.path
    }

    /// The same table for the instructions of `path`, which this machine has.
    #[must_use]
    pub fn on(self, path: Path) -> Self {
        assert!(path.is_available(), "a path that the machine has");
        Self { path, ..self }
    }

    /// Add a merge. Of two of one pair the later counts.
    pub(crate) fn insert(&mut self, merge: Merge, rank: u32) {
        self.products[rank as usize] = merge.product;
        let Address { line, rest } = self.home(merge.left, merge.right);
        let line = &mut self.lines[line as usize];
        match line.rests.iter().position(|other| *other == rest || *other == 0) {
            Some(way) => {
                line.rests[way] = rest;
                line.below[way] = NEVER - rank;
            }
            None => {
                self.apart.insert((merge.left, merge.right), rank);
            }
        }
    }

    /// The rank of the tokens of two single bytes, or [`NEVER`].
    #[inline(always)]
    pub fn rank_of_bytes(&self, left: u8, right: u8) -> u32 {
        self.byte_pairs[usize::from(left) << 8 | usize::from(right)]
    }

    /// The id of a single byte.
    #[inline(always)]
    pub fn byte_id(&self, byte: u8) -> u32 {
        self.byte_ids[byte as usize]
    }

    /// An id that is no token's and that [`Self::address`] takes.
    #[inline(always)]
    pub fn no_token(&self) -> u32 {
        (1 << self.id_bits) - 1
    }

    /// What the merge of a rank makes.
    #[inline(always)]
    pub fn product(&self, rank: u32) -> u32 {
        match self.first_product {
            Some(first) => first + rank,
            None => self.products[rank as usize],
        }
    }

    /// Begin to load what the merge of a rank makes.
    #[inline(always)]
    pub fn prefetch_product(&self, rank: u32) {
        if self.first_product.is_none() {
            prefetch(&self.products, rank as usize);
        }
    }

    /// Begin to load the rank of `left` and `right`.
    #[inline]
    pub fn prefetch(&self, left: u32, right: u32) {
        prefetch(&self.lines, self.home(left, right).line as usize);
    }

    /// The rank of two tokens, or [`NEVER`].
    #[inline]
    pub fn rank(&self, left: u32, right: u32) -> u32 {
        self.rank_at(self.home(left, right), left, right)
    }

    /// Where the rank of two tokens is told; begins to load it.
    #[inline(always)]
    pub fn address(&self, left: u32, right: u32) -> Address {
        let border = self.no_token();
        let home = self.home(left, right);
        let home = if left == border || right == border { Address::NOWHERE } else { home };
        prefetch(&self.lines, home.line as usize);
        home
    }

    /// The rank of two tokens whose address this is, or [`NEVER`].
    #[inline(always)]
    pub fn rank_at(&self, address: Address, left: u32, right: u32) -> u32 {
        let line = &self.lines[address.line as usize & (self.lines.len() - 1)];
        let rank = line.rank(address.rest);
        // One branch, which is hardly ever taken: whether a pair merges cannot be foreseen.
        if line.is_full() & (rank == NEVER) {
            return self.rank_apart(left, right);
        }
        rank
    }

    #[cold]
    fn rank_apart(&self, left: u32, right: u32) -> u32 {
        self.apart.get(&(left, right)).copied().unwrap_or(NEVER)
    }

    #[inline(always)]
    fn home(&self, left: u32, right: u32) -> Address {
        let pair = u64::from(left) << self.id_bits | u64::from(right);
        let mixed = pair.wrapping_mul(FACTOR) << (64 - 2 * self.id_bits) >> (64 - 2 * self.id_bits);
        Address { line: (mixed >> self.rest_bits) as u32, rest: (mixed & !(u64::MAX << self.rest_bits)) as u32 + 1 }
    }
}
