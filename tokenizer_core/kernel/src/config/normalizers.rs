//! Rewrites of the text between added tokens.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::{Deserialize, Serialize};

use super::Pattern;

/// One rewrite of the text.
#[derive(Debug, Clone, Deserialize, Serialize)]
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
        /// The pattern to look for.
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

/// The steps of BERT's normalizer, in this order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize)]
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
#[derive(Debug, Clone, Deserialize, Serialize)]
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
#[derive(Debug, Clone, Deserialize, Serialize)]
#[serde(try_from = "String", into = "String")]
pub struct Base64(pub Vec<u8>);

impl TryFrom<String> for Base64 {
    type Error = base64::DecodeError;

    fn try_from(text: String) -> std::result::Result<Self, Self::Error> {
        STANDARD.decode(text).map(Self)
    }
}

impl From<Base64> for String {
    fn from(bytes: Base64) -> Self {
        STANDARD.encode(bytes.0)
    }
}
