//! SentencePiece's models over whole words or characters: each is an entry, or unknown.

use std::collections::{HashMap, HashSet};

use rustc_hash::FxBuildHasher;

use super::byte_pieces::BytePieces;
use super::{Covered, Model, ModelBuffers, Piece, PieceIds, Token, Uncovered};
use crate::config::{SymbolUnit, SymbolsConfig};
use crate::vocabulary::Vocabulary;

/// The mark at the beginning of a word.
const SPACE: &str = "▁";

/// The entries by their bytes.
#[derive(Debug)]
pub struct Symbols {
    ids: HashMap<Box<str>, u32, FxBuildHasher>,
    /// Entries that are found before single characters, longest first.
    user_defined: Vec<Box<str>>,
    unit: SymbolUnit,
    unknown: Option<u32>,
    bytes: Option<BytePieces>,
}

impl Symbols {
    /// The entries of a vocabulary but those of `never`.
    pub(super) fn new(vocabulary: &Vocabulary, config: &SymbolsConfig, never: &HashSet<u32>) -> Self {
        let reserved: HashSet<u32> = config.reserved.iter().copied().collect();
        let text = |id: u32| Some(std::str::from_utf8(vocabulary.bytes(id)?).ok()?.into());
        let ids = (0..vocabulary.id_limit()).filter(|id| !never.contains(id) && !reserved.contains(id));
        let mut user_defined: Vec<Box<str>> = config.user_defined.iter().filter_map(|id| text(*id)).collect();
        user_defined.sort_unstable_by_key(|text| std::cmp::Reverse(text.len()));
        Self {
            ids: ids.filter_map(|id| Some((text(id)?, id))).collect(),
            user_defined,
            unit: config.unit,
            unknown: config.unk,
            bytes: config.byte_fallback.then(|| BytePieces::new(vocabulary)),
        }
    }

    /// The length of the first symbol.
    fn first(&self, text: &str) -> usize {
        let first = || text.chars().next().map_or(0, char::len_utf8);
        match self.unit {
            SymbolUnit::Char => self
                .user_defined
                .iter()
                .find(|symbol| text.starts_with(&***symbol))
                .map_or_else(first, |symbol| symbol.len()),
            SymbolUnit::Word => text[first()..].find(SPACE).map_or(text.len(), |at| at + first()),
        }
    }

    fn append(&self, text: &str, start: usize, tokens: &mut Vec<Token>) -> Covered {
        let (mut at, mut after_unknown) = (0, false);
        while at < text.len() {
            let length = self.first(&text[at..]);
            let symbol = &text[at..at + length];
            let known = self.ids.get(symbol).copied();
            match (known.or(self.unknown), &self.bytes) {
                (_, Some(bytes)) if known.is_none() => tokens.extend(bytes.tokens(symbol.as_bytes())),
                (Some(_), _) if known.is_none() && after_unknown => {
                    // Unknown symbols next to each other are one token.
                    if let Some(last) = tokens.last_mut() {
                        last.bytes += length as u32;
                    }
                }
                (Some(id), _) => tokens.push(Token { id, bytes: length as u32 }),
                (None, _) => return Err(Uncovered(start + at..start + at + length)),
            }
            after_unknown = known.is_none();
            at += length;
        }
        Ok(())
    }
}

impl Model for Symbols {
    const TILES: bool = false;

    fn encode(&self, text: &[u8], pieces: &[Piece], _work: &mut ModelBuffers, out: &mut PieceIds) -> Covered {
        let mut tokens = Vec::new();
        for (at, piece) in pieces.iter().enumerate() {
            let symbols = std::str::from_utf8(&text[piece.range()]).map_err(|_| Uncovered(piece.range()))?;
            tokens.clear();
            self.append(symbols, piece.start as usize, &mut tokens)?;
            out.give_tokens(at, &tokens);
        }
        Ok(())
    }
}
