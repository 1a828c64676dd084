//! Pieces that are not in the bucket where they are looked for: those that are elsewhere in the caches, and those that
//! the model has to encode.

use super::long_pieces::WidePiece;
use super::{BlockPieces, Keys, Miss, PIECES, STEP};
use crate::capacity::reserve;
use crate::error::Result;
use crate::model::{AnyModel, ModelBuffers, Piece, PieceIds};
use crate::piece_cache::{Caches, IDS_LIMIT, IdChunk, PLACE_SHIFT, WideIds};

/// Twice as many as there are pieces.
const BUCKETS: usize = 2 * PIECES;

/// The words of each miss of a block, by its number among them.
#[derive(Debug)]
pub(super) struct Misses {
    /// The range of the words of each in `made`.
    found: [[u32; 2]; PIECES],
    made: PieceIds,
    /// By the index of a piece in the block: its number among the misses.
    miss_of: [u16; PIECES],
    /// Pieces for the model, none twice, and of each its number among the misses and the place of its bucket.
    unknown: Vec<Piece>,
    unknown_at: Vec<(u16, u32)>,
    /// By the place of its bucket: the last piece for the model.
    last: [u16; BUCKETS],
    /// Misses that repeat one for the model, and which.
    repeats: Vec<(u16, u16)>,
}

impl Default for Misses {
    #[inline(always)]
    fn default() -> Self {
        Self {
            found: [[0; 2]; PIECES],
            made: PieceIds::default(),
            miss_of: [0; PIECES],
            unknown: Vec::with_capacity(PIECES),
            unknown_at: Vec::with_capacity(PIECES),
            last: [0; BUCKETS],
            repeats: Vec::with_capacity(PIECES),
        }
    }
}

/// No words: a miss that has not been found.
const UNKNOWN: [u32; 2] = [0; 2];

impl Misses {
    /// Find the words of all misses, and remember those that the model gives.
    ///
    /// # Errors
    /// `uncovered_text`, with the bytes.
    #[inline(never)]
    pub(super) fn resolve(
        &mut self,
        misses: &[Miss],
        keys: &Keys,
        pieces: &BlockPieces<'_>,
        model: &AnyModel,
        work: &mut ModelBuffers,
        caches: &mut Caches,
    ) -> Result<()> {
        self.made.clear();
        self.look_elsewhere(misses, keys, pieces, caches);
        self.list_unknown(misses, keys, pieces);
        if self.unknown.is_empty() {
            return Ok(());
        }
        self.made.begin(self.unknown.len());
        model.encode(pieces.text, &self.unknown, work, &mut self.made)?;
        for (at, (piece, (miss, place))) in self.unknown.iter().zip(&self.unknown_at).enumerate() {
            let range = self.made.of(at);
            self.found[usize::from(*miss)] = range;
            let words = self.made.words();
            match (piece.key(), few(words, range)) {
                (Some(key), Some(few)) => caches.remember_short(*place as usize, key, &few),
                (Some(key), None) => caches.remember_many(*place as usize, key, within(words, range)),
                _ => caches.remember_long_piece(pieces.text, piece.range(), piece.part, within(words, range)),
            }
        }
        caches.statistics.misses += self.repeats.len() as u64;
        for (miss, before) in self.repeats.drain(..) {
            self.found[usize::from(miss)] = self.made.of(usize::from(before));
        }
        Ok(())
    }

    /// The first `known` of `ids`, with the words of the misses between them.
    #[inline(always)]
    pub(super) fn join(&self, misses: &[Miss], ids: &[u32], known: usize, joined: &mut Vec<u32>) {
        joined.clear();
        let mut given = 0;
        for (miss, range) in misses.iter().zip(&self.found) {
            put(ids, [given, miss.end], joined);
            given = miss.end;
            put(self.made.words(), *range, joined);
        }
        put(ids, [given, known as u32], joined);
    }

    /// Count the words of the misses.
    pub(super) fn count(&self, misses: &[Miss]) -> usize {
        self.found[..misses.len()].iter().map(|[start, end]| (end - start) as usize).sum()
    }

    /// Give back the memory of long pieces, down to `entries` entries a buffer.
    pub(super) fn shrink(&mut self, entries: usize) {
        self.made.shrink(entries);
    }

    /// Find what the caches have elsewhere, one kind of piece after the other, so that branches are predicted.
    #[inline(always)]
    fn look_elsewhere(&mut self, misses: &[Miss], keys: &Keys, pieces: &BlockPieces<'_>, caches: &Caches) {
        let Self { found, made, miss_of, .. } = self;
        for (miss, Miss { at, .. }) in misses.iter().enumerate() {
            let at = *at as usize;
            miss_of[at] = miss as u16;
            let elsewhere =
                || caches.find_elsewhere(keys.places[at] as usize, keys.keys[at], |words| made.append(words));
            found[miss] = pieces.is_short(at).then(elsewhere).flatten().unwrap_or(UNKNOWN);
        }
        for (at, WidePiece { key, place, .. }) in keys.long_pieces.wide() {
            let bucket = caches.buckets.find_wide(*place as usize, *key);
            match bucket.map(|bucket| caches.buckets.wide_ids(bucket)) {
                Some(WideIds::Inline(few)) => {
                    found[usize::from(miss_of[at])] = made.append(few.as_slice());
                }
                Some(WideIds::Stored(ids)) => {
                    if let Some(range) = caches.long.range_of(ids) {
                        found[usize::from(miss_of[at])] = made.append(&caches.long.ids()[range]);
                    }
                }
                None => {}
            }
        }
        for (at, hash) in keys.long_pieces.long() {
            if let Some(range) = caches.long.find(*hash, &pieces.text[pieces.range(at)], pieces.is_part(at)) {
                found[usize::from(miss_of[at])] = made.append(&caches.long.ids()[range]);
            }
        }
    }

    /// List the misses that are in no cache. A third of the short ones repeat an earlier one of the block.
    #[inline(always)]
    fn list_unknown(&mut self, misses: &[Miss], keys: &Keys, pieces: &BlockPieces<'_>) {
        self.unknown.clear();
        self.unknown_at.clear();
        self.repeats.clear();
        for (miss, Miss { at, .. }) in misses.iter().enumerate() {
            if self.found[miss] != UNKNOWN {
                continue;
            }
            let (at, number) = (*at as usize, self.unknown.len());
            let (range, place) = (pieces.range(at), keys.places[at]);
            let (start, end) = (range.start as u32, range.end as u32);
            let piece = Piece { key: keys.keys[at], start, end, part: pieces.is_part(at) };
            if let Some(key) = piece.key() {
                let last = &mut self.last[(place >> PLACE_SHIFT) as usize % BUCKETS];
                // There may be any number from an earlier block; it counts only if that piece has the same key.
                let before = usize::from(*last);
                if self.unknown.get(before).is_some_and(|before| before.key() == Some(key)) {
                    self.repeats.push((miss as u16, before as u16));
                    continue;
                }
                *last = number as u16;
            }
            self.unknown.push(piece);
            self.unknown_at.push((miss as u16, place));
        }
    }
}

fn within(words: &[u32], [start, end]: [u32; 2]) -> &[u32] {
    &words[start as usize..end as usize]
}

/// A copy of a few words, all at once where others follow them.
#[inline(always)]
fn few(words: &[u32], [start, end]: [u32; 2]) -> Option<IdChunk> {
    match words[start as usize..].first_chunk::<IDS_LIMIT>() {
        Some(first) => IdChunk::first(first, (end - start) as usize),
        None => IdChunk::new(within(words, [start, end])),
    }
}

/// Append words, a few of them without a branch on how many they are.
#[inline(always)]
fn put(words: &[u32], [start, end]: [u32; 2], joined: &mut Vec<u32>) {
    let count = (end - start) as usize;
    match words[start as usize..].first_chunk::<STEP>() {
        Some(first) if count <= STEP => {
            let before = joined.len();
            joined.extend_from_slice(first);
            joined.truncate(before + count);
        }
        _ => {
            reserve(joined, count);
            joined.extend_from_slice(within(words, [start, end]));
        }
    }
}
