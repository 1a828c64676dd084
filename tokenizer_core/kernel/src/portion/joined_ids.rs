//! The ids of a portion, those found in the caches and those of misses joined.

use std::ops::Range;

use super::misses::Resolved;
use super::{Miss, Room, STEP};
use crate::piece_cache::IDS_LIMIT;

/// Put the ids of misses between the first `known` of `ids`, from the last to the first: none is moved twice, and those
/// before the first miss stay where they are. There are `count` in all, for which there must be room.
#[inline(always)]
pub(super) fn join_in_place<'a>(
    ids: &mut Room,
    mut known: usize,
    mut count: usize,
    resolved: impl DoubleEndedIterator<Item = (&'a Miss, Resolved<'a>)>,
) {
    for (miss, resolved) in resolved.rev() {
        let (start, own) = (miss.end as usize, resolved.ids());
        count -= known - start;
        ids.copy_within(start..known, count);
        known = start;
        count -= own.len();
        ids[count..count + own.len()].write_copy_of_slice(own);
    }
}

/// Write `known` with the ids of the misses between them, in order, to `room`, which must have room for [`STEP`] more:
/// without a branch on how far the next miss is.
#[inline(always)]
pub(super) fn join<'a>(known: &[u32], resolved: impl Iterator<Item = (&'a Miss, Resolved<'a>)>, room: &mut Room) {
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

#[cfg(test)]
mod tests {
    use std::mem::MaybeUninit;

    use proptest::prelude::*;

    use super::super::ROOM;
    use super::*;

    proptest! {
        #[test]
        fn ids_of_misses_are_put_between_the_others_in_either_way(
            known in prop::collection::vec(0_u32..1000, 0..400),
            missed in prop::collection::vec(
                (any::<prop::sample::Index>(), prop::collection::vec(2000_u32.., 1..90)), 0..9),
        ) {
            let place = |at: &prop::sample::Index| at.index(known.len() + 1);
            let mut misses: Vec<_> = missed.iter().map(|(at, ids)| (place(at), ids.as_slice())).collect();
            misses.sort_by_key(|(end, _)| *end);
            let mut truth = known.clone();
            for (end, ids) in misses.iter().rev() {
                truth.splice(end..end, ids.iter().copied());
            }
            let ends: Vec<_> = misses.iter().map(|(end, _)| Miss { at: 0, end: *end as u32 }).collect();
            let first = |ids: &[u32]| std::array::from_fn(|at| *ids.get(at).unwrap_or(&0));
            let few: Vec<_> = misses.iter().map(|(_, ids)| first(ids)).collect();
            let resolved = || ends.iter().zip(misses.iter().zip(&few)).map(|(miss, ((_, ids), few))| {
                let is_few = ids.len() <= IDS_LIMIT;
                (miss, if is_few { Resolved::Few((few, ids.len())) } else { Resolved::Many((ids, 0..ids.len())) })
            });
            let mut apart = Box::new([MaybeUninit::new(u32::MAX); ROOM]);
            join(&known, resolved(), &mut apart);
            let mut in_place = Box::new([MaybeUninit::new(u32::MAX); ROOM]);
            in_place[..known.len()].write_copy_of_slice(&known);
            join_in_place(&mut in_place, known.len(), truth.len(), resolved());
            for joined in [apart, in_place] {
                // SAFETY: all have been written.
                prop_assert_eq!(unsafe { joined[..truth.len()].assume_init_ref() }, &truth);
            }
        }
    }
}
