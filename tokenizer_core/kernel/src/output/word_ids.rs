//! A sink that numbers pieces.

use std::ops::Range;

use crate::output::Sink;

/// Ids with the number of the piece, or added token, that each is of.
#[derive(Debug, Default)]
pub struct WordIds {
    /// The ids.
    pub ids: Vec<u32>,
    /// One number an id.
    pub words: Vec<u32>,
    next: u32,
}

impl Sink for WordIds {
    const ENDS: bool = true;

    fn added(&mut self, id: u32, _source: Range<usize>) {
        self.pieces(&[id]);
        self.piece_ended();
    }

    fn pieces(&mut self, ids: &[u32]) {
        self.ids.pieces(ids);
    }

    fn piece_ended(&mut self) {
        self.words.resize(self.ids.len(), self.next);
        self.next += 1;
    }
}
