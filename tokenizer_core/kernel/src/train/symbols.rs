//! The tokens while they are being learned: the alphabet, then the products in the order in which they were made.

use rustc_hash::FxHashMap;

use super::Learned;
use crate::error::{Code, Error, Result};

/// All tokens together; the 100,000 of a large vocabulary have less than 1 MB.
const MAX_BYTES: usize = 1 << 30;

/// Byte strings by id, and ids by byte string.
#[derive(Debug, Clone, Default)]
pub struct TrainedTokens {
    arena: Vec<u8>,
    /// The end of each in the arena.
    ends: Vec<usize>,
    /// The number of symbols of the alphabet in each.
    lengths: Vec<u32>,
    ids: FxHashMap<Box<[u8]>, u32>,
    /// Bytes at the beginning of a token that does not begin a word, as of `##` in WordPiece. No text has them.
    mark: usize,
}

impl TrainedTokens {
    /// The number of tokens.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// True without any token.
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// The byte string of an id.
    #[inline]
    pub fn bytes(&self, id: u32) -> &[u8] {
        let id = id as usize;
        let start = if id == 0 { 0 } else { self.ends[id - 1] };
        &self.arena[start..self.ends[id]]
    }

    /// The number of symbols of the alphabet in the token: bytes, or characters at character level.
    #[inline]
    pub fn length(&self, id: u32) -> u32 {
        self.lengths[id as usize]
    }

    /// The id of a byte string.
    pub fn find(&self, bytes: &[u8]) -> Option<u32> {
        self.ids.get(bytes).copied()
    }

    /// Add a byte string that is not yet there.
    ///
    /// # Errors
    /// `corpus_too_large` when the tokens become absurdly long, as they do in one long piece in which no pair repeats.
    pub fn push(&mut self, bytes: &[u8], length: u32) -> Result<u32> {
        if self.arena.len() + bytes.len() > MAX_BYTES {
            let message =
                "the tokens are longer than 1 GB together; bound max_token_length, or raise min_frequency to 2";
            return Err(Error::new(Code::CorpusTooLarge, message).at_field("max_token_length"));
        }
        let id = self.ends.len() as u32;
        self.arena.extend_from_slice(bytes);
        self.ends.push(self.arena.len());
        self.lengths.push(length);
        self.ids.insert(bytes.into(), id);
        Ok(id)
    }

    /// Add a merge of a pair to those that were learned, and its product to the tokens. Returns the product, and
    /// whether it is a token already.
    ///
    /// # Errors
    /// As [`Self::push`].
    pub(super) fn learn(
        &mut self,
        (left, right): (u32, u32),
        count: u64,
        language: u32,
        learned: &mut Vec<Learned>,
    ) -> Result<(u32, bool)> {
        let bytes = self.product(left, right);
        let known = self.find(&bytes);
        let product = match known {
            Some(product) => product,
            None => self.push(&bytes, self.length(left) + self.length(right))?,
        };
        // A product that is known may make a pair again that was merged before; the pair keeps its first rank.
        if known.is_none() || !learned.iter().any(|old| (old.left, old.right) == (left, right)) {
            learned.push(Learned { left, right, product, count, language });
        }
        Ok((product, known.is_some()))
    }

    /// No tokens yet, of which those that do not begin a word begin with a mark of `mark` bytes.
    pub fn with_mark(mark: usize) -> Self {
        Self { mark, ..Self::default() }
    }

    /// Tell whether a token can be the right part of a merge: it is more than the mark.
    pub fn may_follow(&self, id: u32) -> bool {
        self.bytes(id).len() > self.mark
    }

    /// The byte string that a merge makes; the right part never begins a word.
    pub fn product(&self, left: u32, right: u32) -> Vec<u8> {
        [self.bytes(left), &self.bytes(right)[self.mark..]].concat()
    }

    /// Tell whether the product of a merge would be spelled as another token: with a mark, `#` and `###` make `##`, and
    /// `##` and `##a` make what `##a` is already.
    pub fn is_ambiguous(&self, left: u32, right: u32) -> bool {
        self.mark > 0 && self.ids.contains_key(self.product(left, right).as_slice())
    }
}
