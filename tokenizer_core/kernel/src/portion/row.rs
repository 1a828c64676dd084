//! The ids of a portion put together, so that a sink gets them all at once.

use std::ops::Range;

use super::PIECES;
use crate::piece_cache::{Few, IDS_LIMIT};
use crate::sink::Sink;

/// Ids copied at once, however many count.
const STEP: usize = 16;

/// Ids on their way to a sink.
#[derive(Debug)]
pub(super) struct Row {
    /// As many as the pieces of a portion can have, and room for a step beyond.
    ids: [u32; PIECES * IDS_LIMIT + STEP],
    end: usize,
}

impl Default for Row {
    fn default() -> Self {
        Self { ids: [0; PIECES * IDS_LIMIT + STEP], end: 0 }
    }
}

impl Row {
    /// Put in `ids[range]`.
    #[inline(always)]
    pub(super) fn put(&mut self, ids: &[u32], range: Range<usize>) {
        let mut to = self.end;
        for from in range.clone().step_by(STEP) {
            match (ids[from..].first_chunk::<STEP>(), self.ids[to..].first_chunk_mut::<STEP>()) {
                (Some(ids), Some(room)) => *room = *ids,
                _ => self.ids[to..to + range.end - from].copy_from_slice(&ids[from..range.end]),
            }
            to += STEP;
        }
        self.end += range.len();
    }

    /// Put in those of a piece.
    #[inline(always)]
    pub(super) fn put_few(&mut self, few: &Few) {
        if let Some(room) = self.ids[self.end..].first_chunk_mut() {
            *room = few.ids;
        }
        self.end += few.count as usize;
    }

    /// Give all of them to `sink`.
    #[inline(always)]
    pub(super) fn give(&mut self, sink: &mut impl Sink) {
        sink.pieces(&self.ids[..self.end]);
        self.end = 0;
    }
}
