//! The ids of a piece that is not a short one that is remembered in its line, as far as they are known: none yet, a few
//! ids, or where they are.

use std::ops::Range;

use crate::piece_cache::{FewIds, IDS_LIMIT};

/// A tag above any count of ids: the ids are in the resolver's list, and the first two of `ids` are their range in it.
const IN_LIST: u32 = u32::MAX;

/// As [`IN_LIST`], but in the [`LongCache`](crate::piece_cache::LongCache).
const IN_CACHE: u32 = IN_LIST - 1;

/// The ids are in the line at the place of the piece, from where they are copied with those of short pieces.
const IN_LINE: u32 = IN_CACHE - 1;

const _: () = assert!(IN_LINE > IDS_LIMIT as u32);

/// Not an enum, so that ids are copied all at once in any case.
#[derive(Debug, Clone, Copy)]
pub(super) struct PieceIds {
    ids: [u32; IDS_LIMIT],
    /// One of the tags, or the number of ids; 0 if they are unknown.
    tag: u32,
}

impl PieceIds {
    pub(super) const UNKNOWN: Self = Self { ids: [0; IDS_LIMIT], tag: 0 };

    /// These ids.
    #[inline(always)]
    pub(super) fn inline(few: FewIds) -> Self {
        Self { ids: few.ids, tag: few.count }
    }

    /// Ids in the resolver's list.
    #[inline(always)]
    pub(super) fn in_list(range: Range<usize>) -> Self {
        Self::at(range, IN_LIST)
    }

    /// Ids in the `LongCache`.
    #[inline(always)]
    pub(super) fn in_cache(range: Range<usize>) -> Self {
        Self::at(range, IN_CACHE)
    }

    #[inline(always)]
    fn at(range: Range<usize>, tag: u32) -> Self {
        let mut ids = [0; IDS_LIMIT];
        ids[..2].copy_from_slice(&[range.start as u32, range.end as u32]);
        Self { ids, tag }
    }

    /// Make them unknown.
    #[inline(always)]
    pub(super) fn set_unknown(&mut self) {
        self.tag = 0;
    }

    /// Ids that are copied with those of short pieces.
    #[inline(always)]
    pub(super) fn set_in_line(&mut self) {
        self.tag = IN_LINE;
    }

    #[inline(always)]
    pub(super) fn is_unknown(&self) -> bool {
        self.tag == 0
    }

    /// Their range in the resolver's list, if they are there.
    #[inline(always)]
    pub(super) fn as_listed(&self) -> Option<Range<usize>> {
        (self.tag == IN_LIST).then(|| self.range())
    }

    /// Their range in the `LongCache`, if they are there.
    #[inline(always)]
    pub(super) fn as_cached(&self) -> Option<Range<usize>> {
        (self.tag == IN_CACHE).then(|| self.range())
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
