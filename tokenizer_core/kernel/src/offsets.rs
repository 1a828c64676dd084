//! Spans of ids in the caller's text, in bytes, code points or UTF-16 units.

use std::ops::Range;

use crate::decode::TokenBytes;
use crate::sink::{Sink, Stretch};
use crate::words::sixteen;

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

/// Sink for ids with the byte span of each.
#[derive(Debug)]
pub struct Offsets<'a> {
    tokens: &'a TokenBytes,
    /// The ids.
    pub ids: Vec<u32>,
    /// Half-open byte spans, one an id: starts and ends never decrease. The text is shorter than 4 GiB.
    pub spans: Vec<[u32; 2]>,
}

impl<'a> Offsets<'a> {
    /// An empty sink for ids of these tokens.
    pub fn new(tokens: &'a TokenBytes) -> Self {
        Self { tokens, ids: Vec::new(), spans: Vec::new() }
    }

    /// The spans in another unit: each the smallest that covers the bytes.
    pub fn into_unit(mut self, text: &str, unit: Unit) -> (Vec<u32>, Vec<[u32; 2]>) {
        if unit != Unit::Byte && !text.is_ascii() {
            let (mut starts, mut ends) = (Cursor::default(), Cursor::default());
            for [start, end] in &mut self.spans {
                let empty = start == end;
                // Nearly every token begins where the one before ended, on the border of a character.
                *start = if ends.byte == *start as usize {
                    ends.units
                } else {
                    starts.units_before(text.as_bytes(), *start as usize, unit)
                };
                *end = if empty { *start } else { ends.units_until(text.as_bytes(), *end as usize, unit) };
            }
        }
        (self.ids, self.spans)
    }
}

impl Sink for Offsets<'_> {
    fn added(&mut self, id: u32, source: Range<usize>) {
        self.ids.push(id);
        self.spans.push([source.start as u32, source.end as u32]);
    }

    #[inline]
    fn pieces(&mut self, ids: &[u32]) {
        self.ids.pieces(ids);
    }

    fn stretch_ended(&mut self, stretch: &Stretch<'_>) {
        let ids = &self.ids[self.spans.len()..];
        // The tokens of a stretch tile it: merges only ever join bytes.
        if let Some(start) = stretch.verbatim() {
            let mut start = start as u32;
            self.spans.extend(ids.iter().map(|id| {
                let end = start + self.tokens.length(*id);
                [std::mem::replace(&mut start, end), end]
            }));
            return;
        }
        let mut start = 0;
        for id in ids {
            let end = start + self.tokens.length(*id) as usize;
            let source = stretch.source(start..end);
            self.spans.push([source.start as u32, source.end as u32]);
            start = end;
        }
    }
}

/// Counts units along a text for positions that never decrease.
#[derive(Debug, Default)]
struct Cursor {
    byte: usize,
    units: u32,
}

impl Cursor {
    /// Units that begin before the character that holds the byte at `position`.
    fn units_before(&mut self, text: &[u8], position: usize, unit: Unit) -> u32 {
        let mut position = position.min(text.len());
        while position < text.len() && is_continuation(text[position]) {
            position -= 1;
        }
        self.advance(text, position, unit)
    }

    /// Units up to the end of the character that holds the byte before `position`.
    fn units_until(&mut self, text: &[u8], position: usize, unit: Unit) -> u32 {
        let mut position = position.min(text.len());
        while position < text.len() && is_continuation(text[position]) {
            position += 1;
        }
        self.advance(text, position, unit)
    }

    fn advance(&mut self, text: &[u8], position: usize, unit: Unit) -> u32 {
        let mut rest = text.get(self.byte..position).unwrap_or_default();
        let mut at = self.byte;
        while !rest.is_empty() {
            let length = rest.len().min(16);
            // The first bytes of characters, a bit each; then those of four bytes, which are two units of UTF-16.
            let word = sixteen(text, at);
            let inside = u128::MAX >> (128 - 8 * length);
            let first = !(word & !(word << 1)) & HIGH & inside;
            self.units += first.count_ones();
            if unit == Unit::Utf16 {
                self.units += (word & word << 1 & word << 2 & word << 3 & HIGH & inside).count_ones();
            }
            at += length;
            rest = &rest[length..];
        }
        self.byte = self.byte.max(position);
        self.units
    }
}

/// The high bit of each byte.
const HIGH: u128 = u128::from_ne_bytes([0x80; 16]);

fn is_continuation(byte: u8) -> bool {
    byte & 0xC0 == 0x80
}
