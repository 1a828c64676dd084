//! Cuts inside a piece that no merge can cross.
//!
//! A merge joins two neighbours only if the left one ends with the last character of its left part, and the right one
//! begins with the first of its right part. Between two characters that no merge joins so, a piece may be cut: the
//! same merges are made on both sides, in the same order.

use crate::model::Cuts;
use crate::unicode::utf8::{decode, previous};
use crate::vocabulary::{Merge, Vocabulary};

use super::symbols::CharSymbols;

/// Bits of the set for each pair in it: about one other pair in as many stays uncut by mistake.
const BITS_A_PAIR: usize = 16;

/// Bits of the smallest and of the largest set.
const LEAST: usize = 1 << 10;
const MOST: usize = 1 << 20;

const MIX: u64 = 0x9E37_79B9_7F4A_7C15;

/// The pairs of neighbouring characters that merges join, and a few others by mistake.
#[derive(Debug)]
pub(super) struct Boundaries {
    /// By two characters of ASCII, without mistakes.
    ascii: Box<[u128; 128]>,
    /// A Bloom filter with one hash.
    others: Box<[u64]>,
    shift: u32,
    /// Neighbours that are both unknown may become one token.
    fuses: bool,
    /// The pairs alone, in order.
    pairs: Box<[(u32, u32)]>,
}

impl Boundaries {
    /// The pairs of these merges, which join what their parts are written as, and those within the entries of `whole`.
    pub(super) fn new(vocabulary: &Vocabulary, merges: &[Merge], symbols: &CharSymbols, whole: &[u32]) -> Self {
        let edge = |id: u32| std::str::from_utf8(vocabulary.bytes(id).unwrap_or_default()).unwrap_or_default();
        let pairs = merges.iter().filter_map(|merge| {
            let (left, right) = (edge(merge.left).chars().next_back()?, edge(merge.right).chars().next()?);
            Some((u32::from(left), u32::from(right)))
        });
        let inner = whole.iter().flat_map(|id| edge(*id).chars().zip(edge(*id).chars().skip(1)));
        let inner = inner.map(|(left, right)| (u32::from(left), u32::from(right)));
        let pairs: rustc_hash::FxHashSet<(u32, u32)> = pairs.chain(inner).collect();
        let bits = (pairs.len() * BITS_A_PAIR).next_power_of_two().clamp(LEAST, MOST);
        let mut boundaries = Self {
            ascii: Box::new([0; 128]),
            others: vec![0; bits / 64].into(),
            shift: u64::BITS - bits.ilog2(),
            fuses: !symbols.cover_all(),
            pairs: Box::default(),
        };
        let mut pairs: Vec<(u32, u32)> = pairs.into_iter().collect();
        pairs.sort_unstable();
        for (left, right) in pairs.iter().copied() {
            if left | right < 0x80 {
                boundaries.ascii[left as usize] |= 1 << right;
            } else {
                let bit = boundaries.bit(left, right);
                boundaries.others[bit / 64] |= 1 << (bit % 64);
            }
        }
        boundaries.pairs = pairs.into();
        boundaries
    }

    /// Tell whether no merge ever joins what ends at `at` with what begins there, a border of two symbols: by the pairs
    /// alone, and so in every text alike.
    pub(super) fn parts(&self, text: &[u8], at: usize) -> bool {
        if text[at] & 0xC0 == 0x80 {
            // Between the bytes of an unknown character.
            return false;
        }
        let before = previous(text, at).unwrap_or(0);
        let [left, right] = [before, at].map(|at| decode(text, at, text[at]).0);
        self.pairs.binary_search(&(left, right)).is_err()
    }

    /// Cut the pieces of `text` from `start` on, which end at `ends`.
    pub(super) fn cut(&self, symbols: &CharSymbols, text: &[u8], start: usize, ends: &[u32], cuts: &mut Cuts) {
        let end = ends.last().map_or(start, |end| *end as usize);
        cuts.reserve(end - start, false);
        let (mut count, mut at) = (0, start);
        for end in ends.iter().map(|end| *end as usize) {
            let mut left = None;
            while at < end {
                let (right, size) = match text[at] {
                    ascii @ ..0x80 => (u32::from(ascii), 1),
                    first => decode(text, at, first),
                };
                if let Some(left) = left {
                    // Written for every character, and counted where it is a border: that is hard to predict.
                    cuts.ends[count] = at as u32;
                    count += usize::from(!self.joins(symbols, left, right));
                }
                left = Some(right);
                at += size;
            }
            cuts.ends[count] = end as u32;
            count += 1;
        }
        cuts.count = count;
    }

    /// Tell whether two neighbours may be joined.
    #[inline(always)]
    fn joins(&self, symbols: &CharSymbols, left: u32, right: u32) -> bool {
        if left | right < 0x80 && !self.fuses {
            return self.ascii[left as usize & 0x7F] >> right & 1 != 0;
        }
        self.joins_others(symbols, left, right)
    }

    #[inline]
    fn joins_others(&self, symbols: &CharSymbols, left: u32, right: u32) -> bool {
        let merged = if left | right < 0x80 {
            self.ascii[left as usize & 0x7F] >> right & 1 != 0
        } else {
            let bit = self.bit(left, right);
            self.others[bit / 64] >> (bit % 64) & 1 != 0
        };
        merged || self.fuses && !symbols.has(left) && !symbols.has(right)
    }

    /// The bit of a pair.
    #[inline(always)]
    fn bit(&self, left: u32, right: u32) -> usize {
        let pair = u64::from(left) << 32 | u64::from(right);
        (pair.wrapping_mul(MIX).rotate_left(32).wrapping_mul(MIX) >> self.shift) as usize
    }
}
