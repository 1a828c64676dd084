//! The ids of a portion, those found in the caches and those of misses joined, so that a sink gets them all at once.

use std::ops::Range;

use super::{PIECES, ROOM as KNOWN};
use crate::piece_cache::IDS_LIMIT;
use crate::sink::Sink;

/// Ids copied at once, needed or not.
const STEP: usize = 64;

/// Room for the ids of missed pieces that have many.
const MANY_ROOM: usize = 2 * PIECES;

/// Room for these, for the known ids, and for the excess of one copy.
const ROOM: usize = KNOWN + MANY_ROOM + STEP;

/// Ids on their way to a sink.
#[derive(Debug)]
pub(super) struct JoinedIds {
    ids: [u32; ROOM],
    end: usize,
    /// How many of them belong to pieces with many.
    many: usize,
}

impl Default for JoinedIds {
    #[inline(always)]
    fn default() -> Self {
        Self { ids: [0; ROOM], end: 0, many: 0 }
    }
}

impl JoinedIds {
    /// Append `ids[range]`.
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

    /// Append the first `count` of `ids`.
    #[inline(always)]
    pub(super) fn put_few(&mut self, (ids, count): (&[u32; IDS_LIMIT], usize)) {
        if let Some(room) = self.ids[self.end..].first_chunk_mut() {
            *room = *ids;
        }
        self.end += count;
    }

    /// Append `ids[range]`, the many ids of one piece; if there is no room, `sink` gets what is joined so far, and the
    /// ids too if they are too many to join.
    #[inline(always)]
    pub(super) fn put_many(&mut self, (ids, range): (&[u32], Range<usize>), sink: &mut impl Sink) {
        if self.many + range.len() > MANY_ROOM {
            self.give(sink);
        }
        if range.len() > MANY_ROOM {
            return sink.pieces(&ids[range]);
        }
        self.many += range.len();
        self.put(ids, range);
    }

    /// Give all of them to `sink`.
    #[inline(always)]
    pub(super) fn give(&mut self, sink: &mut impl Sink) {
        sink.pieces(&self.ids[..self.end]);
        (self.end, self.many) = (0, 0);
    }
}
