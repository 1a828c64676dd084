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
use self::lane::Lanes;
use self::merge::Merger;

/// Places in the lanes for pieces of one length or another, two more than the bytes of the longest piece they take.
pub(crate) const SHORT: usize = 16;
pub(crate) const MIDDLE: usize = 32;
pub(crate) const LONG: usize = 64;

/// What merges pieces, by their length. Those that are too long for the lanes are merged by the search from left to
/// right where the vocabulary allows it, else by the queue, which has the longest lanes, too.
#[derive(Debug, Default)]
pub struct Mergers {
    pub(crate) short: Lanes<SHORT>,
    pub(crate) middle: Lanes<MIDDLE>,
    pub(crate) backtracker: Backtracker,
    pub(crate) queue: Merger,
}
