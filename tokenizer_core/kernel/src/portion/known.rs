//! What is known about a piece for which the [`ShortCache`](crate::piece_cache::ShortCache) gives no ids: nothing, a
//! few ids, or where many ids are kept.

use std::ops::Range;

use crate::piece_cache::{FewIds, IDS_LIMIT};

/// A tag above any count of ids: the ids are in the list of many ids, from the first of `ids` to before the second.
const MANY: u32 = u32::MAX;

/// As [`MANY`], but in the [`LongCache`](crate::piece_cache::LongCache).
const KEPT: u32 = MANY - 1;

/// Each byte of the piece is an id.
const RUN: u32 = KEPT - 1;

const _: () = assert!(RUN > IDS_LIMIT as u32);

/// One of these. No enum, so that ids are copied all at once, whatever they are.
#[derive(Debug, Clone, Copy)]
pub(super) struct Known {
    ids: [u32; IDS_LIMIT],
    /// One of the tags, or the number of ids; with 0 nothing is known.
    tag: u32,
}

impl Known {
    pub(super) const NOTHING: Self = Self { ids: [0; IDS_LIMIT], tag: 0 };

    /// These ids.
    #[inline(always)]
    pub(super) fn here(few: FewIds) -> Self {
        Self { ids: few.ids, tag: few.count }
    }

    /// Ids in the list of many.
    #[inline(always)]
    pub(super) fn many(range: Range<usize>) -> Self {
        Self::elsewhere(range, MANY)
    }

    /// Ids that the `LongCache` keeps.
    #[inline(always)]
    pub(super) fn kept(range: Range<usize>) -> Self {
        Self::elsewhere(range, KEPT)
    }

    #[inline(always)]
    fn elsewhere(range: Range<usize>, tag: u32) -> Self {
        let mut ids = [0; IDS_LIMIT];
        ids[..2].copy_from_slice(&[range.start as u32, range.end as u32]);
        Self { ids, tag }
    }

    /// Make it nothing.
    #[inline(always)]
    pub(super) fn set_nothing(&mut self) {
        self.tag = 0;
    }

    /// Make it a run of white space, of which each byte is an id.
    #[inline(always)]
    pub(super) fn set_run(&mut self) {
        self.tag = RUN;
    }

    #[inline(always)]
    pub(super) fn is_nothing(&self) -> bool {
        self.tag == 0
    }

    #[inline(always)]
    pub(super) fn is_run(&self) -> bool {
        self.tag == RUN
    }

    /// Their place in the list of many ids, if they are there.
    #[inline(always)]
    pub(super) fn as_many(&self) -> Option<Range<usize>> {
        (self.tag == MANY).then(|| self.range())
    }

    /// Their place in the `LongCache`, if they are there.
    #[inline(always)]
    pub(super) fn as_kept(&self) -> Option<Range<usize>> {
        (self.tag == KEPT).then(|| self.range())
    }

    #[inline(always)]
    fn range(&self) -> Range<usize> {
        self.ids[0] as usize..self.ids[1] as usize
    }

    /// The ids and how many of them count, if they are here.
    #[inline(always)]
    pub(super) fn few(&self) -> (&[u32; IDS_LIMIT], usize) {
        (&self.ids, self.tag as usize)
    }
}
