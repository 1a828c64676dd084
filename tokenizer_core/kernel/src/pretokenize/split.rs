//! One stage: it cuts at the borders between the matches of a pattern and the gaps between them, as its behavior says.

use super::find::{Finder, Search};
use super::scanner::Scanner;
use crate::config::{Behavior, Pattern};
use crate::error::{Code, Error, Result};
use crate::regex::StepBudget;
use crate::simd::level::SimdLevel;

/// A compiled stage.
#[derive(Debug)]
pub(super) struct Split {
    finder: Finder,
    behavior: Behavior,
    invert: bool,
}

/// The progress of a stage in the piece it cuts. Positions are counted from the start of that piece.
#[derive(Debug, Default)]
pub(super) struct Cursor {
    search: Search,
    /// True if the last segment was a match.
    last: Option<bool>,
    /// The end of the last segment.
    at: usize,
    /// The end of the last piece.
    cut: usize,
}

impl Split {
    /// At the matches of a pattern.
    pub(super) fn new(pattern: &Pattern, behavior: Behavior, invert: bool, level: SimdLevel) -> Result<Self> {
        Ok(Self { finder: Finder::new(pattern, level)?, behavior, invert })
    }

    /// At digits: each alone, or each run.
    pub(super) fn digits(individual: bool) -> Self {
        let behavior = if individual { Behavior::Isolated } else { Behavior::Contiguous };
        Self { finder: Finder::Numeric, behavior, invert: false }
    }

    /// At punctuation marks.
    pub(super) fn punctuation(behavior: Behavior) -> Self {
        Self { finder: Finder::punctuation(), behavior, invert: false }
    }

    /// The scanner, if its matches are the pieces.
    pub(super) fn scanner(&self) -> Option<Scanner> {
        match self.finder {
            Finder::Scanner(scanner)
                if self.behavior == Behavior::Isolated || self.behavior == Behavior::Removed && self.invert =>
            {
                Some(scanner)
            }
            _ => None,
        }
    }

    /// Append the ends of about `hint` more pieces of `piece`, counted from its start, and say whether there may be
    /// more.
    pub(super) fn fill(
        &self,
        piece: &str,
        cursor: &mut Cursor,
        hint: usize,
        steps: &mut StepBudget,
        ends: &mut Vec<u32>,
    ) -> Result<bool> {
        if let Some(scanner) = self.scanner() {
            let first = ends.len();
            ends.resize(first + hint, 0);
            let count = scanner.fill(piece, cursor.cut, &mut ends[first..]);
            ends.truncate(first + count);
            cursor.cut = ends.last().map_or(cursor.cut, |end| *end as usize);
            return Ok(cursor.cut < piece.len());
        }
        let enough = ends.len().saturating_add(hint);
        while ends.len() < enough {
            let found = self.finder.next(piece, &mut cursor.search, steps)?;
            let (start, end) = found.unwrap_or((piece.len(), piece.len()));
            if cursor.at < start {
                self.segment(false, cursor.at, start, cursor, ends)?;
            }
            if found.is_none() {
                if cursor.cut < piece.len() {
                    cursor.cut = piece.len();
                    ends.push(piece.len() as u32);
                }
                return Ok(false);
            }
            self.segment(true, start, end, cursor, ends)?;
        }
        Ok(true)
    }

    /// Go over the match or gap `start..end`: a border of pieces may lie at its start.
    fn segment(&self, matches: bool, start: usize, end: usize, cursor: &mut Cursor, ends: &mut Vec<u32>) -> Result<()> {
        let matches = matches != self.invert;
        if self.behavior == Behavior::Removed && matches && start < end {
            let message = "the pattern leaves text outside every piece, and text is never dropped; \
                           use a split that keeps its gaps";
            return Err(Error::new(Code::UncoveredText, message).at_bytes(start..end));
        }
        if cursor.last.is_some_and(|last| self.cuts(last, matches)) && cursor.cut < start {
            cursor.cut = start;
            ends.push(start as u32);
        }
        cursor.last = Some(matches);
        cursor.at = end;
        Ok(())
    }

    /// Tell whether two neighbouring segments, matches or gaps, are in two pieces.
    fn cuts(&self, left: bool, right: bool) -> bool {
        match self.behavior {
            Behavior::Removed | Behavior::Isolated => true,
            Behavior::Contiguous => left != right,
            Behavior::MergedWithPrevious => left || !right,
            Behavior::MergedWithNext => !left || right,
        }
    }
}
