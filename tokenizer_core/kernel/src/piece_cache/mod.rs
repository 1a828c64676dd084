//! Bounded memory of what pieces became, owned by one encoding thread at a time.
//!
//! Short pieces with few ids live in [`ShortCache`], two to a cache line; longer ones and those of more ids in
//! [`WideCache`], one to a line; what fits in neither in [`LongCache`]. All hold the whole piece, so a hit is never a
//! guess, and none chains, so that a forged collision costs a miss and no more.

mod key;
mod long;
mod short;
mod wide;

pub use key::{KEY_LIMIT, Key, WIDE_LIMIT, WideKey};
pub use long::LongCache;
pub use short::{IDS_LIMIT, ShortCache};
pub use wide::{WIDE_IDS_LIMIT, WideCache};
