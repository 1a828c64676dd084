//! Bounded memory of what pieces became, owned by one encoding thread at a time.
//!
//! Short pieces live in [`ShortCache`], two to a cache line; longer ones in [`WideCache`], one to a line; what fits in
//! neither in [`LongCache`]. All hold the whole piece, so a hit is never a
//! guess, and none chains, so that a forged collision costs a miss and no more.

mod key;
mod long;
mod lookup;
mod short;
mod wide;

pub use key::{KEY_LIMIT, Key, WideKey};
pub use long::LongCache;
#[cfg(target_arch = "x86_64")]
pub use lookup::Avx512;
pub use lookup::{Lookup, Portable};
pub use short::{IDS_LIMIT, ShortCache};
pub use wide::WideCache;
