//! What is remembered of a piece: its own ids, or none.

use proptest::prelude::*;
use tokd_kernel::piece_cache::{Buckets, IDS_LIMIT, IdChunk, Key, LongCache, StoredIds, WideIds, WideKey};

fn ids_of(few: IdChunk) -> Vec<u32> {
    few.ids[..few.count as usize].to_vec()
}

/// What is stored for another cache.
fn stored(long: &LongCache, ids: StoredIds) -> Option<Vec<u32>> {
    Some(long.ids()[long.range_of(ids)?].to_vec())
}

/// What is found of a long piece.
fn found(long: &LongCache, piece: &[u8], part: bool) -> Option<Vec<u32>> {
    Some(long.ids()[long.find(long.hash(piece)?, piece, part)?].to_vec())
}

/// What is found of a piece in its own bucket or beside it.
fn recalled(cache: &Buckets, key: Key) -> Option<Vec<u32>> {
    let (mut ids, place) = ([0; IDS_LIMIT], cache.place(key));
    match cache.get(place, key, &mut ids) {
        0 => cache.get_in_neighbour(place, key).map(ids_of),
        count => Some(ids[..count].to_vec()),
    }
}

proptest! {
    #[test]
    fn a_hit_is_the_piece_that_was_remembered(
        pieces in prop::collection::vec(
            ("[ab\0é]{1,15}", any::<bool>(), prop::collection::vec(0_u32..4_194_304, 1..10)), 0..60),
        buckets in prop::sample::select(vec![2_usize, 4, 8]),
    ) {
        // So few buckets that pieces collide, and go into the neighbour of theirs.
        let mut cache = Buckets::new(64 * buckets, 0);
        let mut truth = std::collections::HashMap::new();
        for (piece, part, ids) in &pieces {
            let Some(key) = Key::new(piece.as_bytes(), 0, piece.len(), *part) else { continue };
            let ids = truth.entry((piece.clone(), *part)).or_insert_with(|| ids.clone());
            match recalled(&cache, key) {
                Some(found) => prop_assert_eq!(&found, ids),
                None => {
                    let few = IdChunk::new(ids);
                    prop_assert_eq!(few.is_some(), ids.len() <= IDS_LIMIT);
                    few.inspect(|few| { cache.insert(cache.place(key), key, few); });
                    prop_assert_eq!(recalled(&cache, key), few.map(|_| ids.clone()));
                }
            }
        }
    }

    /// Few ids are in the bucket, many elsewhere, where they are forgotten now and then.
    #[test]
    fn many_ids_of_a_short_piece_are_its_own_or_forgotten(
        pieces in prop::collection::vec(
            ("[ab]{1,15}", any::<bool>(), prop::collection::vec(0_u32..4_194_304, 1..16)), 0..120),
    ) {
        let (mut cache, mut long) = (Buckets::new(512, 0), LongCache::new(1024));
        let mut truth = std::collections::HashMap::new();
        for (piece, part, ids) in &pieces {
            let Some(key) = Key::new(piece.as_bytes(), 0, piece.len(), *part) else { continue };
            let ids = truth.entry((piece.clone(), *part)).or_insert_with(|| ids.clone()).clone();
            for is_new in [false, true] {
                let elsewhere = cache.stored(cache.place(key), key).and_then(|ids| stored(&long, ids));
                let found = elsewhere.or_else(|| recalled(&cache, key));
                prop_assert!(!is_new || found.is_some());
                match found {
                    Some(found) => prop_assert_eq!(&found, &ids),
                    None => match IdChunk::new(&ids) {
                        Some(few) => { cache.insert(cache.place(key), key, &few); }
                        None => { cache.insert_stored(cache.place(key), key, long.store(&ids)); }
                    }
                }
            }
        }
    }

    #[test]
    fn a_wide_hit_is_the_piece_that_was_remembered(
        pieces in prop::collection::vec(
            ("[ab\0é]{1,31}", any::<bool>(), prop::collection::vec(0_u32..4_194_304, 1..11)), 0..60),
    ) {
        let (mut cache, mut long) = (Buckets::new(0, 256), LongCache::new(256));
        let mut truth = std::collections::HashMap::new();
        for (piece, part, ids) in &pieces {
            let Some(key) = WideKey::new(piece.as_bytes(), 0, piece.len(), *part) else { continue };
            let ids = truth.entry((piece.clone(), *part)).or_insert_with(|| ids.clone());
            if cache.find_wide(cache.wide_place(key), key).is_none() {
                cache.insert_wide(key, ids, |ids| long.store(ids));
            }
            let place = cache.find_wide(cache.wide_place(key), key);
            let found = place.and_then(|place| match cache.wide_ids(place) {
                WideIds::Inline(few) => Some(ids_of(few)),
                WideIds::Stored(ids) => stored(&long, ids),
            });
            match found {
                Some(found) => prop_assert_eq!(&found, &*ids),
                // Others came since, for which there was no room.
                None => prop_assert!(ids.len() > 8),
            }
        }
    }

    #[test]
    fn a_long_piece_is_remembered_with_its_ids_or_not_at_all(
        pieces in prop::collection::vec(
            ("[ab]{1,300}", any::<bool>(), prop::collection::vec(any::<u32>(), 1..20)), 0..80),
    ) {
        // 64 places and 1 KiB for the bytes: pieces collide and the arenas run over.
        let mut cache = LongCache::new(4096);
        let mut truth = std::collections::HashMap::new();
        for (piece, part, ids) in &pieces {
            let ids = truth.entry((piece.clone(), *part)).or_insert_with(|| ids.clone());
            match found(&cache, piece.as_bytes(), *part) {
                Some(found) => prop_assert_eq!(&found, &*ids),
                None => { cache.insert(piece.as_bytes(), *part, ids); }
            }
        }
    }

    #[test]
    fn a_key_depends_on_its_piece_alone(text in "\\PC{0,40}", other in "\\PC{0,40}", length in 1_usize..32) {
        let (text, other) = (text.into_bytes(), other.into_bytes());
        if let (Some(piece), true) = (text.get(..length), other.len() < 40) {
            let elsewhere = [other.as_slice(), piece, b"x", other.as_slice()].concat();
            let key = Key::new(&elsewhere, other.len(), other.len() + length, false);
            prop_assert_eq!(key, Key::new(&text, 0, length, false));
            prop_assert_eq!(key, Key::new(piece, 0, length, false));
            let wide = WideKey::new(&elsewhere, other.len(), other.len() + length, false);
            prop_assert_eq!(wide, WideKey::new(&text, 0, length, false));
            prop_assert_eq!(wide, WideKey::new(piece, 0, length, false));
            prop_assert_ne!(wide, WideKey::new(piece, 0, length, true));
        }
    }
}

#[test]
fn of_long_pieces_in_the_same_places_the_oldest_is_forgotten() {
    // Two places in all.
    let mut cache = LongCache::new(255);
    let pieces = [b"a".repeat(16), b"b".repeat(17), b"c".repeat(18)];
    let insert = |cache: &mut LongCache, at: usize| cache.insert(&pieces[at], false, &[at as u32]);
    assert!(!insert(&mut cache, 0) && !insert(&mut cache, 1));
    assert!(cache.has_room(18, 1));
    assert!(insert(&mut cache, 2));
    let all: Vec<_> = pieces.iter().map(|piece| found(&cache, piece, false)).collect();
    assert_eq!(all, [None, Some(vec![1]), Some(vec![2])]);
    assert_eq!(found(&cache, &pieces[2], true), None);
    assert!(!cache.has_room(18, 1));
}

#[test]
fn a_long_piece_has_no_key() {
    assert!(Key::new(&[b'a'; 16], 0, 16, false).is_none());
    assert!(WideKey::new(&[b'a'; 32], 0, 32, false).is_none());
    // What stands for it in a block is found in no cache, not even in an empty one.
    assert_eq!(recalled(&Buckets::new(128, 0), Key::or_none(&[0; 40], 0, 16, false)), None);
    assert_eq!(Key::new(&[0; 40], 0, 16, false), None);
    assert_eq!(Key::new(&[1; 40], 3, 40, true), None);
}

#[test]
fn a_full_line_gives_to_its_neighbour_before_it_forgets() {
    let mut cache = Buckets::new(256, 0);
    let pieces = (b'a'..=b'z').filter_map(|letter| Key::new(&[letter], 0, 1, false));
    let home = cache.place(Key::new(b"a", 0, 1, false).unwrap());
    // Two of the four buckets: each is the other's neighbour.
    let pieces: Vec<_> = pieces.filter(|key| cache.place(*key) / 16 == home / 16).take(5).collect();
    let mut insert = |at: usize| cache.insert(cache.place(pieces[at]), pieces[at], &IdChunk::one(at as u32));
    assert_eq!((0..5).filter(|at| insert(*at)).collect::<Vec<_>>(), [4]);
    assert_eq!(recalled(&cache, pieces[4]), Some(vec![4]));
    assert_eq!((0..4).filter(|at| recalled(&cache, pieces[*at]) == Some(vec![*at as u32])).count(), 3);
}
