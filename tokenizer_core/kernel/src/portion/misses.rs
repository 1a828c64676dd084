//! Pieces that are not in the line where they are looked for: those that are elsewhere in the caches, those that are
//! tokens, and those to be merged.

use std::ops::Range;

use super::longer::WidePiece;
use super::piece_ids::PieceIds;
use super::{Keys, Miss, PIECES, Pieces};
use crate::merging::lane::{LANES, Lanes};
use crate::merging::token_index::Candidate;
use crate::merging::{MIDDLE, Mergers, SHORT};
use crate::piece_cache::{Caches, FewIds, IDS_LIMIT, KEY_LIMIT, Key, LongCache, PLACE_SHIFT, WIDE_LIMIT, WideIds};
use crate::tables::Tables;

/// Up to this many misses are merged without looking them up as tokens: they would have to wait for the look-up, and
/// merges give the same ids.
const FEW_MISSES: usize = 4;

/// Twice as many as there are pieces.
const BUCKETS: usize = 2 * PIECES;

/// The ids of each miss of a portion, by its number among them.
#[derive(Debug)]
pub(super) struct MissResolver {
    pieces: Vec<MissedPiece>,
    ids: [PieceIds; PIECES],
    /// The ids of pieces that have too many for a [`PieceIds`] and are not in the `LongCache`.
    many: Vec<u32>,
    /// How many pieces have their ids in the `LongCache`.
    cached: usize,
    /// By the index of a piece in the portion: its number among the misses.
    miss_of: [u16; PIECES],
    /// Pieces to be merged, by length.
    short: Vec<usize>,
    middle: Vec<usize>,
    long: Vec<usize>,
    /// By the place of its line: the last miss that was to be merged.
    unknown: [u16; BUCKETS],
    /// Misses that repeat an earlier one, and which.
    repeats: Vec<(u16, u16)>,
}

impl Default for MissResolver {
    #[inline(always)]
    fn default() -> Self {
        Self {
            pieces: Vec::with_capacity(PIECES),
            ids: [PieceIds::UNKNOWN; PIECES],
            many: Vec::new(),
            cached: 0,
            miss_of: [0; PIECES],
            short: Vec::with_capacity(PIECES),
            middle: Vec::with_capacity(PIECES),
            long: Vec::new(),
            unknown: [0; BUCKETS],
            repeats: Vec::with_capacity(PIECES),
        }
    }
}

/// A piece that was missed.
#[derive(Debug, Clone, Copy)]
struct MissedPiece {
    /// Meaningful if the piece is short enough for one.
    key: Key,
    start: u32,
    end: u32,
    /// Where the line of its key is.
    place: u32,
    part: bool,
    /// The hash under which the index of tokens has a piece of up to 31 bytes.
    hash: u64,
    /// What the index of tokens gave, if it was asked.
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

impl<'a> Resolved<'a> {
    /// All of them.
    #[inline(always)]
    pub(super) fn ids(self) -> &'a [u32] {
        match self {
            Self::Few((ids, count)) => &ids[..count],
            Self::Many((ids, range)) => &ids[range],
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
        let asks_index = unresolved.misses.len() > FEW_MISSES || tables.tokens.has_whole_only();
        if self.begin(unresolved, asks_index, tables, caches) {
            return;
        }
        if asks_index {
            for (piece, ids) in self.pieces.iter_mut().zip(&self.ids) {
                if ids.is_unknown() && piece.length() <= WIDE_LIMIT {
                    piece.candidate = tables.tokens.candidate(piece.hash);
                }
            }
        }
        for miss in 0..self.pieces.len() {
            if self.ids[miss].is_unknown() && !self.find_token(miss, text, tables, caches) && !self.is_repeat(miss) {
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
        self.merge_in_turns(text, tables, mergers, caches);
        while let Some(miss) = self.long.pop() {
            let piece = &text[self.pieces[miss].range()];
            let by_search = tables.search_tables().and_then(|search| mergers.backtracker.encode(search, piece));
            let ids = match by_search {
                Some(ids) => ids,
                None => mergers.queue.merge(&tables.merges, piece),
            };
            self.learn(miss, text, caches, ids);
        }
        caches.statistics.misses += self.repeats.len() as u64;
        for (miss, before) in self.repeats.drain(..) {
            self.ids[usize::from(miss)] = self.ids[usize::from(before)];
        }
    }

    /// Each of the misses that were resolved last with its ids; `cache` has some of them.
    #[inline(always)]
    pub(super) fn resolved<'a>(
        &'a self,
        misses: &'a [Miss],
        cache: &'a LongCache,
    ) -> impl DoubleEndedIterator<Item = (&'a Miss, Resolved<'a>)> + Clone {
        misses.iter().zip(&self.ids[..misses.len()]).map(|(miss, known)| {
            let resolved = if let Some(range) = known.as_cached() {
                Resolved::Many((cache.ids(), range))
            } else if let Some(range) = known.as_listed() {
                Resolved::Many((&self.many, range))
            } else {
                Resolved::Few(known.few())
            };
            (miss, resolved)
        })
    }

    /// Give back the memory of long pieces, down to `entries` entries a buffer.
    pub(super) fn shrink(&mut self, entries: usize) {
        self.many.clear();
        self.many.shrink_to(entries);
    }

    /// Find the ids that the caches have. If `asks_index`, prefetch what the index of tokens has of the other pieces.
    /// Returns whether there are none of those.
    #[inline(always)]
    fn begin(&mut self, unresolved: Unresolved<'_>, asks_index: bool, tables: &Tables, caches: &mut Caches) -> bool {
        let Unresolved { misses, keys, pieces } = unresolved;
        self.many.clear();
        self.pieces.clear();
        let mut known = 0;
        let mut cached = 0;
        // The place of the last short piece whose ids are in the `LongCache`: one that comes twice without another
        // between them comes often.
        let mut last_stored = usize::MAX;
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
            self.ids[miss].set_unknown();
            if let Some(key) = piece.key() {
                let place = piece.place as usize;
                if let Some(range) = caches.find_stored(place, key, place == last_stored) {
                    last_stored = place;
                    self.ids[miss] = PieceIds::in_cache(range);
                    cached += 1;
                } else if let Some(few) = caches.find_in_neighbour(place, key) {
                    self.ids[miss] = PieceIds::inline(few);
                    known += 1;
                } else if asks_index {
                    tables.tokens.prefetch(piece.hash);
                }
            }
        }
        // One kind of piece after the other, so that branches are predicted.
        for (at, WidePiece { key, place, .. }) in keys.longer.wide() {
            let miss = usize::from(self.miss_of[at]);
            let line = caches.lines.find_wide(*place as usize, *key);
            let found = line.map(|line| caches.lines.wide_ids(line));
            if let Some(WideIds::Inline(few)) = found {
                self.ids[miss] = PieceIds::inline(few);
                known += 1;
            } else if let Some(WideIds::Stored(ids)) = found
                && let Some(range) = caches.long.range_of(ids)
            {
                self.ids[miss] = PieceIds::in_cache(range);
                cached += 1;
            } else if asks_index {
                let hash = key.whole().hash();
                self.pieces[miss].hash = hash;
                tables.tokens.prefetch(hash);
            }
        }
        for (at, hash) in keys.longer.long() {
            let miss = usize::from(self.miss_of[at]);
            let piece = self.pieces[miss];
            if let Some(range) = caches.long.find(*hash, &pieces.text[piece.range()], piece.part) {
                self.ids[miss] = PieceIds::in_cache(range);
                cached += 1;
            }
        }
        self.cached = cached;
        known + cached == misses.len()
    }

    /// Whether a piece is a token; then its id is remembered.
    #[inline(always)]
    fn find_token(&mut self, miss: usize, text: &[u8], tables: &Tables, caches: &mut Caches) -> bool {
        let piece = self.pieces[miss];
        let bytes = &text[piece.range()];
        let Some(key) = piece.key() else { return self.find_longer_token(miss, text, tables, caches) };
        let Some(id) = tables.tokens.confirm(piece.candidate, key.whole(), bytes, piece.part) else { return false };
        let token = FewIds::one(id);
        caches.remember_short(piece.place as usize, key, &token);
        self.ids[miss] = PieceIds::inline(token);
        true
    }

    /// As [`Self::find_token`], for a piece without a [`Key`].
    fn find_longer_token(&mut self, miss: usize, text: &[u8], tables: &Tables, caches: &mut Caches) -> bool {
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

    /// Whether an unknown piece repeats an earlier one of the portion, as a third of them do: it is merged once.
    #[inline(always)]
    fn is_repeat(&mut self, miss: usize) -> bool {
        let Some(key) = self.pieces[miss].key() else { return false };
        let last = &mut self.unknown[(self.pieces[miss].place >> PLACE_SHIFT) as usize % BUCKETS];
        let before = usize::from(std::mem::replace(last, miss as u16));
        // There may be any number from an earlier portion; it counts only if it is an earlier miss of this one
        // with the same key.
        let is_repeat = before < miss && self.pieces[before].key() == Some(key);
        if is_repeat {
            self.repeats.push((miss as u16, before as u16));
        }
        is_repeat
    }

    /// Merge the unknown pieces that lanes take in groups of about the same length, so that their waits for memory
    /// overlap. The last few short ones go into the lanes of the middle ones if there is room.
    fn merge_in_turns(&mut self, text: &[u8], tables: &Tables, mergers: &mut Mergers, caches: &mut Caches) {
        let (last, room) = (self.short.len() % LANES, LANES - self.middle.len() % LANES);
        if room < LANES && last <= room {
            self.middle.extend(self.short.drain(self.short.len() - last..));
        }
        self.merge_group(|all| &mut all.short, &mut mergers.short, text, tables, caches);
        self.merge_group(|all| &mut all.middle, &mut mergers.middle, text, tables, caches);
    }

    /// Merge the misses that `listed` finds, and empty the list.
    #[inline(always)]
    fn merge_group<const N: usize>(
        &mut self,
        listed: impl Fn(&mut Self) -> &mut Vec<usize>,
        lanes: &mut Lanes<N>,
        text: &[u8],
        tables: &Tables,
        caches: &mut Caches,
    ) {
        let mut misses = std::mem::take(listed(self));
        for group in misses.chunks(LANES) {
            lanes.merge(&tables.merges, group.iter().map(|miss| &text[self.pieces[*miss].range()]));
            for (lane, miss) in group.iter().enumerate() {
                let (ids, count) = lanes.ids(lane);
                self.learn_merged(*miss, text, caches, &ids, count);
            }
        }
        misses.clear();
        *listed(self) = misses;
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
        let piece = self.pieces[miss];
        match (piece.key(), FewIds::first(ids, count)) {
            (Some(key), Some(few)) => {
                caches.remember_short(piece.place as usize, key, &few);
                self.ids[miss] = PieceIds::inline(few);
            }
            _ => self.learn(miss, text, caches, &ids[..count]),
        }
    }

    /// Remember the ids of a piece in whichever cache takes them.
    fn learn(&mut self, miss: usize, text: &[u8], caches: &mut Caches, ids: &[u32]) {
        let piece = self.pieces[miss];
        if self.cached > 0 && !caches.long.has_room(piece.length(), ids.len()) {
            self.copy_cached(&caches.long);
        }
        match piece.key() {
            Some(key) => caches.remember_many(piece.place as usize, key, ids),
            None => caches.remember_longer(text, piece.range(), piece.part, ids),
        }
        self.set(miss, ids);
    }

    fn set(&mut self, miss: usize, ids: &[u32]) {
        self.ids[miss] = FewIds::new(ids).map_or_else(
            || {
                let start = self.many.len();
                self.many.extend_from_slice(ids);
                PieceIds::in_list(start..self.many.len())
            },
            PieceIds::inline,
        );
    }

    /// Copy the ids that are in the `LongCache`, before it is emptied.
    #[cold]
    fn copy_cached(&mut self, cache: &LongCache) {
        for known in &mut self.ids[..self.pieces.len()] {
            let Some(range) = known.as_cached() else { continue };
            let start = self.many.len();
            self.many.extend_from_slice(&cache.ids()[range]);
            *known = PieceIds::in_list(start..self.many.len());
        }
        self.cached = 0;
    }
}
