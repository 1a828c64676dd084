//! Where the bytes of a rewritten text came from.

use std::ops::Range;

/// A monotone map from byte ranges of a rewritten text to byte ranges of its source.
#[derive(Debug)]
pub struct Alignment {}

impl Alignment {
    /// The smallest source range that covers everything the bytes in `range` came from; empty (at the right
    /// place) when they were inserted.
    pub fn source(&self, range: Range<usize>) -> Range<usize> {
        range
    }
}
