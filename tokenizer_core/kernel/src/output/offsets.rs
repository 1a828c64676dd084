//! Spans of ids in the caller's text, in bytes, code points or UTF-16 units.

use std::mem::MaybeUninit;
use std::ops::Range;

use crate::capacity::{for_ids, reserve, with_room};
use crate::decode::TokenBytes;
use crate::decode::token_widths::{TokenWidth, TokenWidths, Unit};
use crate::model::Token;
use crate::output::unit_index::UnitIndex;
use crate::output::{Sink, Stretch};

/// Ids whose spans are made together: many enough to be worth it, and few enough to be still in cache.
const WAITING: usize = 1024;

/// Sink for ids with the span of each.
///
/// Tokens of most models tile the text where it is not rewritten, so a span begins where the one before ends, and the
/// tokens themselves say how far they lead; only other places are looked up in the text.
#[derive(Debug)]
pub struct Offsets<'a> {
    tokens: &'a TokenBytes,
    text: &'a str,
    /// Bytes if the text is ASCII.
    unit: Unit,
    widths: TokenWidths<'a>,
    /// The end of the last token, in bytes and in units: a border of characters, except for `units` between the ids of
    /// a stretch.
    position: usize,
    units: u32,
    /// Units of the last character that began.
    open: u32,
    /// True if the text of this stretch is the caller's, which tokens that tile it tile as well.
    is_tiling: bool,
    /// The number of bytes of the stretch that each of its ids covers, where the bytes of the token do not say it.
    lengths: Vec<u32>,
    /// Made when a place is first looked up.
    index: Option<UnitIndex<'a>>,
    /// The ids.
    pub ids: Vec<u32>,
    /// Half-open spans, one an id, each the smallest that covers the id's bytes. The text is shorter than 4 GiB. Starts
    /// and ends never decrease, except the end of an empty span, that of an inserted space or text: it may lie within
    /// what a normalizer replaced as a whole, and the span before covers that to its end.
    pub spans: Vec<[u32; 2]>,
}

impl<'a> Offsets<'a> {
    /// An empty sink for the ids of `text`.
    pub fn new(tokens: &'a TokenBytes, text: &'a str, unit: Unit) -> Self {
        let unit = if text.is_ascii() { Unit::Byte } else { unit };
        Self {
            tokens,
            text,
            unit,
            widths: tokens.widths(unit),
            position: 0,
            units: 0,
            open: 0,
            is_tiling: false,
            lengths: Vec::new(),
            index: None,
            ids: for_ids(text.len()),
            spans: with_room(0, text.len()),
        }
    }

    /// The units before the character that holds a byte, and up to its end; on a border both are the units before.
    fn around(&mut self, position: usize) -> [u32; 2] {
        if position == self.position {
            [self.units; 2]
        } else if self.unit == Unit::Byte {
            [position as u32; 2]
        } else {
            let (text, unit) = (self.text.as_bytes(), self.unit);
            self.index.get_or_insert_with(|| UnitIndex::new(text, unit == Unit::Utf16)).around(position)
        }
    }

    fn span(&mut self, source: Range<usize>) -> [u32; 2] {
        let [start, _] = self.around(source.start);
        [start, if source.is_empty() { start } else { self.around(source.end)[1] }]
    }

    /// Make the spans of the ids that have come, if they are many and have room. Those of a shorter text are made when
    /// it is known how many they are: moving them while they grow took as long as making them.
    #[inline]
    fn tile_many(&mut self) {
        let waiting = self.ids.len() - self.spans.len();
        if self.is_tiling && waiting >= WAITING && waiting <= self.spans.spare_capacity_mut().len() {
            self.tile();
        }
    }

    /// Make the spans of the ids that have come, of a stretch that tiles the text.
    fn tile(&mut self) {
        let ids = &self.ids[self.spans.len()..];
        reserve(&mut self.spans, ids.len());
        let spans = &mut self.spans.spare_capacity_mut()[..ids.len()];
        if self.unit == Unit::Utf16 {
            (self.units, self.open) = tile_pairs(&self.widths, ids, (self.units, self.open), spans);
        } else {
            self.units = self.widths.tile(ids, self.units, spans);
        }
        // SAFETY: both branches have written the span of every id: `spans` has as many as there are ids.
        unsafe { self.spans.set_len(self.ids.len()) };
    }
}

/// As [`TokenWidths::tile`] where a character can be two units: also takes and returns the units of the last one that
/// began.
fn tile_pairs(
    widths: &TokenWidths<'_>,
    ids: &[u32],
    (mut end, mut open): (u32, u32),
    spans: &mut [MaybeUninit<[u32; 2]>],
) -> (u32, u32) {
    for (id, span) in ids.iter().zip(spans) {
        let TokenWidth { units, inside, pair } = widths.get(*id);
        let start = if inside { end - open } else { end };
        end += units;
        span.write([start, end]);
        if units > 0 {
            open = 1 + u32::from(pair);
        }
    }
    (end, open)
}

impl Sink for Offsets<'_> {
    const SPANS: bool = true;

    fn added(&mut self, id: u32, source: Range<usize>) {
        self.ids.push(id);
        let is_next = source.start == self.position;
        let span = match self.text.get(source.clone()).filter(|_| is_next) {
            Some(literal) => {
                let start = self.units;
                self.units += TokenWidth::of(literal.as_bytes(), self.unit).units;
                self.position = source.end;
                [start, self.units]
            }
            None => self.span(source),
        };
        self.spans.push(span);
    }

    #[inline]
    fn pieces(&mut self, ids: &[u32]) {
        self.ids.pieces(ids);
        self.tile_many();
    }

    fn tokens(&mut self, tokens: &[Token]) {
        reserve(&mut self.ids, tokens.len());
        self.ids.extend(tokens.iter().map(|token| token.id));
        reserve(&mut self.lengths, tokens.len());
        self.lengths.extend(tokens.iter().map(|token| token.bytes));
    }

    fn stretch_begins(&mut self, stretch: &Stretch<'_>) {
        let start = stretch.verbatim();
        self.is_tiling = start.is_some();
        if let Some(start) = start {
            [self.units, _] = self.around(start);
            self.position = start;
        }
    }

    fn stretch_ended(&mut self, stretch: &Stretch<'_>, bytes: usize) {
        let lengths = std::mem::take(&mut self.lengths);
        if self.is_tiling && lengths.is_empty() {
            self.position += bytes;
            return self.tile();
        }
        let (first, mut start) = (self.spans.len(), 0);
        for at in first..self.ids.len() {
            let length = lengths.get(at - first).copied().unwrap_or_else(|| self.tokens.length(self.ids[at]));
            let end = start + length as usize;
            let span = self.span(stretch.source(start..end));
            self.spans.push(span);
            start = end;
        }
        self.lengths = lengths;
        self.lengths.clear();
    }
}
