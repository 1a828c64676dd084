//! A piece to ids: looked up as a token, or merged, each length in the way that is best for it.

pub mod backtrack;
pub mod lane;
pub mod lineage;
pub mod merge;
pub(crate) mod pair_table;
pub mod ranks;
pub(crate) mod run_tokens;
pub mod token_index;
pub(crate) mod white;
pub(crate) mod white_tokens;
