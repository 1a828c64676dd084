//! From pieces to ids, a block of the text at a time.
//!
//! Each step is done for all pieces of a block before the next begins, so that many loads are under way at once:
//! first the keys (`keys`, `avx2`), then what the caches have (`copy_hits`, `long_pieces`), then what they miss
//! (`misses`).

#[cfg(target_arch = "x86_64")]
mod avx2;
mod copy_hits;
mod keys;
mod long_pieces;
mod misses;
#[cfg(test)]
mod tests;

use std::ops::Range;

use self::copy_hits::{ReadBucket, copy_hits};
use self::keys::MakeKeys;
use self::long_pieces::LongPieces;
use self::misses::Misses;
use crate::error::Result;
use crate::model::{AnyModel, ModelBuffers, Token};
use crate::output::Sink;
use crate::piece_cache::{Caches, IDS_LIMIT, KEY_LIMIT, Key};
use crate::simd::level::{OnLevel, SimdLevel};
use crate::simd::words::padded;

/// Pieces looked up together: enough that those to be merged fill the lanes, and few enough that prefetched buckets are
/// still in cache when they are read.
pub const PIECES: usize = 512;

/// The most known ids of a block that do not come from a bucket, but from the `LongCache`.
const MORE: usize = 16 * PIECES;

/// The most known ids of a block: for each piece as many as a bucket holds, and [`MORE`] others.
const KNOWN: usize = PIECES * IDS_LIMIT + MORE;

/// Words of a miss, or between two, that are copied at once.
const STEP: usize = 16;

/// Room for the known ids, and for what is read beyond the last.
const ROOM: usize = KNOWN + STEP;

const _: () = assert!(IDS_LIMIT <= STEP);

/// Words of a token, where tokens do not tile.
const WORDS: usize = size_of::<Token>() / size_of::<u32>();

/// The buffer for the known ids of a block.
type Room = [u32; ROOM];

/// The pieces of one block, one after the other.
#[derive(Debug, Clone, Copy)]
pub struct BlockPieces<'a> {
    /// The whole text.
    pub text: &'a [u8],
    /// The start of the first piece.
    pub start: usize,
    /// The end of each piece; at most [`PIECES`], none before the one before it.
    pub ends: &'a [u32],
    /// True for each that is a part of a piece; empty where none is.
    pub parts: &'a [bool],
}

impl BlockPieces<'_> {
    #[inline]
    fn count(&self) -> usize {
        self.ends.len().min(PIECES)
    }

    #[inline]
    fn range(&self, at: usize) -> Range<usize> {
        let start = if at == 0 { self.start } else { self.ends[at - 1] as usize };
        start..self.ends[at] as usize
    }

    /// Tell whether a piece has a key.
    #[inline(always)]
    fn is_short(&self, at: usize) -> bool {
        self.range(at).len() <= KEY_LIMIT
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
    /// The key of each in its bucket.
    keys: [Key; PIECES],
    /// The place of the bucket of each.
    places: [u32; PIECES],
    long_pieces: LongPieces,
}

/// The keys of a block's pieces, and where they are looked up.
struct LookedUp<'a> {
    pieces: &'a BlockPieces<'a>,
    keys: &'a Keys,
    caches: &'a Caches,
}

/// The hits and the misses of a block in the caches.
#[derive(Debug)]
struct FoundPieces {
    /// The number of ids of the known pieces.
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
    /// The number of known ids before it.
    end: u32,
}

/// The known data of each piece of a block.
#[derive(Debug)]
pub struct PieceBlock {
    keys: Keys,
    found: FoundPieces,
    misses: Misses,
    /// The ids that the caches have; and these joined with those that they miss.
    known: Room,
    joined: Vec<u32>,
}

impl Default for PieceBlock {
    #[inline(always)]
    fn default() -> Self {
        Self {
            keys: Keys { keys: [Key::EMPTY; PIECES], places: [0; PIECES], long_pieces: LongPieces::default() },
            found: FoundPieces { end: 0, miss_count: 0, misses: [Miss::default(); PIECES] },
            misses: Misses::default(),
            known: [0; ROOM],
            joined: Vec::new(),
        }
    }
}

/// A block to be encoded on any level.
struct Encode<'a, S> {
    block: &'a mut PieceBlock,
    pieces: BlockPieces<'a>,
    model: &'a AnyModel,
    work: &'a mut ModelBuffers,
    caches: &'a mut Caches,
    sink: &'a mut S,
}

impl<L: MakeKeys + ReadBucket, S: Sink> OnLevel<L> for Encode<'_, S> {
    type Output = Result<()>;

    #[inline(always)]
    fn run(self, simd: L) -> Result<()> {
        let Self { block, pieces, model, work, caches, sink } = self;
        let PieceBlock { keys, found, misses, known, joined } = block;
        caches.statistics.pieces += pieces.count() as u64;
        keys.make(simd, &pieces, caches);
        found.find::<L, S>(simd, &LookedUp { pieces: &pieces, keys, caches }, known);
        let FoundPieces { end, misses: missed, miss_count } = found;
        let mut words = &known[..*end];
        if *miss_count > 0 {
            let missed = &missed[..*miss_count];
            misses.resolve(missed, keys, &pieces, model, work, caches)?;
            if S::COUNTS {
                *end += misses.count(missed);
            } else {
                misses.join(missed, known, *end, joined);
                words = joined;
            }
        }
        match (S::COUNTS, model.tiles()) {
            (true, true) => sink.counted(*end),
            (true, false) => sink.counted(*end / WORDS),
            (false, true) => sink.pieces(words),
            (false, false) => sink.tokens(bytemuck::cast_slice(words)),
        }
        Ok(())
    }
}

impl PieceBlock {
    /// Give the ids of all pieces to `sink`.
    ///
    /// # Errors
    /// `uncovered_text`, with the bytes in the text of the pieces.
    #[inline]
    pub fn encode(
        &mut self,
        pieces: BlockPieces<'_>,
        level: SimdLevel,
        model: &AnyModel,
        work: &mut ModelBuffers,
        caches: &mut Caches,
        sink: &mut impl Sink,
    ) -> Result<()> {
        level.run(Encode { block: self, pieces, model, work, caches, sink })
    }

    /// Give back the memory of long pieces, down to `entries` entries a buffer.
    pub fn shrink(&mut self, entries: usize) {
        self.misses.shrink(entries);
        self.joined.clear();
        self.joined.shrink_to(entries);
    }
}

impl Keys {
    /// Make the keys of all pieces, and find the longer ones.
    #[inline(always)]
    fn make(&mut self, simd: impl MakeKeys, pieces: &BlockPieces<'_>, caches: &Caches) {
        simd.all(pieces, caches, self);
        if self.long_pieces.count > 0 {
            self.long_pieces.prefetch(pieces, caches);
            self.long_pieces.find(pieces, caches, &mut self.keys, &mut self.places);
        }
    }
}

impl FoundPieces {
    /// Write the ids of all pieces that are known to `ids`; or only count them, if the sink does. List the others.
    #[inline(always)]
    fn find<L: ReadBucket, S: Sink>(&mut self, simd: L, looked_up: &LookedUp<'_>, ids: &mut Room) {
        let LookedUp { pieces, keys, caches } = looked_up;
        (self.end, self.miss_count) = (0, 0);
        if keys.long_pieces.are_in_buckets() {
            // As in most short texts. SAFETY: the keys have just been made for these caches. Nothing has been
            // written yet, and `ids` and `misses` have room for all pieces of a block.
            return unsafe { copy_hits::<L, S>(simd, 0..pieces.count(), caches, keys, self, ids) };
        }
        let mut known = keys.long_pieces.known();
        let mut from = 0;
        loop {
            let next = known.next();
            let to = next.as_ref().map_or(pieces.count(), |(place, _)| *place);
            // SAFETY: as above. Each piece before `from` has taken one miss at the most, and either at most `IDS_LIMIT`
            // ids or its share of `MORE`, which `LongPieces` has counted. So there is room for `IDS_LIMIT` ids and a
            // miss of each piece from `from` on.
            unsafe { copy_hits::<L, S>(simd, from..to, caches, keys, self, ids) };
            let Some((_, kept)) = next else { return };
            self.append_long_piece::<S>(kept, caches, ids);
            from = to + 1;
        }
    }
}
