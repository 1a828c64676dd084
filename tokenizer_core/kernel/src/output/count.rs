//! A sink that counts ids.

use std::ops::Range;

use crate::output::Sink;

/// The number of ids, without the ids.
#[derive(Debug, Default)]
pub struct Count(pub usize);

impl Sink for Count {
    fn added(&mut self, _id: u32, _source: Range<usize>) {
        self.0 += 1;
    }

    const COUNTS: bool = true;

    #[inline]
    fn pieces(&mut self, ids: &[u32]) {
        self.0 += ids.len();
    }

    #[inline]
    fn counted(&mut self, ids: usize) {
        self.0 += ids;
    }
}
