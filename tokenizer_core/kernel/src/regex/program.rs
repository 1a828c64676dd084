//! Programs of a backtracking machine: instructions, most of them named as in `fancy-regex`.

use super::class::{CharSet, FirstSet};

/// Position in a program; small, since the machine keeps millions of them.
pub(super) type Pc = u32;

/// The order in which the repetitions of a set are tried.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Greediness {
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
    /// Between a character of the set and one that is not in it, or an end of the text.
    WordBoundary(usize),
    NotWordBoundary(usize),
}

/// One step. A slot holds a position or a height of the stack; its old value is restored when the machine backtracks.
#[derive(Debug, Clone)]
pub(super) enum Instruction {
    Literal(Box<[u8]>),
    /// One character of a set.
    Set(usize),
    /// `least..=most` characters of a set.
    RepeatSet {
        set: usize,
        least: usize,
        most: usize,
        greed: Greediness,
    },
    /// Go on, and try `other` later. Go there at once if no match of what follows can begin here (`first`).
    Split {
        first: FirstSet,
        other: Pc,
    },
    /// Go to the other branch, and try what follows later.
    SplitLazy(Pc),
    Jump(Pc),
    Check(Condition),
    /// Save the position in a slot.
    Save(usize),
    /// Save the height of the stack in a slot.
    BeginAtomic(usize),
    /// Drop the branches that were pushed since `BeginAtomic`.
    EndAtomic(usize),
    /// Drop these branches, and fail.
    FailNegativeLookAround(usize),
    /// Go back to the position of `Save`.
    Restore(usize),
    /// Go to `exit` if the position is still that of `Save`: an empty repetition ends.
    ExitIfEmpty {
        slot: usize,
        exit: Pc,
    },
    /// Go back `least..=most` characters, the least first.
    GoBack {
        least: usize,
        most: usize,
    },
    /// Fail unless the position is that of `Save` again.
    IsAt(usize),
    /// The same text as between two slots.
    Backref {
        start: usize,
        end: usize,
    },
    Match,
}

/// A compiled expression.
#[derive(Debug)]
pub(super) struct Program {
    pub(super) instructions: Vec<Instruction>,
    pub(super) sets: Vec<CharSet>,
    pub(super) slots: usize,
    /// The two slots of each group, from group 1 on, if groups are captured.
    pub(super) groups: Vec<(usize, usize)>,
    pub(super) first: FirstSet,
}
