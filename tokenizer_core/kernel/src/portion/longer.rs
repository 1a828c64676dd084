//! Pieces that the `ShortCache` does not take: runs of white space, wide pieces and long ones. They are looked up
//! before any ids are taken over, so that their ids can be put in order among the others.

use super::known::Known;
use super::look_up::LookUp;
use super::{Found, GROUP, MORE, PIECES, Pieces};
use crate::merging::white_space::WhiteSpace;
use crate::piece_cache::{Caches, KEY_LIMIT, Key, LongHash, WideIds, WideKey};

/// Bytes of the shortest run that is recognised by its bytes; a shorter one has few enough ids for the `ShortCache`.
pub(super) const RUN_FROM: usize = 9;

/// What a key of a run of white space has behind its first byte.
pub(super) const BLANK: u64 = 0x2020_2020_2020_2000;
pub(super) const BLANK_MASK: u64 = !0xFF;

/// Whether a piece is so long and blank that it may be a run.
#[inline(always)]
pub(super) fn may_be_run(key: Key, length: usize) -> bool {
    length >= RUN_FROM && key.low() & BLANK_MASK == BLANK
}

/// Those of a portion.
#[derive(Debug)]
pub(super) struct Longer {
    /// Their places in it, and how many they are.
    pub(super) places: [u32; PIECES + GROUP],
    pub(super) count: usize,
    /// What is known of each.
    known: [Known; PIECES],
    /// By number those that have a wide key.
    wide: Vec<(u16, WideKey)>,
    /// And those too long for that one too, with where they are looked for.
    long: Vec<(u16, LongHash)>,
    /// How many of their ids need room beyond that for the `ShortCache`'s.
    more: usize,
}

impl Default for Longer {
    #[inline(always)]
    fn default() -> Self {
        Self {
            places: [0; PIECES + GROUP],
            count: 0,
            known: [Known::NOTHING; PIECES],
            wide: Vec::with_capacity(PIECES),
            long: Vec::with_capacity(PIECES),
            more: 0,
        }
    }
}

impl Longer {
    /// There are `count` of them, of which nothing is known yet.
    #[inline(always)]
    pub(super) fn begin(&mut self, count: usize) {
        self.count = count;
        self.wide.clear();
        self.long.clear();
        self.more = 0;
    }

    /// Tell runs, and ask for what is remembered of the others.
    ///
    /// # Safety
    /// The machine has what `L` needs.
    #[inline(always)]
    pub(super) unsafe fn ask<L: LookUp>(&mut self, pieces: &Pieces<'_>, caches: &Caches, white: Option<WhiteSpace>) {
        for (number, place) in self.places[..self.count].iter().enumerate() {
            let range = pieces.range(*place as usize);
            let length = range.len();
            // SAFETY: the caller's promise.
            let is_run = |white| unsafe { L::is_run(white, &pieces.text[range.clone()]) };
            if self.more + length <= MORE && white.is_some_and(is_run) {
                self.more += length;
                self.known[number].set_run();
                continue;
            }
            self.known[number].set_nothing();
            if length <= KEY_LIMIT {
                continue;
            }
            let key = WideKey::new(pieces.text, range.start, range.end, pieces.is_part(*place as usize));
            if let Some(key) = key {
                caches.wide.prefetch(key);
                self.wide.push((number as u16, key));
            } else if let Some(spot) = caches.long.hash(&pieces.text[range]) {
                caches.long.prefetch(spot);
                self.long.push((number as u16, spot));
            }
        }
    }

    /// Find what is remembered. Pieces of one kind come after those of the other, so that branches are predicted.
    #[inline(never)]
    pub(super) fn find(&mut self, pieces: &Pieces<'_>, caches: &Caches) {
        let Self { places, known, wide, long, more, .. } = self;
        let mut keep = |kept: std::ops::Range<usize>| {
            // A piece whose ids have no room here counts as missed, and is found again among the misses.
            let has_room = *more + kept.len() <= MORE;
            *more += if has_room { kept.len() } else { 0 };
            if has_room { Known::kept(kept) } else { Known::NOTHING }
        };
        for (number, key) in wide {
            known[usize::from(*number)] = match caches.wide.get(*key) {
                Some(WideIds::Inline(few)) => Known::here(few),
                Some(WideIds::Stored(kept)) => caches.long.range_of(kept).map_or(Known::NOTHING, &mut keep),
                None => Known::NOTHING,
            };
        }
        for (number, spot) in long {
            let place = places[usize::from(*number)] as usize;
            let found = caches.long.find(*spot, &pieces.text[pieces.range(place)], pieces.is_part(place));
            known[usize::from(*number)] = found.map_or(Known::NOTHING, &mut keep);
        }
    }

    /// The places of those that are known, and what is known.
    #[inline(always)]
    pub(super) fn known(&self) -> impl Iterator<Item = (usize, &Known)> {
        let known = self.places[..self.count].iter().zip(&self.known);
        known.filter(|(_, known)| !known.is_nothing()).map(|(place, known)| (*place as usize, known))
    }

    /// The places and keys of wide pieces that are not.
    pub(super) fn wide(&self) -> impl Iterator<Item = (usize, &WideKey)> {
        self.wide.iter().filter_map(|(number, key)| Some((self.unknown(*number)?, key)))
    }

    /// The places and spots of long ones that are not.
    pub(super) fn long(&self) -> impl Iterator<Item = (usize, &LongHash)> {
        self.long.iter().filter_map(|(number, spot)| Some((self.unknown(*number)?, spot)))
    }

    fn unknown(&self, number: u16) -> Option<usize> {
        let number = usize::from(number);
        self.known[number].is_nothing().then(|| self.places[number] as usize)
    }
}

impl Found {
    /// Take over the ids of a longer piece at `place`, or only how many they are if it `COUNTS`.
    ///
    /// # Safety
    /// The machine has what `L` needs.
    #[inline(always)]
    pub(super) unsafe fn take_longer<L: LookUp, const COUNTS: bool>(
        &mut self,
        (place, known): (usize, &Known),
        pieces: &Pieces<'_>,
        caches: &Caches,
        white: Option<WhiteSpace>,
    ) {
        if known.is_run() {
            let piece = &pieces.text[pieces.range(place)];
            if let Some(white) = white.filter(|_| !COUNTS) {
                // SAFETY: the caller's promise.
                unsafe { L::write_run(white, piece, &mut self.ids[self.end..]) };
            }
            self.end += piece.len();
        } else if let Some(kept) = known.as_kept() {
            if !COUNTS {
                self.ids[self.end..self.end + kept.len()].copy_from_slice(&caches.long.ids()[kept.clone()]);
            }
            self.end += kept.len();
        } else {
            let (ids, count) = known.few();
            if let Some(room) = self.ids[if COUNTS { 0 } else { self.end }..].first_chunk_mut() {
                *room = *ids;
            }
            self.end += count;
        }
    }
}
