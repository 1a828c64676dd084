//! Short pieces of few ids, two to a cache line.

use super::few::{Few, IDS_LIMIT};
use super::key::Key;
use super::long::Kept;
use crate::machine::pages::{Table, Zeroed};
use crate::machine::prefetch::prefetch_at;

/// Most ids of a piece beside which another one has room in the line.
pub(crate) const HALF: usize = IDS_LIMIT / 2;

/// The number of ids stands above the first of them.
pub(crate) const COUNT_SHIFT: u32 = 28;
pub(crate) const ID: u32 = (1 << COUNT_SHIFT) - 1;

const _: () = assert!(crate::vocabulary::MAX_IDS <= 1 << COUNT_SHIFT && IDS_LIMIT < 16);

/// The word of a bucket that never has a count in its upper bits: for a piece that is not in the bucket, it is read in
/// place of the ids.
pub(crate) const UNCOUNTED: usize = 1;

/// Two pieces of up to four ids, or one of up to eight.
#[derive(Debug, Clone, Copy)]
#[repr(C, align(64))]
pub(crate) struct Bucket {
    pub(crate) ids: [[u32; HALF]; 2],
    /// Zero is empty. Of a piece with more than four ids the first is the key and the second empty. One with more than
    /// eight has the count 0, and where they are kept.
    pub(crate) keys: [u128; 2],
}

const _: () = assert!(size_of::<Bucket>() == 64 && std::mem::offset_of!(Bucket, ids) == 0);

// SAFETY: integers alone.
unsafe impl Zeroed for Bucket {}

impl Bucket {
    /// How many ids the piece in the first or the second half has; 0 if they are kept elsewhere.
    #[inline(always)]
    fn count(&self, half: usize) -> usize {
        (self.ids[half][0] >> COUNT_SHIFT) as usize
    }

    /// Whether there is no room, not even for a piece of one id.
    #[inline]
    fn is_full(&self) -> bool {
        self.count(0) > HALF || self.keys[1] != 0
    }

    /// Remember the ids of a piece; if there is no room for both, the older piece is forgotten. Returns whether one
    /// was.
    #[inline(always)]
    fn insert(&mut self, key: Key, Few { ids, count }: &Few) -> bool {
        let is_small = *count as usize <= HALF;
        let stays = is_small && self.count(0) <= HALF;
        let evicted = self.keys[usize::from(stays)] != 0;
        let (second, second_ids) = if stays { (self.keys[0], self.ids[0]) } else { (0, [0; HALF]) };
        let [a, b, c, d, e, f, g, h] = *ids;
        self.keys = [key.0, second];
        self.ids = [[a | count << COUNT_SHIFT, b & ID, c, d], if is_small { second_ids } else { [e, f, g, h] }];
        evicted
    }
}

/// Where ids are kept, stored in place of ids, with the count 0.
fn words(Kept { start, count, generation }: Kept) -> [u32; HALF] {
    [start, 0, count, generation]
}

/// Places count words of eight bytes, which an address computation scales by itself.
pub(crate) const PLACE_SHIFT: u32 = (size_of::<Bucket>() / size_of::<u64>()).ilog2();

/// The bit in which the places of a bucket and its neighbour differ.
const BESIDE: usize = 1 << PLACE_SHIFT;

/// The cache; its size is fixed when it is made.
///
/// A piece whose bucket is full goes into the neighbouring bucket, if that has room.
#[derive(Debug)]
pub struct ShortCache {
    buckets: Table<Bucket>,
    bits: u32,
}

impl ShortCache {
    /// A cache of at most `bytes` bytes, and at least two buckets.
    pub fn new(bytes: usize) -> Self {
        let bits = (bytes / size_of::<Bucket>()).max(2).ilog2().min(u32::BITS - PLACE_SHIFT);
        Self { buckets: Table::new(1 << bits), bits }
    }

    /// What it takes, in bytes.
    pub fn bytes(&self) -> usize {
        size_of_val(&*self.buckets)
    }

    /// How many of the upper bits of a hash are a place.
    #[cfg(target_arch = "x86_64")]
    #[inline(always)]
    pub(crate) fn bits(&self) -> u32 {
        self.bits
    }

    /// Where a piece is looked for.
    #[inline(always)]
    pub fn place(&self, key: Key) -> usize {
        key.place(self.bits, PLACE_SHIFT)
    }

    /// Begin to load what is remembered at a place.
    #[inline(always)]
    pub fn prefetch(&self, place: usize) {
        prefetch_at(self.words().wrapping_add(place));
    }

    /// The word that places count from.
    #[inline(always)]
    pub(crate) fn words(&self) -> *const u64 {
        self.buckets.as_ptr().cast()
    }

    #[inline(always)]
    pub(crate) fn bucket(&self, place: usize) -> &Bucket {
        &self.buckets[(place >> PLACE_SHIFT) & (self.buckets.len() - 1)]
    }

    /// Write the ids of the piece whose place is `place`, and return how many of them count: none if the piece is not
    /// remembered there.
    #[inline(always)]
    pub fn get(&self, place: usize, key: Key, ids: &mut [u32; IDS_LIMIT]) -> usize {
        let bucket = self.bucket(place);
        let second = usize::from(bucket.keys[1] == key.0);
        let hit = second | usize::from(bucket.keys[0] == key.0);
        let count = bucket.count(second) * hit;
        let [low, high] = bucket.ids;
        ids[..HALF].copy_from_slice(if second == 0 { &low } else { &high });
        ids[HALF..].copy_from_slice(&high);
        ids[0] &= ID;
        count
    }

    /// What is remembered of a piece that is not in its own bucket.
    #[inline(always)]
    pub fn get_beside(&self, place: usize, key: Key) -> Option<Few> {
        if !self.bucket(place).is_full() {
            return None;
        }
        let mut few = Few::NONE;
        few.count = self.get(place ^ BESIDE, key, &mut few.ids) as u32;
        (few.count > 0).then_some(few)
    }

    /// Where the ids of a piece are kept that has too many for a bucket.
    #[inline(always)]
    pub fn kept(&self, place: usize, key: Key) -> Option<Kept> {
        let bucket = self.bucket(place);
        let half = bucket.keys.iter().position(|other| *other == key.0)?;
        let [start, _, count, generation] = bucket.ids[half];
        (bucket.count(half) == 0).then_some(Kept { start, count, generation })
    }

    /// Remember where the ids of a piece are kept. Returns whether another piece was forgotten.
    pub fn insert_kept(&mut self, key: Key, kept: Kept) -> bool {
        let (place, mask) = (self.place(key) >> PLACE_SHIFT, self.buckets.len() - 1);
        let bucket = &mut self.buckets[place & mask];
        match bucket.keys.iter().position(|other| *other == key.0) {
            // They were kept before, and then forgotten.
            Some(half) => {
                bucket.ids[half] = words(kept);
                false
            }
            None => {
                let [a, b, c, d] = words(kept);
                bucket.insert(key, &Few { ids: [a, b, c, d, 0, 0, 0, 0], count: 0 })
            }
        }
    }

    /// Remember the ids of a piece, at least one. Returns whether another piece was forgotten.
    #[inline(always)]
    pub fn insert(&mut self, key: Key, ids: &Few) -> bool {
        let mut place = self.place(key);
        let is_known = |place: usize| self.bucket(place).keys.contains(&key.0);
        let is_full = |place: usize| self.bucket(place).is_full();
        if is_known(place) || is_full(place) && is_known(place ^ BESIDE) {
            // The piece was missed twice in one portion.
            return false;
        }
        if is_full(place) && !is_full(place ^ BESIDE) {
            place ^= BESIDE;
        }
        let mask = self.buckets.len() - 1;
        self.buckets[(place >> PLACE_SHIFT) & mask].insert(key, ids)
    }
}
