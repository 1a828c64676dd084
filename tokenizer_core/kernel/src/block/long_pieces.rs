//! Pieces that are longer than a key: wide pieces and longer ones. They are looked up before any ids are copied, so
//! that their ids can be put in order among the others. Most wide pieces have their ids in a bucket, from where they
//! are copied like those of a short piece.

use std::ops::Range;

use super::{BlockPieces, FoundPieces, MORE, PIECES, Room};
use crate::output::Sink;
use crate::piece_cache::{Caches, Key, LongHash, WideIds, WideKey};

/// The long pieces of a block.
#[derive(Debug)]
pub(super) struct LongPieces {
    /// Their indices in the block, and how many they are.
    pub(super) places: [u32; PIECES],
    pub(super) count: usize,
    /// The ids of each, as far as they are known.
    known: [Known; PIECES],
    /// Those that have a wide key.
    wide: Vec<WidePiece>,
    /// Those that are too long for it, with their hash.
    long: Vec<(u16, LongHash)>,
    /// The number of those that are known, but not copied from a bucket.
    outside_bucket: usize,
    /// The number of their ids that need room beyond that for the ids in buckets.
    extra_ids: usize,
}

/// The place of the ids of a long piece, as far as it is known.
#[derive(Debug, Clone, Copy)]
enum Known {
    Nothing,
    /// They are in a bucket, from where they are copied with those of short pieces.
    InBucket,
    /// From where to where they are in the `LongCache`.
    Stored(u32, u32),
}

/// A wide piece as it is looked up.
#[derive(Debug, Clone, Copy)]
pub(super) struct WidePiece {
    pub(super) key: WideKey,
    /// The place at which it is looked for.
    pub(super) place: u32,
    /// Its number among the long pieces.
    number: u16,
}

impl Default for LongPieces {
    #[inline(always)]
    fn default() -> Self {
        Self {
            places: [0; PIECES],
            count: 0,
            known: [Known::Nothing; PIECES],
            wide: Vec::with_capacity(PIECES),
            long: Vec::with_capacity(PIECES),
            outside_bucket: 0,
            extra_ids: 0,
        }
    }
}

impl LongPieces {
    /// Begin with `count` of them.
    #[inline(always)]
    pub(super) fn begin(&mut self, count: usize) {
        self.count = count;
        self.wide.clear();
        self.long.clear();
        (self.outside_bucket, self.extra_ids) = (0, 0);
    }

    /// Prefetch what is remembered of them.
    #[inline(never)]
    pub(super) fn prefetch(&mut self, pieces: &BlockPieces<'_>, caches: &Caches) {
        for (number, place) in self.places[..self.count].iter().enumerate() {
            let range = pieces.range(*place as usize);
            self.known[number] = Known::Nothing;
            if let Some(key) = WideKey::new(pieces.text, range.start, range.end, pieces.is_part(*place as usize)) {
                let place = caches.buckets.wide_place(key);
                caches.buckets.prefetch_wide(place);
                self.wide.push(WidePiece { key, place: place as u32, number: number as u16 });
            } else if let Some(hash) = caches.long.hash(&pieces.text[range]) {
                caches.long.prefetch(hash);
                self.long.push((number as u16, hash));
            }
        }
    }

    /// Find what is remembered, one kind of piece after the other, so that branches are predicted. Where the ids of a
    /// wide piece are in a bucket, its place becomes that of the bucket, and its key what it is found by there.
    #[inline(never)]
    pub(super) fn find(
        &mut self,
        pieces: &BlockPieces<'_>,
        caches: &Caches,
        keys: &mut [Key; PIECES],
        buckets: &mut [u32; PIECES],
    ) {
        let Self { places, known, wide, long, outside_bucket, extra_ids, .. } = self;
        let mut take = |range: Range<usize>| {
            // A piece whose ids have no room here counts as missed, and is found again among the misses.
            let has_room = *extra_ids + range.len() <= MORE;
            *extra_ids += if has_room { range.len() } else { 0 };
            *outside_bucket += usize::from(has_room);
            if has_room { Known::Stored(range.start as u32, range.end as u32) } else { Known::Nothing }
        };
        for WidePiece { key, place, number } in wide {
            let number = usize::from(*number);
            let Some(bucket) = caches.buckets.find_wide(*place as usize, *key) else { continue };
            match caches.buckets.wide_ids(bucket) {
                WideIds::Inline(_) => {
                    known[number] = Known::InBucket;
                    let at = places[number] as usize % PIECES;
                    (keys[at], buckets[at]) = (key.first(), bucket as u32);
                }
                WideIds::Stored(ids) => {
                    known[number] = caches.long.range_of(ids).map_or(Known::Nothing, &mut take);
                }
            }
        }
        for (number, hash) in long {
            let place = places[usize::from(*number)] as usize;
            let found = caches.long.find(*hash, &pieces.text[pieces.range(place)], pieces.is_part(place));
            known[usize::from(*number)] = found.map_or(Known::Nothing, &mut take);
        }
    }

    /// Tell whether the ids of all that are known are copied from buckets.
    #[inline(always)]
    pub(super) fn are_in_buckets(&self) -> bool {
        self.outside_bucket == 0
    }

    /// The indices of those that are known, but not copied from a bucket, and where the `LongCache` has their ids.
    #[inline(always)]
    pub(super) fn known(&self) -> impl Iterator<Item = (usize, Range<usize>)> {
        let known = self.places[..self.count].iter().zip(&self.known);
        known.filter_map(|(place, known)| match *known {
            Known::Stored(start, end) => Some((*place as usize, start as usize..end as usize)),
            _ => None,
        })
    }

    /// The wide pieces that are unknown, with their indices.
    pub(super) fn wide(&self) -> impl Iterator<Item = (usize, &WidePiece)> {
        self.wide.iter().filter_map(|piece| Some((self.unknown(piece.number)?, piece)))
    }

    /// The indices and hashes of long pieces that are unknown.
    pub(super) fn long(&self) -> impl Iterator<Item = (usize, &LongHash)> {
        self.long.iter().filter_map(|(number, hash)| Some((self.unknown(*number)?, hash)))
    }

    fn unknown(&self, number: u16) -> Option<usize> {
        let number = usize::from(number);
        matches!(self.known[number], Known::Nothing).then(|| self.places[number] as usize)
    }
}

impl FoundPieces {
    /// Append these ids of the `LongCache`, or only their number if the sink counts.
    #[inline(always)]
    pub(super) fn append_long_piece<S: Sink>(&mut self, kept: Range<usize>, caches: &Caches, ids: &mut Room) {
        let end = self.end + kept.len();
        if !S::COUNTS {
            ids[self.end..end].copy_from_slice(&caches.long.ids()[kept]);
        }
        self.end = end;
    }
}
