//! The tables of byte-level BPE, and three ways to merge a piece: lanes for short ones, the search from left to right
//! for long ones, and the queue where the search cannot tell.

pub mod backtrack;
pub mod lane;
pub mod lineage;
pub mod merge;
pub(crate) mod pair_table;
pub mod ranks;
pub mod token_index;
pub(crate) mod token_trie;
