//! Whole words: each piece is an entry, or unknown.

use std::collections::{HashMap, HashSet};

use rustc_hash::FxBuildHasher;

use super::{Covered, Model, ModelBuffers, Piece, PieceIds, Token, Uncovered};
use crate::vocabulary::Vocabulary;

/// The entries by their bytes.
#[derive(Debug)]
pub struct WordLevel {
    ids: HashMap<Box<[u8]>, u32, FxBuildHasher>,
    unk: Option<u32>,
}

impl WordLevel {
    /// The entries of a vocabulary but those of `never`; other pieces become `unk`, if there is one.
    pub(super) fn new(vocabulary: &Vocabulary, never: &HashSet<u32>, unk: Option<u32>) -> Self {
        let entries = vocabulary.tokens().filter(|(id, _)| !never.contains(id));
        Self { ids: entries.map(|(id, bytes)| (bytes.into(), id)).collect(), unk }
    }
}

impl Model for WordLevel {
    const TILES: bool = false;

    fn encode(&self, text: &[u8], pieces: &[Piece], _work: &mut ModelBuffers, out: &mut PieceIds) -> Covered {
        for (at, piece) in pieces.iter().enumerate() {
            let id = self.ids.get(&text[piece.range()]).copied().or(self.unk).ok_or(Uncovered(piece.range()))?;
            out.give_tokens(at, &[Token { id, bytes: piece.length() as u32 }]);
        }
        Ok(())
    }
}
