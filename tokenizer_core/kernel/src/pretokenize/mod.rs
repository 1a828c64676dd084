//! Cuts a text into pieces; merges never cross the border of a piece.

mod find;
mod runs;
mod scan;
mod split;

use self::split::{Cursor, Split};
use crate::config::PretokenizerStage;
use crate::error::{Error, Place, Result};
use crate::expression::Steps;

/// A compiled sequence of cuts.
#[derive(Debug, Default)]
pub struct Pretokenizer {
    stages: Vec<Split>,
}

impl Pretokenizer {
    /// Compile the stages; no stage at all makes the whole text one piece.
    ///
    /// # Errors
    /// `invalid_pattern` for an unknown name or a regular expression that does not compile.
    pub fn new(stages: &[PretokenizerStage]) -> Result<Self> {
        let compile = |(index, stage)| {
            Split::new(stage).map_err(|error| error.at_field(format!("pretokenizer[{index}].pattern")))
        };
        Ok(Self { stages: stages.iter().enumerate().map(compile).collect::<Result<_>>()? })
    }

    /// Begin to cut `text`.
    pub fn pieces<'t>(&'t self, text: &'t str) -> Pieces<'t> {
        Pieces {
            levels: self.stages.iter().map(Level::new).collect(),
            text,
            given: false,
            steps: Steps::for_text(text.len()),
        }
    }
}

/// A text being cut.
#[derive(Debug)]
pub struct Pieces<'t> {
    text: &'t str,
    levels: Vec<Level<'t>>,
    /// Without a stage: the one piece has been given.
    given: bool,
    steps: Steps,
}

/// One stage at work on one piece of the stage before.
#[derive(Debug)]
struct Level<'t> {
    split: &'t Split,
    /// The piece being cut.
    start: usize,
    end: usize,
    cursor: Cursor,
    /// The piece is not yet cut to its end.
    open: bool,
    /// Ends of pieces that the level above has not yet cut.
    waiting: std::vec::IntoIter<usize>,
}

impl<'t> Level<'t> {
    fn new(split: &'t Split) -> Self {
        Self { split, start: 0, end: 0, cursor: Cursor::default(), open: false, waiting: Vec::new().into_iter() }
    }

    /// Begin with the piece that goes up to `end`, which follows the last one.
    fn begin(&mut self, end: usize) {
        self.start = self.end;
        self.end = end;
        self.cursor = Cursor::default();
        self.open = true;
    }

    /// Append ends of pieces to `ends`, as positions in the text.
    fn fill(&mut self, text: &str, hint: usize, steps: &mut Steps, ends: &mut Vec<usize>) -> Result<()> {
        let piece = text.get(self.start..self.end).unwrap_or_default();
        let first = ends.len();
        self.open = self.split.fill(piece, &mut self.cursor, hint, steps, ends).map_err(|error| match error.place {
            Place::Bytes(range) => {
                Error { place: Place::Bytes(range.start + self.start..range.end + self.start), ..error }
            }
            _ => error,
        })?;
        if self.start > 0 {
            for end in &mut ends[first..] {
                *end += self.start;
            }
        }
        Ok(())
    }

    /// Cut pieces for the level above, which has taken all there were.
    fn refill(&mut self, text: &str, hint: usize, steps: &mut Steps) -> Result<()> {
        let mut ends = Vec::new();
        self.fill(text, hint, steps, &mut ends)?;
        self.waiting = ends.into_iter();
        Ok(())
    }
}

impl Pieces<'_> {
    /// Append the ends (byte positions in the text) of the next pieces, about `hint` of them, and say whether any
    /// came. Pieces tile the text: each begins where the one before ended, the first at 0, and none is empty.
    ///
    /// # Errors
    /// `step_limit` or `uncovered_text`, with the byte range.
    pub fn fill(&mut self, hint: usize, ends: &mut Vec<usize>) -> Result<bool> {
        let Some(last) = self.levels.len().checked_sub(1) else {
            return Ok(self.whole(ends));
        };
        let enough = ends.len().saturating_add(hint.max(1));
        let before = ends.len();
        // Down for a piece to cut, up with its pieces: no more than about `hint` of them wait at any level.
        let mut at = last;
        while ends.len() < enough {
            let level = &mut self.levels[at];
            if level.open && at == last {
                level.fill(self.text, enough - ends.len(), &mut self.steps, ends)?;
            } else if level.open {
                level.refill(self.text, hint.max(1), &mut self.steps)?;
                at += 1;
            } else if at > 0 {
                match self.levels[at - 1].waiting.next() {
                    Some(end) => self.levels[at].begin(end),
                    None => at -= 1,
                }
            } else if level.end < self.text.len() {
                level.begin(self.text.len());
            } else {
                break;
            }
        }
        Ok(ends.len() > before)
    }

    /// The whole text as one piece.
    fn whole(&mut self, ends: &mut Vec<usize>) -> bool {
        let more = !self.given && !self.text.is_empty();
        self.given = true;
        if more {
            ends.push(self.text.len());
        }
        more
    }
}
