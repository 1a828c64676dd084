//! Several stages on one text, each of which cuts the pieces of the one before.

use super::split::{Cursor, Split};
use crate::error::Result;
use crate::regex::StepBudget;

/// About how many pieces of a stage wait for the next.
const WAITING: usize = 160;

/// All stages.
#[derive(Debug)]
pub(super) struct Levels<'t> {
    levels: Vec<Level<'t>>,
    steps: &'t mut StepBudget,
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
    /// Ends of pieces, of which the level above or the caller has taken the first `taken`.
    waiting: Vec<u32>,
    taken: usize,
}

impl<'t> Level<'t> {
    fn new(split: &'t Split) -> Self {
        Self { split, start: 0, end: 0, cursor: Cursor::default(), open: false, waiting: Vec::new(), taken: 0 }
    }

    /// Begin with the piece that goes up to `end`, which follows the last one.
    fn begin(&mut self, end: usize) {
        self.start = self.end;
        self.end = end;
        self.cursor = Cursor::default();
        self.open = true;
    }

    /// Cut pieces, as positions in the text, when all there were have been taken.
    fn refill(&mut self, text: &str, steps: &mut StepBudget) -> Result<()> {
        let piece = text.get(self.start..self.end).unwrap_or_default();
        self.taken = 0;
        self.waiting.clear();
        let waiting = &mut self.waiting;
        let start = self.start;
        self.open = self
            .split
            .fill(piece, &mut self.cursor, WAITING, steps, waiting)
            .map_err(|error| error.moved(|range| range.start + start..range.end + start))?;
        if self.start > 0 {
            waiting.iter_mut().for_each(|end| *end += self.start as u32);
        }
        Ok(())
    }

    fn next(&mut self) -> Option<u32> {
        let end = self.waiting.get(self.taken).copied();
        self.taken += usize::from(end.is_some());
        end
    }

    /// Move what waits into `ends`, as far as there is room, and return how many that were.
    fn take(&mut self, ends: &mut [u32]) -> usize {
        let waiting = &self.waiting[self.taken..];
        let count = waiting.len().min(ends.len());
        ends[..count].copy_from_slice(&waiting[..count]);
        self.taken += count;
        count
    }
}

impl<'t> Levels<'t> {
    /// All `stages`, at the beginning of a text of `bytes` bytes.
    #[inline(never)]
    pub(super) fn new(stages: &'t [Split], bytes: usize, steps: &'t mut StepBudget) -> Self {
        steps.allow(bytes);
        Self { levels: stages.iter().map(Level::new).collect(), steps }
    }

    /// As [`super::Pieces::fill`].
    pub(super) fn fill(&mut self, text: &str, ends: &mut [u32]) -> Result<usize> {
        let last = self.levels.len() - 1;
        let mut count = self.levels[last].take(ends);
        // Down a level for a piece to cut, up again with what it was cut into: no level has more than about `WAITING`
        // pieces that wait.
        let mut at = last;
        while count < ends.len() {
            let level = &mut self.levels[at];
            if level.open {
                level.refill(text, self.steps)?;
                if at == last {
                    count += level.take(&mut ends[count..]);
                } else {
                    at += 1;
                }
            } else if at > 0 {
                match self.levels[at - 1].next() {
                    Some(end) => self.levels[at].begin(end as usize),
                    None => at -= 1,
                }
            } else if level.end < text.len() {
                level.begin(text.len());
            } else {
                break;
            }
        }
        Ok(count)
    }
}
