//! Spans of ids in the caller's text, in bytes, code points or UTF-16 units.

use std::ops::Range;

use crate::decode::TokenBytes;
use crate::ruler::Ruler;
use crate::sink::{Sink, Stretch};

/// What a span counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unit {
    /// Bytes of UTF-8.
    Byte,
    /// Code points.
    Char,
    /// UTF-16 units, as JavaScript counts.
    Utf16,
}

/// Sink for ids with the span of each.
#[derive(Debug)]
pub struct Offsets<'a> {
    tokens: &'a TokenBytes,
    /// Absent where spans are in bytes, or a byte is a character.
    ruler: Option<Ruler<'a>>,
    /// The ids.
    pub ids: Vec<u32>,
    /// Half-open spans, one an id, each the smallest that covers the id's bytes. Starts and ends never decrease. The text
    /// is shorter than 4 GiB.
    pub spans: Vec<[u32; 2]>,
}

impl<'a> Offsets<'a> {
    /// An empty sink for ids of these tokens, which are to come from `text`.
    pub fn new(tokens: &'a TokenBytes, text: &'a str, unit: Unit) -> Self {
        let ruler = (unit != Unit::Byte && !text.is_ascii()).then(|| Ruler::new(text.as_bytes(), unit == Unit::Utf16));
        Self { tokens, ruler, ids: Vec::with_capacity(text.len() / 3), spans: Vec::new() }
    }

    fn span(&self, source: Range<usize>) -> [u32; 2] {
        match &self.ruler {
            None => [source.start as u32, source.end as u32],
            Some(ruler) => {
                let [start, _] = ruler.around(source.start);
                [start, if source.is_empty() { start } else { ruler.around(source.end)[1] }]
            }
        }
    }

    /// The spans of tokens that tile the caller's text from `start` on.
    #[inline(always)]
    fn tile(&mut self, start: usize) {
        let ids = &self.ids[self.spans.len()..];
        self.spans.reserve(ids.len());
        let spans = self.spans.spare_capacity_mut().iter_mut();
        match &self.ruler {
            None => {
                let mut start = start as u32;
                for (id, span) in ids.iter().zip(spans) {
                    let end = start + self.tokens.length(*id);
                    span.write([start, end]);
                    start = end;
                }
            }
            Some(ruler) => {
                let (mut position, [mut start, _]) = (start, ruler.around(start));
                for (id, span) in ids.iter().zip(spans) {
                    position += self.tokens.length(*id) as usize;
                    let [next, end] = ruler.around(position);
                    span.write([start, end]);
                    start = next;
                }
            }
        }
        // SAFETY: there is room for a span of each id, and all of them are written.
        unsafe { self.spans.set_len(self.ids.len()) };
    }

    /// As [`Self::tile`]: without this instruction, bits are counted by a dozen others.
    ///
    /// # Safety
    /// The machine counts bits.
    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "popcnt")]
    unsafe fn tile_by_counting(&mut self, start: usize) {
        self.tile(start);
    }
}

impl Sink for Offsets<'_> {
    fn added(&mut self, id: u32, source: Range<usize>) {
        let span = self.span(source);
        self.ids.push(id);
        self.spans.push(span);
    }

    #[inline]
    fn pieces(&mut self, ids: &[u32]) {
        self.ids.pieces(ids);
    }

    fn stretch_ended(&mut self, stretch: &Stretch<'_>) {
        // The tokens of a stretch tile it: merges only ever join bytes.
        if let Some(start) = stretch.verbatim() {
            #[cfg(target_arch = "x86_64")]
            if is_x86_feature_detected!("popcnt") {
                // SAFETY: it does.
                return unsafe { self.tile_by_counting(start) };
            }
            return self.tile(start);
        }
        let mut start = 0;
        for at in self.spans.len()..self.ids.len() {
            let end = start + self.tokens.length(self.ids[at]) as usize;
            self.spans.push(self.span(stretch.source(start..end)));
            start = end;
        }
    }
}
