//! The time that regular expressions may take over one text.

use std::time::{Duration, Instant};

/// What any text may take.
const GRACE: Duration = Duration::from_millis(1500);
/// What each byte of the text adds to it: a text may be searched at 1 MB/s, ten times slower than a harmless pattern is.
const PER_BYTE: Duration = Duration::from_micros(1);

/// A deadline, set at the first use.
#[derive(Debug, Default)]
pub(crate) struct Budget {
    end: Option<Instant>,
}

impl Budget {
    /// Whether there is time left for a text of `length` bytes.
    pub(crate) fn is_left(&mut self, length: usize) -> bool {
        let now = Instant::now();
        let bytes = u32::try_from(length).unwrap_or(u32::MAX);
        now < *self.end.get_or_insert_with(|| now + GRACE + PER_BYTE * bytes)
    }
}
