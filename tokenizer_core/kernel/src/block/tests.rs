//! Every level against the caches looked up one piece after the other.

use std::collections::HashMap;

use proptest::prelude::*;

use super::copy_hits::ReadBucket;
use super::keys::MakeKeys;
use super::{BlockPieces, FoundPieces, IDS_LIMIT, Key, Keys, LookedUp, MORE, PIECES, PieceBlock};
use crate::output::count::Count;
use crate::piece_cache::{Buckets, Caches, IdChunk, LongHash, WideIds, WideKey};
#[cfg(target_arch = "x86_64")]
use crate::simd::level::Avx2;
use crate::simd::level::{OnLevel, Portable};

/// The findings of a level about pieces: the keys, the places, the known ids, the missed pieces and their places, and
/// the keys or hashes of the longer ones among these.
#[derive(Debug, PartialEq)]
struct Findings {
    keys: Vec<Key>,
    places: Vec<u32>,
    wide: Vec<(usize, WideKey)>,
    long: Vec<(usize, LongHash)>,
    ids: Vec<u32>,
    misses: Vec<(usize, usize)>,
}

fn findings(block: &PieceBlock, count: usize, ids: &[u32]) -> Findings {
    let (Keys { keys, places, long_pieces }, FoundPieces { misses, miss_count, .. }) = (&block.keys, &block.found);
    Findings {
        keys: keys[..count].to_vec(),
        places: places[..count].to_vec(),
        wide: long_pieces.wide().map(|(place, piece)| (place, piece.key)).collect(),
        long: long_pieces.long().map(|(place, hash)| (place, *hash)).collect(),
        ids: ids.to_vec(),
        misses: misses[..*miss_count].iter().map(|miss| (miss.at as usize, miss.end as usize)).collect(),
    }
}

/// The search of a level, once copying ids and once counting them.
struct Find<'a> {
    pieces: &'a BlockPieces<'a>,
    caches: &'a Caches,
}

impl<L: MakeKeys + ReadBucket> OnLevel<L> for Find<'_> {
    type Output = [Findings; 2];

    #[inline(always)]
    fn run(self, simd: L) -> [Findings; 2] {
        let Self { pieces, caches } = self;
        let (mut block, mut counting) = (PieceBlock::default(), PieceBlock::default());
        for PieceBlock { keys, .. } in [&mut block, &mut counting] {
            keys.make(simd, pieces, caches);
        }
        let looked_up = LookedUp { pieces, keys: &block.keys, caches };
        block.found.find::<L, Vec<u32>>(simd, &looked_up, &mut block.known);
        let looked_up = LookedUp { pieces, keys: &counting.keys, caches };
        counting.found.find::<L, Count>(simd, &looked_up, &mut counting.known);
        assert_eq!(counting.found.end, block.found.end);
        let ids = &block.known[..block.found.end];
        [&block, &counting].map(|block| findings(block, pieces.count(), ids))
    }
}

/// The place in a cache at which a level looks for a piece.
type PlaceOf = fn(&Buckets, Key) -> usize;

/// Assert that every level finds in its caches, which it looks pieces up in its own way, what is there by definition;
/// returns what one of them finds.
fn find_by_all(pieces: &BlockPieces<'_>, caches: impl Fn(PlaceOf) -> Caches) -> Findings {
    let of_portable = |cache: &Buckets, key| Portable.place(cache, key);
    let own = caches(of_portable);
    let truly = truth(pieces, &own, of_portable);
    let found = Find { pieces, caches: &own }.run(Portable);
    assert_eq!(found.each_ref(), [&truly, &truly]);
    #[cfg(target_arch = "x86_64")]
    if let Some(avx2) = Avx2::detect() {
        let of_avx2 = |cache: &Buckets, key| Avx2::detect().map_or(0, |avx2| avx2.place(cache, key));
        let own = caches(of_avx2);
        let truly = truth(pieces, &own, of_avx2);
        let found = avx2.run(Find { pieces, caches: &own });
        assert_eq!(found.each_ref(), [&truly, &truly]);
    }
    truly
}

/// Ids, and the key and the place of their bucket if they are copied from there.
type Longer = (Vec<u32>, Option<(Key, usize)>);

/// The ids of the pieces that are longer than a key, by definition: wide pieces, then those in the `LongCache`, each as
/// long as there is room; and where a bucket has them, its place and what they are found by.
fn longer(pieces: &BlockPieces<'_>, caches: &Caches) -> HashMap<usize, Longer> {
    let mut known: HashMap<usize, Longer> = HashMap::new();
    let mut extra_ids = 0;
    let mut has_room = |ids: usize| {
        extra_ids += if extra_ids + ids <= MORE { ids } else { return false };
        true
    };
    let kept = |range: std::ops::Range<usize>| caches.long.ids()[range].to_vec();
    for at in (0..pieces.count()).filter(|at| pieces.range(*at).len() > 15) {
        let range = pieces.range(at);
        let key = WideKey::new(pieces.text, range.start, range.end, pieces.is_part(at));
        let Some(key) = key.filter(|_| !known.contains_key(&at)) else { continue };
        let Some(place) = caches.buckets.find_wide(caches.buckets.wide_place(key), key) else { continue };
        match caches.buckets.wide_ids(place) {
            WideIds::Inline(few) => {
                known.insert(at, (few.ids[..few.count as usize].to_vec(), Some((key.first(), place))));
            }
            WideIds::Stored(ids) => {
                let range = caches.long.range_of(ids).filter(|range| has_room(range.len()));
                range.and_then(|range| known.insert(at, (kept(range), None)));
            }
        }
    }
    for at in (0..pieces.count()).filter(|at| pieces.range(*at).len() > 31) {
        let (piece, part) = (&pieces.text[pieces.range(at)], pieces.is_part(at));
        let hash = caches.long.hash(piece).filter(|_| !known.contains_key(&at));
        let range = hash.and_then(|hash| caches.long.find(hash, piece, part)).filter(|range| has_room(range.len()));
        range.and_then(|range| known.insert(at, (kept(range), None)));
    }
    known
}

/// By definition.
fn truth(pieces: &BlockPieces<'_>, caches: &Caches, place_of: PlaceOf) -> Findings {
    let longer = longer(pieces, caches);
    let mut found = Findings { keys: vec![], places: vec![], wide: vec![], long: vec![], ids: vec![], misses: vec![] };
    for at in 0..pieces.count() {
        let (range, part) = (pieces.range(at), pieces.is_part(at));
        let key = Key::or_none(pieces.text, range.start, range.end, part);
        let place = place_of(&caches.buckets, key);
        let known = longer.get(&at);
        let (found_by, bucket) = known.and_then(|(_, bucket)| *bucket).unwrap_or((key, place));
        found.keys.push(found_by);
        found.places.push(bucket as u32);
        if let Some((ids, _)) = known {
            found.ids.extend(ids);
            continue;
        }
        let mut ids = [0; IDS_LIMIT];
        let count = match Key::new(pieces.text, range.start, range.end, part) {
            Some(key) => caches.buckets.get(place, key, &mut ids),
            None => 0,
        };
        if range.len() > 15 {
            match WideKey::new(pieces.text, range.start, range.end, part) {
                Some(key) => found.wide.push((at, key)),
                None => found.long.extend(caches.long.hash(&pieces.text[range]).map(|hash| (at, hash))),
            }
        }
        if count == 0 {
            found.misses.push((at, found.ids.len()));
        }
        found.ids.extend(&ids[..count]);
    }
    found
}

/// Pieces on both sides of every length at which something changes, and runs of white space.
const WORDS: &str = concat!(
    "[ab\\x00é]{1,12}|[a\\x00]{13,18}|[xé]{30,40}|",
    "[ \\n]{2,70}|\\n? {6,40}|( {3,9}\\n){2,9}|[ \\n]{250,260}|\\n {250,1400}"
);

proptest! {
    #[test]
    fn every_path_makes_the_same_keys_and_finds_the_same_ids(
        words in prop::collection::vec((WORDS, any::<bool>()), 1..120),
        known in prop::collection::vec(
            (any::<prop::sample::Index>(), prop::collection::vec(0_u32..1 << 22, 1..12)), 0..80),
        skipped in 0_usize..40,
        has_parts in any::<bool>(),
        cache_bytes in prop::sample::select(vec![1_usize << 10, 1 << 14]),
    ) {
        let text: String = words.iter().map(|(word, _)| word.as_str()).collect();
        // No byte after the text, so that a sanitizer sees every load beyond it.
        let text = text.into_bytes().into_boxed_slice();
        let mut end = 0;
        let ends: Vec<u32> = words.iter().map(|(word, _)| { end += word.len() as u32; end }).collect();
        let parts: Vec<bool> = words.iter().filter(|_| has_parts).map(|(_, part)| *part).collect();
        let skipped = skipped.min(ends.len() - 1);
        let start = if skipped == 0 { 0 } else { ends[skipped - 1] as usize };
        let parts = parts.get(skipped..).unwrap_or_default();
        let pieces = BlockPieces { text: &text, start, ends: &ends[skipped..], parts };
        let caches = |place_of: PlaceOf| {
            // So few buckets that pieces collide.
            let mut caches = Caches::new(cache_bytes);
            for (index, ids) in &known {
                let at = index.index(pieces.count());
                let range = pieces.range(at);
                if let Some(key) = Key::new(pieces.text, range.start, range.end, pieces.is_part(at)) {
                    let place = place_of(&caches.buckets, key);
                    match IdChunk::new(ids) {
                        Some(mut few) => {
                            // These must not matter.
                            few.ids[ids.len()..].fill(u32::MAX);
                            caches.buckets.insert(place, key, &few)
                        }
                        // Known, but not in the bucket: missed on every level.
                        None => caches.buckets.insert_stored(place, key, caches.long.store(ids)),
                    };
                } else {
                    let ids: Vec<u32> = ids.iter().copied().cycle().take(ids.len() * range.len() / 12).collect();
                    caches.remember_long_piece(pieces.text, range, pieces.is_part(at), &ids);
                }
            }
            caches
        };
        find_by_all(&pieces, caches);
    }
}

#[test]
fn a_block_may_be_full_of_pieces_and_of_ids() {
    let text: Vec<u8> = (0..PIECES).flat_map(|at| [b'a' + (at % 26) as u8, b'a' + (at / 26) as u8]).collect();
    let ends: Vec<u32> = (1..=PIECES as u32).map(|at| at * 2).collect();
    let pieces = BlockPieces { text: &text, start: 0, ends: &ends, parts: &[] };
    let nothing = find_by_all(&pieces, |_| Caches::new(1 << 20));
    assert_eq!(nothing.misses.len(), PIECES);
    let all = find_by_all(&pieces, |place_of| {
        let mut caches = Caches::new(1 << 20);
        for at in 0..PIECES {
            let range = pieces.range(at);
            let key = Key::new(&text, range.start, range.end, false).unwrap();
            let place = place_of(&caches.buckets, key);
            caches.buckets.insert(place, key, &IdChunk::new(&[at as u32; IDS_LIMIT]).unwrap());
        }
        caches
    });
    assert!(all.ids.len() > PIECES * IDS_LIMIT / 2, "{} ids", all.ids.len());
}

#[test]
fn a_wide_piece_may_go_on_with_the_bytes_that_it_is_looked_up_by() {
    let text = b"fifteen letters\x1Ffifteen letters";
    let pieces = BlockPieces { text, start: 0, ends: &[31], parts: &[] };
    let ids: Vec<u32> = (1..=8).collect();
    let found = find_by_all(&pieces, |_| {
        let mut caches = Caches::new(1 << 10);
        caches.remember_long_piece(text, 0..31, false, &ids);
        let bucket = caches.buckets.bucket(found_at(&caches, text));
        assert_eq!(bucket.keys[0], bucket.keys[1]);
        caches
    });
    assert_eq!(found.ids, ids);
}

fn found_at(caches: &Caches, piece: &[u8]) -> usize {
    let key = WideKey::new(piece, 0, piece.len(), false).unwrap();
    caches.buckets.find_wide(caches.buckets.wide_place(key), key).unwrap()
}
