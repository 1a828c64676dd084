//! The tokens of many pieces.

use bytemuck::{Pod, Zeroable};

use crate::capacity::reserve;

/// An id, and how many bytes of its piece it stands for: those behind the token before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Zeroable, Pod)]
#[repr(C)]
pub struct Token {
    /// The id.
    pub id: u32,
    /// The number of bytes.
    pub bytes: u32,
}

/// The tokens of pieces, given in any order. A model that tiles gives ids; to any other each token is two words, and
/// what keeps and copies them need not know which it is.
#[derive(Debug, Default)]
pub struct PieceIds {
    words: Vec<u32>,
    /// By piece, where its words are.
    pieces: Vec<[u32; 2]>,
}

impl PieceIds {
    /// Forget all words.
    pub fn clear(&mut self) {
        self.words.clear();
        self.pieces.clear();
    }

    /// Begin with the tokens of so many pieces; words that were appended stay.
    #[inline]
    pub(crate) fn begin(&mut self, pieces: usize) {
        self.pieces.clear();
        self.pieces.resize(pieces, [0; 2]);
    }

    /// The ids of a piece, from a model that tiles.
    #[inline]
    pub fn give(&mut self, piece: usize, ids: &[u32]) {
        self.pieces[piece] = self.append(ids);
    }

    /// As [`Self::give`] for the first `count` of a few ids: all are copied, whatever their number.
    #[inline(always)]
    pub fn give_first<const N: usize>(&mut self, piece: usize, ids: &[u32; N], count: usize) {
        let start = self.words.len();
        self.words.extend_from_slice(ids);
        self.words.truncate(start + count);
        self.pieces[piece] = [start as u32, (start + count) as u32];
    }

    /// The tokens of a piece, from a model that does not tile.
    #[inline]
    pub fn give_tokens(&mut self, piece: usize, tokens: &[Token]) {
        self.give(piece, bytemuck::cast_slice(tokens));
    }

    /// Append words, and return where they are.
    #[inline]
    pub(crate) fn append(&mut self, words: &[u32]) -> [u32; 2] {
        let start = self.words.len() as u32;
        reserve(&mut self.words, words.len());
        self.words.extend_from_slice(words);
        [start, self.words.len() as u32]
    }

    /// Return the start and the end of the words of a piece.
    #[inline(always)]
    pub(crate) fn of(&self, piece: usize) -> [u32; 2] {
        self.pieces[piece]
    }

    /// All words.
    #[inline(always)]
    pub(crate) fn words(&self) -> &[u32] {
        &self.words
    }

    /// The ids of a piece, from a model that tiles.
    pub fn ids(&self, piece: usize) -> &[u32] {
        let [start, end] = self.pieces[piece];
        &self.words[start as usize..end as usize]
    }

    /// Give back the memory of long pieces, down to `entries` words.
    pub(crate) fn shrink(&mut self, entries: usize) {
        self.clear();
        self.words.shrink_to(entries);
    }
}
