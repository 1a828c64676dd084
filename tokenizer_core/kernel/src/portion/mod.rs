//! From pieces to ids, a portion of the text at a time.
//!
//! Each step is done for all pieces of a portion before the next begins, so that many loads are under way at once:
//! first the keys (`keys`, `avx2`), then what the caches have (`take`, `longer`), then what they miss
//! (`misses`).

#[cfg(target_arch = "x86_64")]
mod avx2;
mod counts;
mod joined_ids;
mod keys;
mod longer;
mod look_up;
mod misses;
mod piece_ids;
mod take;
#[cfg(test)]
mod tests;

use std::mem::MaybeUninit;
use std::ops::Range;

use self::joined_ids::{join, join_in_place};
use self::longer::LongerPieces;
use self::look_up::LookUp;
use self::misses::{MissResolver, Resolved, Unresolved};
use crate::machine::level::OnLevel;
use crate::machine::words::padded;
use crate::merging::Mergers;
use crate::piece_cache::{Caches, IDS_LIMIT, KEY_LIMIT, Key};
use crate::sink::Sink;
use crate::tables::Tables;

/// Pieces looked up together: enough that those to be merged fill the lanes, and few enough that prefetched lines are
/// still in cache when they are read.
pub const PIECES: usize = 512;

/// Pieces that a level may work on together.
const GROUP: usize = 8;

/// The most known ids of a portion that do not come from a line, but from the `LongCache`.
const MORE: usize = 16 * PIECES;

/// The most known ids of a portion: for each piece as many as a line holds, and [`MORE`] others.
const KNOWN: usize = PIECES * IDS_LIMIT + MORE;

/// Ids written at once, needed or not.
const STEP: usize = 64;

/// Room for these, for those of missed pieces that have many, and for the excess of the last write.
const ROOM: usize = KNOWN + 2 * PIECES + STEP;

const _: () = assert!(IDS_LIMIT <= STEP && GROUP <= STEP);

/// Where the known ids of a portion are written, and joined with those of its misses.
type Room = [MaybeUninit<u32>; ROOM];

/// The pieces of one portion, one after the other.
#[derive(Debug, Clone, Copy)]
pub struct Pieces<'a> {
    /// The whole text.
    pub text: &'a [u8],
    /// Where the first piece begins.
    pub start: usize,
    /// Where each piece ends; at most [`PIECES`], none before the one before it.
    pub ends: &'a [u32],
    /// Which of them are parts of a piece; empty where none is.
    pub parts: &'a [bool],
}

impl Pieces<'_> {
    #[inline]
    fn count(&self) -> usize {
        self.ends.len().min(PIECES)
    }

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

/// A copy of the last sixteen bytes of a text, or of all of a shorter text, with zeros after them: a piece that begins
/// there does not have sixteen bytes of text to load. It is made long before it is read, since a load that spans two
/// stores waits for both.
#[inline(always)]
fn last_bytes(text: &[u8]) -> [u8; 2 * (KEY_LIMIT + 1)] {
    let word = text.last_chunk().map_or_else(|| padded(text), |last| u128::from_le_bytes(*last));
    let mut last = [0; 2 * (KEY_LIMIT + 1)];
    last[..=KEY_LIMIT].copy_from_slice(&word.to_le_bytes());
    last
}

/// Pieces as they are looked up in the caches.
#[derive(Debug)]
struct Keys {
    /// What each is found by in its line.
    keys: [Key; PIECES],
    /// Where the line of each is.
    places: [u32; PIECES],
    longer: LongerPieces,
}

/// The keys of a portion's pieces, and where they are looked up.
struct LookedUp<'a> {
    pieces: &'a Pieces<'a>,
    keys: &'a Keys,
    caches: &'a Caches,
}

/// What the caches have of a portion, and which pieces they miss.
#[derive(Debug)]
struct Found {
    /// How many ids the known pieces have.
    end: usize,
    /// The first `miss_count` are the unknown pieces.
    misses: [Miss; PIECES],
    miss_count: usize,
}

/// An unknown piece.
#[derive(Debug, Clone, Copy, Default)]
struct Miss {
    /// The index of the piece.
    at: u32,
    /// How many known ids come before it.
    end: u32,
}

/// What is known about each piece of a portion.
#[derive(Debug)]
pub struct Portion {
    keys: Keys,
    found: Found,
    resolver: MissResolver,
    /// Where ids are found and joined, if the sink has no room for that.
    known: Room,
    joined: Room,
}

impl Default for Portion {
    #[inline(always)]
    fn default() -> Self {
        Self {
            keys: Keys { keys: [Key::EMPTY; PIECES], places: [0; PIECES], longer: LongerPieces::default() },
            found: Found { end: 0, miss_count: 0, misses: [Miss::default(); PIECES] },
            resolver: MissResolver::default(),
            known: [const { MaybeUninit::uninit() }; ROOM],
            joined: [const { MaybeUninit::uninit() }; ROOM],
        }
    }
}

/// A portion to be encoded on any level.
struct Encode<'a, S> {
    portion: &'a mut Portion,
    pieces: Pieces<'a>,
    tables: &'a Tables,
    mergers: &'a mut Mergers,
    caches: &'a mut Caches,
    sink: &'a mut S,
}

impl<L: LookUp, S: Sink> OnLevel<L> for Encode<'_, S> {
    type Output = ();

    #[inline(always)]
    fn run(self, simd: L) {
        let Self { portion, pieces, tables, mergers, caches, sink } = self;
        portion.encode_with(simd, pieces, tables, mergers, caches, sink);
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
        tables.level.run(Encode { portion: self, pieces, tables, mergers, caches, sink });
    }

    #[inline(always)]
    fn encode_with<L: LookUp, S: Sink>(
        &mut self,
        simd: L,
        pieces: Pieces<'_>,
        tables: &Tables,
        mergers: &mut Mergers,
        caches: &mut Caches,
        sink: &mut S,
    ) {
        caches.statistics.pieces += pieces.count() as u64;
        self.keys.make(simd, &pieces, caches);
        let looked_up = LookedUp { pieces: &pieces, keys: &self.keys, caches };
        let room = sink.room().map(std::ptr::from_mut);
        // SAFETY: it is the sink's, which is not touched as long as `ids` is in use.
        let ids = room.map_or(&mut self.known, |room| unsafe { &mut *room });
        self.found.find::<L, S>(simd, &looked_up, ids);
        let Found { end, misses, miss_count } = &self.found;
        let (end, misses) = (*end, &misses[..*miss_count]);
        if !misses.is_empty() {
            self.resolver.resolve(Unresolved { misses, keys: &self.keys, pieces }, tables, mergers, caches);
        }
        let resolved = self.resolver.resolved(misses, &caches.long);
        let count = end + resolved.clone().map(|(_, resolved)| resolved.ids().len()).sum::<usize>();
        if S::COUNTS {
            return sink.counted(count);
        }
        let mut joined = &mut self.joined;
        // SAFETY: `find` has written as many ids as it counted.
        let known = || unsafe { ids[..end].assume_init_ref() };
        let fits = count <= ROOM - STEP;
        if fits && misses.len() * STEP <= end {
            join_in_place(ids, end, count, resolved);
            joined = ids;
        } else if fits && room.is_none() {
            join(known(), resolved, joined);
        } else {
            let known = &*joined[..end].write_copy_of_slice(known());
            if !fits {
                return give_one_by_one(known, resolved, sink);
            }
            join(known, resolved, ids);
        }
        if room.is_some() {
            // SAFETY: as above, and those of misses have been written too.
            return unsafe { sink.filled(count) };
        }
        // SAFETY: as above.
        sink.pieces(unsafe { joined[..count].assume_init_ref() });
    }

    /// Give back the memory of long pieces, down to `entries` entries a buffer.
    pub fn shrink(&mut self, entries: usize) {
        self.resolver.shrink(entries);
    }
}

/// Give `known` and the ids of the misses to `sink`, which are too many to join.
#[cold]
fn give_one_by_one<'a>(known: &[u32], resolved: impl Iterator<Item = (&'a Miss, Resolved<'a>)>, sink: &mut impl Sink) {
    let mut given = 0;
    for (miss, resolved) in resolved {
        let end = miss.end as usize;
        sink.pieces(&known[given..end]);
        given = end;
        sink.pieces(resolved.ids());
    }
    sink.pieces(&known[given..]);
}

impl Keys {
    /// Make the keys of all pieces, and find the longer ones.
    #[inline(always)]
    fn make(&mut self, simd: impl LookUp, pieces: &Pieces<'_>, caches: &Caches) {
        simd.keys(pieces, caches, self);
        if self.longer.count > 0 {
            self.longer.find(pieces, caches, &mut self.keys, &mut self.places);
        }
    }
}

impl Found {
    /// Write the ids of all pieces that are known to `ids`; or only count them, if the sink does. List the others.
    #[inline(always)]
    fn find<L: LookUp, S: Sink>(&mut self, simd: L, looked_up: &LookedUp<'_>, ids: &mut Room) {
        let LookedUp { pieces, keys, caches } = looked_up;
        (self.end, self.miss_count) = (0, 0);
        if keys.longer.are_in_lines() {
            // As in most short texts. SAFETY: the keys have just been made for these caches. Nothing has been
            // written yet, and `ids` and `misses` have room for all pieces of a portion.
            return unsafe { simd.take::<S>(0..pieces.count(), caches, keys, self, ids) };
        }
        let mut longer = keys.longer.known();
        let mut from = 0;
        loop {
            let next = longer.next();
            let to = next.as_ref().map_or(pieces.count(), |(place, _)| *place);
            // SAFETY: as above. Each piece before `from` has taken one miss at the most, and either at most `IDS_LIMIT`
            // ids or its share of `MORE`, which `LongerPieces` has counted. So there is room for `IDS_LIMIT` ids and a
            // miss of each piece from `from` on.
            unsafe { simd.take::<S>(from..to, caches, keys, self, ids) };
            let Some((_, kept)) = next else { return };
            self.append_longer::<S>(kept, caches, ids);
            from = to + 1;
        }
    }
}
