//! The frozen description of a pipeline, as JSON: written by `tokenizer_core/config.py`, run by `encode`.
//!
//! Everything that can change an id is here or in the vocabulary, so a tokenizer's hash covers these two.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::Deserialize;

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
    /// What turns pieces into ids.
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

    /// Whether a stage has a regular expression without a scanner.
    pub fn has_expressions(&self) -> bool {
        let replaces =
            |stage: &NormalizerStage| matches!(stage, NormalizerStage::Replace { pattern: Pattern::Regex(_), .. });
        let splits =
            |stage: &PretokenizerStage| matches!(stage, PretokenizerStage::Split { pattern: Pattern::Regex(_), .. });
        self.normalizer.iter().any(replaces) || self.pretokenizer.iter().any(splits)
    }
}

/// A model and what it has beside the vocabulary.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
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
        /// What characters within a piece, but not the first one, have before them in the entries.
        #[serde(default)]
        prefix: String,
        /// What the last character of a piece has behind it in the entries.
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
        /// What entries begin with that do not begin a word.
        prefix: String,
        /// A word of more characters is unknown.
        max_chars: usize,
    },
    /// The entries whose scores have the highest sum.
    Unigram(UnigramConfig),
    /// SentencePiece's models over whole words or characters.
    Symbols(SymbolsConfig),
}

/// What Unigram has beside entries and scores.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct UnigramConfig {
    /// What unknown characters become.
    pub unk: Option<u32>,
    /// Unknown characters become the entries of their bytes.
    #[serde(default)]
    pub byte_fallback: bool,
    /// The library whose sums decide.
    pub sums: UnigramSums,
    /// Entries that no text becomes.
    #[serde(default)]
    pub reserved: Vec<u32>,
    /// Entries whose score is made of their length.
    #[serde(default)]
    pub user_defined: Vec<u32>,
}

/// How scores are added.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum UnigramSums {
    /// As doubles within a piece: Hugging Face.
    Double,
    /// As floats over the whole text: SentencePiece.
    Float,
}

/// What a model over words or characters has beside entries.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SymbolsConfig {
    /// What becomes an entry.
    pub unit: SymbolUnit,
    /// What unknown text becomes.
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

/// What becomes an entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SymbolUnit {
    /// A character.
    Char,
    /// A `▁` and all up to the next.
    Word,
}

/// One step from tokens to text, over the texts of all tokens.
///
/// Each stage makes of a list of texts another list; at the end they are joined.
#[derive(Debug, Clone, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case", deny_unknown_fields)]
pub enum DecoderStage {
    /// Tokens have a space between them: what Hugging Face does where a file names no decoder.
    Spaced,
    /// What a model of speech writes: a token for each moment, of which repeated ones count once.
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
        /// What is looked for.
        pattern: Pattern,
        /// The replacement, taken literally.
        content: String,
    },
    /// A character is dropped at the ends of texts.
    Strip {
        /// The character.
        content: char,
        /// How many are dropped at the start, at most.
        start: usize,
        /// How many are dropped at the end, at most.
        stop: usize,
    },
    /// As SentencePiece decodes; the only stage.
    SentencePiece(SentencePieceDecoding),
}

/// What SentencePiece has to know to decode.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
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

/// One rewrite of the text.
#[derive(Debug, Clone, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case", deny_unknown_fields)]
pub enum NormalizerStage {
    /// Canonical composition.
    Nfc,
    /// Canonical decomposition.
    Nfd,
    /// Compatibility composition.
    Nfkc,
    /// Compatibility decomposition.
    Nfkd,
    /// Unicode lower case, character by character.
    Lowercase,
    /// Every match becomes `content`.
    Replace {
        /// What is looked for.
        pattern: Pattern,
        /// The replacement, taken literally.
        content: String,
    },
    /// `prefix` is put before a text that is not empty.
    Prepend {
        /// The inserted text.
        prefix: String,
    },
    /// White space is taken off the ends.
    Strip {
        /// At the start.
        left: bool,
        /// At the end.
        right: bool,
    },
    /// Combining marks (general category `M`, as in Hugging Face) are dropped.
    StripAccents,
    /// BERT's.
    Bert(BertRules),
    /// Each byte becomes the character that stands for it in the byte alphabet.
    ByteLevel,
    /// SentencePiece's charsmap as Hugging Face applies it.
    Precompiled {
        /// The map.
        charsmap: Base64,
    },
    /// White space and control characters as in `nmt_nfkc`, after Hugging Face.
    Nmt,
    /// All that SentencePiece does to a text before its model.
    SentencePiece(SentencePieceRules),
}

/// What BERT's normalizer does, in this order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BertRules {
    /// Controls are dropped, and white space becomes spaces.
    pub clean_text: bool,
    /// Spaces are put around Chinese characters.
    pub handle_chinese_chars: bool,
    /// Characters are decomposed and their marks dropped.
    pub strip_accents: bool,
    /// Lower case, character by character.
    pub lowercase: bool,
}

/// The rules of a SentencePiece model's normalizer.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SentencePieceRules {
    /// The map; empty for none.
    pub charsmap: Base64,
    /// Texts that no rule changes.
    pub symbols: Vec<String>,
    /// A space is put before the text.
    pub dummy_prefix: bool,
    /// The space is put behind the text instead.
    pub suffix: bool,
    /// Spaces at both ends are dropped, and of others next to each other all but one.
    pub fold: bool,
    /// A space becomes `▁`.
    pub escape: bool,
}

/// Bytes that JSON has in base64.
#[derive(Debug, Clone, Deserialize)]
#[serde(try_from = "String")]
pub struct Base64(pub Vec<u8>);

impl TryFrom<String> for Base64 {
    type Error = base64::DecodeError;

    fn try_from(text: String) -> std::result::Result<Self, Self::Error> {
        STANDARD.decode(text).map(Self)
    }
}

/// The pattern of a stage.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Pattern {
    /// A pattern that has a hand-written scanner: `gpt2`, `cl100k_base`, `o200k_base`, `llama3`, `qwen2`.
    Name(String),
    /// Any other regular expression, as Oniguruma reads it, run with a step limit.
    Regex(String),
    /// A literal.
    String(String),
}

/// The treatment of matches by a split.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Behavior {
    /// Dropped. With byte-level BPE, and where the gaps are what matches, it is refused as uncovered text.
    Removed,
    /// A piece of its own.
    Isolated,
    /// Joined to the piece before.
    MergedWithPrevious,
    /// Joined to the piece after.
    MergedWithNext,
    /// As `Isolated`, but adjacent matches are one piece.
    Contiguous,
}

/// One cut of the text.
#[derive(Debug, Clone, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case", deny_unknown_fields)]
pub enum PretokenizerStage {
    /// Cut at the matches of a pattern.
    Split {
        /// What is looked for.
        pattern: Pattern,
        /// The treatment of matches.
        behavior: Behavior,
        /// The matches are the text between, and the gaps are the matches.
        #[serde(default)]
        invert: bool,
    },
    /// Cut at digits (general category `N`, as Rust's `char::is_numeric`).
    Digits {
        /// Each digit alone, rather than each run.
        individual: bool,
    },
    /// Cut at white space, which is dropped.
    WhitespaceSplit,
    /// BERT's: as `WhitespaceSplit`, and each punctuation mark is a piece.
    Bert,
    /// Runs of word characters, and runs of others; white space is dropped.
    Whitespace,
    /// Cut at punctuation marks.
    Punctuation {
        /// The treatment of each.
        behavior: Behavior,
    },
    /// Cut where the script changes; what has no script at the beginning is dropped.
    UnicodeScripts,
    /// Pieces of so many characters.
    FixedLength {
        /// At least one.
        length: usize,
    },
    /// Spaces become another character, which stands before a piece as well, and cuts it.
    Metaspace {
        /// The character.
        replacement: char,
        /// Where it is put before a piece that does not begin with it.
        prepend: Prepend,
        /// Cut before each.
        split: bool,
    },
    /// Bytes become characters of the byte alphabet.
    ByteLevel {
        /// A space is put before a piece that does not begin with one.
        prefix_space: bool,
    },
}

/// Which pieces of a text something is put before.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Prepend {
    /// All.
    Always,
    /// The one with which the text begins.
    First,
    /// None.
    Never,
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
