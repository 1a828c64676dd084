//! The lines of short pieces with few ids: two pieces to a cache line.
//!
//! A piece whose line is full goes into the first of three neighbouring lines that has room, if any has.

use super::few_ids::{FewIds, IDS_LIMIT};
use super::key::Key;
use super::lines::{GROUP, HALF, ID, Line, Lines, PLACE_SHIFT, packed, words};
use super::long::StoredIds;

impl Line {
    /// Whether there is no room, not even for a piece of one id.
    #[inline]
    fn is_full(&self) -> bool {
        self.count(0) > HALF || self.keys[1] != 0
    }

    /// Remember the ids of a piece; if there is no room for both, the older piece is evicted. Returns whether one was.
    #[inline(always)]
    fn insert(&mut self, key: Key, few: &FewIds) -> bool {
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

impl Lines {
    /// The number of upper bits of a hash that are the place of a short piece.
    #[cfg(target_arch = "x86_64")]
    #[inline(always)]
    pub(crate) fn bits(&self) -> u32 {
        self.short_bits
    }

    /// The place of a short piece.
    #[inline(always)]
    pub fn place(&self, key: Key) -> usize {
        key.place(self.short_bits, PLACE_SHIFT)
    }

    /// The places of the neighbours, up to the first that has room.
    #[inline(always)]
    fn neighbours(&self, place: usize) -> impl Iterator<Item = usize> {
        let mut is_reached = true;
        let reached = move |at: &usize| std::mem::replace(&mut is_reached, self.line(*at).is_full());
        (1..GROUP).map(move |way| place ^ way << PLACE_SHIFT).take_while(reached)
    }

    /// Write the ids of the piece whose place is `place`, and return how many of them count: none if the piece is not
    /// remembered there.
    #[inline(always)]
    pub fn get(&self, place: usize, key: Key, ids: &mut [u32; IDS_LIMIT]) -> usize {
        let line = self.line(place);
        let second = usize::from(line.keys[1] == key.0);
        let hit = second | usize::from(line.keys[0] == key.0);
        let count = line.count(second) * hit;
        let [low, high] = line.ids;
        ids[..HALF].copy_from_slice(if second == 0 { &low } else { &high });
        ids[HALF..].copy_from_slice(&high);
        ids[0] &= ID;
        count
    }

    /// The ids of a piece that was not in its line when it was looked for, but is in a neighbour, and where that is.
    #[inline(always)]
    pub fn get_in_neighbour(&self, place: usize, key: Key) -> Option<(FewIds, usize)> {
        if self.line(place).is_full() { self.search(place, key) } else { None }
    }

    #[inline(never)]
    fn search(&self, place: usize, key: Key) -> Option<(FewIds, usize)> {
        // At the end its own line again: it may have been brought home since it was missed.
        let at = self.neighbours(place).chain([place]).find(|at| self.line(*at).keys.contains(&key.0))?;
        Some((self.few_at(at, key)?, at))
    }

    /// The ids of a piece that are in the line at `place`.
    fn few_at(&self, place: usize, key: Key) -> Option<FewIds> {
        let mut few = FewIds::NONE;
        few.count = self.get(place, key, &mut few.ids) as u32;
        (few.count > 0).then_some(few)
    }

    /// The ids of the piece that has a line alone since they are more than four.
    pub fn large(&self, place: usize) -> Option<FewIds> {
        let line = self.line(place);
        (line.count(0) > HALF).then(|| line.few())
    }

    /// Make room beside the piece that has a line alone, whose ids have been stored elsewhere.
    pub fn make_small(&mut self, place: usize, ids: StoredIds) {
        self.line_mut(place).ids = [words(ids), [0; HALF]];
    }

    /// Give its line alone to a piece of at most eight ids that are stored elsewhere: it comes often. The other piece
    /// there goes to a neighbour; if it cannot, both stay as they are.
    pub fn make_large(&mut self, place: usize, key: Key, ids: &FewIds) {
        let other = self.line(place).keys.into_iter().find(|other| *other != key.0).map_or(Key::EMPTY, Key);
        if other != Key::EMPTY {
            // Ids that are stored elsewhere are looked for at home alone.
            let Some(few) = self.few_at(place, other) else { return };
            let Some(free) = self.neighbours(place).find(|at| !self.line(*at).is_full()) else { return };
            self.line_mut(free).insert(other, &few);
        }
        *self.line_mut(place) = Line { ids: packed(ids), keys: [key.0, 0] };
    }

    /// Move a piece from a neighbour of its line to its own, where it changes places with an older piece: of more
    /// pieces than a line has room for, those that come often shall be found at once.
    pub fn bring_home(&mut self, place: usize, key: Key, neighbour: usize) {
        let Some([home, other]) = self.two_mut([place, neighbour]) else { return };
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

    /// The place of a piece's ids outside its line.
    #[inline(always)]
    pub fn stored(&self, place: usize, key: Key) -> Option<StoredIds> {
        let line = self.line(place);
        line.stored(line.keys.iter().position(|other| *other == key.0)?)
    }

    /// Whether the line at a place is empty.
    pub fn is_free(&self, place: usize) -> bool {
        self.line(place).keys[0] == 0
    }

    /// Remember where the ids of a piece are stored. Returns whether another piece was evicted.
    pub fn insert_stored(&mut self, place: usize, key: Key, ids: StoredIds) -> bool {
        let line = self.line_mut(place);
        match line.keys.iter().position(|other| *other == key.0) {
            // They were stored before, and are gone.
            Some(half) => {
                line.ids[half] = words(ids);
                false
            }
            None => {
                let [a, b, c, d] = words(ids);
                line.insert(key, &FewIds { ids: [a, b, c, d, 0, 0, 0, 0], count: 0 })
            }
        }
    }

    /// Remember the ids of a piece, at least one. Returns whether another piece was evicted.
    #[inline(always)]
    pub fn insert(&mut self, place: usize, key: Key, ids: &FewIds) -> bool {
        let home = self.line(place);
        if home.keys.contains(&key.0) {
            // The piece was missed twice in one portion.
            return false;
        }
        let place = if home.is_full() { self.beside(place, key) } else { Some(place) };
        let Some(place) = place else { return false };
        self.line_mut(place).insert(key, ids)
    }

    /// Where there is room for a piece whose line is full; its own place if there is none, and `None` if it is in a
    /// neighbour.
    #[inline(never)]
    fn beside(&self, place: usize, key: Key) -> Option<usize> {
        let mut free = place;
        for at in self.neighbours(place) {
            let line = self.line(at);
            if line.keys.contains(&key.0) {
                return None;
            }
            if !line.is_full() {
                free = at;
            }
        }
        Some(free)
    }
}
