//! How each path makes the keys of a portion and takes over what the first cache knows of them.

use super::{Found, Keys, Miss, PIECES, Pieces};
use crate::piece_cache::{IDS_LIMIT, KEY_LIMIT, Key, WideKey};
use crate::scratch::Caches;

/// What is done for every piece of a text.
pub(super) trait LookUp {
    /// Make the keys of all pieces, and ask for what is remembered of them.
    ///
    /// # Safety
    /// The machine has the path.
    unsafe fn keys(pieces: &Pieces<'_>, caches: &Caches, keys: &mut Keys);

    /// Take over what the first cache knows of `count` pieces, of which [`LookUp::keys`] made the keys for that cache; of the
    /// ids only how many they are if it `COUNTS`.
    ///
    /// # Safety
    /// The machine has the path.
    unsafe fn take<const COUNTS: bool>(count: usize, caches: &Caches, keys: &Keys, found: &mut Found);
}

impl Keys {
    /// Ask for what is remembered of the pieces that are too long for a key, of which the first `count` of `longer` are the
    /// places.
    #[inline(never)]
    pub(super) fn widen(&mut self, count: usize, pieces: &Pieces<'_>, caches: &Caches) {
        self.wide.clear();
        self.long.clear();
        for at in &self.longer[..count] {
            let range = pieces.range(*at as usize);
            if let Some(key) = WideKey::new(pieces.text, range.start, range.end, pieces.is_part(*at as usize)) {
                caches.wide.prefetch(key);
                self.wide.push((*at as u16, key));
            } else if let Some(spot) = caches.long.spot(&pieces.text[range]) {
                caches.long.prefetch(spot);
                self.long.push((*at as u16, spot));
            }
        }
    }
}

/// What every machine has.
pub(super) struct Portable;

impl LookUp for Portable {
    #[inline(always)]
    unsafe fn keys(pieces: &Pieces<'_>, caches: &Caches, keys: &mut Keys) {
        let (mut start, mut longer) = (pieces.start, 0);
        for (at, end) in pieces.ends.iter().map(|end| *end as usize).enumerate().take(PIECES) {
            let key = Key::or_none(pieces.text, start, end, pieces.is_part(at));
            let place = caches.short.place(key);
            caches.short.prefetch(place);
            (keys.keys[at], keys.places[at]) = (key, place as u32);
            keys.longer[longer] = at as u32;
            longer += usize::from(end - start > KEY_LIMIT);
            start = end;
        }
        keys.widen(longer, pieces, caches);
    }

    #[inline(always)]
    unsafe fn take<const COUNTS: bool>(count: usize, caches: &Caches, keys: &Keys, found: &mut Found) {
        let (mut end, mut missed) = (0, 0);
        for (at, (key, place)) in keys.keys[..count].iter().zip(&keys.places).enumerate() {
            let Some(room) = found.ids[if COUNTS { 0 } else { end }..].first_chunk_mut::<IDS_LIMIT>() else { break };
            let ids = caches.short.get(*place as usize, *key, room);
            found.misses[missed] = Miss { at: at as u16, end: end as u16 };
            missed += usize::from(ids == 0);
            end += ids;
        }
        (found.end, found.missed) = (end, missed);
    }
}
