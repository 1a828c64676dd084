//! Tell the compiler which branches the processor foresees.

/// Called where the program seldom comes, so that a branch leads there, which the processor predicts: a conditional
/// move would wait for what it chooses from.
#[cold]
pub(crate) fn cold_path() {}
