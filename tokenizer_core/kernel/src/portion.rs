//! From pieces to ids, a portion of the text at a time.
//!
//! Each step is done for all pieces of a portion before the next begins, so that what has to come from memory is under
//! way for many pieces at once: keys; then what is remembered; then what is missed; then the ids.

use std::ops::Range;

use crate::lane::{LANES, Lanes};
use crate::merge::SCAN_LIMIT;
use crate::path::Path;
#[cfg(target_arch = "x86_64")]
use crate::piece_cache::Avx512;
use crate::piece_cache::{IDS_LIMIT, KEY_LIMIT, Key, Lookup, Portable, WideKey};
use crate::scratch::{Caches, Mergers};
use crate::sink::Sink;
use crate::tables::Tables;

/// Pieces looked up together: so many that those that nothing knows fill the lanes, and so few that what has been asked for
/// is still near.
pub const PIECES: usize = 512;

/// A count that says that the ids are elsewhere: from the first to before the second of the eight.
const MANY: u8 = u8::MAX;

/// Places of the lanes, two more than the bytes of the longest piece that they take; the shorter ones are merged together.
const SHORT: usize = 16;
const MIDDLE: usize = 32;

/// The pieces of one portion, one after the other.
#[derive(Debug, Clone, Copy)]
pub struct Pieces<'a> {
    /// The whole text.
    pub text: &'a [u8],
    /// Where the first piece begins.
    pub start: usize,
    /// Where each piece ends; at most [`PIECES`].
    pub ends: &'a [u32],
    /// Which of them are parts of a piece; empty where none is.
    pub parts: &'a [bool],
}

impl Pieces<'_> {
    #[inline]
    fn range(&self, at: usize) -> Range<usize> {
        let start = if at == 0 { self.start } else { self.ends[at - 1] as usize };
        start..self.ends[at] as usize
    }

    #[inline]
    fn is_part(&self, at: usize) -> bool {
        self.parts.get(at).copied().unwrap_or(false)
    }
}

/// What is known of each piece of a portion.
#[derive(Debug)]
pub struct Portion {
    keys: [Key; PIECES],
    places: [u32; PIECES],
    ids: [[u32; IDS_LIMIT]; PIECES],
    counts: [u8; PIECES],
    misses: [u16; PIECES],
    /// Pieces too long for a key, with the key they have instead.
    wide: [(u16, WideKey); PIECES],
    /// Ids of pieces that have more than an entry holds.
    many: Vec<u32>,
    /// Pieces that nothing is known of, by length.
    short: Vec<u16>,
    middle: Vec<u16>,
    long: Vec<u16>,
    short_lanes: Lanes<SHORT>,
    middle_lanes: Lanes<MIDDLE>,
    /// The ids, in order.
    out: [u32; PIECES * IDS_LIMIT],
}

impl Default for Portion {
    fn default() -> Self {
        Self {
            keys: [Key::EMPTY; PIECES],
            places: [0; PIECES],
            ids: [[0; IDS_LIMIT]; PIECES],
            counts: [0; PIECES],
            misses: [0; PIECES],
            wide: [(0, WideKey::default()); PIECES],
            many: Vec::new(),
            short: Vec::new(),
            middle: Vec::new(),
            long: Vec::new(),
            short_lanes: Lanes::default(),
            middle_lanes: Lanes::default(),
            out: [0; PIECES * IDS_LIMIT],
        }
    }
}

impl Portion {
    /// Give the ids of all pieces to `sink`.
    #[inline]
    pub fn encode(
        &mut self,
        pieces: Pieces<'_>,
        tables: &Tables,
        mergers: &mut Mergers,
        caches: &mut Caches,
        sink: &mut impl Sink,
    ) {
        let count = pieces.ends.len().min(PIECES);
        let missed = match tables.path {
            #[cfg(target_arch = "x86_64")]
            // SAFETY: tables are made for a path that the machine has.
            Path::Avx512 => unsafe { self.look_up_avx512(&pieces, caches) },
            // SAFETY: every machine has it.
            _ => unsafe { self.look_up::<Portable>(&pieces, caches) },
        };
        caches.statistics.pieces += count as u64;
        if missed > 0 {
            self.resolve(missed, &pieces, tables, mergers, caches);
        }
        self.give(count, sink);
    }

    /// Give back the memory of long pieces, down to `entries` entries a buffer.
    pub fn shrink(&mut self, entries: usize) {
        self.many.clear();
        self.many.shrink_to(entries);
    }

    /// As [`Self::look_up`].
    ///
    /// # Safety
    /// The machine has [`Path::Avx512`].
    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx512f,avx512bw,avx512vl,avx2,bmi1,bmi2,lzcnt,popcnt")]
    unsafe fn look_up_avx512(&mut self, pieces: &Pieces<'_>, caches: &Caches) -> usize {
        // SAFETY: the caller's promise.
        unsafe { self.look_up::<Avx512>(pieces, caches) }
    }

    /// Take over what the first two caches know; returns how many pieces are not in the first of them.
    ///
    /// # Safety
    /// The machine has what `L` needs.
    #[inline(always)]
    unsafe fn look_up<L: Lookup>(&mut self, pieces: &Pieces<'_>, caches: &Caches) -> usize {
        // SAFETY: the caller's promise; for each call in this function.
        let wide = unsafe {
            if pieces.parts.is_empty() {
                self.find_keys::<L>(pieces, caches, |_| false)
            } else {
                self.find_keys::<L>(pieces, caches, |at| pieces.parts[at])
            }
        };
        let mut missed = 0;
        for at in 0..pieces.ends.len().min(PIECES) {
            // SAFETY: as above.
            let count = unsafe { L::get(&caches.short, self.places[at] as usize, self.keys[at], &mut self.ids[at]) };
            self.counts[at] = count as u8;
            self.misses[missed] = at as u16;
            missed += usize::from(count == 0);
        }
        for (at, key) in &self.wide[..wide] {
            if let Some(ids) = caches.wide.get(*key) {
                let at = usize::from(*at);
                self.ids[at][..ids.len()].copy_from_slice(ids);
                self.counts[at] = ids.len() as u8;
            }
        }
        missed
    }

    /// Make the keys of all pieces and ask for what is remembered of them; returns how many are wide.
    ///
    /// # Safety
    /// As above.
    #[inline(always)]
    unsafe fn find_keys<L: Lookup>(
        &mut self,
        pieces: &Pieces<'_>,
        caches: &Caches,
        is_part: impl Fn(usize) -> bool,
    ) -> usize {
        let (mut start, mut wide) = (pieces.start, 0);
        for (at, ((end, key), place)) in pieces.ends.iter().zip(&mut self.keys).zip(&mut self.places).enumerate() {
            let end = *end as usize;
            // SAFETY: the caller's promise.
            *key = unsafe { L::key(pieces.text, start, end, is_part(at)) };
            *place = caches.short.place(*key) as u32;
            if end - start > KEY_LIMIT
                && let Some(key) = WideKey::new(pieces.text, start, end, is_part(at))
            {
                caches.wide.prefetch(key);
                self.wide[wide] = (at as u16, key);
                wide += 1;
            }
            start = end;
        }
        wide
    }

    #[inline]
    fn give(&mut self, count: usize, sink: &mut impl Sink) {
        let mut end = 0;
        for (ids, count) in self.ids[..count].iter().zip(&self.counts) {
            if *count == MANY {
                sink.pieces(&self.out[..end]);
                sink.pieces(&self.many[ids[0] as usize..ids[1] as usize]);
                end = 0;
                continue;
            }
            // A copy of fixed size, of which the next takes back what is too much: cheaper than a copy of `count`.
            self.out[end..end + IDS_LIMIT].copy_from_slice(ids);
            end += usize::from(*count);
        }
        sink.pieces(&self.out[..end]);
    }

    /// Find the ids of the pieces that are not in the first cache.
    #[inline(never)]
    fn resolve(
        &mut self,
        missed: usize,
        pieces: &Pieces<'_>,
        tables: &Tables,
        mergers: &mut Mergers,
        caches: &mut Caches,
    ) {
        self.many.clear();
        for at in self.misses[..missed].iter().map(|at| usize::from(*at)) {
            if self.counts[at] == 0 && pieces.range(at).len() <= KEY_LIMIT {
                tables.tokens.prefetch(self.keys[at].whole());
            }
        }
        for miss in 0..missed {
            let at = self.misses[miss];
            if self.counts[usize::from(at)] == 0 && !self.recall(usize::from(at), pieces, tables, caches) {
                let length = pieces.range(usize::from(at)).len();
                let group = if length <= Lanes::<SHORT>::LIMIT {
                    &mut self.short
                } else if length <= Lanes::<MIDDLE>::LIMIT {
                    &mut self.middle
                } else {
                    &mut self.long
                };
                group.push(at);
            }
        }
        self.merge_in_turns(pieces, tables, caches);
        while let Some(at) = self.long.pop() {
            let at = usize::from(at);
            let piece = &pieces.text[pieces.range(at)];
            let by_search = if piece.len() > SCAN_LIMIT { mergers.backtracker.encode(tables, piece) } else { None };
            match by_search {
                Some(ids) => self.learn(at, pieces, caches, ids),
                None => self.learn(at, pieces, caches, mergers.queue.merge(&tables.merges, piece)),
            }
        }
    }

    /// Find a piece that is a token, or that one of the other caches remembers.
    fn recall(&mut self, at: usize, pieces: &Pieces<'_>, tables: &Tables, caches: &mut Caches) -> bool {
        let (range, part) = (pieces.range(at), pieces.is_part(at));
        let bytes = &pieces.text[range.clone()];
        let is_short = range.len() <= KEY_LIMIT;
        if is_short {
            let count = caches.short.get_beside(self.places[at] as usize, self.keys[at], &mut self.ids[at]);
            self.counts[at] = count as u8;
            if count > 0 {
                return true;
            }
        }
        if is_short && let Some(id) = tables.tokens.get(Some(self.keys[at].whole()), bytes, part) {
            self.learn(at, pieces, caches, &[id]);
            return true;
        }
        if let Some(ids) = caches.long.get(bytes, part) {
            self.set(at, ids);
            return true;
        }
        if !is_short && let Some(id) = tables.tokens.get(None, bytes, part) {
            self.learn(at, pieces, caches, &[id]);
            return true;
        }
        false
    }

    #[inline]
    fn set(&mut self, at: usize, ids: &[u32]) {
        if ids.len() <= IDS_LIMIT {
            self.ids[at][..ids.len()].copy_from_slice(ids);
            self.counts[at] = ids.len() as u8;
        } else {
            let start = self.many.len() as u32;
            self.many.extend_from_slice(ids);
            self.ids[at][..2].copy_from_slice(&[start, self.many.len() as u32]);
            self.counts[at] = MANY;
        }
    }

    /// Merge the shorter pieces that nothing is known of, those of about the same length together.
    fn merge_in_turns(&mut self, pieces: &Pieces<'_>, tables: &Tables, caches: &mut Caches) {
        let (mut ids, bytes) = (Vec::new(), |at: &u16| &pieces.text[pieces.range(usize::from(*at))]);
        let (mut short, mut middle) = (std::mem::take(&mut self.short), std::mem::take(&mut self.middle));
        for group in short.chunks(LANES) {
            self.short_lanes.merge(&tables.merges, group.iter().map(bytes));
            for (lane, at) in group.iter().enumerate() {
                self.short_lanes.ids(lane, &mut ids);
                self.learn(usize::from(*at), pieces, caches, &ids);
            }
        }
        for group in middle.chunks(LANES) {
            self.middle_lanes.merge(&tables.merges, group.iter().map(bytes));
            for (lane, at) in group.iter().enumerate() {
                self.middle_lanes.ids(lane, &mut ids);
                self.learn(usize::from(*at), pieces, caches, &ids);
            }
        }
        short.clear();
        middle.clear();
        (self.short, self.middle) = (short, middle);
    }

    fn learn(&mut self, at: usize, pieces: &Pieces<'_>, caches: &mut Caches, ids: &[u32]) {
        caches.remember(pieces.text, pieces.range(at), pieces.is_part(at), ids);
        self.set(at, ids);
    }
}
