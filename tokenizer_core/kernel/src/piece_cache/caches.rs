//! All caches of one thread, and their statistics.

use std::ops::Range;

use super::few_ids::FewIds;
use super::key::{Key, WideKey};
use super::lines::{HALF, Lines};
use super::long::LongCache;

/// Statistics of piece caches.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct CacheStatistics {
    /// The most memory they can take, in bytes.
    pub bytes: u64,
    /// Pieces looked up.
    pub pieces: u64,
    /// Pieces that none of them had.
    pub misses: u64,
    /// Pieces that made room for others.
    pub evictions: u64,
}

impl CacheStatistics {
    pub(crate) fn add(&mut self, other: &Self) {
        self.bytes += other.bytes;
        self.pieces += other.pieces;
        self.misses += other.misses;
        self.evictions += other.evictions;
    }
}

/// The caches of one thread, from pieces to their ids.
#[derive(Debug)]
pub struct Caches {
    pub(crate) lines: Lines,
    pub(crate) long: LongCache,
    pub(crate) statistics: CacheStatistics,
}

impl Caches {
    /// Empty caches of at most about `bytes` bytes.
    pub(crate) fn new(bytes: usize) -> Self {
        let (lines, long) = (Lines::new(bytes / 2, bytes / 4), LongCache::new(bytes / 4));
        Self { lines, long, statistics: CacheStatistics::default() }
    }

    pub(crate) fn bytes(&self) -> u64 {
        (self.lines.bytes() + self.long.bytes()) as u64
    }

    /// Remember the ids of `text[piece]`, a piece without a [`Key`].
    pub(crate) fn remember_longer(&mut self, text: &[u8], piece: Range<usize>, part: bool, ids: &[u32]) {
        let Self { lines, long, .. } = self;
        let evicted = match WideKey::new(text, piece.start, piece.end, part) {
            Some(key) => lines.insert_wide(key, ids, |ids| long.store(ids)),
            None => long.insert(&text[piece], part, ids),
        };
        self.count(evicted);
    }

    /// Remember the ids of a piece that has a key, but too many ids to stand beside it.
    pub(crate) fn remember_many(&mut self, place: usize, key: Key, ids: &[u32]) {
        let evicted = self.lines.insert_stored(place, key, self.long.store(ids));
        self.count(evicted);
    }

    /// Where the `LongCache` has the ids of a short piece, if its line says so. If the piece `comes_often`, and its ids
    /// are few enough for a line, it gets its own, so that it is found there the next time.
    #[inline(always)]
    pub(crate) fn find_stored(&mut self, place: usize, key: Key, comes_often: bool) -> Option<Range<usize>> {
        let range = self.long.range_of(self.lines.stored(place, key)?)?;
        if comes_often && let Some(few) = FewIds::new(&self.long.ids()[range.clone()]) {
            self.lines.make_large(place, key, &few);
        }
        Some(range)
    }

    /// The ids of a piece that lies in a neighbour of its line, from where it is brought home.
    #[inline(always)]
    pub(crate) fn find_in_neighbour(&mut self, place: usize, key: Key) -> Option<FewIds> {
        let (few, neighbour) = self.lines.get_in_neighbour(place, key)?;
        if neighbour != place {
            self.bring_home(place, key, neighbour);
        }
        Some(few)
    }

    fn bring_home(&mut self, place: usize, key: Key, neighbour: usize) {
        if let Some(large) = self.lines.large(place) {
            let count = large.count as usize;
            if !self.long.has_room(0, count) {
                return;
            }
            self.lines.make_small(place, self.long.store(&large.ids[..count]));
        }
        self.lines.bring_home(place, key, neighbour);
    }

    /// Remember the ids of the piece that has a key and is looked for at `place`.
    #[inline(always)]
    pub(crate) fn remember_short(&mut self, place: usize, key: Key, ids: &FewIds) {
        let count = ids.count as usize;
        let evicted = if count > HALF && !self.lines.is_free(place) && self.long.has_room(0, count) {
            self.lines.insert_stored(place, key, self.long.store(&ids.ids[..count]))
        } else {
            self.lines.insert(place, key, ids)
        };
        self.count(evicted);
    }

    fn count(&mut self, evicted: bool) {
        self.statistics.misses += 1;
        self.statistics.evictions += u64::from(evicted);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::piece_cache::{COUNT_SHIFT, IDS_LIMIT};

    /// As a portion looks a short piece up, and where it was found.
    fn recalled(caches: &mut Caches, key: Key) -> Option<(Vec<u32>, &'static str)> {
        let (mut ids, place) = ([0; IDS_LIMIT], caches.lines.place(key));
        match caches.lines.get(place, key, &mut ids) {
            0 => {}
            count => return Some((ids[..count].to_vec(), "home")),
        }
        if let Some(range) = caches.find_stored(place, key, true) {
            return Some((caches.long.ids()[range].to_vec(), "stored"));
        }
        let few = caches.find_in_neighbour(place, key)?;
        Some((few.ids[..few.count as usize].to_vec(), "neighbour"))
    }

    #[test]
    fn pieces_of_many_ids_and_of_few_have_a_line_in_turn() {
        let mut caches = Caches::new(1 << 10);
        let texts = (0..=u8::MAX).map(|byte| [b'a', byte]);
        let keys: Vec<Key> = texts.filter_map(|text| Key::new(&text, 0, 2, false)).collect();
        let place = caches.lines.place(keys[0]);
        let other = keys[1..].iter().find(|key| caches.lines.place(**key) == place);
        let (large, small) = (keys[0], *other.unwrap());
        let (many, one) = (vec![7; IDS_LIMIT], vec![9]);
        caches.remember_short(place, large, &FewIds::new(&many).unwrap());
        caches.remember_short(place, small, &FewIds::one(9));
        for _ in 0..3 {
            assert_eq!(recalled(&mut caches, large), Some((many.clone(), "home")));
            assert_eq!(recalled(&mut caches, small), Some((one.clone(), "neighbour")));
            assert_eq!(recalled(&mut caches, small), Some((one.clone(), "home")));
            let range = caches.find_stored(place, large, false);
            assert_eq!(range.map(|range| caches.long.ids()[range].to_vec()), Some(many.clone()));
            assert_eq!(recalled(&mut caches, large), Some((many.clone(), "stored")));
        }
    }

    proptest! {
        /// Of so few lines that each has more pieces than it holds, and pieces of so many ids that only one fits.
        #[test]
        fn pieces_that_move_keep_their_ids(
            ids in prop::collection::vec(prop::collection::vec(0_u32..1 << 22, 1..11), 1..24),
            order in prop::collection::vec((any::<prop::sample::Index>(), any::<bool>()), 0..300),
            bytes in prop::sample::select(vec![256_usize, 512, 1024, 1 << 16]),
        ) {
            let mut caches = Caches::new(bytes);
            for (index, part) in order {
                let at = index.index(ids.len());
                let (text, ids) = ([b'a', at as u8], &ids[at]);
                let key = Key::new(&text, 0, text.len(), part).unwrap();
                let Some((found, place)) = recalled(&mut caches, key) else {
                    match FewIds::new(ids) {
                        Some(few) => caches.remember_short(caches.lines.place(key), key, &few),
                        None => caches.remember_many(caches.lines.place(key), key, ids),
                    }
                    continue;
                };
                prop_assert_eq!(&found, ids);
                let home = caches.lines.line(caches.lines.place(key));
                let is_stored = |half: usize| home.keys[half] != 0 && home.ids[half][0] >> COUNT_SHIFT == 0;
                let has_half = !is_stored(0) || !is_stored(1);
                if place == "neighbour" && ids.len() <= HALF && has_half && caches.long.has_room(0, IDS_LIMIT) {
                    prop_assert_eq!(recalled(&mut caches, key), Some((ids.clone(), "home")));
                }
            }
        }
    }
}
