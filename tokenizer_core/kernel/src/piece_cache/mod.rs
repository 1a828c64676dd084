//! Bounded caches of the ids of pieces, owned by one encoding thread at a time.
//!
//! [`Lines`] has short pieces, two to a cache line, and wide ones, one to a line; [`LongCache`] has the longest, and
//! stores ids that are too many for a line. All compare the whole piece, so a hit
//! is never a guess. None has chains, so a forged collision costs a miss and no more.

mod caches;
mod id_chunk;
mod key;
mod lines;
mod long;
mod short;
mod wide;

pub use caches::{CacheStatistics, Caches};
pub use id_chunk::{IDS_LIMIT, IdChunk};
#[cfg(target_arch = "x86_64")]
pub(crate) use key::PART_BIT;
pub use key::{KEY_LIMIT, Key, WIDE_LIMIT, WideKey};
pub use lines::Lines;
pub(crate) use lines::{COUNT_SHIFT, HALF, ID, PLACE_SHIFT, UNCOUNTED};
pub use long::{LongCache, LongHash, StoredIds};
pub use wide::WideIds;
