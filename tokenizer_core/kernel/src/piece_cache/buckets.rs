//! The buckets of short and of wide pieces. All are in one table and hold their ids in the same places, so that one
//! loop copies the ids of either.

use bytemuck::{Pod, Zeroable};

use super::id_chunk::{COUNT_SHIFT, IDS_LIMIT, IdChunk};
use super::long::StoredIds;
use crate::simd::pages::Table;
use crate::simd::prefetch::prefetch_at;

/// The most ids that a piece can have if another one shares its bucket.
pub(crate) const HALF: usize = IDS_LIMIT / 2;

pub(crate) const ID: u32 = (1 << COUNT_SHIFT) - 1;

const _: () = assert!(crate::vocabulary::MAX_IDS <= 1 << COUNT_SHIFT);

/// Among the ids of a bucket one that never has a count above it. It is read instead of the ids for a piece that is not
/// in the bucket.
pub(crate) const UNCOUNTED: usize = 2;

/// Two short pieces of up to four ids, or one of up to eight; or one wide piece of up to eight.
#[derive(Debug, Clone, Copy, Zeroable, Pod)]
#[repr(C, align(64))]
pub(crate) struct Bucket {
    /// A piece with more than eight, or one that does not stand alone and has more than four, has the count 0 and, in
    /// place of ids, [where they are stored](Self::stored).
    pub(crate) ids: [[u32; HALF]; 2],
    /// Zero is empty. A piece with more than four ids has the first key and leaves the second empty. A wide piece has
    /// both.
    pub(crate) keys: [u128; 2],
}

const _: () = assert!(size_of::<Bucket>() == 64 && std::mem::offset_of!(Bucket, ids) == 0);

impl Bucket {
    /// Return the number of ids of the piece in the first or the second half; 0 if they are stored in the `LongCache`.
    #[inline(always)]
    pub(super) fn count(&self, half: usize) -> usize {
        (self.ids[half][0] >> COUNT_SHIFT) as usize
    }

    /// The ids of the piece that has the bucket alone.
    #[inline(always)]
    pub(super) fn few(&self) -> IdChunk {
        let [[first, b, c, d], [e, f, g, h]] = self.ids;
        IdChunk { ids: [first & ID, b, c, d, e, f, g, h], count: first >> COUNT_SHIFT }
    }

    /// Return the handle of the ids of the piece in the first or the second half, if they are not here.
    #[inline(always)]
    pub(super) fn stored(&self, half: usize) -> Option<StoredIds> {
        let [start, _, count, generation] = self.ids[half];
        (self.count(half) == 0).then_some(StoredIds { start, count, generation })
    }
}

/// Few ids as they are in a bucket, with their number above the first.
#[inline(always)]
pub(super) fn packed(IdChunk { ids, count }: &IdChunk) -> [[u32; HALF]; 2] {
    let [a, b, c, d, e, f, g, h] = *ids;
    [[a | count << COUNT_SHIFT, b, c & ID, d], [e, f, g, h]]
}

/// The words of a bucket that say where ids are stored, with the count 0: neither the start nor, at [`UNCOUNTED`], the
/// number of ids reaches the byte of the count.
pub(super) fn words(StoredIds { start, count, generation }: StoredIds) -> [u32; HALF] {
    [start, 0, count, generation]
}

/// Places are in words of eight bytes, a scale that an address has for free.
pub(crate) const PLACE_SHIFT: u32 = (size_of::<Bucket>() / size_of::<u64>()).ilog2();

/// Neighbouring buckets, in any of which a piece may be; the fewest that there are of a kind.
pub(super) const GROUP: usize = 4;

/// The buckets; how many there are of each kind is fixed when they are made.
#[derive(Debug)]
pub struct Buckets {
    /// Those of short pieces, then those of wide ones.
    buckets: Table<Bucket>,
    /// The number of bits of the places of each kind, in buckets.
    pub(super) short_bits: u32,
    pub(super) wide_bits: u32,
}

impl Buckets {
    /// Buckets of at most so many bytes for short and for wide pieces, and at least four of either.
    pub fn new(short_bytes: usize, wide_bytes: usize) -> Self {
        // The place of every bucket has 32 bits.
        let most = u32::BITS - PLACE_SHIFT - 1;
        let bits = |bytes: usize| (bytes / size_of::<Bucket>()).max(GROUP).ilog2().min(most);
        let (short_bits, wide_bits) = (bits(short_bytes), bits(wide_bytes));
        Self { buckets: Table::new((1 << short_bits) + (1 << wide_bits)), short_bits, wide_bits }
    }

    /// Their size in bytes.
    pub fn bytes(&self) -> usize {
        size_of_val(&*self.buckets)
    }

    /// Prefetch what is remembered at a place.
    #[inline(always)]
    pub fn prefetch(&self, place: usize) {
        prefetch_at(self.words().wrapping_add(place));
    }

    /// The word that places are counted from.
    #[inline(always)]
    pub(crate) fn words(&self) -> *const u64 {
        self.buckets.as_ptr().cast()
    }

    #[inline(always)]
    pub(crate) fn bucket(&self, place: usize) -> &Bucket {
        &self.buckets[place >> PLACE_SHIFT]
    }

    #[inline(always)]
    pub(super) fn bucket_mut(&mut self, place: usize) -> &mut Bucket {
        &mut self.buckets[place >> PLACE_SHIFT]
    }
}
