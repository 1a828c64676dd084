//! The merges of characters, and the loop that makes those of a short piece.

use std::collections::{HashMap, HashSet};

use rustc_hash::FxBuildHasher;

use super::symbols::Sequence;
use crate::error::{Code, Error, Result};
use crate::model::bpe::pair_table::PairTable;
use crate::model::bpe::ranks::{Merges, NEVER};
use crate::vocabulary::{Merge, Vocabulary};

/// From a pair of ids to its merge.
#[derive(Debug)]
pub(super) struct CharMerges {
    pairs: PairTable,
    /// By rank.
    products: Vec<u32>,
    /// By rank; empty where ranks are orders.
    orders: Vec<u32>,
}

impl CharMerges {
    /// Index merges, the lowest rank first, except those whose product is one of `never`. Of two merges of one pair the
    /// later counts, as in Hugging Face. `orders` are those of all ranks, or none.
    ///
    /// # Errors
    /// `invalid_file` for more merges than a rank can tell.
    pub(super) fn new(merges: &[Merge], orders: Vec<u32>, id_limit: u32, never: &HashSet<u32>) -> Result<Self> {
        if merges.len() >= NEVER as usize {
            return Err(Error::new(Code::InvalidFile, format!("{} merges are not fewer than {NEVER}", merges.len())));
        }
        let mut pairs = PairTable::new(id_limit.max(1).ilog2() + 1, merges.len(), u32::BITS);
        for (rank, merge) in merges.iter().enumerate().filter(|(_, merge)| !never.contains(&merge.product)) {
            pairs.insert(merge.left, merge.right, rank as u32 + 1);
        }
        Ok(Self { pairs, products: merges.iter().map(|merge| merge.product).collect(), orders })
    }
}

/// The merges that scores make of a vocabulary.
#[derive(Debug, Default)]
pub(super) struct ScoredMerges {
    /// Those of the highest score first.
    pub(super) merges: Vec<Merge>,
    /// By merge: those of equal scores have the same.
    pub(super) orders: Vec<u32>,
    /// Characters that are no entries, and that merges are of nevertheless: their ids are those behind all entries.
    pub(super) characters: Vec<char>,
}

/// The merges that scores make: any two neighbours that are an entry together may join, the higher score first, and the
/// leftmost of equals. None has a part or a product in `none`, or is of a character of `alone`. A character of `unused`
/// is no entry.
pub(super) fn by_score(
    vocabulary: &Vocabulary,
    none: &HashSet<u32>,
    alone: &HashSet<u32>,
    unused: &HashSet<u32>,
) -> ScoredMerges {
    let entries = || vocabulary.tokens().filter(|(id, _)| !none.contains(id) && !alone.contains(id));
    let is_known = |(id, entry): &(u32, &[u8])| only(entry).is_none() || !unused.contains(id);
    let ids: HashMap<&[u8], u32, FxBuildHasher> = entries().filter(is_known).map(|(id, entry)| (entry, id)).collect();
    let alone: HashSet<char> = alone.iter().filter_map(|id| only(vocabulary.bytes(*id)?)).collect();
    let (mut merges, mut characters, mut places) = (Vec::new(), Vec::new(), HashMap::new());
    for (product, entry) in entries() {
        for (left, right) in (1..entry.len()).filter(|at| entry[*at] & 0xC0 != 0x80).map(|at| entry.split_at(at)) {
            let may_be = |part| ids.contains_key(part) || only(part).is_some_and(|part| !alone.contains(&part));
            if !may_be(left) || !may_be(right) {
                continue;
            }
            let [left, right] = [left, right].map(|part| {
                ids.get(part).copied().unwrap_or_else(|| {
                    *places.entry(part).or_insert_with(|| {
                        characters.extend(only(part));
                        vocabulary.id_limit() + characters.len() as u32 - 1
                    })
                })
            });
            merges.push(Merge { left, right, product });
        }
    }
    let score = |merge: &Merge| vocabulary.scores().get(merge.product as usize).copied().unwrap_or(0.0);
    merges.sort_by(|one, other| score(other).total_cmp(&score(one)));
    let mut orders = Vec::with_capacity(merges.len());
    for pair in std::iter::once(None).chain(merges.iter().map(Some)).zip(&merges) {
        let before: u32 = orders.last().copied().unwrap_or(0);
        orders.push(match pair {
            (Some(one), other) if score(one) != score(other) => before + 1,
            _ => before,
        });
    }
    ScoredMerges { merges, orders, characters }
}

/// The character that an entry is, if it is one.
fn only(entry: &[u8]) -> Option<char> {
    let mut characters = std::str::from_utf8(entry).ok()?.chars();
    characters.next().filter(|_| characters.next().is_none())
}

impl Merges for CharMerges {
    #[inline]
    fn rank(&self, left: u32, right: u32) -> u32 {
        // 0 is no merge.
        self.pairs.get(left, right).wrapping_sub(1).min(NEVER)
    }

    #[inline]
    fn product(&self, rank: u32) -> u32 {
        self.products[rank as usize]
    }

    #[inline(always)]
    fn order(&self, rank: u32) -> u32 {
        self.orders.get(rank as usize).copied().unwrap_or(rank)
    }
}

impl CharMerges {
    /// The order of a pair in the upper bits, its rank in the lower.
    #[inline]
    fn ordered(&self, left: u32, right: u32) -> u64 {
        let rank = self.rank(left, right);
        u64::from(self.order(rank)) << 32 | u64::from(rank)
    }
}

/// Make the merges of a few symbols, the lowest order first, and the leftmost of equals.
#[inline]
pub(super) fn merge_few(merges: &CharMerges, Sequence { ids, bytes }: &mut Sequence, waiting: &mut Vec<u64>) {
    waiting.clear();
    waiting.extend(ids.windows(2).map(|pair| merges.ordered(pair[0], pair[1])));
    loop {
        let (mut first, mut at) = (u64::from(NEVER), 0);
        for (place, other) in waiting.iter().enumerate() {
            if *other >> 32 < first {
                (first, at) = (*other >> 32, place);
            }
        }
        if first == u64::from(NEVER) {
            return;
        }
        ids[at] = merges.product(waiting[at] as u32);
        bytes[at] += bytes[at + 1];
        ids.remove(at + 1);
        bytes.remove(at + 1);
        waiting.remove(at);
        if at > 0 {
            waiting[at - 1] = merges.ordered(ids[at - 1], ids[at]);
        }
        if let Some(next) = waiting.get_mut(at) {
            *next = merges.ordered(ids[at], ids[at + 1]);
        }
    }
}
