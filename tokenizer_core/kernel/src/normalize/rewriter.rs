//! Build a rewritten text and its alignment from left to right, and nothing while nothing changes.

use std::ops::Range;

use super::{Alignment, Normalized};

/// One pass over a source: each byte of it is kept, replaced or dropped, in order.
pub(crate) struct Rewriter<'s> {
    source: &'s str,
    /// Everything before is decided.
    at: usize,
    /// Everything before is written; what is between here and `at` is kept, but not yet copied.
    written: usize,
    text: String,
    alignment: Alignment,
    changed: bool,
}

impl<'s> Rewriter<'s> {
    pub(crate) fn new(source: &'s str) -> Self {
        Self { source, at: 0, written: 0, text: String::new(), alignment: Alignment::default(), changed: false }
    }

    /// Take the source up to `end` as it is.
    pub(crate) fn keep(&mut self, end: usize) {
        self.at = end;
    }

    /// Leave out the source up to `end`.
    pub(crate) fn drop(&mut self, end: usize) {
        if end > self.at {
            self.write_kept();
            (self.at, self.written) = (end, end);
        }
    }

    /// Put `with` here; it came from nothing.
    pub(crate) fn insert(&mut self, with: &str) {
        if !with.is_empty() {
            self.write_kept();
            self.text.push_str(with);
            self.alignment.push_whole(with.len(), self.at..self.at);
        }
    }

    /// Put `with` in place of the source up to `end`.
    ///
    /// A character that becomes one of the same length keeps the places of its bytes: a text that is only
    /// lowercased has the alignment of an unchanged one.
    pub(crate) fn replace(&mut self, end: usize, with: &str) {
        let replaced = &self.source[self.at..end];
        if replaced == with {
            return self.keep(end);
        }
        if with.is_empty() {
            return self.drop(end);
        }
        self.write_kept();
        self.text.push_str(with);
        if replaced.len() == with.len() && is_one_char(replaced) && is_one_char(with) {
            self.alignment.push_copy(with.len(), self.at);
        } else {
            self.alignment.push_whole(with.len(), self.at..end);
        }
        (self.at, self.written) = (end, end);
    }

    /// Put `with` in place of a part of the source, and keep what is before it.
    pub(crate) fn put(&mut self, part: Range<usize>, with: &str) {
        self.keep(part.start);
        self.replace(part.end, with);
    }

    /// The number of bytes written so far.
    pub(super) fn len(&self) -> usize {
        self.text.len()
    }

    /// Return the length of the rewritten text up to here.
    pub(crate) fn position(&self) -> usize {
        self.text.len() + (self.at - self.written)
    }

    /// The rewritten text, the rest of the source kept; `None` if nothing changed.
    pub(crate) fn finish(mut self) -> Option<Normalized> {
        if !self.changed {
            return None;
        }
        self.at = self.source.len();
        self.write_kept();
        Some(Normalized { text: self.text, alignment: self.alignment })
    }

    fn write_kept(&mut self) {
        if !self.changed {
            self.changed = true;
            self.text.reserve(self.source.len());
        }
        self.text.push_str(&self.source[self.written..self.at]);
        self.alignment.push_copy(self.at - self.written, self.written);
        self.written = self.at;
    }
}

fn is_one_char(text: &str) -> bool {
    text.chars().nth(1).is_none()
}
