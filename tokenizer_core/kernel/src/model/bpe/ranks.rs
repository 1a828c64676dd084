//! The table of merges: what two neighbours become, and how early.

use std::collections::HashSet;

use rustc_hash::FxHashMap;

use crate::error::{Code, Error, Result};
use crate::model::bpe::pair_table::{Address, PairTable};
use crate::simd::level::SimdLevel;
use crate::simd::pages::Table;
use crate::simd::prefetch::prefetch;
use crate::simd::tagged_line::FindTag;
use crate::vocabulary::{Merge, Vocabulary};

/// Above the rank of every merge: the pair does not merge.
pub const NEVER: u32 = (1 << 24) - (1 << 17);

/// The merges of pairs of tokens: the token that two neighbours become, and how early.
pub trait Merges {
    /// The rank of two tokens, or [`NEVER`]. Each pair is asked for when it comes into sight: those of the symbols from
    /// left to right, and after a merge the one that it ends and then the one that it begins.
    fn rank(&self, left: u32, right: u32) -> u32;

    /// Return the token that the merge of a rank makes.
    fn product(&self, rank: u32) -> u32;

    /// Merges of a lower order come first, the leftmost among equals. The rank itself, unless ranks share one.
    #[inline(always)]
    fn order(&self, rank: u32) -> u32 {
        rank
    }
}

/// Loops over all merges prefetch the table's lines this many merges ahead.
pub(crate) const AHEAD: usize = 16;

/// From a pair of ids to its merge.
///
/// Internally a merge has a precedence: the number of ranks from its own on. So of two merges the one with the higher
/// precedence is made first, and 0 is no merge.
#[derive(Debug)]
pub struct MergeTable {
    byte_ids: [u32; 256],
    /// Precedences by two bytes as a little-endian word: each piece begins by looking up all its pairs of bytes.
    byte_pairs: Table<u32>,
    pairs: PairTable,
    /// By precedence; empty where the products are [consecutive](Self::last_product).
    products: Vec<u32>,
    /// One more than the product of the highest rank, if products are consecutive ids in the order of ranks: then a
    /// product is computed and not loaded.
    last_product: Option<u32>,
    /// The number of ranks.
    ranks: u32,
    id_bits: u32,
    level: SimdLevel,
}

impl MergeTable {
    /// Index the merges of a vocabulary except those whose product is one of `never`: text must not merge into a
    /// control token. Of two merges of one pair the later counts, as in Hugging Face. The table is for the best level
    /// of the machine.
    ///
    /// # Errors
    /// `missing_byte`; `invalid_file` for more merges than a rank can tell.
    pub fn new(vocabulary: &Vocabulary, never: &HashSet<u32>) -> Result<Self> {
        Self::with_tags(vocabulary, never, u32::BITS)
    }

    /// As [`Self::new`], with tags of at most `tag_bits` bits in [the table of pairs](super::pair_table), if
    /// so few are enough. For tests: the fewer bits, the more often the entry of another pair is found.
    ///
    /// # Errors
    /// As [`Self::new`].
    pub fn with_tags(vocabulary: &Vocabulary, never: &HashSet<u32>, tag_bits: u32) -> Result<Self> {
        let merges = vocabulary.merges();
        let mut table = Self::empty(vocabulary, merges.len(), tag_bits)?;
        for (rank, merge) in merges.iter().enumerate() {
            if let Some(later) = merges.get(rank + AHEAD) {
                table.prefetch(later.left, later.right);
            }
            if !never.contains(&merge.product) {
                table.insert(*merge, rank as u32);
            }
        }
        let first = merges.first().map_or(0, |merge| merge.product);
        if merges.iter().zip(first..).all(|(merge, product)| merge.product == product) {
            (table.last_product, table.products) = (Some(first + table.ranks), Vec::new());
        }
        let bytes: FxHashMap<u32, usize> = table.byte_ids.into_iter().zip(0..).collect();
        let highest = table.byte_ids.into_iter().max().unwrap_or(0);
        for Merge { left, right, .. } in merges.iter().filter(|merge| merge.left.max(merge.right) <= highest) {
            if let (Some(first), Some(second)) = (bytes.get(left), bytes.get(right)) {
                table.byte_pairs[second << 8 | first] = table.pairs.get(*left, *right);
            }
        }
        Ok(table)
    }

    /// An empty table with room for `merges` merges.
    ///
    /// # Errors
    /// As [`Self::new`].
    pub(crate) fn with_room(vocabulary: &Vocabulary, merges: usize) -> Result<Self> {
        Self::empty(vocabulary, merges, u32::BITS)
    }

    fn empty(vocabulary: &Vocabulary, merges: usize, tag_bits: u32) -> Result<Self> {
        if merges >= NEVER as usize {
            return Err(Error::new(Code::InvalidFile, format!("{merges} merges are not fewer than {NEVER}")));
        }
        let byte_ids = vocabulary.byte_ids()?;
        let id_bits = vocabulary.id_limit().ilog2() + 1;
        Ok(Self {
            byte_ids,
            byte_pairs: Table::new(1 << 16),
            pairs: PairTable::new(id_bits, merges, tag_bits),
            products: vec![0; merges + 1],
            last_product: None,
            ranks: merges as u32,
            id_bits,
            level: SimdLevel::best(),
        })
    }

    /// The instructions that merges are made with.
    pub fn level(&self) -> SimdLevel {
        self.level
    }

    /// The same table for the instructions of `level`.
    #[must_use]
    pub fn on(self, level: SimdLevel) -> Self {
        Self { level, ..self }
    }

    /// Add a merge. Of two of one pair the later counts.
    pub(crate) fn insert(&mut self, merge: Merge, rank: u32) {
        let precedence = self.ranks - rank;
        self.products[precedence as usize] = merge.product;
        self.pairs.insert(merge.left, merge.right, precedence);
    }

    /// The precedence of the tokens of two single bytes, which are a little-endian word, or 0.
    #[inline(always)]
    pub(crate) fn precedence_of_bytes(&self, pair: u16) -> u32 {
        self.byte_pairs[usize::from(pair)]
    }

    /// Return the token that those of two single bytes merge into, if they do.
    #[inline]
    pub(crate) fn product_of_bytes(&self, left: u8, right: u8) -> Option<u32> {
        let precedence = self.precedence_of_bytes(u16::from_le_bytes([left, right]));
        (precedence != 0).then(|| self.made_by(precedence))
    }

    /// The id of a single byte.
    #[inline(always)]
    pub fn byte_id(&self, byte: u8) -> u32 {
        self.byte_ids[byte as usize]
    }

    /// An id that is not a token's and that [`Self::address_between`] takes.
    #[inline(always)]
    pub(crate) fn no_token(&self) -> u32 {
        (1 << self.id_bits) - 1
    }

    /// Return the token that the merge of a precedence makes.
    #[inline(always)]
    pub(crate) fn made_by(&self, precedence: u32) -> u32 {
        match self.last_product {
            Some(last) => last - precedence,
            None => self.products[precedence as usize],
        }
    }

    /// Prefetch what making the merges of these [found](Self::look) precedences will read.
    #[inline(always)]
    pub(crate) fn prefetch_merges(&self, precedences: [u32; 2]) {
        precedences.iter().for_each(|precedence| self.pairs.prefetch_lowest(*precedence));
        if self.last_product.is_none() {
            precedences.iter().for_each(|precedence| prefetch(&self.products, *precedence as usize));
        }
    }

    /// Prefetch the rank of `left` and `right`.
    #[inline]
    pub fn prefetch(&self, left: u32, right: u32) {
        self.pairs.prefetch(self.pairs.address(left, right));
    }

    /// Return the address of the precedence of two tokens, or of a token and a border; prefetch it.
    #[inline(always)]
    pub(crate) fn address_between(&self, left: u32, right: u32, is_border: bool) -> Address {
        let address = self.pairs.address_between(left, right, is_border);
        self.pairs.prefetch(address);
        address
    }

    /// The precedence of the two tokens with this address, or 0. It may be that of two others, which then does not
    /// [hold](Self::holds): in that case these two do not merge.
    #[inline(always)]
    pub(crate) fn look(&self, simd: impl FindTag, address: Address, pair: impl FnOnce() -> (u32, u32)) -> u32 {
        self.pairs.look(simd, address, pair)
    }

    /// Tell whether a precedence that [`Self::look`] found is that of the two tokens.
    #[inline(always)]
    pub(crate) fn holds(&self, precedence: u32, left: u32, right: u32) -> bool {
        self.pairs.holds(precedence, left, right)
    }
}

impl Merges for MergeTable {
    #[inline]
    fn rank(&self, left: u32, right: u32) -> u32 {
        match self.pairs.get(left, right) {
            0 => NEVER,
            precedence => self.ranks - precedence,
        }
    }

    #[inline]
    fn product(&self, rank: u32) -> u32 {
        self.made_by(self.ranks - rank)
    }
}
