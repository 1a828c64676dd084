//! Bounded caches of the ids of pieces, owned by one encoding thread at a time.
//!
//! [`Buckets`] has short pieces, two to a bucket, and wide ones, one to a bucket; [`LongCache`] has the longest, and
//! stores ids that are too many for a bucket. Both compare the whole piece, so a hit is never a guess. Neither has
//! chains, so a forged collision costs a miss and no more.

mod buckets;
mod caches;
mod id_chunk;
mod key;
mod long;
mod short;
mod wide;

pub use buckets::Buckets;
pub(crate) use buckets::{HALF, ID, PLACE_SHIFT, UNCOUNTED};
pub use caches::{CacheStatistics, Caches};
pub(crate) use id_chunk::COUNT_SHIFT;
pub use id_chunk::{IDS_LIMIT, IdChunk};
#[cfg(target_arch = "x86_64")]
pub(crate) use key::PART_BIT;
pub use key::{KEY_LIMIT, Key, WIDE_LIMIT, WideKey};
pub use long::{LongCache, LongHash, StoredIds};
pub use wide::WideIds;
