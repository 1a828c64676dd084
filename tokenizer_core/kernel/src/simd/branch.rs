//! A hint for the compiler about which branches are predictable.

/// Call this in the unlikely arm of a condition. The compiler then makes it a branch, which the processor predicts, and
/// not a conditional move, which would wait for both of its operands.
#[cold]
pub(crate) fn cold_path() {}
