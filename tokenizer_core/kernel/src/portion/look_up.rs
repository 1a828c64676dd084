//! How each path makes the keys of a portion and takes over what the first cache knows of them.

use std::ops::Range;

use super::longer::may_be_run;
use super::{Found, Keys, Miss, PIECES, Pieces};
use crate::merging::white::White;
use crate::piece_cache::{IDS_LIMIT, KEY_LIMIT, Key};
use crate::scratch::Caches;

/// What is done for every piece of a text.
pub(super) trait LookUp {
    /// Make the keys of all pieces, and ask for what is remembered of them.
    ///
    /// # Safety
    /// The machine has the path.
    unsafe fn keys(pieces: &Pieces<'_>, caches: &Caches, white: Option<White>, keys: &mut Keys);

    /// Take over what the first cache knows of the pieces at `places`, of which [`LookUp::keys`] made the keys for that cache,
    /// behind what is taken over; of the ids only how many they are if it `COUNTS`.
    ///
    /// # Safety
    /// The machine has the path.
    unsafe fn take<const COUNTS: bool>(places: Range<usize>, caches: &Caches, keys: &Keys, found: &mut Found);

    /// As [`White::is_run`].
    ///
    /// # Safety
    /// The machine has the path.
    unsafe fn is_run(white: White, piece: &[u8]) -> bool;

    /// As [`White::write`]; what stands behind them in `ids` may be written too.
    ///
    /// # Safety
    /// The machine has the path.
    unsafe fn write_run(white: White, piece: &[u8], ids: &mut [u32]);
}

/// What every machine has.
pub(super) struct Portable;

impl LookUp for Portable {
    #[inline(always)]
    unsafe fn keys(pieces: &Pieces<'_>, caches: &Caches, white: Option<White>, keys: &mut Keys) {
        let (mut start, mut longer) = (pieces.start, 0);
        for (at, end) in pieces.ends.iter().map(|end| *end as usize).enumerate().take(PIECES) {
            let key = Key::or_none(pieces.text, start, end, pieces.is_part(at));
            let place = caches.short.place(key);
            caches.short.prefetch(place);
            (keys.keys[at], keys.places[at]) = (key, place as u32);
            keys.longer.places[longer] = at as u32;
            let length = end - start;
            longer += usize::from(length > KEY_LIMIT || white.is_some() && may_be_run(key, length));
            start = end;
        }
        keys.longer.begin(longer);
        // SAFETY: every machine has what this one asks for.
        unsafe { keys.longer.ask::<Self>(pieces, caches, white) };
    }

    #[inline(always)]
    unsafe fn take<const COUNTS: bool>(places: Range<usize>, caches: &Caches, keys: &Keys, found: &mut Found) {
        let (mut end, mut missed) = (found.end, found.missed);
        for at in places {
            let Some(room) = found.ids[if COUNTS { 0 } else { end }..].first_chunk_mut::<IDS_LIMIT>() else { break };
            let ids = caches.short.get(keys.places[at] as usize, keys.keys[at], room);
            found.misses[missed] = Miss { at: at as u16, end: end as u16 };
            missed += usize::from(ids == 0);
            end += ids;
        }
        (found.end, found.missed) = (end, missed);
    }

    #[inline(always)]
    unsafe fn is_run(white: White, piece: &[u8]) -> bool {
        white.is_run(piece)
    }

    #[inline(always)]
    unsafe fn write_run(white: White, piece: &[u8], ids: &mut [u32]) {
        white.write(piece, ids);
    }
}
