//! Learn the merges of a vocabulary from a corpus: count its pieces, then merge their pairs.
//!
//! Counting, in order: `stream` takes documents in blocks and `cut`s long ones, `jsonl` takes them from lines,
//! `separators` are the special tokens between them; `tally` is what a thread does, into its `table`; `counter` drives
//! the threads and gives `counts`.
//!
//! Merging: `alphabet` says what pieces are made of, `symbols` are the tokens, `words` hold the distinct pieces,
//! `pairs` the places of every pair, `queue` the pairs by count with `tie_break` among equals; `births` and
//! `merge_loop` make the merges, `progress` tells of it; `learn` does all of this.

pub mod alphabet;
pub mod births;
pub mod counter;
pub mod counts;
pub mod cut;
pub mod jsonl;
pub mod learn;
pub mod merge_loop;
pub mod pairs;
pub mod progress;
pub mod queue;
pub mod separators;
pub mod stream;
pub mod symbols;
pub mod table;
pub mod tally;
#[cfg(test)]
mod tests;
pub mod tie_break;
pub mod words;
