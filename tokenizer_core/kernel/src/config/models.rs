//! The models, which turn pieces into ids, and their settings beside the vocabulary.

use serde::{Deserialize, Serialize};

/// A model and what it has beside the vocabulary.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(tag = "type", rename_all = "snake_case", deny_unknown_fields)]
pub enum ModelConfig {
    /// BPE over bytes.
    #[default]
    ByteBpe,
    /// BPE over characters.
    CharBpe {
        /// The id of a character that is no entry.
        #[serde(default)]
        unk: Option<u32>,
        /// Unknown neighbours become one token.
        #[serde(default)]
        fuse_unk: bool,
        /// A character that is no entry becomes the tokens `<0xNN>` of its bytes.
        #[serde(default)]
        byte_fallback: bool,
        /// Neighbours that are an entry together are joined, the higher score first, whatever merges there are.
        #[serde(default)]
        by_score: bool,
        /// Entries that are found before characters, the longest first, and are never joined to others.
        #[serde(default)]
        user_defined: Vec<u32>,
        /// Entries that no text becomes.
        #[serde(default)]
        reserved: Vec<u32>,
        /// Entries that merges by scores make, and that are taken apart again.
        #[serde(default)]
        unused: Vec<u32>,
        /// The text that characters within a piece, but not the first one, have before them in the entries.
        #[serde(default)]
        prefix: String,
        /// The text that the last character of a piece has behind it in the entries.
        #[serde(default)]
        suffix: String,
    },
    /// Each piece is one token.
    WordLevel {
        /// The id of a piece that is no entry.
        unk: Option<u32>,
    },
    /// The longest entry that a word begins with, and then the longest that goes on.
    WordPiece {
        /// The id of a word that is not made of entries.
        unk: Option<u32>,
        /// The beginning of entries that do not begin a word.
        #[serde(default = "continues")]
        prefix: String,
        /// A word of more characters is unknown.
        #[serde(default = "longest_word")]
        max_chars: usize,
    },
    /// The entries whose scores have the highest sum.
    Unigram(UnigramConfig),
    /// SentencePiece's models over whole words or characters.
    Symbols(SymbolsConfig),
}

fn continues() -> String {
    "##".to_owned()
}

const fn longest_word() -> usize {
    100
}

/// The settings of Unigram beside entries and scores.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct UnigramConfig {
    /// The id that unknown characters become.
    pub unk: Option<u32>,
    /// Unknown characters become the entries of their bytes.
    #[serde(default)]
    pub byte_fallback: bool,
    /// The library whose sums decide.
    #[serde(default)]
    pub sums: UnigramSums,
    /// Entries that no text becomes.
    #[serde(default)]
    pub reserved: Vec<u32>,
    /// Entries whose score is made of their length.
    #[serde(default)]
    pub user_defined: Vec<u32>,
}

/// The arithmetic by which scores are added.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum UnigramSums {
    /// As doubles within a piece: Hugging Face.
    #[default]
    Double,
    /// As floats over the whole text: SentencePiece.
    Float,
}

/// The settings of a model over words or characters beside entries.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct SymbolsConfig {
    /// The unit that becomes an entry.
    pub unit: SymbolUnit,
    /// The id that unknown text becomes.
    pub unk: Option<u32>,
    /// Unknown text becomes the entries of its bytes.
    #[serde(default)]
    pub byte_fallback: bool,
    /// Entries that no text becomes.
    #[serde(default)]
    pub reserved: Vec<u32>,
    /// Entries of many characters that are found before single ones.
    #[serde(default)]
    pub user_defined: Vec<u32>,
}

/// The unit that becomes an entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum SymbolUnit {
    /// A character.
    Char,
    /// A `▁` and all up to the next.
    Word,
}
