//! SentencePiece's way with unused pieces, and with characters that are no pieces but parts of some: merges make them
//! and are made of them as of any other. What is left of them in the end is taken apart, or unknown.

use std::cell::RefCell;
use std::collections::{HashMap, HashSet};

use rustc_hash::FxBuildHasher;

use super::merges::{CharMerges, ScoredMerges};
use super::symbols::{CharSymbols, Sequence};
use crate::model::bpe::ranks::{Merges, NEVER};
use crate::model::{Covered, Token, Uncovered};
use crate::vocabulary::{Merge, Vocabulary};

/// From one number to another.
type Numbers = HashMap<u32, u32, FxBuildHasher>;

/// The pieces that are taken apart, and the characters that are unknown.
#[derive(Debug)]
pub(super) struct Resegment {
    /// By the rank of a merge that makes an unused piece: what it was made of.
    parts: HashMap<u32, [Token; 2], FxBuildHasher>,
    /// The ids from here on are those of characters without an entry.
    first: u32,
    characters: Box<[char]>,
}

/// Merges, and of those that make the same unused piece the one that was looked up last.
#[derive(Debug)]
pub(super) struct Noted<'a> {
    merges: &'a CharMerges,
    resegment: &'a Resegment,
    last: RefCell<Numbers>,
}

impl Merges for Noted<'_> {
    fn rank(&self, left: u32, right: u32) -> u32 {
        let rank = self.merges.rank(left, right);
        if rank != NEVER && self.resegment.parts.contains_key(&rank) {
            self.last.borrow_mut().insert(self.product(rank), rank);
        }
        rank
    }

    fn product(&self, rank: u32) -> u32 {
        self.merges.product(rank)
    }

    fn order(&self, rank: u32) -> u32 {
        self.merges.order(rank)
    }
}

impl Resegment {
    /// Collect what the merges of a vocabulary need; `None` if that is nothing.
    pub(super) fn new(vocabulary: &Vocabulary, scored: &ScoredMerges, unused: &HashSet<u32>) -> Option<Self> {
        let (first, characters) = (vocabulary.id_limit(), scored.characters.clone());
        let token = |id: u32| {
            let character = || characters.get((id - first) as usize).map_or(0, |character| character.len_utf8());
            Token { id, bytes: vocabulary.bytes(id).map_or_else(character, <[u8]>::len) as u32 }
        };
        let makes_unused = |(_, merge): &(u32, &Merge)| unused.contains(&merge.product);
        let made = (0..).zip(&scored.merges).filter(makes_unused);
        let parts: HashMap<_, _, _> =
            made.map(|(rank, merge)| (rank, [token(merge.left), token(merge.right)])).collect();
        (!parts.is_empty() || !characters.is_empty()).then(|| Self { parts, first, characters: characters.into() })
    }

    /// The merges, for one text.
    pub(super) fn noted<'a>(&'a self, merges: &'a CharMerges) -> Noted<'a> {
        Noted { merges, resegment: self, last: RefCell::default() }
    }

    /// Take the tokens apart that the merges of a text, which begins at `start`, have left.
    ///
    /// # Errors
    /// A character that no token stands for.
    pub(super) fn apart(
        &self,
        noted: &Noted<'_>,
        symbols: &CharSymbols,
        tokens: &[Token],
        start: usize,
        sequence: &mut Sequence,
    ) -> Covered {
        let last = noted.last.borrow();
        let (mut left, mut at) = (Vec::new(), start);
        sequence.clear();
        for token in tokens {
            left.push(*token);
            while let Some(token) = left.pop() {
                if let Some(parts) = last.get(&token.id).and_then(|rank| self.parts.get(rank)) {
                    left.extend(parts.iter().rev());
                    continue;
                }
                let end = at + token.bytes as usize;
                match token.id.checked_sub(self.first) {
                    None => symbols.push(token, sequence),
                    Some(place) if symbols.push_character(self.characters[place as usize], sequence) => {}
                    Some(_) => return Err(Uncovered(at..end)),
                }
                at = end;
            }
        }
        Ok(())
    }
}
