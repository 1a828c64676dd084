//! Sinks: they receive ids with the position of each in the text.

pub mod count;
pub mod offsets;
pub mod overlapping;
pub mod stack_ids;
pub(crate) mod unit_index;
pub mod word_ids;

use std::ops::Range;

use crate::capacity::reserve;
use crate::model::Token;
use crate::normalize::Alignment;

/// A text between added tokens as the pretokenizer saw it, and the way back to the caller's text.
#[derive(Debug, Clone, Copy)]
pub struct Stretch<'a> {
    /// The beginning of the normalizer's text in the caller's.
    pub(crate) start: usize,
    pub(crate) alignment: Option<&'a Alignment>,
    /// The beginning of the stretch in the normalizer's text.
    pub(crate) inner: usize,
    /// The bytes that were put before it, or the rewrite in it.
    pub(crate) spaced: Option<&'a Moved>,
}

/// The way from a stretch back to the text of the normalizer.
#[derive(Debug)]
pub enum Moved {
    /// So many bytes were put before it.
    By(usize),
    /// Anything else.
    Along(Alignment),
}

impl Moved {
    fn source(&self, range: Range<usize>) -> Range<usize> {
        match self {
            Self::By(bytes) => range.start.saturating_sub(*bytes)..range.end.saturating_sub(*bytes),
            Self::Along(alignment) => alignment.source(range),
        }
    }

    /// Compose with a later rewrite of the stretch, which has `bytes` bytes.
    pub(crate) fn then(&self, later: &Alignment, bytes: usize) -> Alignment {
        match self {
            Self::By(before) => Alignment::behind(*before, bytes).then(later),
            Self::Along(alignment) => alignment.then(later),
        }
    }
}

impl Stretch<'_> {
    /// The bytes of the caller's text that the bytes in `range` of the stretch came from.
    pub fn source(&self, range: Range<usize>) -> Range<usize> {
        let range = self.spaced.map_or(range.clone(), |spaced| spaced.source(range));
        let range = range.start + self.inner..range.end + self.inner;
        let range = self.alignment.map_or(range.clone(), |alignment| alignment.source(range));
        range.start + self.start..range.end + self.start
    }

    /// The beginning of the stretch in the caller's text, if nothing in it was rewritten.
    pub fn verbatim(&self) -> Option<usize> {
        (self.alignment.is_none() && self.spaced.is_none()).then_some(self.start + self.inner)
    }
}

/// Ids that are taken from tokens at a time.
const FEW: usize = 64;

/// A receiver of ids.
pub trait Sink {
    /// One id that stands for the bytes `source` of the caller's text; empty for ids that stand for no text.
    fn added(&mut self, id: u32, source: Range<usize>);

    /// True if the sink is given only [the number](Self::counted) of ids and not the ids of pieces.
    const COUNTS: bool = false;

    /// True if the sink asks the stretches for places.
    const SPANS: bool = false;

    /// True if the sink is told where each piece ends.
    const ENDS: bool = false;

    /// The ids of the next pieces.
    fn pieces(&mut self, ids: &[u32]);

    /// The tokens of the next pieces, where ids alone do not say which bytes each stands for.
    fn tokens(&mut self, tokens: &[Token]) {
        for few in tokens.chunks(FEW) {
            let mut ids = [0; FEW];
            ids.iter_mut().zip(few).for_each(|(id, token)| *id = token.id);
            self.pieces(&ids[..few.len()]);
        }
    }

    /// The number of ids of the next pieces, for a sink that counts.
    fn counted(&mut self, _ids: usize) {}

    /// The ids since the last call are those of one piece; only a sink that asks for ends is told.
    fn piece_ended(&mut self) {}

    /// The next pieces are those of `stretch`.
    fn stretch_begins(&mut self, _stretch: &Stretch<'_>) {}

    /// All pieces of the stretch have been given; it had `bytes` bytes.
    fn stretch_ended(&mut self, _stretch: &Stretch<'_>, _bytes: usize) {}
}

impl Sink for Vec<u32> {
    fn added(&mut self, id: u32, _source: Range<usize>) {
        self.pieces(&[id]);
    }

    #[inline]
    fn pieces(&mut self, ids: &[u32]) {
        reserve(self, ids.len());
        self.extend_from_slice(ids);
    }
}

/// The tokens of pieces, of a model that does not tile: a share of a text on its way to another sink.
#[derive(Debug, Default)]
pub(crate) struct Tokens(pub(crate) Vec<Token>);

impl Sink for Tokens {
    fn added(&mut self, id: u32, source: Range<usize>) {
        self.0.push(Token { id, bytes: source.len() as u32 });
    }

    fn pieces(&mut self, ids: &[u32]) {
        self.0.extend(ids.iter().map(|id| Token { id: *id, bytes: 0 }));
    }

    fn tokens(&mut self, tokens: &[Token]) {
        reserve(&mut self.0, tokens.len());
        self.0.extend_from_slice(tokens);
    }
}
