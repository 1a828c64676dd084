//! What a machine takes: its steps, which are counted, and the stack and slots that it backtracks by.

use super::compile::UNSET;
use super::program::Pc;

/// Steps that any text may take: under half a second.
pub const BASE_STEPS: u64 = 1 << 26;
/// Steps that each of its bytes adds: harmless patterns take fewer than ten.
const STEPS_PER_BYTE: u64 = 64;
/// The most branches on the stack; 24 bytes each.
const MAX_STACK: usize = 1 << 22;

/// The steps are used up.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct OutOfSteps;

/// The reason why the machine stops before it knows.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Stop {
    OutOfSteps,
    /// What comes behind the text decides; `StepBudget` holds where to go on. Only where more text may come.
    NeedsMore,
}

impl From<OutOfSteps> for Stop {
    fn from(_: OutOfSteps) -> Self {
        Self::OutOfSteps
    }
}

/// The steps that one text may still take, over all its stretches and all expressions, and the machine's memory.
#[derive(Debug)]
pub struct StepBudget {
    left: u64,
    pub(super) stack: Vec<Branch>,
    pub(super) slots: Vec<usize>,
    /// Where a machine goes on that stopped at the end of the text; `None` to backtrack.
    pub(super) paused: Option<(Pc, usize)>,
    /// The end, the count and the least end of the run of a set that reached the end of the text.
    pub(super) run: Option<(usize, usize, usize)>,
}

impl Default for StepBudget {
    fn default() -> Self {
        Self::of(BASE_STEPS)
    }
}

impl StepBudget {
    /// The budget of a text before its first search.
    pub(crate) fn of(steps: u64) -> Self {
        Self { left: steps, stack: Vec::new(), slots: Vec::new(), paused: None, run: None }
    }

    /// Add the steps that `length` more bytes allow, however often they are searched.
    pub(crate) fn allow(&mut self, length: usize) {
        self.left = self.left.saturating_add((length as u64).saturating_mul(STEPS_PER_BYTE));
    }

    #[inline]
    pub(super) fn take(&mut self, steps: usize) -> Result<(), OutOfSteps> {
        self.left = self.left.checked_sub(steps as u64).ok_or(OutOfSteps)?;
        Ok(())
    }

    #[inline]
    pub(super) fn push(&mut self, branch: Branch) -> Result<(), OutOfSteps> {
        if self.stack.len() >= MAX_STACK {
            return Err(OutOfSteps);
        }
        self.stack.push(branch);
        Ok(())
    }

    /// Set a slot, and restore it when the machine backtracks.
    #[inline]
    pub(super) fn set(&mut self, slot: usize, value: usize) -> Result<(), OutOfSteps> {
        let before = std::mem::replace(&mut self.slots[slot], value);
        if self.stack.is_empty() { Ok(()) } else { self.push(Branch::Undo { slot, before }) }
    }

    /// The part of the text that the slots of a group hold.
    pub(super) fn group(&self, (start, end): (usize, usize)) -> Option<(usize, usize)> {
        Some((self.slots[start], self.slots[end])).filter(|(_, end)| *end != UNSET)
    }

    /// Drop the branches above `height`, but keep what restores slots.
    pub(super) fn end_atomic(&mut self, height: usize) -> Result<(), OutOfSteps> {
        self.take(self.stack.len().saturating_sub(height))?;
        let mut kept = height;
        for at in height..self.stack.len() {
            if matches!(self.stack[at], Branch::Undo { .. }) {
                self.stack.swap(kept, at);
                kept += 1;
            }
        }
        self.stack.truncate(kept);
        Ok(())
    }
}

/// An entry of the backtracking stack: what is left to try.
#[derive(Debug, Clone, Copy)]
pub(super) enum Branch {
    Resume {
        pc: Pc,
        at: usize,
    },
    /// A greedy run that may end one character earlier, down to `least`.
    Shorter {
        pc: Pc,
        at: usize,
        least: usize,
    },
    /// A lazy run that may take `more` characters.
    Longer {
        pc: Pc,
        at: usize,
        more: usize,
    },
    /// A look-behind that may go back `more` characters.
    Earlier {
        pc: Pc,
        at: usize,
        more: usize,
    },
    Undo {
        slot: usize,
        before: usize,
    },
}
