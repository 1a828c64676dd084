//! From a piece to ids: looked up as a token, or merged in the way that is best for its length.

pub mod backtrack;
pub mod lane;
pub mod lineage;
pub mod merge;
pub(crate) mod pair_table;
pub mod ranks;
pub(crate) mod run_tokens;
pub mod token_index;
pub(crate) mod white_space_tokens;

use self::backtrack::Backtracker;
use self::lane::Lanes;
use self::merge::Merger;

/// Places in a lane, by the length of its pieces: two more than the bytes of the longest that it takes.
pub(crate) const SHORT: usize = 16;
pub(crate) const MIDDLE: usize = 32;
pub(crate) const LONG: usize = 64;

/// What merges pieces, by their length: lanes, of which `queue` has the longest. What is too long for these is merged
/// by the search from left to right where the vocabulary allows it, else by the queue.
#[derive(Debug, Default)]
pub struct Mergers {
    pub(crate) short: Lanes<SHORT>,
    pub(crate) middle: Lanes<MIDDLE>,
    pub(crate) backtracker: Backtracker,
    pub(crate) queue: Merger,
}
