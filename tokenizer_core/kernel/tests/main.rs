//! All tests of the kernel from outside, as one program: twenty would take as long to link as to compile.
#![allow(clippy::expect_used, clippy::panic, clippy::unwrap_used, reason = "a test fails by panicking")]

mod blocks;
mod body;
mod characters;
mod chats;
mod common;
mod counting;
mod decode;
mod expressions;
mod fuzz;
mod fuzz_targets;
mod json;
mod merges;
mod merges_from_ranks;
mod paths;
mod piece_cache;
mod safe_split;
mod scanners;
mod scanning;
mod segments;
mod split_table;
mod stages;
#[cfg(target_os = "linux")]
mod template_costs;
mod token_index;
mod unicode_tables;
mod white_space;
