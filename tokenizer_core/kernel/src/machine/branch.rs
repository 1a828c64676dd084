//! Tell the compiler what the processor foresees.

/// What leads here is a branch and no choice: a choice would wait for what it is made of.
#[cold]
pub(crate) fn seldom() {}
