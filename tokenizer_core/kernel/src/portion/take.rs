//! Take over what the first cache knows: one loop, in which each path compares and copies as it can.

use std::ops::Range;

use super::{Found, Keys, Miss};
use crate::piece_cache::{COUNT_SHIFT, HALF, ID, IDS_LIMIT, Key, PLACE_SHIFT};
use crate::scratch::Caches;

/// Where the ids of the second piece of a bucket begin, in words of eight bytes.
pub(super) const SECOND: usize = HALF * size_of::<u32>() / size_of::<u64>();

/// Where its keys begin.
pub(super) const KEYS: usize = 2 * SECOND;

const _: () = assert!(1 << PLACE_SHIFT == 2 * KEYS && IDS_LIMIT == 2 * HALF);

/// How each path reads a bucket.
pub(super) trait ReadBucket {
    /// Where in a bucket the ids of the piece with a key begin, in words of eight bytes, and ones if it is there at all.
    ///
    /// # Safety
    /// The machine has the path; `bucket` is one.
    unsafe fn find(bucket: *const u64, key: &Key) -> (usize, usize);

    /// Copy eight ids, the first without the count above it, and return the first with the count.
    ///
    /// # Safety
    /// The machine has the path; eight can be read, and written.
    unsafe fn copy(from: *const u32, to: *mut u32) -> u32;
}

/// Take over what is known of the pieces at `places`; see [`LookUp::take`](super::look_up::LookUp::take).
///
/// # Safety
/// The machine has what `R` needs.
#[inline(always)]
pub(super) unsafe fn take<R: ReadBucket, const COUNTS: bool>(
    places: Range<usize>,
    caches: &Caches,
    keys: &Keys,
    found: &mut Found,
) {
    let (mut end, mut missed) = (found.end, found.missed);
    let (ids, misses) = (found.ids.as_mut_ptr(), found.misses.as_mut_ptr());
    let buckets = caches.short.words();
    let (keys, buckets_at) = (&keys.keys[places.clone()], &keys.places[places.clone()]);
    for ((key, place), at) in keys.iter().zip(buckets_at).zip(places) {
        // SAFETY: the caller's promise: a place is that of a bucket. A bucket has two keys of 16 bytes each and before them
        // two times four ids, so that eight from the second four on are in it too. There is room for eight ids and a miss of
        // every piece.
        unsafe {
            let bucket = buckets.add(*place as usize);
            let (at_ids, hit) = R::find(bucket, key);
            let from = bucket.add(at_ids).cast::<u32>();
            let first = if COUNTS { from.read() } else { R::copy(from, ids.add(end)) };
            let known = (first >> COUNT_SHIFT) as usize & hit;
            misses.add(missed).write(Miss::new(at, end));
            missed += usize::from(known == 0);
            end += known;
        }
    }
    (found.end, found.missed) = (end, missed);
}

/// By which quarters are equal.
#[cfg(target_arch = "x86_64")]
static QUARTERS: Equal<256> = Equal::new();

/// What every machine has.
pub(super) struct Portable;

impl ReadBucket for Portable {
    #[cfg(target_arch = "x86_64")]
    #[inline(always)]
    unsafe fn find(bucket: *const u64, key: &Key) -> (usize, usize) {
        use core::arch::x86_64::{
            __m128i, _mm_cmpeq_epi32, _mm_load_si128, _mm_movemask_epi8, _mm_packs_epi16, _mm_packs_epi32,
        };
        // SAFETY: every machine of this kind has SSE2. A key has sixteen bytes and lies as words of so many do, and those of
        // a bucket are two.
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
    unsafe fn find(bucket: *const u64, key: &Key) -> (usize, usize) {
        // SAFETY: the keys of a bucket are two.
        let [first, second] = unsafe { bucket.add(KEYS).cast::<[Key; 2]>().read() }.map(|other| other == *key);
        (usize::from(second) * SECOND, usize::from(first | second).wrapping_neg())
    }

    #[cfg(target_arch = "x86_64")]
    #[inline(always)]
    unsafe fn copy(from: *const u32, to: *mut u32) -> u32 {
        use core::arch::x86_64::{_mm_and_si128, _mm_cvtsi128_si32, _mm_loadu_si128, _mm_setr_epi32, _mm_storeu_si128};
        // SAFETY: every machine of this kind has SSE2; eight ids are two vectors.
        unsafe {
            let (low, high) = (_mm_loadu_si128(from.cast()), _mm_loadu_si128(from.add(HALF).cast()));
            _mm_storeu_si128(to.cast(), _mm_and_si128(low, _mm_setr_epi32(ID as i32, -1, -1, -1)));
            _mm_storeu_si128(to.add(HALF).cast(), high);
            _mm_cvtsi128_si32(low) as u32
        }
    }

    #[cfg(not(target_arch = "x86_64"))]
    #[inline(always)]
    unsafe fn copy(from: *const u32, to: *mut u32) -> u32 {
        // SAFETY: the caller's promise.
        unsafe {
            let mut ids = from.cast::<[u32; IDS_LIMIT]>().read();
            let first = ids[0];
            ids[0] &= ID;
            to.cast::<[u32; IDS_LIMIT]>().write(ids);
            first
        }
    }
}

/// What it means that some stretches of the two keys of a bucket are equal, by a bit for each stretch, of which each key has half.
#[cfg(target_arch = "x86_64")]
pub(super) struct Equal<const N: usize> {
    /// Where in the bucket the piece's ids begin, in words of eight bytes.
    ids: [u8; N],
    /// Ones if all of either key is.
    hit: [i8; N],
}

#[cfg(target_arch = "x86_64")]
impl<const N: usize> Equal<N> {
    pub(super) const fn new() -> Self {
        let bits = N.ilog2() / 2;
        let (first, mut equal) = ((1 << bits) - 1, 0);
        let (mut ids, mut hit) = ([0; N], [0; N]);
        while equal < N {
            let is_second = equal >> bits == first;
            if is_second {
                ids[equal] = SECOND as u8;
            }
            if is_second || equal & first == first {
                hit[equal] = -1;
            }
            equal += 1;
        }
        Self { ids, hit }
    }

    /// What [`ReadBucket::find`] says.
    #[inline(always)]
    pub(super) fn find(&self, equal: usize) -> (usize, usize) {
        (usize::from(self.ids[equal % N]), self.hit[equal % N] as usize)
    }
}
