//! Cuts of the text into pieces.

use std::num::NonZeroUsize;

use serde::{Deserialize, Serialize};

use super::Pattern;

/// The treatment of matches by a split.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Behavior {
    /// Dropped. With byte-level BPE, and where the gaps are what matches, it is refused as uncovered text.
    Removed,
    /// A piece of its own.
    #[default]
    Isolated,
    /// Joined to the piece before.
    MergedWithPrevious,
    /// Joined to the piece after.
    MergedWithNext,
    /// As `Isolated`, but adjacent matches are one piece.
    Contiguous,
}

/// One cut of the text.
#[derive(Debug, Clone, Deserialize, Serialize)]
#[serde(tag = "type", rename_all = "snake_case", deny_unknown_fields)]
pub enum PretokenizerStage {
    /// Cut at the matches of a pattern.
    Split {
        /// The pattern to look for.
        pattern: Pattern,
        /// The treatment of matches.
        #[serde(default)]
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
        #[serde(default)]
        behavior: Behavior,
    },
    /// Cut where the script changes; what has no script at the beginning is dropped.
    UnicodeScripts,
    /// Pieces of so many characters.
    FixedLength {
        /// At least one.
        length: NonZeroUsize,
    },
    /// Spaces become another character, which stands before a piece as well, and cuts it.
    Metaspace {
        /// The character.
        replacement: char,
        /// The pieces that it is put before, if they do not begin with it.
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

/// The pieces of a text that something is put before.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Prepend {
    /// All.
    Always,
    /// The one with which the text begins.
    First,
    /// None.
    Never,
}
