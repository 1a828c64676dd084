//! A hash of bytes with random keys, so that no file and no text can be made to collide: a folded multiply, as in the
//! crates `ahash` and `foldhash`.

use std::hash::{BuildHasher, RandomState};

use crate::simd::words::padded;

/// A folded-multiply hash, eight bytes a step.
#[derive(Debug, Clone, Copy)]
pub struct KeyedHash {
    keys: [u64; 2],
}

impl KeyedHash {
    /// With new random keys.
    pub fn new() -> Self {
        let key = || RandomState::new().hash_one(0) | 1;
        Self { keys: [key(), key()] }
    }

    /// The hash of `bytes`.
    #[inline]
    pub fn of(&self, bytes: &[u8]) -> u64 {
        let mut hash = self.keys[0];
        let (words, tail) = bytes.as_chunks::<8>();
        for word in words {
            hash = fold(hash ^ u64::from_le_bytes(*word), self.keys[1]);
        }
        // The length keeps a tail of zeros apart from no tail.
        hash = fold(hash ^ padded(tail) as u64, self.keys[1]);
        fold(hash ^ bytes.len() as u64, self.keys[0])
    }
}

/// Both halves of the product, folded: every input bit reaches every output bit.
#[inline]
pub(crate) fn fold(left: u64, right: u64) -> u64 {
    let product = u128::from(left) * u128::from(right);
    (product as u64) ^ ((product >> 64) as u64)
}
