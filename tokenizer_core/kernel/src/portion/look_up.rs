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

    /// Take over what the first cache knows of `count` pieces, of which [`LookUp::keys`] made the keys for that cache.
    ///
    /// # Safety
    /// The machine has the path.
    unsafe fn take(count: usize, caches: &Caches, keys: &Keys, found: &mut Found);
}

impl Keys {
    /// Ask for what is remembered of a piece that is too long for a key.
    #[inline(always)]
    pub(super) fn widen(&mut self, pieces: &Pieces<'_>, at: usize, caches: &Caches) {
        let range = pieces.range(at);
        if let Some(key) = WideKey::new(pieces.text, range.start, range.end, pieces.is_part(at)) {
            caches.wide.prefetch(key);
            self.wide.push((at as u16, key));
        }
    }
}

/// What every machine has.
pub(super) struct Portable;

impl LookUp for Portable {
    #[inline(always)]
    unsafe fn keys(pieces: &Pieces<'_>, caches: &Caches, keys: &mut Keys) {
        keys.wide.clear();
        let mut start = pieces.start;
        for (at, end) in pieces.ends.iter().map(|end| *end as usize).enumerate().take(PIECES) {
            let key = Key::or_none(pieces.text, start, end, pieces.is_part(at));
            let place = caches.short.place(key);
            caches.short.prefetch(place);
            (keys.keys[at], keys.places[at]) = (key, place as u32);
            if end - start > KEY_LIMIT {
                keys.widen(pieces, at, caches);
            }
            start = end;
        }
    }

    #[inline(always)]
    unsafe fn take(count: usize, caches: &Caches, keys: &Keys, found: &mut Found) {
        let (mut end, mut missed) = (0, 0);
        for (at, (key, place)) in keys.keys[..count].iter().zip(&keys.places).enumerate() {
            let Some(room) = found.ids[end..].first_chunk_mut::<IDS_LIMIT>() else { break };
            let ids = caches.short.get(*place as usize, *key, room);
            found.misses[missed] = Miss { at: at as u16, end: end as u16 };
            missed += usize::from(ids == 0);
            end += ids;
        }
        (found.end, found.missed) = (end, missed);
    }
}
