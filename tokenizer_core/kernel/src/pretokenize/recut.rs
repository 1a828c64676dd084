//! Stages of which one drops or rewrites text: all of them run over the whole stretch, one after the other.

use super::classes;
use super::find::{Finder, Search};
use super::rewrites::{self, RecutPieces};
use super::split::{Cursor, Split};
use crate::config::{Behavior, Prepend, PretokenizerStage};
use crate::error::{Error, Result};
use crate::normalize::{Alignment, Rewriter};
use crate::regex::StepBudget;
use crate::simd::level::SimdLevel;
use crate::unicode::is_whitespace;

/// About how many pieces are cut at once.
const TOGETHER: usize = 160;

/// A stretch of text that has been cut, and of which parts were rewritten or dropped.
#[derive(Debug)]
pub struct Recut {
    /// The pieces, joined.
    pub text: String,
    /// The end of each piece; none is empty.
    pub ends: Vec<u32>,
    /// From the bytes of the pieces to those of the stretch.
    pub alignment: Alignment,
}

/// A compiled stage.
#[derive(Debug)]
pub(super) enum RecutStage {
    Cut(Split),
    /// Matches are dropped, or, `inverted`, what lies between them.
    Drop {
        finder: Finder,
        inverted: bool,
    },
    WhitespaceSplit,
    Bert,
    Whitespace,
    UnicodeScripts,
    FixedLength(usize),
    Metaspace {
        replacement: char,
        prepend: Prepend,
        split: bool,
    },
    ByteLevel {
        prefix_space: bool,
    },
}

impl RecutStage {
    /// Compile a stage. `drops` says whether what a pattern leaves out may be dropped.
    pub(super) fn new(stage: &PretokenizerStage, drops: bool, level: SimdLevel) -> Result<Self> {
        Ok(match stage {
            PretokenizerStage::Split { pattern, behavior: Behavior::Removed, invert } if drops || !invert => {
                let finder = Finder::new(pattern, level)?;
                Self::Drop { finder, inverted: *invert }
            }
            PretokenizerStage::Split { pattern, behavior, invert } => {
                Self::Cut(Split::new(pattern, *behavior, *invert, level)?)
            }
            PretokenizerStage::Digits { individual } => Self::Cut(Split::digits(*individual)),
            PretokenizerStage::WhitespaceSplit => Self::WhitespaceSplit,
            PretokenizerStage::Bert => Self::Bert,
            PretokenizerStage::Whitespace => Self::Whitespace,
            PretokenizerStage::Punctuation { behavior: Behavior::Removed } => {
                Self::Drop { finder: Finder::punctuation(), inverted: false }
            }
            PretokenizerStage::Punctuation { behavior } => Self::Cut(Split::punctuation(*behavior)),
            PretokenizerStage::UnicodeScripts => Self::UnicodeScripts,
            PretokenizerStage::FixedLength { length } => Self::FixedLength(length.get()),
            PretokenizerStage::Metaspace { replacement, prepend, split } => {
                Self::Metaspace { replacement: *replacement, prepend: *prepend, split: *split }
            }
            PretokenizerStage::ByteLevel { prefix_space } => Self::ByteLevel { prefix_space: *prefix_space },
        })
    }

    /// Cut, rewrite or drop a piece of the stage before, which begins at `start`.
    fn piece(
        &self,
        piece: &str,
        start: usize,
        begins_text: bool,
        steps: &mut StepBudget,
        out: &mut RecutPieces<'_>,
    ) -> Result<()> {
        match self {
            Self::Cut(split) => {
                let (mut cursor, mut ends) = (Cursor::default(), Vec::new());
                while split
                    .fill(piece, &mut cursor, TOGETHER, steps, &mut ends)
                    .map_err(|error| error.moved(|range| range.start + start..range.end + start))?
                {}
                for end in ends {
                    out.keep(start + end as usize);
                }
            }
            Self::Drop { finder, inverted } => {
                let mut search = Search::default();
                let found = |error: Error| error.moved(|range| range.start + start..range.end + start);
                while let Some((from, to)) = finder.next(piece, &mut search, steps).map_err(found)? {
                    if *inverted {
                        out.drop(start + from);
                        out.keep(start + to);
                    } else {
                        out.keep(start + from);
                        out.drop(start + to);
                    }
                }
                if *inverted {
                    out.drop(start + piece.len());
                }
            }
            Self::WhitespaceSplit => {
                for (at, character) in piece.char_indices().filter(|(_, character)| is_whitespace(*character)) {
                    out.keep(start + at);
                    out.drop(start + at + character.len_utf8());
                }
            }
            Self::Bert => classes::bert(piece, start, out),
            Self::Whitespace => classes::whitespace(piece, start, out),
            Self::UnicodeScripts => classes::unicode_scripts(piece, start, out),
            Self::FixedLength(length) => classes::fixed_length(piece, *length, start, out),
            Self::Metaspace { replacement, prepend, split } => {
                let prepend = *prepend == Prepend::Always || *prepend == Prepend::First && begins_text;
                rewrites::metaspace(piece, start, *replacement, prepend, *split, out);
            }
            Self::ByteLevel { prefix_space } => rewrites::byte_level(piece, start, *prefix_space, out),
        }
        out.keep(start + piece.len());
        Ok(())
    }
}

/// All stages over a stretch.
pub(super) fn run(stages: &[RecutStage], text: &str, begins_text: bool, steps: &mut StepBudget) -> Result<Recut> {
    steps.allow(text.len());
    let ends = if text.is_empty() { Vec::new() } else { vec![text.len() as u32] };
    let mut whole = Recut { text: text.to_owned(), ends, alignment: Alignment::copied(text.len()) };
    for stage in stages {
        let mut out = RecutPieces { text: Rewriter::new(&whole.text), ends: Vec::new() };
        let (mut start, mut begins_text) = (0, begins_text);
        for end in &whole.ends {
            let piece = &whole.text[start..*end as usize];
            // Origins do not decrease: no piece begins the text after one that does not.
            begins_text = begins_text && whole.alignment.source(start..*end as usize).start == 0;
            stage
                .piece(piece, start, begins_text, steps, &mut out)
                .map_err(|error| error.moved(|range| whole.alignment.source(range)))?;
            start = *end as usize;
        }
        let RecutPieces { text, ends } = out;
        let text = text.finish();
        whole.ends = ends;
        if let Some(text) = text {
            whole.alignment = whole.alignment.then(&text.alignment);
            whole.text = text.text;
        }
    }
    Ok(whole)
}
