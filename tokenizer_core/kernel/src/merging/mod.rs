//! From a piece to ids: looked up as a token, or merged in the way that is best for its length.

pub mod backtrack;
pub mod lane;
pub mod lineage;
pub mod merge;
pub(crate) mod pair_table;
pub mod ranks;
pub mod token_index;
pub(crate) mod token_trie;

use self::backtrack::Backtracker;
use self::lane::Lanes;
use self::merge::Merger;

/// Places in a lane, by the length of its pieces: two more than the bytes of the longest that it takes.
pub(crate) const SHORT: usize = 16;
pub(crate) const MIDDLE: usize = 32;

/// Three ways to merge a piece: lanes for short ones, the search from left to right for those of more than 30 bytes,
/// and the queue where the search cannot tell.
#[derive(Debug, Default)]
pub struct Mergers {
    pub(crate) short: Lanes<SHORT>,
    pub(crate) middle: Lanes<MIDDLE>,
    pub(crate) backtracker: Backtracker,
    pub(crate) queue: Merger,
}
