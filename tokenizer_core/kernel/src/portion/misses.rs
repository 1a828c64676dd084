//! Pieces for which the `ShortCache` gives no ids: those in the other caches, those that are tokens, and those to be
//! merged.

use std::ops::Range;

use super::known::Known;
use super::{Keys, Miss, PIECES, Pieces};
use crate::merging::Mergers;
use crate::merging::lane::{LANES, Lanes};
use crate::merging::merge::SCAN_LIMIT;
use crate::merging::token_index::Candidate;
use crate::piece_cache::{Caches, FewIds, IDS_LIMIT, KEY_LIMIT, Key, LongCache, PLACE_SHIFT, WIDE_LIMIT, WideIds};
use crate::tables::Tables;

/// Up to this many misses are merged without looking them up as tokens: the look-up would have to be waited for, and
/// merges give the same ids.
const FEW_MISSES: usize = 4;

/// Places of the lanes, two more than the bytes of the longest piece that they take; the shorter ones are merged
/// together.
const SHORT: usize = 16;
const MIDDLE: usize = 32;

/// Twice as many as there are pieces.
const BUCKETS: usize = 2 * PIECES;

/// The ids of each miss of a portion, by its number among them.
#[derive(Debug)]
pub(super) struct MissResolver {
    pieces: Vec<MissedPiece>,
    ids: [Known; PIECES],
    /// Ids of pieces that have more than a [`Known`] holds, except where the `LongCache` keeps them: of `kept` pieces.
    many: Vec<u32>,
    kept: usize,
    /// By the place of a piece in the portion: its number among the misses.
    miss_of: [u16; PIECES],
    /// Pieces to be merged, by length.
    short: Vec<usize>,
    middle: Vec<usize>,
    long: Vec<usize>,
    /// By bucket: the last miss that was to be merged.
    unknown: [u16; BUCKETS],
    /// Misses that came before in the portion, and the earlier one.
    again: Vec<(u16, u16)>,
    short_lanes: Lanes<SHORT>,
    middle_lanes: Lanes<MIDDLE>,
}

impl Default for MissResolver {
    #[inline(always)]
    fn default() -> Self {
        Self {
            pieces: Vec::with_capacity(PIECES),
            ids: [Known::NOTHING; PIECES],
            many: Vec::new(),
            kept: 0,
            miss_of: [0; PIECES],
            short: Vec::with_capacity(PIECES),
            middle: Vec::with_capacity(PIECES),
            long: Vec::new(),
            unknown: [0; BUCKETS],
            again: Vec::with_capacity(PIECES),
            short_lanes: Lanes::default(),
            middle_lanes: Lanes::default(),
        }
    }
}

/// A piece for which the `ShortCache` gives no ids.
#[derive(Debug, Clone, Copy)]
struct MissedPiece {
    /// Meaningful if the piece is short enough for one.
    key: Key,
    start: u32,
    end: u32,
    /// Where the bucket of its key is.
    place: u32,
    part: bool,
    /// The hash by which the index of tokens finds a piece of up to 31 bytes.
    hash: u64,
    /// What the index gave, if it was asked.
    candidate: Candidate,
}

impl MissedPiece {
    #[inline(always)]
    fn range(&self) -> Range<usize> {
        self.start as usize..self.end as usize
    }

    #[inline(always)]
    fn length(&self) -> usize {
        (self.end - self.start) as usize
    }

    #[inline(always)]
    fn key(&self) -> Option<Key> {
        (self.length() <= KEY_LIMIT).then_some(self.key)
    }
}

/// The ids of a piece.
pub(super) enum Resolved<'a> {
    /// A few ids, and how many of them count.
    Few((&'a [u32; IDS_LIMIT], usize)),
    /// The ids in this range of these.
    Many((&'a [u32], Range<usize>)),
}

impl Resolved<'_> {
    /// How many there are.
    #[inline(always)]
    pub(super) fn count(&self) -> usize {
        match self {
            Self::Few((_, count)) => *count,
            Self::Many((_, range)) => range.len(),
        }
    }
}

/// A portion's pieces and keys, and which of them are misses.
#[derive(Clone, Copy)]
pub(super) struct Unresolved<'a> {
    pub(super) misses: &'a [Miss],
    pub(super) keys: &'a Keys,
    pub(super) pieces: Pieces<'a>,
}

impl MissResolver {
    /// Find the ids of all of them.
    #[inline(never)]
    pub(super) fn resolve(
        &mut self,
        unresolved: Unresolved<'_>,
        tables: &Tables,
        mergers: &mut Mergers,
        caches: &mut Caches,
    ) {
        let text = unresolved.pieces.text;
        let asks = unresolved.misses.len() > FEW_MISSES || tables.tokens.has_whole_only();
        if self.begin(unresolved, asks, tables, caches) {
            return;
        }
        if asks {
            for (piece, ids) in self.pieces.iter_mut().zip(&self.ids) {
                if ids.is_nothing() && piece.length() <= WIDE_LIMIT {
                    piece.candidate = tables.tokens.candidate(piece.hash);
                }
            }
        }
        for miss in 0..self.pieces.len() {
            if self.ids[miss].is_nothing() && !self.recall(miss, text, tables, caches) && !self.comes_again(miss) {
                let length = self.pieces[miss].length();
                let group = if length <= Lanes::<SHORT>::LIMIT {
                    &mut self.short
                } else if length <= Lanes::<MIDDLE>::LIMIT {
                    &mut self.middle
                } else {
                    &mut self.long
                };
                group.push(miss);
            }
        }
        self.merge_in_turns(text, tables, caches);
        while let Some(miss) = self.long.pop() {
            let piece = &text[self.pieces[miss].range()];
            let by_search = match tables.search_tables() {
                Some(search) if piece.len() > SCAN_LIMIT => mergers.backtracker.encode(search, piece),
                _ => None,
            };
            let ids = match by_search {
                Some(ids) => ids,
                None => mergers.queue.merge(&tables.merges, piece),
            };
            self.learn(miss, text, caches, ids);
        }
        caches.statistics.misses += self.again.len() as u64;
        for (miss, before) in self.again.drain(..) {
            self.ids[usize::from(miss)] = self.ids[usize::from(before)];
        }
    }

    /// The ids of each, in order; `kept` is the cache that keeps some.
    #[inline(always)]
    pub(super) fn resolved<'a>(&'a self, kept: &'a LongCache) -> impl Iterator<Item = Resolved<'a>> {
        self.ids.iter().take(self.pieces.len()).map(|known| {
            if let Some(range) = known.as_kept() {
                Resolved::Many((kept.ids(), range))
            } else if let Some(range) = known.as_many() {
                Resolved::Many((&self.many, range))
            } else {
                Resolved::Few(known.few())
            }
        })
    }

    /// Give back the memory of long pieces, down to `entries` entries a buffer.
    pub(super) fn shrink(&mut self, entries: usize) {
        self.many.clear();
        self.many.shrink_to(entries);
    }

    /// Take over what the caches lead to, and ask for what the tables know of other pieces if one `asks` that. Returns
    /// whether there are none.
    #[inline(always)]
    fn begin(&mut self, unresolved: Unresolved<'_>, asks: bool, tables: &Tables, caches: &Caches) -> bool {
        let Unresolved { misses, keys, pieces } = unresolved;
        self.many.clear();
        self.pieces.clear();
        let mut known = 0;
        let mut kept = 0;
        for (miss, at) in misses.iter().map(|miss| miss.at as usize).enumerate() {
            let range = pieces.range(at);
            let piece = MissedPiece {
                key: keys.keys[at],
                start: range.start as u32,
                end: range.end as u32,
                place: keys.places[at],
                part: pieces.is_part(at),
                hash: keys.keys[at].whole().hash(),
                candidate: Candidate::default(),
            };
            self.pieces.push(piece);
            self.miss_of[at] = miss as u16;
            self.ids[miss].set_nothing();
            if let Some(key) = piece.key() {
                let place = piece.place as usize;
                if let Some(range) = caches.short.stored(place, key).and_then(|ids| caches.long.range_of(ids)) {
                    self.ids[miss] = Known::kept(range);
                    kept += 1;
                } else if let Some(few) = caches.short.get_in_neighbour(place, key) {
                    self.ids[miss] = Known::here(few);
                    known += 1;
                } else if asks {
                    tables.tokens.prefetch(piece.hash);
                }
            }
        }
        // One kind of pieces after the other, so that branches are predicted.
        for (at, key) in keys.longer.wide() {
            let miss = usize::from(self.miss_of[at]);
            let found = caches.wide.get(*key);
            if let Some(WideIds::Inline(few)) = found {
                self.ids[miss] = Known::here(few);
                known += 1;
            } else if let Some(WideIds::Stored(place)) = found
                && let Some(range) = caches.long.range_of(place)
            {
                self.ids[miss] = Known::kept(range);
                kept += 1;
            } else if asks {
                let hash = key.whole().hash();
                self.pieces[miss].hash = hash;
                tables.tokens.prefetch(hash);
            }
        }
        for (at, spot) in keys.longer.long() {
            let miss = usize::from(self.miss_of[at]);
            let piece = self.pieces[miss];
            if let Some(range) = caches.long.find(*spot, &pieces.text[piece.range()], piece.part) {
                self.ids[miss] = Known::kept(range);
                kept += 1;
            }
        }
        self.kept = kept;
        known + kept == misses.len()
    }

    /// Find a piece that is a token, or that one of the other caches remembers.
    #[inline(always)]
    fn recall(&mut self, miss: usize, text: &[u8], tables: &Tables, caches: &mut Caches) -> bool {
        let piece = self.pieces[miss];
        let bytes = &text[piece.range()];
        let Some(key) = piece.key() else { return self.recall_longer(miss, text, tables, caches) };
        let Some(id) = tables.tokens.confirm(piece.candidate, key.whole(), bytes, piece.part) else { return false };
        let token = FewIds::one(id);
        caches.remember_short(key, &token);
        self.ids[miss] = Known::here(token);
        true
    }

    /// As [`Self::recall`], for a piece without a key.
    fn recall_longer(&mut self, miss: usize, text: &[u8], tables: &Tables, caches: &mut Caches) -> bool {
        let piece = self.pieces[miss];
        let bytes = &text[piece.range()];
        let token = if bytes.len() <= WIDE_LIMIT {
            tables.tokens.confirm_wide(piece.candidate, bytes, piece.part)
        } else {
            tables.tokens.get(None, bytes, piece.part)
        };
        let Some(id) = token else { return false };
        self.learn(miss, text, caches, &[id]);
        true
    }

    /// Whether an unknown piece came before in the portion, as a third of them do: it is merged once.
    #[inline(always)]
    fn comes_again(&mut self, miss: usize) -> bool {
        let Some(key) = self.pieces[miss].key() else { return false };
        let last = &mut self.unknown[(self.pieces[miss].place >> PLACE_SHIFT) as usize % BUCKETS];
        let before = usize::from(std::mem::replace(last, miss as u16));
        // What an earlier portion left there may be any number; it counts only if it is an earlier miss of this portion
        // with the same key.
        let again = before < miss && self.pieces[before].key() == Some(key);
        if again {
            self.again.push((miss as u16, before as u16));
        }
        again
    }

    /// Merge the shorter unknown pieces, those of about the same length together, and the last few of each length in a
    /// longer lane with room: since each waits for memory, the waits overlap.
    fn merge_in_turns(&mut self, text: &[u8], tables: &Tables, caches: &mut Caches) {
        let (mut short, mut middle) = (std::mem::take(&mut self.short), std::mem::take(&mut self.middle));
        let (last, room) = (short.len() % LANES, LANES - middle.len() % LANES);
        if room < LANES && last <= room {
            middle.extend(short.drain(short.len() - last..));
        }
        for group in short.chunks(LANES) {
            let pieces = group.iter().map(|miss| &text[self.pieces[*miss].range()]);
            self.short_lanes.merge(&tables.merges, pieces);
            for (lane, miss) in group.iter().enumerate() {
                let (ids, count) = self.short_lanes.ids(lane);
                self.learn_merged(*miss, text, caches, &ids, count);
            }
        }
        for group in middle.chunks(LANES) {
            let pieces = group.iter().map(|miss| &text[self.pieces[*miss].range()]);
            self.middle_lanes.merge(&tables.merges, pieces);
            for (lane, miss) in group.iter().enumerate() {
                let (ids, count) = self.middle_lanes.ids(lane);
                self.learn_merged(*miss, text, caches, &ids, count);
            }
        }
        short.clear();
        middle.clear();
        (self.short, self.middle) = (short, middle);
    }

    #[inline(always)]
    fn learn_merged<const N: usize>(
        &mut self,
        miss: usize,
        text: &[u8],
        caches: &mut Caches,
        ids: &[u32; N],
        count: usize,
    ) {
        match (self.pieces[miss].key(), FewIds::first(ids, count)) {
            (Some(key), Some(few)) => {
                caches.remember_short(key, &few);
                self.ids[miss] = Known::here(few);
            }
            _ => self.learn(miss, text, caches, &ids[..count]),
        }
    }

    /// Remember the ids of a piece that the `ShortCache` does not take, or whose ids it does not take.
    fn learn(&mut self, miss: usize, text: &[u8], caches: &mut Caches, ids: &[u32]) {
        let piece = self.pieces[miss];
        if self.kept > 0 && !caches.long.has_room(piece.length(), ids.len()) {
            self.take_over(&caches.long);
        }
        caches.remember(text, piece.range(), piece.part, ids);
        self.set(miss, ids);
    }

    fn set(&mut self, miss: usize, ids: &[u32]) {
        self.ids[miss] = FewIds::new(ids).map_or_else(
            || {
                let start = self.many.len();
                self.many.extend_from_slice(ids);
                Known::many(start..self.many.len())
            },
            Known::here,
        );
    }

    /// Copy the ids that the `LongCache` keeps, before it forgets them.
    #[cold]
    fn take_over(&mut self, kept: &LongCache) {
        for known in &mut self.ids[..self.pieces.len()] {
            let Some(range) = known.as_kept() else { continue };
            let start = self.many.len();
            self.many.extend_from_slice(&kept.ids()[range]);
            *known = Known::many(start..self.many.len());
        }
        self.kept = 0;
    }
}
