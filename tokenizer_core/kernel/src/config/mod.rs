//! The frozen description of a pipeline, as JSON: written by `tokenizer_core/config.py`, run by `encode`.
//!
//! Everything that can change an id is here or in the vocabulary, so a tokenizer's hash covers these two.

mod canonical;
mod decoders;
mod models;
mod normalizers;
mod pretokenizers;

use serde::{Deserialize, Serialize};

pub use self::canonical::canonical;
pub use self::decoders::{DecoderStage, SentencePieceDecoding};
pub use self::models::{ModelConfig, SymbolUnit, SymbolsConfig, UnigramConfig, UnigramSums};
pub use self::normalizers::{Base64, BertRules, NormalizerStage, SentencePieceRules};
pub use self::pretokenizers::{Behavior, Prepend, PretokenizerStage};
use crate::error::{Code, Error, Result};

/// A whole pipeline except its vocabulary.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// Rewrites of the text between added tokens, in order.
    #[serde(default)]
    pub normalizer: Vec<NormalizerStage>,
    /// A space is put before each stretch of text that does not begin with one.
    #[serde(default)]
    pub prefix_space: bool,
    /// Cuts, each refining the one before.
    #[serde(default)]
    pub pretokenizer: Vec<PretokenizerStage>,
    /// The model, which turns pieces into ids.
    #[serde(default)]
    pub model: ModelConfig,
    /// A piece that is itself a token becomes that token, without merges.
    #[serde(default)]
    pub ignore_merges: bool,
    /// The way from tokens back to text; without a stage the bytes of all tokens are joined.
    #[serde(default)]
    pub decoder: Vec<DecoderStage>,
    /// Literals that are matched before everything else.
    #[serde(default)]
    pub added_tokens: Vec<AddedToken>,
    /// Ids before the text, when special tokens are added.
    #[serde(default)]
    pub prefix_ids: Vec<u32>,
    /// Ids after the text, when special tokens are added.
    #[serde(default)]
    pub suffix_ids: Vec<u32>,
}

impl Config {
    /// Read the description from JSON.
    ///
    /// # Errors
    /// `invalid_option` with what serde found wrong.
    pub fn from_json(json: &str) -> Result<Self> {
        serde_json::from_str(json).map_err(|error| Error::new(Code::InvalidOption, error.to_string()))
    }

    /// Tell whether a stage has a regular expression without a scanner.
    pub fn has_expressions(&self) -> bool {
        let replaces =
            |stage: &NormalizerStage| matches!(stage, NormalizerStage::Replace { pattern: Pattern::Regex(_), .. });
        let splits =
            |stage: &PretokenizerStage| matches!(stage, PretokenizerStage::Split { pattern: Pattern::Regex(_), .. });
        self.normalizer.iter().any(replaces) || self.pretokenizer.iter().any(splits)
    }
}

/// The pattern of a stage.
#[derive(Debug, Clone, Deserialize, Serialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Pattern {
    /// A pattern that has a hand-written scanner: `gpt2`, `cl100k_base`, `o200k_base`, `llama3`, `qwen2`.
    Name(String),
    /// Any other regular expression, as Oniguruma reads it, run with a step limit.
    Regex(String),
    /// A literal.
    String(String),
}

/// A literal with an id of its own; the flags are those of Hugging Face.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AddedToken {
    /// Its id.
    pub id: u32,
    /// The literal.
    pub content: String,
    /// Protocol rather than text.
    #[serde(default)]
    pub special: bool,
    /// Takes white space on its left with it.
    #[serde(default)]
    pub lstrip: bool,
    /// Takes white space on its right with it.
    #[serde(default)]
    pub rstrip: bool,
    /// Matches only between characters that are not word characters.
    #[serde(default)]
    pub single_word: bool,
    /// Looked for in the normalized text, itself normalized.
    #[serde(default)]
    pub normalized: bool,
}
