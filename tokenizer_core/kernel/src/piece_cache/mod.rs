//! Bounded memory of what pieces became, owned by one encoding thread at a time.
//!
//! Short pieces with few ids live in [`ShortCache`], one cache line a probe; the rest in [`LongCache`]. Both hold the
//! whole piece, so a hit is never a guess, and neither chains, so that a forged collision costs a miss and no more.

mod long;
mod short;

pub use long::LongCache;
pub use short::{IDS_LIMIT, KEY_LIMIT, Key, ShortCache};
