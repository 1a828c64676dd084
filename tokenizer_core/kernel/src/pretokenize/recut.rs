//! Stages of which one drops or rewrites text: all of them run over the whole stretch, one after the other.

use super::split::{Cursor, Split};
use crate::config::PretokenizerStage;
use crate::error::Result;
use crate::normalize::{Alignment, Rewriter};
use crate::regex::StepBudget;
use crate::simd::level::SimdLevel;

/// A stretch of text that has been cut, and of which parts were rewritten or dropped.
#[derive(Debug)]
pub struct Recut {
    /// The pieces, joined.
    pub text: String,
    /// Where each ends; none is empty.
    pub ends: Vec<u32>,
    /// From the bytes of the pieces to those of the stretch.
    pub alignment: Alignment,
}

/// A compiled stage.
#[derive(Debug)]
pub(super) enum Stage {
    Cut(Split),
    WhitespaceSplit,
}

/// The pieces that a stage makes of those of the stage before.
pub(super) struct Pieces<'t> {
    text: Rewriter<'t>,
    ends: Vec<u32>,
}

impl Pieces<'_> {
    /// End a piece here, unless it would be empty.
    fn end(&mut self) {
        let position = self.text.position() as u32;
        if self.ends.last().copied().unwrap_or(0) < position {
            self.ends.push(position);
        }
    }
}

impl Stage {
    pub(super) fn new(stage: &PretokenizerStage, level: SimdLevel) -> Result<Self> {
        Ok(match stage {
            PretokenizerStage::Split { pattern, behavior, invert } => {
                Self::Cut(Split::new(pattern, *behavior, *invert, level)?)
            }
            PretokenizerStage::Digits { individual } => Self::Cut(Split::digits(*individual)),
            PretokenizerStage::WhitespaceSplit => Self::WhitespaceSplit,
        })
    }

    /// Cut, rewrite or drop `text[start..end]`, a piece of the stage before.
    fn piece(&self, text: &str, start: usize, end: usize, steps: &mut StepBudget, out: &mut Pieces<'_>) -> Result<()> {
        let piece = &text[start..end];
        match self {
            Self::Cut(split) => {
                let (mut cursor, mut ends) = (Cursor::default(), Vec::new());
                while split
                    .fill(piece, &mut cursor, usize::MAX, steps, &mut ends)
                    .map_err(|error| error.moved(|range| range.start + start..range.end + start))?
                {}
                for end in ends {
                    out.text.keep(start + end as usize);
                    out.end();
                }
            }
            Self::WhitespaceSplit => {
                for (at, character) in piece.char_indices().filter(|(_, character)| character.is_whitespace()) {
                    out.text.keep(start + at);
                    out.end();
                    out.text.drop(start + at + character.len_utf8());
                }
            }
        }
        out.text.keep(end);
        out.end();
        Ok(())
    }
}

/// All stages over a stretch.
pub(super) fn run(stages: &[Stage], text: &str, _begins_text: bool, steps: &mut StepBudget) -> Result<Recut> {
    steps.allow(text.len());
    let ends = if text.is_empty() { Vec::new() } else { vec![text.len() as u32] };
    let mut whole = Recut { text: text.to_owned(), ends, alignment: Alignment::copied(text.len()) };
    for stage in stages {
        let mut out = Pieces { text: Rewriter::new(&whole.text), ends: Vec::new() };
        let mut start = 0;
        for end in &whole.ends {
            stage
                .piece(&whole.text, start, *end as usize, steps, &mut out)
                .map_err(|error| error.moved(|range| whole.alignment.source(range)))?;
            start = *end as usize;
        }
        let Pieces { text, ends } = out;
        let text = text.finish();
        whole.ends = ends;
        if let Some(text) = text {
            whole.alignment = whole.alignment.then(&text.alignment);
            whole.text = text.text;
        }
    }
    Ok(whole)
}
