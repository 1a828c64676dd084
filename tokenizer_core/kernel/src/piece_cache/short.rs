//! The buckets of short pieces with few ids: two pieces to a cache line.
//!
//! A piece whose bucket is full goes into the neighbouring bucket, if that has room.

use super::buckets::{Bucket, Buckets, HALF, ID, PLACE_SHIFT, packed, words};
use super::id_chunk::{IDS_LIMIT, IdChunk};
use super::key::Key;
use super::long::StoredIds;

impl Bucket {
    /// Tell whether there is no room, not even for a piece of one id.
    #[inline]
    fn is_full(&self) -> bool {
        self.count(0) > HALF || self.keys[1] != 0
    }

    /// Remember the ids of a piece; if there is no room for both, the older piece is evicted. Returns whether one was.
    #[inline(always)]
    fn insert(&mut self, key: Key, few: &IdChunk) -> bool {
        let is_small = few.count as usize <= HALF;
        let stays = is_small && self.count(0) <= HALF;
        let evicted = self.keys[usize::from(stays)] != 0;
        let (second, second_ids) = if stays { (self.keys[0], self.ids[0]) } else { (0, [0; HALF]) };
        let [first_ids, more] = packed(few);
        self.keys = [key.0, second];
        self.ids = [first_ids, if is_small { second_ids } else { more }];
        evicted
    }
}

impl Buckets {
    /// The number of upper bits of a hash that are the place of a short piece.
    #[inline(always)]
    pub(crate) fn bits(&self) -> u32 {
        self.short_bits
    }

    /// The place of a short piece.
    #[inline(always)]
    pub fn place(&self, key: Key) -> usize {
        key.place(self.short_bits, PLACE_SHIFT)
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

    /// The ids of a piece that was not in its bucket when it was looked for, but is in the neighbour.
    #[inline(always)]
    pub fn get_in_neighbour(&self, place: usize, key: Key) -> Option<IdChunk> {
        if !self.bucket(place).is_full() {
            return None;
        }
        let mut few = IdChunk::NONE;
        few.count = self.get(neighbour(place), key, &mut few.ids) as u32;
        (few.count > 0).then_some(few)
    }

    /// The place of a piece's ids outside its bucket.
    #[inline(always)]
    pub fn stored(&self, place: usize, key: Key) -> Option<StoredIds> {
        let bucket = self.bucket(place);
        bucket.stored(bucket.keys.iter().position(|other| *other == key.0)?)
    }

    /// Tell whether the bucket at a place is empty.
    pub fn is_free(&self, place: usize) -> bool {
        self.bucket(place).keys[0] == 0
    }

    /// Remember where the ids of a piece are stored. Returns whether another piece was evicted.
    pub fn insert_stored(&mut self, place: usize, key: Key, ids: StoredIds) -> bool {
        let bucket = self.bucket_mut(place);
        match bucket.keys.iter().position(|other| *other == key.0) {
            // They were stored before, and are gone.
            Some(half) => {
                bucket.ids[half] = words(ids);
                false
            }
            None => {
                let [a, b, c, d] = words(ids);
                bucket.insert(key, &IdChunk { ids: [a, b, c, d, 0, 0, 0, 0], count: 0 })
            }
        }
    }

    /// Remember the ids of a piece, at least one. Returns whether another piece was evicted.
    #[inline(always)]
    pub fn insert(&mut self, place: usize, key: Key, ids: &IdChunk) -> bool {
        let (is_full, beside) = (self.bucket(place).is_full(), neighbour(place));
        if self.stored(place, key).is_some() {
            // Its ids were stored, and are gone.
            *self.bucket_mut(place) = Bucket { ids: packed(ids), keys: [key.0, 0] };
            return true;
        }
        if self.bucket(place).keys.contains(&key.0) || is_full && self.bucket(beside).keys.contains(&key.0) {
            // The piece was missed twice in one block.
            return false;
        }
        let place = if is_full && !self.bucket(beside).is_full() { beside } else { place };
        self.bucket_mut(place).insert(key, ids)
    }
}

/// The place of the neighbouring bucket.
#[inline(always)]
fn neighbour(place: usize) -> usize {
    place ^ 1 << PLACE_SHIFT
}
