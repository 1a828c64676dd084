//! What two neighbours become.

use std::collections::HashSet;

use crate::error::{Code, Error, Result};
use crate::path::Path;
use crate::prefetch::prefetch;
use crate::vocabulary::{Merge, Vocabulary};

/// What a pair of neighbours becomes; ordered by rank, so the least is merged first.
///
/// The rank stands in the high half and the product in the low half of one word.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Merged(u64);

impl Merged {
    /// Greater than every merge: the pair does not merge.
    pub const NEVER: Self = Self(u64::MAX);

    const fn new(rank: u32, product: u32) -> Self {
        Self((rank as u64) << 32 | product as u64)
    }

    /// Position in the list of merges.
    #[inline]
    pub const fn rank(self) -> u32 {
        (self.0 >> 32) as u32
    }

    /// The token that the two become.
    #[inline]
    pub const fn product(self) -> u32 {
        self.0 as u32
    }

    /// Rank and product, the rank as lanes have it.
    #[inline(always)]
    fn of_lane(self) -> (u32, u32) {
        (self.rank().min(NEVER_RANK), self.product())
    }
}

/// In lanes: above every rank.
pub const NEVER_RANK: u32 = (1 << 26) - 1;

/// A cache line of merges, filled from the first on.
#[derive(Debug, Clone, Copy)]
#[repr(align(64))]
struct Line {
    pairs: [u64; WAYS],
    merged: [Merged; WAYS],
}

const WAYS: usize = 4;

const _: () = assert!(size_of::<Line>() == 64);

impl Line {
    const EMPTY: Self = Self { pairs: [EMPTY_PAIR; WAYS], merged: [Merged::NEVER; WAYS] };

    /// What a pair becomes, or [`Merged::NEVER`]; by all that are there, since a branch on which one it is cannot be foreseen.
    #[inline(always)]
    fn get(&self, pair: u64) -> Merged {
        let mut found = Merged::NEVER;
        for (other, merged) in self.pairs.iter().zip(&self.merged) {
            found = if *other == pair { *merged } else { found };
        }
        found
    }

    #[inline(always)]
    fn is_full(&self) -> bool {
        self.pairs[WAYS - 1] != EMPTY_PAIR
    }
}

/// Where the table tells what a pair becomes.
#[derive(Debug, Clone, Copy)]
pub struct Address {
    pair: u64,
    line: usize,
}

impl Address {
    /// That of no pair.
    pub const NOWHERE: Self = Self { pair: EMPTY_PAIR - 1, line: 0 };
}

/// So many merges ahead of the one at hand their slots are asked for, by whoever goes through all of them.
pub(crate) const AHEAD: usize = 16;

const EMPTY_PAIR: u64 = u64::MAX;

/// From a pair of ids to its merge: an open-addressed table of cache lines, at most half full.
#[derive(Debug)]
pub struct MergeTable {
    byte_ids: [u32; 256],
    /// By the first byte times 256 and the second: every piece begins with as many of these as it has neighbours.
    byte_pairs: Box<[Merged]>,
    lines: Box<[Line]>,
    shift: u32,
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
        table.byte_pairs = pairs.map(|[left, right]| table.get(table.byte_id(left), table.byte_id(right))).collect();
        Ok(table)
    }

    /// A table without merges, with room for so many.
    ///
    /// # Errors
    /// As [`Self::new`].
    pub(crate) fn with_room(vocabulary: &Vocabulary, merges: usize) -> Result<Self> {
        if merges >= NEVER_RANK as usize {
            return Err(Error::new(Code::InvalidFile, format!("{merges} merges are not fewer than {NEVER_RANK}")));
        }
        let lines = (merges.max(8) * 2 / WAYS).next_power_of_two();
        Ok(Self {
            byte_ids: vocabulary.byte_ids()?,
            byte_pairs: Box::default(),
            lines: vec![Line::EMPTY; lines].into_boxed_slice(),
            shift: 64 - lines.trailing_zeros(),
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
        let pair = pair_key(merge.left, merge.right);
        let mut at = self.home(pair);
        loop {
            let line = &mut self.lines[at];
            if let Some(way) = line.pairs.iter().position(|other| *other == pair || *other == EMPTY_PAIR) {
                line.pairs[way] = pair;
                line.merged[way] = Merged::new(rank, merge.product);
                return;
            }
            at = (at + 1) & (self.lines.len() - 1);
        }
    }

    /// The rank and the product of what the tokens of two single bytes become; [`NEVER_RANK`] if nothing.
    #[inline(always)]
    pub fn of_bytes(&self, left: u8, right: u8) -> (u32, u32) {
        self.byte_pairs[usize::from(left) << 8 | usize::from(right)].of_lane()
    }

    /// Begin to load what `left` and `right` become.
    #[inline]
    pub fn prefetch(&self, left: u32, right: u32) {
        prefetch(&self.lines, self.home(pair_key(left, right)));
    }

    /// The id of a single byte.
    #[inline]
    pub fn byte_id(&self, byte: u8) -> u32 {
        self.byte_ids[byte as usize]
    }

    /// What `left` and `right` become, or [`Merged::NEVER`].
    #[inline]
    pub fn get(&self, left: u32, right: u32) -> Merged {
        let pair = pair_key(left, right);
        self.find(Address { pair, line: self.home(pair) })
    }

    /// Where it is told what `left` and `right` become; begins to load it.
    #[inline(always)]
    pub fn address(&self, left: u32, right: u32) -> Address {
        let pair = pair_key(left, right);
        let line = self.home(pair);
        prefetch(&self.lines, line);
        Address { pair, line }
    }

    /// The rank and the product of what a pair becomes; [`NEVER_RANK`] if nothing.
    #[inline(always)]
    pub fn at(&self, address: Address) -> (u32, u32) {
        self.find(address).of_lane()
    }

    #[inline(always)]
    fn find(&self, Address { pair, line }: Address) -> Merged {
        let mask = self.lines.len() - 1;
        let mut at = line & mask;
        loop {
            let line = &self.lines[at];
            let found = line.get(pair);
            // A full line is rare, one without the pair that is full more so.
            if found != Merged::NEVER || !line.is_full() {
                return found;
            }
            at = (at + 1) & mask;
        }
    }

    #[inline(always)]
    fn home(&self, pair: u64) -> usize {
        // Fibonacci hashing: the high bits of the product depend on every bit of the pair.
        (pair.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> self.shift) as usize & (self.lines.len() - 1)
    }
}

#[inline(always)]
fn pair_key(left: u32, right: u32) -> u64 {
    u64::from(left) << 32 | u64::from(right)
}
