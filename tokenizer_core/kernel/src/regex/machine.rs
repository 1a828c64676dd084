//! Run a program: backtracking over an explicit stack, with a count of its steps, so memory and time are bounded.

use super::class::CharSet;
use super::compile::UNSET;
use super::memory::{Branch, StepBudget, Stop};
use super::program::{Condition, Greediness, Instruction, Pc, Program};
use crate::unicode::utf8::{decode, previous};

/// Slots that are cleared in one step.
const CLEARED: usize = 16;

/// The end of the match of the program that begins at `start`, if there is one.
///
/// With `MORE`, more text may come: the machine stops where the end of the text would decide, and [`resume`] goes on.
pub(super) fn run<const MORE: bool>(
    program: &Program,
    text: &[u8],
    start: usize,
    steps: &mut StepBudget,
) -> Result<Option<usize>, Stop> {
    steps.take(program.slots / CLEARED)?;
    steps.stack.clear();
    steps.slots.clear();
    steps.slots.resize(program.slots, UNSET);
    (steps.paused, steps.run) = (Some((0, start)), None);
    resume::<MORE>(program, text, steps)
}

/// Go on where the machine stopped, or begins.
pub(super) fn resume<const MORE: bool>(
    program: &Program,
    text: &[u8],
    steps: &mut StepBudget,
) -> Result<Option<usize>, Stop> {
    let mut next = steps.paused;
    loop {
        let Some((pc, at)) = next else {
            match backtrack::<MORE>(program, text, steps)? {
                None => return Ok(None),
                found => next = found,
            }
            continue;
        };
        steps.take(1)?;
        next = match &program.instructions[pc as usize] {
            Instruction::Match => return Ok(Some(at)),
            instruction => step::<MORE>(instruction, program, text, pc, at, steps)?,
        };
    }
}

/// The next instruction and position; `None` to backtrack.
type Next = Result<Option<(Pc, usize)>, Stop>;

/// Stop at an instruction, to begin with it when more text is there.
#[cold]
fn pause(steps: &mut StepBudget, next: Option<(Pc, usize)>) -> Next {
    steps.paused = next;
    Err(Stop::NeedsMore)
}

#[inline(always)]
fn step<const MORE: bool>(
    instruction: &Instruction,
    program: &Program,
    text: &[u8],
    pc: Pc,
    at: usize,
    steps: &mut StepBudget,
) -> Next {
    if MORE && needs_more(instruction, text, at, steps) {
        return pause(steps, Some((pc, at)));
    }
    let go = |condition: bool| condition.then_some((pc + 1, at));
    Ok(match instruction {
        Instruction::Literal(literal) => {
            let here = text.get(at..).is_some_and(|rest| rest.starts_with(literal));
            here.then_some((pc + 1, at + literal.len()))
        }
        Instruction::Set(set) => one(&program.sets[*set], text, at).map(|end| (pc + 1, end)),
        Instruction::RepeatSet { set, least, most, greed } => {
            return run_of_set::<MORE>(&program.sets[*set], (*least, *most, *greed), text, pc, at, steps);
        }
        Instruction::Split { first, other } => {
            if !first.admits(text, at) {
                return Ok(Some((*other, at)));
            }
            steps.push(Branch::Resume { pc: *other, at })?;
            go(true)
        }
        Instruction::SplitLazy(other) => {
            steps.push(Branch::Resume { pc: pc + 1, at })?;
            Some((*other, at))
        }
        Instruction::Jump(to) => Some((*to, at)),
        Instruction::Check(condition) => go(holds(*condition, program, text, at)),
        Instruction::Save(slot) => {
            steps.set(*slot, at)?;
            go(true)
        }
        Instruction::BeginAtomic(slot) => {
            // The entry that restores the slot, if there is one, is at the height that the slot holds.
            let height = steps.stack.len();
            steps.set(*slot, height)?;
            go(true)
        }
        Instruction::EndAtomic(slot) => {
            steps.end_atomic(steps.slots[*slot])?;
            go(true)
        }
        Instruction::FailNegativeLookAround(slot) => {
            let height = steps.slots[*slot];
            while steps.stack.len() > height {
                if let Some(Branch::Undo { slot, before }) = steps.stack.pop() {
                    steps.slots[slot] = before;
                }
            }
            None
        }
        Instruction::Restore(slot) => Some((pc + 1, steps.slots[*slot])),
        Instruction::ExitIfEmpty { slot, exit } => Some((if steps.slots[*slot] == at { *exit } else { pc + 1 }, at)),
        Instruction::GoBack { least, most } => {
            // A character has at least one byte.
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
                steps.push(Branch::Earlier { pc: pc + 1, at: start, more: most - least })?;
            }
            Some((pc + 1, start))
        }
        Instruction::IsAt(slot) => go(steps.slots[*slot] == at),
        Instruction::Backref { start, end } => {
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
        Instruction::Match => None,
    })
}

/// Tell whether what an instruction does depends on bytes behind the text; runs of sets find out by themselves.
fn needs_more(instruction: &Instruction, text: &[u8], at: usize, steps: &StepBudget) -> bool {
    let begins = |wanted: &[u8]| {
        let rest = &text[at..];
        rest.len() < wanted.len() && wanted.starts_with(rest)
    };
    match instruction {
        Instruction::Literal(literal) => begins(literal),
        Instruction::Set(_) => at == text.len(),
        Instruction::Split { first, .. } => at == text.len() && !first.empty,
        Instruction::Check(Condition::TextStart) => false,
        Instruction::Check(Condition::LastLineEnd) => text.len() - at < 2,
        Instruction::Check(_) => at == text.len(),
        Instruction::Backref { start, end } => {
            steps.group((*start, *end)).is_some_and(|(start, end)| begins(&text[start..end]))
        }
        _ => false,
    }
}

/// Backtrack to the next branch.
fn backtrack<const MORE: bool>(program: &Program, text: &[u8], steps: &mut StepBudget) -> Next {
    while let Some(branch) = steps.stack.pop() {
        match branch {
            Branch::Resume { pc, at } => return Ok(Some((pc, at))),
            Branch::Shorter { pc, at, least } => {
                let Some(end) = previous(text, at) else { continue };
                if end > least {
                    steps.push(Branch::Shorter { pc, at: end, least })?;
                }
                return Ok(Some((pc, end)));
            }
            Branch::Longer { pc, at, more } => {
                let Instruction::RepeatSet { set, .. } = &program.instructions[pc as usize] else { continue };
                if MORE && at == text.len() {
                    steps.push(branch)?;
                    return pause(steps, None);
                }
                let Some(end) = one(&program.sets[*set], text, at) else { continue };
                if more > 1 {
                    steps.push(Branch::Longer { pc, at: end, more: more - 1 })?;
                }
                return Ok(Some((pc + 1, end)));
            }
            Branch::Earlier { pc, at, more } => {
                let Some(start) = previous(text, at) else { continue };
                if more > 1 {
                    steps.push(Branch::Earlier { pc, at: start, more: more - 1 })?;
                }
                return Ok(Some((pc, start)));
            }
            Branch::Undo { slot, before } => steps.slots[slot] = before,
        }
        steps.take(1)?;
    }
    Ok(None)
}

/// The end of one character of the set at `at`.
#[inline(always)]
fn one(set: &CharSet, text: &[u8], at: usize) -> Option<usize> {
    let first = *text.get(at)?;
    if first < 0x80 {
        return set.contains(u32::from(first)).then_some(at + 1);
    }
    let (code, length) = decode(text, at, first);
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
fn run_of_set<const MORE: bool>(
    set: &CharSet,
    (least, most, greed): (usize, usize, Greediness),
    text: &[u8],
    pc: Pc,
    at: usize,
    steps: &mut StepBudget,
) -> Next {
    let enough = if greed == Greediness::Lazy { least } else { most };
    let known = if MORE { steps.run.take() } else { None };
    let (mut end, mut count, mut least_end) = known.unwrap_or((at, 0, at));
    let before = count;
    while count < enough {
        let Some(next) = one(set, text, end) else { break };
        (end, count) = (next, count + 1);
        if count == least {
            least_end = end;
        }
    }
    steps.take(count - before)?;
    if MORE && count < enough && end == text.len() {
        steps.run = Some((end, count, least_end));
        return pause(steps, Some((pc, at)));
    }
    if count < least {
        return Ok(None);
    }
    match greed {
        Greediness::Greedy if end > least_end => {
            steps.push(Branch::Shorter { pc: pc + 1, at: end, least: least_end })?
        }
        Greediness::Lazy if most > least => steps.push(Branch::Longer { pc, at: end, more: most - least })?,
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
        Condition::WordBoundary(set) | Condition::NotWordBoundary(set) => {
            let set = &program.sets[set];
            let left = before.is_some_and(|before| one(set, text, before).is_some());
            let border = left != one(set, text, at).is_some();
            border == matches!(condition, Condition::WordBoundary(_))
        }
    }
}
