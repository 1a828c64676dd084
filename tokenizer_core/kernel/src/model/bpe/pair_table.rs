//! From a pair of ids to how early it merges: a hash table of cache lines with sixteen entries, which stores the part
//! of a key that its place does not imply, as compact hash tables do (Cleary, 1984: quotienting).
//!
//! A pair is one word with twice the bits of an id. When it is multiplied by an odd number, its upper bits depend on
//! all of it, while its lowest bits depend only on the lowest bits of the pair. The upper bits choose the line, and the
//! next ones are the tag within the line; so the line, the tag and the pair's own lowest bits identify the pair. An
//! entry is the tag and the precedence, in four bytes. The lowest bits are in a second table, by precedence: most
//! lookups find no entry with their tag, and the others need to be checked only if the merge is about to be made.

use std::hint::select_unpredictable;

use rustc_hash::FxHashMap;

use crate::simd::level::Portable;
use crate::simd::pages::Table;
use crate::simd::prefetch::prefetch;
use crate::simd::tagged_line::{FindTag, Line, WAYS};
use crate::simd::words::places;

/// The most entries that a line has on average: then one line in a hundred is full.
const LOAD: usize = 8;

/// The lowest bits of a pair, which are not in its line.
type Lowest = u16;

/// The place of a pair's precedence in the table.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub(crate) struct Address {
    line: u32,
    /// In the same bits as in an entry.
    tag: u32,
}

impl Address {
    /// The address of no pair.
    pub const NOWHERE: Self = Self { line: 0, tag: 0 };
}

/// Odd, so that multiplying loses nothing.
const FACTOR: u64 = 0x9E37_79B9_7F4A_7C15;

/// From pairs to precedences, which are numbers from 1 up; of each at most one pair.
#[derive(Debug)]
pub(crate) struct PairTable {
    /// The last one is followed by an empty one, for [`Self::address_between`].
    lines: Table<Line>,
    line_count: u32,
    /// By precedence.
    lowest: Table<Lowest>,
    /// The pairs that found their line full, by address and lowest bits.
    overflow: FxHashMap<(Address, Lowest), u32>,
    id_bits: u32,
    /// An odd number, shifted so that the mixed pair is at the top of a word.
    factor: u64,
    /// The bits of an entry that are its tag; those below are the precedence.
    tags: u32,
}

impl PairTable {
    /// A table for ids of `id_bits` bits, with room for the precedences 1 to `count`, which fit in 24 bits. Tags have
    /// at most `tag_bits` bits, if so few are enough.
    pub fn new(id_bits: u32, count: usize, tag_bits: u32) -> Self {
        let precedence_bits = count.max(1).ilog2() + 1;
        let pair_bits = 2 * id_bits;
        // Enough lines that line and tag leave no more of a pair than its lowest bits.
        let enough = (pair_bits + precedence_bits).saturating_sub(u32::BITS + Lowest::BITS);
        let lines = count.div_ceil(LOAD).max(1 << enough);
        let least = pair_bits.saturating_sub(lines.ilog2() + Lowest::BITS).max(1);
        let tag_bits = tag_bits.clamp(least, u32::BITS - precedence_bits);
        Self {
            lines: Table::new(lines + 1),
            line_count: lines as u32,
            lowest: Table::new(count + 1),
            overflow: FxHashMap::default(),
            id_bits,
            factor: FACTOR << (u64::BITS - pair_bits),
            tags: u32::MAX << (u32::BITS - tag_bits),
        }
    }

    /// Return the address of the precedence of a pair.
    #[inline(always)]
    pub fn address(&self, left: u32, right: u32) -> Address {
        let mixed = self.pair(left, right).wrapping_mul(self.factor);
        // Pairs of one line whose lowest bits are the same are so far from each other that the tag, which is what comes
        // next, is not.
        let scaled = u128::from(mixed) * u128::from(self.line_count);
        Address { line: (scaled >> 64) as u32, tag: (scaled >> 32) as u32 & self.tags }
    }

    /// As [`Self::address`]; a pair with a border, which never merges, gets an empty line, which stays in cache.
    #[inline(always)]
    pub fn address_between(&self, left: u32, right: u32, is_border: bool) -> Address {
        let Address { line, tag } = self.address(left, right);
        // Whether it is one is unpredictable.
        Address { line: select_unpredictable(is_border, self.line_count, line), tag }
    }

    /// Prefetch what [`Self::holds`] reads for a precedence.
    #[inline(always)]
    pub fn prefetch_lowest(&self, precedence: u32) {
        prefetch(&self.lowest, precedence as usize);
    }

    /// Prefetch the line of an address.
    #[inline(always)]
    pub fn prefetch(&self, address: Address) {
        prefetch(&self.lines, address.line as usize);
    }

    /// The precedence of a pair, or 0.
    #[inline]
    pub fn get(&self, left: u32, right: u32) -> u32 {
        let address = self.address(left, right);
        let found = self.look(Portable, address, || (left, right));
        if found == 0 || self.holds(found, left, right) { found } else { 0 }
    }

    /// The precedence of the pair with this address, or 0. It may be the precedence of another pair, which then does
    /// not [hold](Self::holds): in that case the pair has none.
    #[inline(always)]
    pub fn look(&self, simd: impl FindTag, address: Address, pair: impl FnOnce() -> (u32, u32)) -> u32 {
        let line = self.line(address);
        let tagged = simd.find_tag(line, address.tag, self.tags);
        // Hardly ever taken: of lines of [`LOAD`] entries one in a hundred is full, or has a tag twice.
        if line.is_full() {
            return self.get_slowly(address, pair());
        }
        // No branch, since whether a pair merges is unpredictable.
        let own = line.0[tagged.trailing_zeros() as usize % WAYS] ^ address.tag;
        if tagged == 0 { 0 } else { own }
    }

    /// Tell whether a precedence that [`Self::look`] found is that of the pair.
    #[inline(always)]
    pub fn holds(&self, precedence: u32, left: u32, right: u32) -> bool {
        self.is_of(precedence, self.pair(left, right))
    }

    #[cold]
    fn get_slowly(&self, address: Address, (left, right): (u32, u32)) -> u32 {
        let pair = self.pair(left, right);
        let line = self.line(address);
        match self.way(line, address, pair) {
            Some(way) => line.0[way] ^ address.tag,
            None => self.overflow.get(&(address, pair as Lowest)).copied().unwrap_or(0),
        }
    }

    /// Give a pair a precedence that no other pair has; it replaces the one that the pair had.
    pub fn insert(&mut self, left: u32, right: u32, precedence: u32) {
        let (address, pair) = (self.address(left, right), self.pair(left, right));
        let mut line = *self.line(address);
        self.lowest[precedence as usize] = pair as Lowest;
        let way = match self.way(&line, address, pair) {
            Some(way) => way,
            None if line.is_full() => {
                self.overflow.insert((address, pair as Lowest), precedence);
                return;
            }
            None if self.of_tag(&line, address.tag).next().is_none() => line.taken(),
            // A second entry with this tag goes to the end, so that the line counts as full.
            None => WAYS - 1,
        };
        line.0[way] = address.tag | precedence;
        self.lines[address.line as usize] = line;
    }

    /// Find the entry of a pair.
    #[inline(always)]
    fn way(&self, line: &Line, address: Address, pair: u64) -> Option<usize> {
        self.of_tag(line, address.tag).find(|way| self.is_of(line.0[*way] ^ address.tag, pair))
    }

    /// The entries that have a tag; free ones, whose tag is zero, are left out.
    #[inline(always)]
    fn of_tag(&self, line: &Line, tag: u32) -> impl Iterator<Item = usize> {
        let tagged = Portable.find_tag(line, tag, self.tags);
        places(tagged).filter(|way| line.0[*way] != 0)
    }

    #[inline(always)]
    fn line(&self, address: Address) -> &Line {
        &self.lines[address.line as usize]
    }

    #[inline(always)]
    fn pair(&self, left: u32, right: u32) -> u64 {
        u64::from(left) << self.id_bits | u64::from(right)
    }

    /// Tell whether a precedence found at the address of a pair is that of the pair.
    #[inline(always)]
    fn is_of(&self, precedence: u32, pair: u64) -> bool {
        self.lowest[precedence as usize] == pair as Lowest
    }
}

#[cfg(test)]
#[path = "../../../tests/unit/pair_table.rs"]
mod tests;
