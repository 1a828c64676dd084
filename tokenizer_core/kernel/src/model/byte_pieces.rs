//! Entries `<0x00>` to `<0xFF>`, which stand for single bytes of what has no other entry.

use super::Token;
use crate::vocabulary::Vocabulary;
pub use crate::vocabulary::byte_entry::byte_of;

/// No entry.
const NONE: u32 = u32::MAX;

/// The ids of the bytes that have an entry.
#[derive(Debug)]
pub struct BytePieces(Box<[u32; 256]>);

impl BytePieces {
    /// Find the entries in a vocabulary of texts.
    pub fn new(vocabulary: &Vocabulary) -> Self {
        let mut ids = Box::new([NONE; 256]);
        for (id, entry) in vocabulary.tokens() {
            if let Some(byte) = byte_of(entry) {
                ids[usize::from(byte)] = id;
            }
        }
        Self(ids)
    }

    /// Tell whether each byte has an entry.
    pub fn cover(&self, bytes: &[u8]) -> bool {
        bytes.iter().all(|byte| self.0[usize::from(*byte)] != NONE)
    }

    /// The tokens of bytes that are covered.
    pub fn tokens(&self, bytes: &[u8]) -> impl Iterator<Item = Token> {
        bytes.iter().map(|byte| Token { id: self.0[usize::from(*byte)], bytes: 1 })
    }

    /// The ids of all entries.
    pub fn ids(&self) -> impl Iterator<Item = u32> {
        self.0.iter().copied().filter(|id| *id != NONE)
    }
}
