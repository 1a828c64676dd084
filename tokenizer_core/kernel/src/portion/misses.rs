//! Pieces that the first cache does not know: those of the other caches, those that are tokens, and those to be merged.

use super::{Keys, Miss, PIECES, Pieces};
use crate::lane::{LANES, Lanes};
use crate::merge::SCAN_LIMIT;
use crate::piece_cache::{IDS_LIMIT, KEY_LIMIT, Key};
use crate::scratch::{Caches, Mergers};
use crate::tables::Tables;
use crate::token_index::Candidate;

/// A count that says that the ids are elsewhere: from the first to before the second of the eight.
const MANY: u8 = u8::MAX;

/// Places of the lanes, two more than the bytes of the longest piece that they take; the shorter ones are merged together.
const SHORT: usize = 16;
const MIDDLE: usize = 32;

/// The ids of each miss of a portion, by its number among them.
#[derive(Debug)]
pub(super) struct Misses {
    ids: [[u32; IDS_LIMIT]; PIECES],
    counts: [u8; PIECES],
    /// What the index of tokens says of each short one.
    candidates: [Candidate; PIECES],
    /// Ids of pieces that have more than an entry holds.
    many: Vec<u32>,
    /// Those that nothing is known of, by length.
    short: Vec<usize>,
    middle: Vec<usize>,
    long: Vec<usize>,
    /// Ids of the piece of one lane.
    merged: Vec<u32>,
    short_lanes: Lanes<SHORT>,
    middle_lanes: Lanes<MIDDLE>,
}

impl Default for Misses {
    fn default() -> Self {
        Self {
            ids: [[0; IDS_LIMIT]; PIECES],
            counts: [0; PIECES],
            candidates: [Candidate::default(); PIECES],
            many: Vec::new(),
            short: Vec::new(),
            middle: Vec::new(),
            long: Vec::new(),
            merged: Vec::new(),
            short_lanes: Lanes::default(),
            middle_lanes: Lanes::default(),
        }
    }
}

/// The misses of a portion, and what the caches call them.
#[derive(Clone, Copy)]
pub(super) struct Missed<'a> {
    pub(super) misses: &'a [Miss],
    pub(super) keys: &'a Keys,
    pub(super) pieces: Pieces<'a>,
}

impl<'a> Missed<'a> {
    fn at(&self, miss: usize) -> usize {
        usize::from(self.misses[miss].at)
    }

    fn bytes(&self, miss: usize) -> &'a [u8] {
        &self.pieces.text[self.pieces.range(self.at(miss))]
    }

    /// The key of a piece that is short enough.
    fn key(&self, miss: usize) -> Option<Key> {
        let at = self.at(miss);
        (self.pieces.range(at).len() <= KEY_LIMIT).then(|| self.keys.keys[at])
    }
}

impl Misses {
    /// Find the ids of all of them.
    #[inline(never)]
    pub(super) fn resolve(&mut self, missed: Missed<'_>, tables: &Tables, mergers: &mut Mergers, caches: &mut Caches) {
        self.many.clear();
        let mut wide = missed.keys.wide.iter().peekable();
        for (miss, Miss { at, .. }) in missed.misses.iter().enumerate() {
            self.counts[miss] = 0;
            if let Some((_, key)) = wide.next_if(|(other, _)| other == at) {
                if let Some(ids) = caches.wide.get(*key) {
                    self.set(miss, ids);
                }
            } else if let Some(key) = missed.key(miss) {
                tables.tokens.prefetch(key.whole());
                if may_be_long(missed.bytes(miss)) {
                    caches.long.prefetch(missed.bytes(miss));
                }
            }
        }
        for miss in 0..missed.misses.len() {
            if let Some(key) = missed.key(miss) {
                self.candidates[miss] = tables.tokens.candidate(key.whole());
            }
        }
        for miss in 0..missed.misses.len() {
            if self.counts[miss] == 0 && !self.recall(miss, &missed, tables, caches) {
                let length = missed.bytes(miss).len();
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
        self.merge_in_turns(&missed, tables, caches);
        while let Some(miss) = self.long.pop() {
            let piece = missed.bytes(miss);
            let by_search = if piece.len() > SCAN_LIMIT { mergers.backtracker.encode(tables, piece) } else { None };
            match by_search {
                Some(ids) => self.learn(miss, &missed, caches, ids),
                None => self.learn(miss, &missed, caches, mergers.queue.merge(&tables.merges, piece)),
            }
        }
    }

    /// The ids of each, in order; only as many mean something as there were.
    pub(super) fn ids(&self) -> impl Iterator<Item = &[u32]> {
        self.ids.iter().zip(&self.counts).map(|(ids, count)| match *count {
            MANY => &self.many[ids[0] as usize..ids[1] as usize],
            count => &ids[..usize::from(count)],
        })
    }

    /// Give back the memory of long pieces, down to `entries` entries a buffer.
    pub(super) fn shrink(&mut self, entries: usize) {
        self.many.clear();
        self.many.shrink_to(entries);
    }

    /// Find a piece that is a token, or that one of the other caches remembers.
    fn recall(&mut self, miss: usize, missed: &Missed<'_>, tables: &Tables, caches: &mut Caches) -> bool {
        let (at, bytes, key) = (missed.at(miss), missed.bytes(miss), missed.key(miss));
        let part = missed.pieces.is_part(at);
        if let Some(key) = key {
            let count = caches.short.get_beside(missed.keys.places[at] as usize, key, &mut self.ids[miss]);
            self.counts[miss] = count as u8;
            if count > 0 {
                return true;
            }
        }
        if let Some(short) = key
            && let Some(id) = tables.tokens.confirm(self.candidates[miss], short.whole(), bytes, part)
        {
            caches.remember_short(short, &[id]);
            self.set(miss, &[id]);
            return true;
        }
        if may_be_long(bytes)
            && let Some(ids) = caches.long.get(bytes, part)
        {
            self.set(miss, ids);
            return true;
        }
        if key.is_none()
            && let Some(id) = tables.tokens.get(None, bytes, part)
        {
            self.learn(miss, missed, caches, &[id]);
            return true;
        }
        false
    }

    #[inline]
    fn set(&mut self, miss: usize, ids: &[u32]) {
        if ids.len() <= IDS_LIMIT {
            self.ids[miss][..ids.len()].copy_from_slice(ids);
            self.counts[miss] = ids.len() as u8;
        } else {
            let start = self.many.len() as u32;
            self.many.extend_from_slice(ids);
            self.ids[miss][..2].copy_from_slice(&[start, self.many.len() as u32]);
            self.counts[miss] = MANY;
        }
    }

    /// Merge the shorter pieces that nothing is known of, those of about the same length together, and the last few of
    /// each length where they have room: what each waits for is memory.
    fn merge_in_turns(&mut self, missed: &Missed<'_>, tables: &Tables, caches: &mut Caches) {
        let bytes = |miss: &usize| missed.bytes(*miss);
        let (mut short, mut middle) = (std::mem::take(&mut self.short), std::mem::take(&mut self.middle));
        let mut ids = std::mem::take(&mut self.merged);
        let (last, room) = (short.len() % LANES, LANES - middle.len() % LANES);
        if room < LANES && last <= room {
            middle.extend(short.drain(short.len() - last..));
        }
        for group in short.chunks(LANES) {
            self.short_lanes.merge(&tables.merges, group.iter().map(bytes));
            for (lane, miss) in group.iter().enumerate() {
                self.short_lanes.ids(lane, &mut ids);
                self.learn(*miss, missed, caches, &ids);
            }
        }
        for group in middle.chunks(LANES) {
            self.middle_lanes.merge(&tables.merges, group.iter().map(bytes));
            for (lane, miss) in group.iter().enumerate() {
                self.middle_lanes.ids(lane, &mut ids);
                self.learn(*miss, missed, caches, &ids);
            }
        }
        short.clear();
        middle.clear();
        (self.short, self.middle, self.merged) = (short, middle, ids);
    }

    fn learn(&mut self, miss: usize, missed: &Missed<'_>, caches: &mut Caches, ids: &[u32]) {
        let (pieces, at) = (&missed.pieces, missed.at(miss));
        caches.remember(pieces.text, pieces.range(at), pieces.is_part(at), missed.key(miss), ids);
        self.set(miss, ids);
    }
}

/// Whether a piece can have too many ids for the first cache: it has no more than bytes.
fn may_be_long(piece: &[u8]) -> bool {
    piece.len() > IDS_LIMIT
}
