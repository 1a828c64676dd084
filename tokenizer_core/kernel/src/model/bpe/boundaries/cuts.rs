//! Pieces cut into parts.

/// Pieces cut into parts. The buffers are as long as was ever needed; only the first `count` entries are meaningful.
#[derive(Debug, Default)]
pub struct Cuts {
    pub(crate) ends: Vec<u32>,
    pub(crate) parts: Vec<bool>,
    /// A byte for each byte of the text, all zero except while pieces are cut.
    pub(crate) marks: Vec<u8>,
    pub(crate) count: usize,
    /// True if `parts` is meaningful.
    told: bool,
}

impl Cuts {
    /// Return the end of each part or uncut piece.
    #[inline]
    pub fn ends(&self) -> &[u32] {
        &self.ends[..self.count]
    }

    /// Return for each of them whether it is a part; empty where that was not asked for.
    #[inline]
    pub fn parts(&self) -> &[bool] {
        if self.told { &self.parts[..self.count] } else { &[] }
    }

    /// A buffer that grows with the text.
    #[cfg(test)]
    pub(crate) fn room(&mut self) -> &mut Vec<u32> {
        &mut self.ends
    }

    /// Forget all parts, of which nobody asks which they are.
    pub(crate) fn clear(&mut self) {
        self.ends.clear();
        (self.count, self.told) = (0, false);
    }

    /// Append where a part ends.
    #[inline(always)]
    pub(crate) fn push(&mut self, end: u32) {
        self.ends.push(end);
        self.count += 1;
    }

    /// Make room for `most` ends, and to tell which of them are parts.
    pub(crate) fn reserve(&mut self, most: usize, tell: bool) {
        if self.ends.len() < most {
            self.ends.resize(most, 0);
        }
        if tell && self.parts.len() < most {
            self.parts.resize(most, false);
        }
        self.told = tell;
    }

    /// Give back the memory of long pieces, down to `entries` entries a buffer.
    pub fn shrink(&mut self, entries: usize) {
        self.count = 0;
        self.ends.truncate(entries);
        self.ends.shrink_to(entries);
        self.parts.truncate(entries);
        self.parts.shrink_to(entries);
        self.marks.truncate(entries);
        self.marks.shrink_to(entries);
    }
}
