//! The cache of short pieces with few ids: two pieces to a cache line.

use super::few_ids::{FewIds, IDS_LIMIT};
use super::key::Key;
use super::long::StoredIds;
use crate::machine::pages::{Table, Zeroable};
use crate::machine::prefetch::prefetch_at;

/// The most ids that a piece can have if another one shares its line.
pub(crate) const HALF: usize = IDS_LIMIT / 2;

/// The number of ids stands above the first of them, in a byte of its own, which can be read alone.
pub(crate) const COUNT_SHIFT: u32 = 24;
pub(crate) const ID: u32 = (1 << COUNT_SHIFT) - 1;

const _: () = assert!(crate::vocabulary::MAX_IDS <= 1 << COUNT_SHIFT);

/// Among the ids of a bucket one that never has a count above it. It is read instead of the ids for a piece that is not
/// in the bucket.
pub(crate) const UNCOUNTED: usize = 2;

/// Two pieces of up to four ids, or one of up to eight.
#[derive(Debug, Clone, Copy)]
#[repr(C, align(64))]
pub(crate) struct Bucket {
    pub(crate) ids: [[u32; HALF]; 2],
    /// Zero is empty. A piece with more than four ids has the first key and leaves the second empty. One with more than
    /// eight, or beside another, has the count 0 and, in place of ids, where they are stored.
    pub(crate) keys: [u128; 2],
}

const _: () = assert!(size_of::<Bucket>() == 64 && std::mem::offset_of!(Bucket, ids) == 0);

// SAFETY: integers alone.
unsafe impl Zeroable for Bucket {}

impl Bucket {
    /// How many ids the piece in the first or the second half has; 0 if they are stored in the `LongCache`.
    #[inline(always)]
    fn count(&self, half: usize) -> usize {
        (self.ids[half][0] >> COUNT_SHIFT) as usize
    }

    /// Whether there is no room, not even for a piece of one id.
    #[inline]
    fn is_full(&self) -> bool {
        self.count(0) > HALF || self.keys[1] != 0
    }

    /// Remember the ids of a piece; if there is no room for both, the older piece is evicted. Returns whether one was.
    #[inline(always)]
    fn insert(&mut self, key: Key, FewIds { ids, count }: &FewIds) -> bool {
        let is_small = *count as usize <= HALF;
        let stays = is_small && self.count(0) <= HALF;
        let evicted = self.keys[usize::from(stays)] != 0;
        let (second, second_ids) = if stays { (self.keys[0], self.ids[0]) } else { (0, [0; HALF]) };
        let [a, b, c, d, e, f, g, h] = *ids;
        self.keys = [key.0, second];
        self.ids = [[a | count << COUNT_SHIFT, b, c & ID, d], if is_small { second_ids } else { [e, f, g, h] }];
        evicted
    }
}

/// The words of a bucket that say where ids are stored, with the count 0: neither the start nor, at [`UNCOUNTED`], the
/// number of ids reaches the byte of the count.
fn words(StoredIds { start, count, generation }: StoredIds) -> [u32; HALF] {
    [start, 0, count, generation]
}

/// Places are in words of eight bytes, a scale that an address has for free.
pub(crate) const PLACE_SHIFT: u32 = (size_of::<Bucket>() / size_of::<u64>()).ilog2();

/// A bucket and its neighbours.
const GROUP: usize = 4;

/// The cache; its size is fixed when it is made.
///
/// A piece whose bucket is full goes into the first neighbouring bucket that has room, if any has.
#[derive(Debug)]
pub struct ShortCache {
    buckets: Table<Bucket>,
    bits: u32,
}

impl ShortCache {
    /// A cache of at most `bytes` bytes, and at least one group of buckets.
    pub fn new(bytes: usize) -> Self {
        let bits = (bytes / size_of::<Bucket>()).max(GROUP).ilog2().min(u32::BITS - PLACE_SHIFT);
        Self { buckets: Table::new(1 << bits), bits }
    }

    /// Its size in bytes.
    pub fn bytes(&self) -> usize {
        size_of_val(&*self.buckets)
    }

    /// As [`Table::populate`].
    pub fn populate(&mut self) {
        self.buckets.populate();
    }

    /// How many of the upper bits of a hash are the place.
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
        &self.buckets[(place >> PLACE_SHIFT) & (self.buckets.len() - 1)]
    }

    /// The places of the neighbours, up to the first that has room.
    #[inline(always)]
    fn neighbours(&self, place: usize) -> impl Iterator<Item = usize> {
        let mut is_reached = true;
        let reached = move |at: &usize| std::mem::replace(&mut is_reached, self.bucket(*at).is_full());
        (1..GROUP).map(move |way| place ^ way << PLACE_SHIFT).take_while(reached)
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

    /// The ids of a piece that was not in its bucket when it was looked for, but is in a neighbour, and where that is.
    #[inline(always)]
    pub fn get_in_neighbour(&self, place: usize, key: Key) -> Option<(FewIds, usize)> {
        if self.bucket(place).is_full() { self.search(place, key) } else { None }
    }

    #[inline(never)]
    fn search(&self, place: usize, key: Key) -> Option<(FewIds, usize)> {
        // At the end its own bucket again: it may have been brought home since it was missed.
        let at = self.neighbours(place).chain([place]).find(|at| self.bucket(*at).keys.contains(&key.0))?;
        let mut few = FewIds::NONE;
        few.count = self.get(at, key, &mut few.ids) as u32;
        (few.count > 0).then_some((few, at))
    }

    /// The ids of the piece that has a bucket alone since they are more than four.
    pub fn large(&self, place: usize) -> Option<FewIds> {
        let bucket = self.bucket(place);
        let [[first, b, c, d], [e, f, g, h]] = bucket.ids;
        let count = first >> COUNT_SHIFT;
        (count as usize > HALF).then_some(FewIds { ids: [first & ID, b, c, d, e, f, g, h], count })
    }

    /// Make room beside the piece that has a bucket alone, whose ids have been stored elsewhere.
    pub fn make_small(&mut self, place: usize, ids: StoredIds) {
        let mask = self.buckets.len() - 1;
        self.buckets[(place >> PLACE_SHIFT) & mask].ids = [words(ids), [0; HALF]];
    }

    /// Move a piece from a neighbour of its bucket to its own, where it changes places with an older piece: of more
    /// pieces than a bucket has room for, those that come often shall be found at once.
    pub fn bring_home(&mut self, place: usize, key: Key, neighbour: usize) {
        let places = [place, neighbour].map(|place| (place >> PLACE_SHIFT) & (self.buckets.len() - 1));
        let Ok([home, other]) = self.buckets.get_disjoint_mut(places) else { return };
        let Some(from) = other.keys.iter().position(|other| *other == key.0) else { return };
        // Ids that are stored elsewhere are looked for at home alone.
        let to = usize::from(home.keys[1] == 0 || home.count(1) > 0);
        if home.count(0) > HALF || other.count(0) > HALF || home.keys[to] != 0 && home.count(to) == 0 {
            return;
        }
        std::mem::swap(&mut home.keys[to], &mut other.keys[from]);
        std::mem::swap(&mut home.ids[to], &mut other.ids[from]);
        home.keys.swap(0, 1);
        home.ids.swap(0, 1);
        if other.keys[0] == 0 {
            other.keys.swap(0, 1);
            other.ids.swap(0, 1);
        }
    }

    /// Where the ids of a piece are stored that are not in its bucket.
    #[inline(always)]
    pub fn stored(&self, place: usize, key: Key) -> Option<StoredIds> {
        let bucket = self.bucket(place);
        let half = bucket.keys.iter().position(|other| *other == key.0)?;
        let [start, _, count, generation] = bucket.ids[half];
        (bucket.count(half) == 0).then_some(StoredIds { start, count, generation })
    }

    /// Whether the bucket at a place is empty.
    pub fn is_free(&self, place: usize) -> bool {
        self.bucket(place).keys[0] == 0
    }

    /// Remember where the ids of a piece are stored. Returns whether another piece was evicted.
    pub fn insert_stored(&mut self, place: usize, key: Key, ids: StoredIds) -> bool {
        let mask = self.buckets.len() - 1;
        let bucket = &mut self.buckets[(place >> PLACE_SHIFT) & mask];
        match bucket.keys.iter().position(|other| *other == key.0) {
            // They were stored before, and are gone.
            Some(half) => {
                bucket.ids[half] = words(ids);
                false
            }
            None => {
                let [a, b, c, d] = words(ids);
                bucket.insert(key, &FewIds { ids: [a, b, c, d, 0, 0, 0, 0], count: 0 })
            }
        }
    }

    /// Remember the ids of a piece, at least one. Returns whether another piece was evicted.
    #[inline(always)]
    pub fn insert(&mut self, place: usize, key: Key, ids: &FewIds) -> bool {
        let home = self.bucket(place);
        if home.keys.contains(&key.0) {
            // The piece was missed twice in one portion.
            return false;
        }
        let place = if home.is_full() { self.beside(place, key) } else { Some(place) };
        let Some(place) = place else { return false };
        let mask = self.buckets.len() - 1;
        self.buckets[(place >> PLACE_SHIFT) & mask].insert(key, ids)
    }

    /// Where there is room for a piece whose bucket is full; its own place if there is none, and `None` if it is in a
    /// neighbour.
    #[inline(never)]
    fn beside(&self, place: usize, key: Key) -> Option<usize> {
        let mut free = place;
        for at in self.neighbours(place) {
            let bucket = self.bucket(at);
            if bucket.keys.contains(&key.0) {
                return None;
            }
            if !bucket.is_full() {
                free = at;
            }
        }
        Some(free)
    }
}
