//! Ids to JSON, bytes to text, whole and as they come; the piece cache.

use proptest::prelude::*;
use tokd_kernel::decode::StreamDecoder;
use tokd_kernel::output::write_json;
use tokd_kernel::piece_cache::{Key, LongCache, ShortCache, WideCache, WideKey};

proptest! {
    #[test]
    fn json_is_what_serde_writes(ids in prop::collection::vec(0_u32..4_194_304, 0..50)) {
        let mut json = Vec::new();
        write_json(&ids, &mut json);
        prop_assert_eq!(String::from_utf8(json).unwrap(), serde_json::to_string(&ids).unwrap());
    }

    #[test]
    fn a_stream_is_the_whole_at_every_split(
        bytes in prop::collection::vec(prop::sample::select(b"a\xF0\x9F\x91\x8D\xE4\xB8\xAD\xC3\xA9\xED\xA0\x80\xFF\xEF\xBF\xBD".to_vec()), 0..40),
        cuts in prop::collection::vec(0_usize..8, 0..40),
    ) {
        let (mut decoder, mut text, mut rest) = (StreamDecoder::default(), String::new(), bytes.as_slice());
        for cut in cuts {
            let (now, later) = rest.split_at(cut.min(rest.len()));
            text += &decoder.push(now);
            prop_assert!(decoder.pending().len() <= 3);
            rest = later;
        }
        text += &decoder.push(rest);
        text += &decoder.finish();
        prop_assert_eq!(text, String::from_utf8_lossy(&bytes).into_owned());
    }

    #[test]
    fn a_hit_is_the_piece_that_was_remembered(
        pieces in prop::collection::vec(("[ab\0é]{1,15}", any::<bool>(), prop::collection::vec(any::<u32>(), 1..6)), 0..60),
    ) {
        // Two buckets: every piece collides with half of the others.
        let mut cache = ShortCache::new(128);
        let mut truth = std::collections::HashMap::new();
        for (piece, part, ids) in &pieces {
            let Some(key) = Key::new(piece.as_bytes(), 0, piece.len(), *part) else { continue };
            let ids = truth.entry((piece.clone(), *part)).or_insert_with(|| ids.clone());
            let (found, count) = cache.get(cache.place(key), key);
            if count > 0 {
                prop_assert_eq!(&found[..count], ids.as_slice());
            } else {
                cache.insert(key, ids);
            }
        }
    }

    #[test]
    fn a_wide_hit_is_the_piece_that_was_remembered(
        pieces in prop::collection::vec(("[ab\0é]{1,31}", any::<bool>(), prop::collection::vec(any::<u32>(), 1..9)), 0..60),
    ) {
        let mut cache = WideCache::new(256);
        let mut truth = std::collections::HashMap::new();
        for (piece, part, ids) in &pieces {
            let Some(key) = WideKey::new(piece.as_bytes(), 0, piece.len(), *part) else { continue };
            let ids = truth.entry((piece.clone(), *part)).or_insert_with(|| ids.clone());
            match cache.get(key) {
                Some(found) => prop_assert_eq!(found, ids.as_slice()),
                None => { cache.insert(key, ids); }
            }
        }
    }

    #[test]
    fn a_long_piece_is_remembered_with_its_ids_or_not_at_all(
        pieces in prop::collection::vec(("[ab]{1,300}", any::<bool>(), prop::collection::vec(any::<u32>(), 1..20)), 0..80),
    ) {
        // 85 places at the most and 1 KiB for the bytes: pieces collide and the arenas run over.
        let mut cache = LongCache::new(4096);
        let mut truth = std::collections::HashMap::new();
        for (piece, part, ids) in &pieces {
            let ids = truth.entry((piece.clone(), *part)).or_insert_with(|| ids.clone());
            match cache.get(piece.as_bytes(), *part) {
                Some(found) => prop_assert_eq!(found, ids.as_slice()),
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
fn a_long_piece_has_no_key() {
    assert!(Key::new(&[b'a'; 16], 0, 16, false).is_none());
    assert!(WideKey::new(&[b'a'; 32], 0, 32, false).is_none());
    // What stands for it in a portion is found in no cache, not even in an empty one.
    let (key, cache) = (Key::or_none(&[0; 40], 0, 16, false), ShortCache::new(128));
    assert_eq!(cache.get(cache.place(key), key).1, 0);
}
