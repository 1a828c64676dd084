//! What an expression compiles to.

use super::class::{CharSet, Lead};

/// Position in a program; small, since the machine keeps millions of them.
pub(super) type Pc = u32;

/// The order in which the repetitions of a set are tried.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Greed {
    /// The most first.
    Greedy,
    /// The least first.
    Lazy,
    /// The most only.
    Possessive,
}

/// A condition on a position.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Condition {
    TextStart,
    TextEnd,
    /// The end, or before the line feed that is the last character.
    LastLineEnd,
    /// The start, or after a line feed that is not the last character.
    LineStart,
    /// The end, or before a line feed.
    LineEnd,
    /// Between a character of the set and one that is not of it (or none).
    Border(usize),
    NoBorder(usize),
}

/// One step. A slot holds a position or a height of the stack; what it held before comes back when the machine goes
/// back.
#[derive(Debug, Clone)]
pub(super) enum Instruction {
    Literal(Box<[u8]>),
    /// One character of a set.
    Set(usize),
    /// `least..=most` characters of a set.
    Run {
        set: usize,
        least: usize,
        most: usize,
        greed: Greed,
    },
    /// Go on; `other` is what to try next. Go there at once if no match can begin here (`lead`).
    Try {
        lead: Lead,
        other: Pc,
    },
    /// Go to `other`; what follows is what to try next.
    TryOther(Pc),
    Jump(Pc),
    Check(Condition),
    /// Put the position into a slot.
    Note(usize),
    /// Put the height of the stack into a slot.
    Mark(usize),
    /// Forget what there is to try since `Mark`.
    Commit(usize),
    /// Forget that, and the way that led here too.
    Refuse(usize),
    /// Return to the position of `Note`.
    Return(usize),
    /// Go to `exit` if the position is still that of `Note`: a repetition of nothing ends.
    Leave {
        slot: usize,
        exit: Pc,
    },
    /// Go back `least..=most` characters, the least first.
    Back {
        least: usize,
        most: usize,
    },
    /// The position is that of `Note` again.
    Met(usize),
    /// The same text as between two slots.
    Repeat {
        start: usize,
        end: usize,
    },
    Done,
}

/// A compiled expression.
#[derive(Debug)]
pub(super) struct Program {
    pub(super) instructions: Vec<Instruction>,
    pub(super) sets: Vec<CharSet>,
    pub(super) slots: usize,
    pub(super) lead: Lead,
}
