//! Runs a program with a count of its steps: backtracking without recursion, in memory and time that are bounded.

use super::class::CharSet;
use super::compile::UNSET;
use super::program::{Condition, Greed, Instruction, Pc, Program};
use crate::unicode::utf8::{decode, previous};

/// Steps that any text may take: under half a second.
const BASE_STEPS: u64 = 1 << 26;
/// Steps that each of its bytes adds: harmless patterns take fewer than ten.
const STEPS_PER_BYTE: u64 = 64;
/// The most ways that may be left to try at once; 24 bytes each.
const MAX_WAYS: usize = 1 << 22;
/// Slots that are cleared in one step.
const CLEARED: usize = 16;

/// The steps are used up.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct OutOfSteps;

/// The steps that one text may still take, over all its stretches and all expressions, and the machine's memory.
#[derive(Debug)]
pub struct StepBudget {
    left: u64,
    ways: Vec<Way>,
    slots: Vec<usize>,
}

impl Default for StepBudget {
    /// For a text in which nothing has been searched yet.
    fn default() -> Self {
        Self { left: BASE_STEPS, ways: Vec::new(), slots: Vec::new() }
    }
}

impl StepBudget {
    /// Allow for `length` more bytes that will be searched, however often.
    pub(crate) fn allow(&mut self, length: usize) {
        self.left = self.left.saturating_add((length as u64).saturating_mul(STEPS_PER_BYTE));
    }

    #[inline]
    pub(super) fn take(&mut self, steps: usize) -> Result<(), OutOfSteps> {
        self.left = self.left.checked_sub(steps as u64).ok_or(OutOfSteps)?;
        Ok(())
    }

    #[inline]
    fn push(&mut self, way: Way) -> Result<(), OutOfSteps> {
        if self.ways.len() >= MAX_WAYS {
            return Err(OutOfSteps);
        }
        self.ways.push(way);
        Ok(())
    }

    /// Set a slot, so that it is set back when the machine goes back.
    #[inline]
    fn set(&mut self, slot: usize, value: usize) -> Result<(), OutOfSteps> {
        let before = std::mem::replace(&mut self.slots[slot], value);
        if self.ways.is_empty() { Ok(()) } else { self.push(Way::Undo { slot, before }) }
    }

    /// Forget the ways above `height`, but not what is to be set back.
    fn commit(&mut self, height: usize) -> Result<(), OutOfSteps> {
        self.take(self.ways.len().saturating_sub(height))?;
        let mut kept = height;
        for at in height..self.ways.len() {
            if matches!(self.ways[at], Way::Undo { .. }) {
                self.ways.swap(kept, at);
                kept += 1;
            }
        }
        self.ways.truncate(kept);
        Ok(())
    }
}

/// What is left to try.
#[derive(Debug, Clone, Copy)]
enum Way {
    At {
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

/// The end of the match of the program that begins at `start`, if there is one.
pub(super) fn run(
    program: &Program,
    text: &[u8],
    start: usize,
    steps: &mut StepBudget,
) -> Result<Option<usize>, OutOfSteps> {
    steps.take(program.slots / CLEARED)?;
    steps.ways.clear();
    steps.slots.clear();
    steps.slots.resize(program.slots, UNSET);
    let (mut pc, mut at) = (0, start);
    loop {
        steps.take(1)?;
        let next = match &program.instructions[pc as usize] {
            Instruction::Done => return Ok(Some(at)),
            instruction => step(instruction, program, text, pc, at, steps)?,
        };
        match next {
            Some(next) => (pc, at) = next,
            None => match back(program, text, steps)? {
                Some(next) => (pc, at) = next,
                None => return Ok(None),
            },
        }
    }
}

/// Where to go on, or nowhere.
type Next = Result<Option<(Pc, usize)>, OutOfSteps>;

#[inline(always)]
fn step(instruction: &Instruction, program: &Program, text: &[u8], pc: Pc, at: usize, steps: &mut StepBudget) -> Next {
    let go = |condition: bool| condition.then_some((pc + 1, at));
    Ok(match instruction {
        Instruction::Literal(literal) => {
            let here = text.get(at..).is_some_and(|rest| rest.starts_with(literal));
            here.then_some((pc + 1, at + literal.len()))
        }
        Instruction::Set(set) => one(&program.sets[*set], text, at).map(|end| (pc + 1, end)),
        Instruction::Run { set, least, most, greed } => {
            return run_of_set(&program.sets[*set], (*least, *most, *greed), text, pc, at, steps);
        }
        Instruction::Try { lead, other } => {
            if !lead.admits(text, at) {
                return Ok(Some((*other, at)));
            }
            steps.push(Way::At { pc: *other, at })?;
            go(true)
        }
        Instruction::TryOther(other) => {
            steps.push(Way::At { pc: pc + 1, at })?;
            Some((*other, at))
        }
        Instruction::Jump(to) => Some((*to, at)),
        Instruction::Check(condition) => go(holds(*condition, program, text, at)),
        Instruction::Note(slot) => {
            steps.set(*slot, at)?;
            go(true)
        }
        Instruction::Mark(slot) => {
            // The slot is set back, if at all, by the way at the height that it holds.
            let height = steps.ways.len();
            steps.set(*slot, height)?;
            go(true)
        }
        Instruction::Commit(slot) => {
            steps.commit(steps.slots[*slot])?;
            go(true)
        }
        Instruction::Refuse(slot) => {
            let height = steps.slots[*slot];
            while steps.ways.len() > height {
                if let Some(Way::Undo { slot, before }) = steps.ways.pop() {
                    steps.slots[slot] = before;
                }
            }
            None
        }
        Instruction::Return(slot) => Some((pc + 1, steps.slots[*slot])),
        Instruction::Leave { slot, exit } => Some((if steps.slots[*slot] == at { *exit } else { pc + 1 }, at)),
        Instruction::Back { least, most } => {
            // A character has a byte at the least.
            if at < *least {
                return Ok(None);
            }
            let (mut start, mut count) = (at, 0);
            while count < *least
                && let Some(before) = previous(text, start)
            {
                (start, count) = (before, count + 1);
            }
            steps.take(count)?;
            if count < *least {
                return Ok(None);
            }
            if most > least {
                steps.push(Way::Earlier { pc: pc + 1, at: start, more: most - least })?;
            }
            Some((pc + 1, start))
        }
        Instruction::Met(slot) => go(steps.slots[*slot] == at),
        Instruction::Repeat { start, end } => {
            let (start, end) = (steps.slots[*start], steps.slots[*end]);
            match text.get(start..end).filter(|_| end != UNSET) {
                Some(group) => {
                    steps.take(group.len())?;
                    let here = text.get(at..).is_some_and(|rest| rest.starts_with(group));
                    here.then_some((pc + 1, at + group.len()))
                }
                None => None,
            }
        }
        Instruction::Done => None,
    })
}

/// The next way to try.
fn back(program: &Program, text: &[u8], steps: &mut StepBudget) -> Next {
    while let Some(way) = steps.ways.pop() {
        match way {
            Way::At { pc, at } => return Ok(Some((pc, at))),
            Way::Shorter { pc, at, least } => {
                let Some(end) = previous(text, at) else { continue };
                if end > least {
                    steps.push(Way::Shorter { pc, at: end, least })?;
                }
                return Ok(Some((pc, end)));
            }
            Way::Longer { pc, at, more } => {
                let Instruction::Run { set, .. } = &program.instructions[pc as usize] else { continue };
                let Some(end) = one(&program.sets[*set], text, at) else { continue };
                if more > 1 {
                    steps.push(Way::Longer { pc, at: end, more: more - 1 })?;
                }
                return Ok(Some((pc + 1, end)));
            }
            Way::Earlier { pc, at, more } => {
                let Some(start) = previous(text, at) else { continue };
                if more > 1 {
                    steps.push(Way::Earlier { pc, at: start, more: more - 1 })?;
                }
                return Ok(Some((pc, start)));
            }
            Way::Undo { slot, before } => steps.slots[slot] = before,
        }
        steps.take(1)?;
    }
    Ok(None)
}

/// The end of one character of the set at `at`.
#[inline(always)]
fn one(set: &CharSet, text: &[u8], at: usize) -> Option<usize> {
    let (code, length) = decode(text, at, *text.get(at)?);
    set.contains(code).then_some(at + length)
}

/// The end of all characters of the set from `at` on.
pub(super) fn end_of_run(set: &CharSet, text: &[u8], mut at: usize) -> usize {
    while let Some(end) = one(set, text, at) {
        at = end;
    }
    at
}

#[inline(always)]
fn run_of_set(
    set: &CharSet,
    (least, most, greed): (usize, usize, Greed),
    text: &[u8],
    pc: Pc,
    at: usize,
    steps: &mut StepBudget,
) -> Next {
    let enough = if greed == Greed::Lazy { least } else { most };
    let (mut end, mut count, mut least_end) = (at, 0, at);
    while count < enough {
        let Some(next) = one(set, text, end) else { break };
        (end, count) = (next, count + 1);
        if count == least {
            least_end = end;
        }
    }
    steps.take(count)?;
    if count < least {
        return Ok(None);
    }
    match greed {
        Greed::Greedy if end > least_end => steps.push(Way::Shorter { pc: pc + 1, at: end, least: least_end })?,
        Greed::Lazy if most > least => steps.push(Way::Longer { pc, at: end, more: most - least })?,
        _ => {}
    }
    Ok(Some((pc + 1, end)))
}

fn holds(condition: Condition, program: &Program, text: &[u8], at: usize) -> bool {
    let before = previous(text, at);
    match condition {
        Condition::TextStart => at == 0,
        Condition::TextEnd => at == text.len(),
        Condition::LastLineEnd => at == text.len() || text.get(at..) == Some(b"\n"),
        Condition::LineStart => at == 0 || at < text.len() && before.is_some_and(|before| text[before] == b'\n'),
        Condition::LineEnd => text.get(at).is_none_or(|byte| *byte == b'\n'),
        Condition::Border(set) | Condition::NoBorder(set) => {
            let set = &program.sets[set];
            let left = before.is_some_and(|before| one(set, text, before).is_some());
            let border = left != one(set, text, at).is_some();
            border == matches!(condition, Condition::Border(_))
        }
    }
}
