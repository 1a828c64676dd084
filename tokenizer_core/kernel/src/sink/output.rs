//! Sinks for ids: a vector, a count.

use std::ops::Range;

use crate::sink::Sink;

impl Sink for Vec<u32> {
    fn added(&mut self, id: u32, _source: Range<usize>) {
        self.push(id);
    }

    #[inline]
    fn pieces(&mut self, ids: &[u32]) {
        self.extend_from_slice(ids);
    }
}

/// How many ids there are, without the ids.
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
