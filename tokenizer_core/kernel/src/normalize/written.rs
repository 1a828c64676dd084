//! A text that is written in one pass, with the way back where somebody asks for it.

use std::ops::Range;

use super::Alignment;

/// Takes the way back of each byte that is written, in order.
pub(crate) trait Trace {
    /// The next `len` bytes are the source's from `source` on, perhaps in lower case.
    fn copied(&mut self, len: usize, source: usize);
    /// The next `len` bytes came, as a whole, from `source`.
    fn whole(&mut self, len: usize, source: Range<usize>);
    /// The next `len` bytes are what one character became. As in every rewrite, one that becomes one of the same length
    /// keeps the places of its bytes.
    #[inline(always)]
    fn replaced(&mut self, len: usize, source: Range<usize>, is_one: bool) {
        if is_one && len == source.len() {
            self.copied(len, source.start);
        } else {
            self.whole(len, source);
        }
    }
    /// Forget what is behind the first `len` bytes.
    fn truncate(&mut self, len: usize);
    /// Return the end, in the source, of the bytes that the last bytes came from.
    fn end(&self) -> usize;
}

impl Trace for Alignment {
    fn copied(&mut self, len: usize, source: usize) {
        self.push_copy(len, source);
    }
    fn whole(&mut self, len: usize, source: Range<usize>) {
        self.push_whole(len, source);
    }
    fn truncate(&mut self, len: usize) {
        Alignment::truncate(self, len);
    }
    fn end(&self) -> usize {
        self.source(usize::MAX..usize::MAX).end
    }
}

/// Nobody asks for the way back.
impl Trace for () {
    #[inline(always)]
    fn copied(&mut self, _len: usize, _source: usize) {}
    #[inline(always)]
    fn whole(&mut self, _len: usize, _source: Range<usize>) {}
    #[inline(always)]
    fn truncate(&mut self, _len: usize) {}
    #[inline(always)]
    fn end(&self) -> usize {
        0
    }
}

/// The output of the pass.
#[derive(Debug, Default)]
pub(crate) struct Written<T> {
    /// The text; if it is cut, without what lies between the pieces.
    pub(crate) text: String,
    /// The ends of the pieces, if it is cut.
    pub(crate) ends: Vec<u32>,
    pub(crate) trace: T,
}

impl<T> Written<T> {
    /// Give back the memory of a long text, down to `entries` entries a buffer.
    pub(crate) fn shrink(&mut self, entries: usize) {
        self.text.clear();
        self.text.shrink_to(entries);
        self.ends.clear();
        self.ends.shrink_to(entries);
    }

    /// End a piece, if one has begun.
    #[inline(always)]
    pub(super) fn cut(&mut self) {
        let (end, last) = (self.text.len() as u32, self.ends.last().copied().unwrap_or(0));
        if end > last {
            self.ends.push(end);
        }
    }
}
