//! The origin of a rewritten text's bytes: runs that were copied or replaced.

use std::ops::Range;

/// Marks a run whose bytes stand one for one for source bytes; no source is this long.
const COPY: usize = usize::MAX;

/// A stretch of the rewritten text; it ends where the next one begins.
#[derive(Debug, Clone, Copy)]
struct AlignedRun {
    /// Its beginning in the rewritten text.
    output: usize,
    /// Its beginning in the source.
    source: usize,
    /// Its end in the source, or [`COPY`].
    source_end: usize,
}

impl AlignedRun {
    /// The source of the bytes `range`, all inside the run.
    fn source(&self, range: Range<usize>) -> Range<usize> {
        if self.source_end == COPY {
            self.source + (range.start - self.output)..self.source + (range.end - self.output)
        } else {
            self.source..self.source_end
        }
    }
}

/// A map from byte ranges of a rewritten text to byte ranges of its source. For consecutive ranges neither starts nor
/// ends decrease, except for an empty range within a run that was replaced as a whole, which has no place in the
/// source.
///
/// An unchanged stretch costs one run, however long it is.
#[derive(Debug, Default)]
pub struct Alignment {
    runs: Vec<AlignedRun>,
    /// Length of the rewritten text.
    len: usize,
}

impl Alignment {
    /// Of a text of `len` bytes that was not rewritten.
    pub(crate) fn copied(len: usize) -> Self {
        let mut whole = Self::default();
        whole.push_copy(len, 0);
        whole
    }

    /// Of a text of `len` bytes behind `before` others, which came from nothing.
    pub(crate) fn behind(before: usize, len: usize) -> Self {
        let mut whole = Self::default();
        whole.push_whole(before, 0..0);
        whole.push_copy(len, 0);
        whole
    }

    /// The smallest source range that covers everything the bytes in `range` came from; empty, at the place of the
    /// insertion, when all of them were inserted. Bytes past the end of the rewritten text came from nowhere.
    pub fn source(&self, range: Range<usize>) -> Range<usize> {
        let range = range.start.min(self.len)..range.end.min(self.len).max(range.start.min(self.len));
        let first = self.runs.partition_point(|run| run.output <= range.start).saturating_sub(1);
        if range.is_empty() {
            let place = self.runs.get(first).map_or(0, |run| {
                let place = run.source(range.start..range.start);
                // The end of the text lies after the last run, every other place at the beginning of some byte.
                if range.start == self.len && self.len > 0 { place.end } else { place.start }
            });
            return place..place;
        }
        let last = first + self.runs[first..].partition_point(|run| run.output < range.end);
        let mut sources = (first..last).map(|run| self.within(run, &range)).filter(|source| !source.is_empty());
        match sources.next() {
            Some(source) => source.start..sources.next_back().map_or(source.end, |last| last.end),
            None => self.within(first, &range),
        }
    }

    /// Source of the part of a run that lies in `range`.
    fn within(&self, run: usize, range: &Range<usize>) -> Range<usize> {
        let end = self.runs.get(run + 1).map_or(self.len, |next| next.output);
        self.runs[run].source(range.start.max(self.runs[run].output)..range.end.min(end))
    }

    /// Note that the next `len` bytes are the source bytes from `source` on.
    pub(super) fn push_copy(&mut self, len: usize, source: usize) {
        let continues = self
            .runs
            .last()
            .is_some_and(|run| run.source_end == COPY && run.source + (self.len - run.output) == source);
        if len > 0 && !continues {
            self.runs.push(AlignedRun { output: self.len, source, source_end: COPY });
        }
        self.len += len;
    }

    /// Note that the next `len` bytes came, as a whole, from `source`.
    pub(super) fn push_whole(&mut self, len: usize, source: Range<usize>) {
        let continues = self.runs.last().is_some_and(|run| run.source_end == source.end && run.source == source.start);
        if len > 0 && !continues {
            self.runs.push(AlignedRun { output: self.len, source: source.start, source_end: source.end });
        }
        self.len += len;
    }

    /// Forget what is behind the first `len` bytes.
    pub(super) fn truncate(&mut self, len: usize) {
        self.runs.truncate(self.runs.partition_point(|run| run.output < len));
        self.len = self.len.min(len);
    }

    /// Compose with a later rewrite: a map from its text to this one's source.
    pub(crate) fn then(&self, later: &Self) -> Self {
        let mut whole = Self::default();
        for (index, run) in later.runs.iter().enumerate() {
            let end = later.runs.get(index + 1).map_or(later.len, |next| next.output);
            if run.source_end == COPY {
                self.copy_through(run.source..run.source + (end - run.output), &mut whole);
            } else {
                whole.push_whole(end - run.output, self.source(run.source..run.source_end));
            }
        }
        whole
    }

    /// Append to `whole` where the bytes of `range` came from, run by run.
    fn copy_through(&self, range: Range<usize>, whole: &mut Self) {
        let first = self.runs.partition_point(|run| run.output <= range.start).saturating_sub(1);
        for (index, run) in self.runs.iter().enumerate().skip(first).take_while(|(_, run)| run.output < range.end) {
            let end = self.runs.get(index + 1).map_or(self.len, |next| next.output).min(range.end);
            let len = end - range.start.max(run.output);
            let source = self.within(index, &range);
            if run.source_end == COPY {
                whole.push_copy(len, source.start);
            } else {
                whole.push_whole(len, source);
            }
        }
    }
}
