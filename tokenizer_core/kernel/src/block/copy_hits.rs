//! Copy the ids that lie in the buckets of pieces: one loop, in which each level compares and copies with its own
//! instructions.

use std::ops::Range;

use super::{FoundPieces, KNOWN, Keys, Miss, PIECES, Room};
use crate::output::Sink;
use crate::piece_cache::{COUNT_SHIFT, Caches, HALF, ID, IDS_LIMIT, Key, PLACE_SHIFT, UNCOUNTED};
use crate::simd::level::Portable;

/// The start of the keys in a bucket, in words of eight bytes.
pub(super) const KEYS: usize = IDS_LIMIT * size_of::<u32>() / size_of::<u64>();

/// Return the number of words of eight bytes that so many ids take.
const fn words(ids: usize) -> usize {
    assert!(ids.is_multiple_of(2));
    ids / 2
}

const _: () = assert!(1 << PLACE_SHIFT == 2 * KEYS && IDS_LIMIT == 2 * HALF);

/// Bytes of a place.
const PLACE: usize = size_of::<u32>();

/// The reading of a bucket, by each level in its own way.
pub(super) trait ReadBucket: Copy {
    /// Find the start of the ids of the piece with a key in a bucket, in words of eight bytes, or [`UNCOUNTED`] if it
    /// is not there.
    ///
    /// # Safety
    /// `bucket` is one.
    unsafe fn find(self, bucket: *const u64, key: &Key) -> usize;

    /// Copy eight ids, the first without the count above it.
    ///
    /// # Safety
    /// Eight can be read, and written.
    unsafe fn copy(self, from: *const u32, to: *mut u32);
}

/// Append the ids that the buckets have of the pieces at `places`; or only add their number, if the sink counts.
///
/// # Safety
/// Each of the pieces has its place in `caches.buckets`, `found.end + IDS_LIMIT * places.len() <= KNOWN`, and
/// `found.miss_count + places.len() <= PIECES`.
#[inline(always)]
pub(super) unsafe fn copy_hits<R: ReadBucket, S: Sink>(
    simd: R,
    places: Range<usize>,
    caches: &Caches,
    keys: &Keys,
    found: &mut FoundPieces,
    ids: &mut Room,
) {
    debug_assert!(found.end + IDS_LIMIT * places.len() <= KNOWN && found.miss_count + places.len() <= PIECES);
    let (mut end, mut miss_count) = (found.end, found.miss_count);
    let ids = ids.as_mut_ptr();
    let buckets = caches.buckets.words();
    let (keys, buckets_at) = (&raw const keys.keys, &raw const keys.places);
    // Counted in bytes of the places: a multiple of that leads to the keys, without a second counter.
    for offset in (places.start * PLACE..places.end * PLACE).step_by(PLACE) {
        // SAFETY: the caller's promise: a place is that of a bucket. A bucket is eight ids, then two keys of 16 bytes;
        // `find` gives the words of 0, `UNCOUNTED` or `HALF` ids, so eight ids from there on lie in the bucket. Each
        // piece so far took at most `IDS_LIMIT` ids, and there is room for as much of every piece.
        let known = unsafe {
            let place = buckets_at.cast::<u32>().byte_add(offset).read() as usize;
            let key = &*keys.cast::<Key>().byte_add(offset * (size_of::<Key>() / PLACE));
            debug_assert!(std::ptr::eq(buckets.add(place).cast(), caches.buckets.bucket(place)));
            let from = buckets.add(place + simd.find(buckets.add(place), key)).cast::<u32>();
            if !S::COUNTS {
                simd.copy(from, ids.add(end));
            }
            (from.read() >> COUNT_SHIFT) as usize
        };
        // Written for every piece, and counted for those that are missed: which they are is hard to predict.
        found.misses[miss_count % PIECES] = Miss { at: (offset / PLACE) as u32, end: end as u32 };
        miss_count += usize::from(known == 0);
        end += known;
    }
    (found.end, found.miss_count) = (end, miss_count);
}

/// The start of the ids, by the quarters of the two keys that are equal.
#[cfg(target_arch = "x86_64")]
static QUARTERS: Equal<256> = Equal::new();

impl ReadBucket for Portable {
    #[cfg(target_arch = "x86_64")]
    #[inline(always)]
    unsafe fn find(self, bucket: *const u64, key: &Key) -> usize {
        use core::arch::x86_64::{
            __m128i, _mm_cmpeq_epi32, _mm_load_si128, _mm_movemask_epi8, _mm_packs_epi16, _mm_packs_epi32,
        };
        // SAFETY: every machine of this kind has SSE2. A key is a `u128`, and a bucket is aligned to 64 bytes with its
        // two keys 32 bytes in, so all three are vectors of 16 bytes at aligned places.
        let equal = unsafe {
            let key = _mm_load_si128(std::ptr::from_ref(key).cast());
            let keys = bucket.add(KEYS).cast::<__m128i>();
            let equal = |at: usize| _mm_cmpeq_epi32(_mm_load_si128(keys.add(at)), key);
            let quarters = _mm_packs_epi32(equal(0), equal(1));
            _mm_movemask_epi8(_mm_packs_epi16(quarters, quarters))
        };
        QUARTERS.find(equal as usize)
    }

    #[cfg(not(target_arch = "x86_64"))]
    #[inline(always)]
    unsafe fn find(self, bucket: *const u64, key: &Key) -> usize {
        // SAFETY: the keys of a bucket are two.
        let [first, second] = unsafe { bucket.add(KEYS).cast::<[Key; 2]>().read() }.map(|other| other == *key);
        if first {
            0
        } else if second {
            words(HALF)
        } else {
            words(UNCOUNTED)
        }
    }

    #[cfg(target_arch = "x86_64")]
    #[inline(always)]
    unsafe fn copy(self, from: *const u32, to: *mut u32) {
        use core::arch::x86_64::{_mm_and_si128, _mm_loadu_si128, _mm_setr_epi32, _mm_storeu_si128};
        // SAFETY: every machine of this kind has SSE2; eight ids are two vectors.
        unsafe {
            let (low, high) = (_mm_loadu_si128(from.cast()), _mm_loadu_si128(from.add(HALF).cast()));
            _mm_storeu_si128(to.cast(), _mm_and_si128(low, _mm_setr_epi32(ID as i32, -1, -1, -1)));
            _mm_storeu_si128(to.add(HALF).cast(), high);
        }
    }

    #[cfg(not(target_arch = "x86_64"))]
    #[inline(always)]
    unsafe fn copy(self, from: *const u32, to: *mut u32) {
        // SAFETY: the caller's promise.
        unsafe {
            let mut ids = from.cast::<[u32; IDS_LIMIT]>().read();
            ids[0] &= ID;
            to.cast::<[u32; IDS_LIMIT]>().write(ids);
        }
    }
}

/// The start of the ids in a bucket, by the parts of its keys that are equal: a bit for each part, the lower half of
/// the bits for the first key and the upper half for the second.
#[cfg(target_arch = "x86_64")]
pub(super) struct Equal<const N: usize>([usize; N]);

#[cfg(target_arch = "x86_64")]
impl<const N: usize> Equal<N> {
    pub(super) const fn new() -> Self {
        let bits = N.ilog2() / 2;
        let (all, mut equal) = ((1 << bits) - 1, 0);
        let mut ids = [words(UNCOUNTED); N];
        while equal < N {
            // The first before the second: a wide piece, which is found by its first bytes, may go on with the same.
            if equal & all == all {
                ids[equal] = 0;
            } else if equal >> bits == all {
                ids[equal] = words(HALF);
            }
            equal += 1;
        }
        Self(ids)
    }

    /// Return the result of [`ReadBucket::find`].
    #[inline(always)]
    pub(super) fn find(&self, equal: usize) -> usize {
        self.0[equal % N]
    }
}
