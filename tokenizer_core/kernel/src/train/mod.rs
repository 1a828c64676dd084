//! Learn the merges of a vocabulary from a corpus by byte-pair encoding (Sennrich, Haddow and Birch, 2016): count its
//! pieces, then merge the most frequent pair of tokens again and again.
//!
//! Counting, in order: `stream` takes documents in blocks and `cut`s long ones, `jsonl` takes them from lines
//! (`skipped` are those that cannot be read), `separators` are the special tokens between them; a `worker` thread
//! counts pieces into its `table`; `counter` drives the threads and returns `counts`. On the disk they lie in
//! `sections`, which are merged as streams and `reduced` to what is learned from.
//!
//! Merging: `alphabet` says what pieces are made of, `symbols` are the tokens, `words` hold the distinct pieces,
//! `pairs` the places of every pair, `queue` the pairs by count with `tie_break` among equals; `merge_loop`
//! makes the merges, with the `new_pairs` of each, and reports its `progress`; `learn` does all of this, after a
//! `replay` of what an earlier attempt has learned. For WordPiece,
//! `word_pieces` is the alphabet, and `likelihood` another order of merges, with its own `ranking` of pairs; for
//! parity-aware BPE, `languages` tell the pieces of each language by their `label`, and `parity` is the order.
//!
//! `unigram` learns pieces without merges.

pub mod alphabet;
pub mod borders;
pub mod counter;
pub mod counts;
pub mod cut;
pub mod jsonl;
pub mod label;
pub mod languages;
pub mod learn;
pub mod likelihood;
pub mod merge_loop;
pub mod new_pairs;
pub mod pairs;
pub mod parity;
pub mod progress;
pub mod queue;
pub mod ranking;
pub mod reduced;
pub mod replay;
pub mod sections;
pub mod separators;
pub mod skipped;
pub mod stream;
pub mod symbols;
pub mod table;
#[cfg(test)]
#[path = "../../tests/unit/train.rs"]
mod tests;
pub mod tie_break;
pub mod unigram;
pub mod word_pieces;
pub mod words;
pub mod worker;

/// One merge that was learned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Learned {
    /// Left part.
    pub left: u32,
    /// Right part.
    pub right: u32,
    /// The product; an earlier merge may have made the same string.
    pub product: u32,
    /// The count of the pair.
    pub count: u64,
    /// Of parity-aware BPE, the number of the language that it was made for, from 1 on; 0 if for all together.
    pub language: u32,
}
