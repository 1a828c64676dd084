//! Models, which turn pieces into ids: the one stage that differs from family to family.
//!
//! A model sees pieces that a cache missed, many at a time and hardly any twice. It knows no cache, no thread and no
//! output, and what is above it knows no model.

pub mod bpe;
pub(crate) mod byte_pieces;
pub mod char_bpe;
mod piece_ids;
pub mod sampling;
mod symbols;
#[cfg(test)]
mod tests;
mod trie;
pub mod unigram;
mod word_level;
mod word_piece;

use std::collections::HashSet;
use std::fmt::Debug;
use std::ops::Range;
use std::sync::Arc;

use self::bpe::{Bpe, Joins};
use self::char_bpe::{Affixes, AnyCharBpe, CharBpe, CharBpeOptions, Unknown};
pub use self::piece_ids::{PieceIds, Token};
use self::symbols::Symbols;
use self::unigram::Unigram;
use self::word_level::WordLevel;
use self::word_piece::WordPiece;
use crate::config::{Config, ModelConfig};
use crate::error::{Code, Error, Result};
pub use crate::model::bpe::boundaries::Cuts;
use crate::piece_cache::{KEY_LIMIT, Key};
use crate::simd::level::SimdLevel;
use crate::vocabulary::token_table::TokenTable;
use crate::vocabulary::{Spelling, Vocabulary};

/// A piece that is not empty, in a text that all pieces of a call share.
#[derive(Debug, Clone, Copy)]
pub struct Piece {
    /// Its bytes, if there are at most [`KEY_LIMIT`].
    pub key: Key,
    /// Its start.
    pub start: u32,
    /// Its end.
    pub end: u32,
    /// It is a part that [`Model::cut`] made, and not all that the pretokenizer gave.
    pub part: bool,
}

impl Piece {
    /// Its bytes in the text.
    #[inline(always)]
    pub fn range(&self) -> Range<usize> {
        self.start as usize..self.end as usize
    }

    /// Return its length in bytes.
    #[inline(always)]
    pub fn length(&self) -> usize {
        (self.end - self.start) as usize
    }

    /// Its key, if it is short enough for one.
    #[inline(always)]
    pub fn key(&self) -> Option<Key> {
        (self.length() <= KEY_LIMIT).then_some(self.key)
    }
}

/// Text that no token of a model stands for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Uncovered(pub Range<usize>);

/// The outcome of work on text, some of which no token may stand for.
pub type Covered<T = ()> = std::result::Result<T, Uncovered>;

impl From<Uncovered> for Error {
    fn from(Uncovered(bytes): Uncovered) -> Self {
        let message = "the model has no token for this text, and none for what it does not know";
        Self::new(Code::UncoveredText, message).at_bytes(bytes)
    }
}

/// One family of tokenizers: pieces in, ids out. The same piece always has the same ids.
pub trait Model: Debug + Send + Sync {
    /// True if the bytes of a piece's tokens, joined, are those of the piece: then offsets are sums, and ids are all
    /// that a piece needs. Otherwise each id is given with the bytes of the piece that it covers.
    const TILES: bool;

    /// Give `out` the tokens of each piece of `text`, at least one, in any order of pieces: [ids](PieceIds::give) if
    /// the model tiles, else [tokens](PieceIds::give_tokens) whose bytes add up to those of the piece.
    ///
    /// # Errors
    /// The bytes of `text` that no token stands for.
    fn encode(&self, text: &[u8], pieces: &[Piece], work: &mut ModelBuffers, out: &mut PieceIds) -> Covered;

    /// Cut the pieces of `text` that begin at `start` and end at `ends` where that changes no id, if it is worth it:
    /// short parts are known to a cache more often. Returns whether `cuts` has the parts.
    fn cut(&self, _text: &str, _start: usize, _ends: &[u32], _cuts: &mut Cuts) -> bool {
        false
    }
}

/// The buffers of all models, kept from call to call.
#[derive(Debug, Default)]
pub struct ModelBuffers {
    pub(crate) bpe: bpe::BpeBuffers,
    /// Those of one piece.
    pub(crate) tokens: Vec<Token>,
    pub(crate) unigram: unigram::UnigramBuffers,
    pub(crate) char_bpe: char_bpe::CharBpeBuffers,
    pub(crate) sampling: sampling::SamplingBuffers,
}

impl ModelBuffers {
    /// Give back the memory of long pieces, down to `entries` entries a buffer.
    pub fn shrink(&mut self, entries: usize) {
        self.bpe.shrink(entries);
        self.tokens.clear();
        self.tokens.shrink_to(entries);
        self.unigram.shrink(entries);
        self.char_bpe.shrink(entries);
        self.sampling.shrink(entries);
    }
}

/// The model of a tokenizer. Which it is, is asked once for hundreds of pieces.
#[derive(Debug)]
pub enum AnyModel {
    /// Byte-level BPE.
    Bpe(Box<Bpe>),
    /// BPE over characters, of which all have tokens.
    CharBpe(Box<CharBpe<true>>),
    /// BPE over characters, of which some are unknown, or in words with affixes.
    WordBpe(Box<CharBpe<false>>),
    /// Whole words.
    WordLevel(Box<WordLevel>),
    /// Parts of words.
    WordPiece(Box<WordPiece>),
    /// Unigram.
    Unigram(Box<Unigram>),
    /// SentencePiece's words or characters.
    Symbols(Box<Symbols>),
    /// A model whose tokens do not tile.
    #[cfg(test)]
    Words(Box<tests::WholeWords>),
}

/// Do the same with whichever model it is.
macro_rules! each {
    ($any:expr, $model:ident => $work:expr) => {
        match $any {
            AnyModel::Bpe($model) => $work,
            AnyModel::CharBpe($model) => $work,
            AnyModel::WordBpe($model) => $work,
            AnyModel::WordLevel($model) => $work,
            AnyModel::WordPiece($model) => $work,
            AnyModel::Unigram($model) => $work,
            AnyModel::Symbols($model) => $work,
            #[cfg(test)]
            AnyModel::Words($model) => $work,
        }
    };
}

impl AnyModel {
    /// The model of a vocabulary, of which no text becomes a token of `never`.
    ///
    /// # Errors
    /// `invalid_option` if entries are not spelled as the model wants them; what the model refuses.
    pub fn new(
        config: &Config,
        vocabulary: &Vocabulary,
        table: &Arc<TokenTable>,
        never: &HashSet<u32>,
        level: SimdLevel,
    ) -> Result<Self> {
        let is_byte_level = vocabulary.spelling() == Spelling::ByteLevel;
        if is_byte_level != (config.model == ModelConfig::ByteBpe) {
            let message = "only byte-level BPE has entries that are spelled in the byte alphabet";
            return Err(Error::new(Code::InvalidOption, message).at_field("model"));
        }
        Ok(match &config.model {
            ModelConfig::ByteBpe => {
                Self::Bpe(Box::new(Bpe::new(vocabulary, table, never, config.ignore_merges, level)?))
            }
            ModelConfig::CharBpe {
                unk,
                fuse_unk,
                byte_fallback,
                prefix,
                suffix,
                by_score,
                user_defined,
                reserved,
                unused,
            } => {
                let unknown = Unknown { unk: *unk, fuse: *fuse_unk, byte_fallback: *byte_fallback };
                let (affixes, ignore_merges) = (Affixes { prefix, suffix }, config.ignore_merges);
                let options =
                    CharBpeOptions { affixes, unknown, by_score: *by_score, ignore_merges, user_defined, unused };
                let never = &never.iter().chain(reserved).copied().collect();
                match AnyCharBpe::new(vocabulary, never, options)? {
                    AnyCharBpe::Tiling(model) => Self::CharBpe(Box::new(model)),
                    AnyCharBpe::Other(model) => Self::WordBpe(Box::new(model)),
                }
            }
            ModelConfig::WordLevel { unk } => Self::WordLevel(Box::new(WordLevel::new(vocabulary, never, *unk))),
            ModelConfig::WordPiece { unk, prefix, max_chars } => {
                Self::WordPiece(Box::new(WordPiece::new(vocabulary, never, *unk, prefix, *max_chars)?))
            }
            ModelConfig::Unigram(config) => Self::Unigram(Box::new(Unigram::new(vocabulary, config, never)?)),
            ModelConfig::Symbols(config) => Self::Symbols(Box::new(Symbols::new(vocabulary, config, never))),
        })
    }

    /// See [`Model::TILES`].
    #[inline]
    pub fn tiles(&self) -> bool {
        fn tiles<M: Model>(_: &M) -> bool {
            M::TILES
        }
        each!(self, model => tiles(&**model))
    }

    /// The merges that join the words of a piece.
    #[inline]
    pub(crate) fn joins(&self) -> Option<&Joins> {
        match self {
            Self::Bpe(model) => model.joins.as_ref(),
            _ => None,
        }
    }

    /// See [`Model::encode`].
    ///
    /// # Errors
    /// As there.
    #[inline]
    pub fn encode(&self, text: &[u8], pieces: &[Piece], work: &mut ModelBuffers, out: &mut PieceIds) -> Covered {
        each!(self, model => model.encode(text, pieces, work, out))
    }

    /// See [`Model::cut`].
    #[inline]
    pub fn cut(&self, text: &str, start: usize, ends: &[u32], cuts: &mut Cuts) -> bool {
        each!(self, model => model.cut(text, start, ends, cuts))
    }
}
