//! The parts that depend on the machine: instructions, memory pages, cache lines, words, branches.

pub(crate) mod branch;
pub(crate) mod byte_vector;
#[cfg(target_arch = "x86_64")]
pub(crate) mod lanes;
pub mod level;
pub(crate) mod maximum;
pub(crate) mod pages;
pub(crate) mod prefetch;
pub(crate) mod tagged_line;
pub(crate) mod words;
