//! A search in a text that may still grow: where the end of the text would decide, the search waits for more.
//!
//! The machine stops in the middle of an expression and goes on there, so a text in parts costs what the whole costs,
//! and its matches are those of the whole.

use memchr::{memchr, memmem};

use super::machine::{resume, run};
use super::memory::Stop;
use super::{Expression, OutOfSteps, StepBudget};
use crate::unicode::utf8::decode;

/// Steps that a search may take, besides those of each byte: enough for a short text, few for thousands of them.
const STEPS: u64 = 1 << 14;

/// The state of a search.
#[derive(Debug)]
pub(crate) struct Search {
    steps: StepBudget,
    /// The next place where a match may begin.
    start: usize,
    found: Option<(usize, usize)>,
    is_paused: bool,
    /// The bytes of the text that are paid for.
    paid: usize,
    /// The next place of the text that every match holds.
    required: Option<usize>,
}

impl Default for Search {
    fn default() -> Self {
        let steps = StepBudget::of(STEPS);
        Self { steps, start: 0, found: None, is_paused: false, paid: 0, required: None }
    }
}

/// What a search knows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Sought {
    /// The leftmost match.
    Found(usize, usize),
    /// A match may begin here, or behind this place.
    MayBegin(usize),
    Nothing,
}

impl Search {
    /// Look for the leftmost match that begins at `from` or after; `more` says that the text may grow.
    ///
    /// # Errors
    /// When the steps are used up.
    pub(crate) fn advance(
        &mut self,
        expression: &Expression,
        text: &str,
        from: usize,
        more: bool,
    ) -> Result<Sought, OutOfSteps> {
        let text = text.as_bytes();
        self.steps.allow(text.len() - self.paid);
        self.paid = text.len();
        if let Some((start, end)) = self.found {
            if start >= from {
                return Ok(Sought::Found(start, end));
            }
            (self.found, self.start) = (None, from);
        }
        if self.start < from {
            (self.start, self.is_paused) = (from, false);
        }
        let program = &expression.program;
        loop {
            if !self.is_paused {
                match self.next_start(expression, text, more) {
                    Some(start) => self.start = start,
                    None if more => {
                        self.start = text.len();
                        return Ok(Sought::MayBegin(text.len()));
                    }
                    None => {
                        self.start = text.len() + 1;
                        return Ok(Sought::Nothing);
                    }
                }
                self.steps.take(1)?;
            }
            let steps = &mut self.steps;
            let ended = match (self.is_paused, more) {
                (true, true) => resume::<true>(program, text, steps),
                (true, false) => resume::<false>(program, text, steps),
                (false, true) => run::<true>(program, text, self.start, steps),
                (false, false) => run::<false>(program, text, self.start, steps),
            };
            self.is_paused = false;
            match ended {
                Ok(Some(end)) => {
                    self.found = Some((self.start, end));
                    return Ok(Sought::Found(self.start, end));
                }
                Ok(None) => self.start = expression.next_start(text, self.start, &mut self.steps)?,
                Err(Stop::NeedsMore) => {
                    self.is_paused = true;
                    return Ok(Sought::MayBegin(self.start));
                }
                Err(Stop::OutOfSteps) => return Err(OutOfSteps),
            }
        }
    }

    /// The next place where a match can begin.
    fn next_start(&mut self, expression: &Expression, text: &[u8], more: bool) -> Option<usize> {
        let (first, last) = (&expression.program.first, if more { text.len() } else { text.len() + 1 });
        let mut start = self.start;
        if let Some(byte) = first.byte() {
            start += memchr(byte, text.get(start..)?)?;
        }
        while start < last && !first.admits(text, start) {
            start += text.get(start).map_or(1, |byte| decode(text, start, *byte).1);
        }
        if start >= last {
            return None;
        }
        if let Some(literal) = expression.required.as_deref().filter(|_| !more)
            && self.required.is_none_or(|place| place < start)
        {
            self.required = Some(start + memmem::find(text.get(start..)?, literal)?);
        }
        Some(start)
    }

    /// The named groups of the match that was found, by what they hold.
    pub(crate) fn groups<'e>(&self, expression: &'e Expression) -> impl Iterator<Item = (&'e str, (usize, usize))> {
        expression.groups.iter().filter_map(|(name, slots)| Some((name.as_str(), self.steps.group(*slots)?)))
    }
}
