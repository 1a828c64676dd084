//! The ids of a portion, those found in the caches and those of misses joined.

use std::ops::Range;

use super::misses::Resolved;
use super::{Miss, ROOM, Room, STEP};
use crate::piece_cache::IDS_LIMIT;

/// Write `known` with the ids of the misses between them, in order, to `room`, and return how many there are; `None`
/// if they are too many.
#[inline(always)]
pub(super) fn join<'a>(
    known: &[u32],
    resolved: impl Iterator<Item = (&'a Miss, Resolved<'a>)> + Clone,
    room: &mut Room,
) -> Option<usize> {
    if known.len() + resolved.clone().map(|(_, resolved)| resolved.count()).sum::<usize>() > ROOM - STEP {
        return None;
    }
    let mut joined = Joined { room, end: 0 };
    let mut given = 0;
    for (miss, resolved) in resolved {
        let end = miss.end as usize;
        joined.put(known, given..end);
        given = end;
        match resolved {
            Resolved::Few(few) => joined.put_few(few),
            Resolved::Many((ids, range)) => joined.put(ids, range),
        }
    }
    joined.put(known, given..known.len());
    Some(joined.end)
}

/// The ids joined so far.
struct Joined<'r> {
    room: &'r mut Room,
    end: usize,
}

impl Joined<'_> {
    /// Append `ids[range]`.
    #[inline(always)]
    fn put(&mut self, ids: &[u32], range: Range<usize>) {
        let mut to = self.end;
        for from in range.clone().step_by(STEP) {
            match (ids[from..].first_chunk::<STEP>(), self.room[to..].first_chunk_mut::<STEP>()) {
                (Some(ids), Some(room)) => _ = room.write_copy_of_slice(ids),
                _ => _ = self.room[to..to + range.end - from].write_copy_of_slice(&ids[from..range.end]),
            }
            to += STEP;
        }
        self.end += range.len();
    }

    /// Append the first `count` of `ids`.
    #[inline(always)]
    fn put_few(&mut self, (ids, count): (&[u32; IDS_LIMIT], usize)) {
        if let Some(room) = self.room[self.end..].first_chunk_mut::<IDS_LIMIT>() {
            room.write_copy_of_slice(ids);
        }
        self.end += count;
    }
}
