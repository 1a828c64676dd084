//! The way from tokens back to text.

use serde::{Deserialize, Serialize};

use super::Pattern;

/// One step from tokens to text, over the texts of all tokens.
///
/// Each stage makes of a list of texts another list; at the end they are joined.
#[derive(Debug, Clone, Deserialize, Serialize)]
#[serde(tag = "type", rename_all = "snake_case", deny_unknown_fields)]
pub enum DecoderStage {
    /// Tokens have a space between them: what Hugging Face does where a file names no decoder.
    Spaced,
    /// The output of a model of speech: a token for each moment, of which repeated ones count once.
    Ctc {
        /// It is dropped.
        pad: String,
        /// It becomes a space where there is a clean-up.
        delimiter: String,
        /// As that of `WordPiece`.
        cleanup: bool,
    },
    /// As `Spaced`, but a token that begins with the prefix goes on with the word before.
    WordPiece {
        /// It is dropped.
        prefix: String,
        /// Spaces before punctuation and in contractions are taken away.
        cleanup: bool,
    },
    /// All texts become one.
    Fuse,
    /// Runs of texts `<0xNN>` become the text of these bytes, or U+FFFD for each.
    ByteFallback,
    /// Texts in the byte alphabet become one, that of their bytes.
    ByteLevel,
    /// A character becomes a space.
    Metaspace {
        /// The character.
        replacement: char,
        /// In the first text it is dropped.
        drops_first: bool,
    },
    /// The ends of words become spaces.
    Bpe {
        /// The end of a word.
        suffix: String,
    },
    /// Every match becomes `content`.
    Replace {
        /// The pattern to look for.
        pattern: Pattern,
        /// The replacement, taken literally.
        content: String,
    },
    /// A character is dropped at the ends of texts.
    Strip {
        /// The character.
        content: char,
        /// The greatest number that is dropped at the start.
        start: usize,
        /// The greatest number that is dropped at the end.
        stop: usize,
    },
    /// As SentencePiece decodes; the only stage.
    SentencePiece(SentencePieceDecoding),
}

/// The settings that SentencePiece needs to decode.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct SentencePieceDecoding {
    /// The unknown token, and what it becomes.
    pub unk: Option<u32>,
    /// See there.
    pub unk_surface: String,
    /// Tokens that become nothing.
    pub control: Vec<u32>,
    /// Entries `<0x00>` to `<0xFF>` stand for bytes.
    pub byte_fallback: bool,
    /// A first `▁` is not text.
    pub dummy_prefix: bool,
    /// No `▁` at the beginning is text.
    pub fold: bool,
}
