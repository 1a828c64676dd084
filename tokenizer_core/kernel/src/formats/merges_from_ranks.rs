//! The merge that makes each token of a rank file; minbpe's `recover_merges` does the same, one token at a time.
//!
//! tiktoken merges any two neighbours whose joined bytes are a token. Only one pair can ever become a given token: the
//! last one when the token's own bytes are merged alone, because what happens inside its bytes does not depend on what
//! is outside. A token that its own bytes never become has no merge, and is found only as a whole piece.
//!
//! If every token is made of earlier ones, that pair is the only cut of the token into halves that stay side by side
//! until they merge (`split_table`). So that cut is looked for first. A token without one is merged alone; if that
//! makes it out of later tokens, all tokens are merged alone.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};

use crate::error::Result;
use crate::model::bpe::ranks::MergeTable;
use crate::model::bpe::split_table::SplitTable;
use crate::model::bpe::token_index::TokenIndex;
use crate::vocabulary::{Merge, Vocabulary};

/// Halves of tokens are prefetched this many tokens ahead: waiting for them took more than half of the time.
const AHEAD: usize = 4;

/// Cuts of a token whose halves are prefetched: in OpenAI's vocabularies the third cut finds the merge, on average.
const LIKELY: usize = 3;

/// A token longer than this, in bytes, is merged alone at once, because trying its cuts would hash the halves of each.
const LONG: usize = 256;

/// The merges of all tokens in rank order; `index` holds the tokens, whose ids are their ranks.
///
/// # Errors
/// `missing_byte`.
pub fn merges(vocabulary: &Vocabulary, index: &TokenIndex) -> Result<Vec<Merge>> {
    let mut table = MergeTable::with_room(vocabulary, vocabulary.id_limit() as usize)?;
    let mut split_table = SplitTable::of_bytes(vocabulary, &table);
    let mut merges = Vec::with_capacity(vocabulary.id_limit() as usize);
    let mut recovery = Recovery::new(index);
    let tokens: Vec<(u32, &[u8])> = vocabulary.tokens().filter(|(_, token)| token.len() > 1).collect();
    for (at, (product, token)) in tokens.iter().enumerate() {
        if let Some((_, later)) = tokens.get(at + AHEAD) {
            for cut in cuts(later.len()).take(LIKELY) {
                index.prefetch_whole(&later[..cut]);
                index.prefetch_whole(&later[cut..]);
            }
        }
        let product = *product;
        // A half of higher rank is not made yet.
        let are_halves = |left, right| {
            split_table.is_reachable(left) && split_table.is_reachable(right) && split_table.stays(&table, left, right)
        };
        let halves = if token.len() <= LONG {
            cuts(token.len()).find_map(|cut| {
                let (left, right) = (index.find_whole(&token[..cut])?, index.find_whole(&token[cut..])?);
                // The entry of the merge, if this is it.
                table.prefetch(left, right);
                are_halves(left, right).then_some((left, right))
            })
        } else {
            let merge = recovery.merge_of(product, token);
            merge.map(|merge| (merge.left, merge.right)).filter(|(left, right)| are_halves(*left, *right))
        };
        if let Some((left, right)) = halves {
            let (merge, rank) = (Merge { left, right, product }, merges.len() as u32);
            table.insert(merge, rank);
            split_table.insert(merge, rank);
            merges.push(merge);
        } else if recovery.merge_of(product, token).is_some() {
            return Ok(recovery.merges(vocabulary));
        }
    }
    Ok(merges)
}

/// The places where `length` bytes can be cut, from the middle outwards: halves seldom differ much in length.
fn cuts(length: usize) -> impl Iterator<Item = usize> {
    let middle = length / 2;
    let outwards = (1..=middle).flat_map(move |step| [middle + step, middle - step]);
    std::iter::once(middle).chain(outwards).filter(move |cut| (1..length).contains(cut))
}

/// No neighbour, or no token.
const NONE: u32 = u32::MAX;

/// A part of the token that is being merged; parts are known by the byte they begin at.
#[derive(Clone, Copy)]
struct TokenPart {
    id: u32,
    previous: u32,
    /// The beginning of the next part, which is the end of this one.
    next: u32,
    /// The product of this part and the next, or `NONE`; a queue entry with another product is stale.
    product: u32,
}

/// Merges a token's own bytes with the whole table.
struct Recovery<'a> {
    index: &'a TokenIndex,
    bytes: [u32; 256],
    /// Products already looked up by the ids of their parts, so that long parts are hashed once and not at every step.
    products: HashMap<(u32, u32), u32>,
    parts: Vec<TokenPart>,
    queue: BinaryHeap<Reverse<(u32, u32)>>,
}

impl<'a> Recovery<'a> {
    fn new(index: &'a TokenIndex) -> Self {
        let mut bytes = [NONE; 256];
        for byte in 0..=255_u8 {
            if let Some(rank) = index.find_whole(&[byte]) {
                bytes[byte as usize] = rank;
            }
        }
        Self { index, bytes, products: HashMap::new(), parts: Vec::new(), queue: BinaryHeap::new() }
    }

    /// The merges of all tokens in rank order.
    fn merges(&mut self, vocabulary: &Vocabulary) -> Vec<Merge> {
        let long = vocabulary.tokens().filter(|(_, bytes)| bytes.len() > 1);
        long.filter_map(|(rank, bytes)| self.merge_of(rank, bytes)).collect()
    }

    /// The merge that makes a token of more than one byte, if its bytes become it.
    fn merge_of(&mut self, rank: u32, bytes: &[u8]) -> Option<Merge> {
        self.last_merge(bytes).filter(|merge| merge.product == rank)
    }

    /// The last merge of the bytes of `token`, if they become one token.
    fn last_merge(&mut self, token: &[u8]) -> Option<Merge> {
        self.parts.clear();
        self.queue.clear();
        for (start, byte) in (0_u32..).zip(token) {
            let previous = start.checked_sub(1).unwrap_or(NONE);
            self.parts.push(TokenPart { id: self.bytes[*byte as usize], previous, next: start + 1, product: NONE });
        }
        for start in 0..token.len() as u32 {
            self.look(token, start);
        }
        while let Some(Reverse((product, start))) = self.queue.pop() {
            let left = self.parts[start as usize];
            if left.product != product {
                continue;
            }
            let right = self.parts[left.next as usize];
            if start == 0 && right.next as usize == token.len() {
                return Some(Merge { left: left.id, right: right.id, product });
            }
            self.parts[left.next as usize].product = NONE;
            self.parts[start as usize] = TokenPart { id: product, next: right.next, ..left };
            if let Some(after) = self.parts.get_mut(right.next as usize) {
                after.previous = start;
            }
            self.look(token, start);
            if left.previous != NONE {
                self.look(token, left.previous);
            }
        }
        None
    }

    /// Find what the part at `start` and the next one become, and queue it.
    fn look(&mut self, token: &[u8], start: u32) {
        let left = self.parts[start as usize];
        let product = match self.parts.get(left.next as usize) {
            None => NONE,
            Some(right) if left.id == NONE || right.id == NONE => NONE,
            Some(right) => *self
                .products
                .entry((left.id, right.id))
                .or_insert_with(|| self.index.find_whole(&token[start as usize..right.next as usize]).unwrap_or(NONE)),
        };
        self.parts[start as usize].product = product;
        if product != NONE {
            self.queue.push(Reverse((product, start)));
        }
    }
}
