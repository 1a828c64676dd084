//! Threads: `join` runs two tasks at once, `helpers` stay for the next call, `scheduling` is what a thread inherits.

pub(crate) mod helpers;
pub(crate) mod join;
pub(crate) mod scheduling;
