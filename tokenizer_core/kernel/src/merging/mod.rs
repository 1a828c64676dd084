//! From a piece to ids: looked up as a token, or merged in the way that is best for its length.

pub mod backtrack;
pub mod lane;
pub mod lineage;
pub mod merge;
pub(crate) mod pair_table;
pub mod ranks;
pub(crate) mod run_tokens;
pub mod token_index;
pub(crate) mod white_space;
pub(crate) mod white_space_tokens;

use self::backtrack::Backtracker;
use self::merge::Merger;

/// What merges long pieces: where the vocabulary allows it the first, else the second.
#[derive(Debug, Default)]
pub struct Mergers {
    pub(crate) backtracker: Backtracker,
    pub(crate) queue: Merger,
}
