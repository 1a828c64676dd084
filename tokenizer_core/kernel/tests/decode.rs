//! Decoding against the bytes of each token in turn, streams against the whole, and UTF-16 against the standard
//! library.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

use std::sync::atomic::AtomicU32;

use proptest::prelude::*;
use tokd_kernel::config::AddedToken;
use tokd_kernel::decode::{StreamDecoder, TokenBytes};
use tokd_kernel::error::{Code, Place};
use tokd_kernel::machine::path::Path;
use tokd_kernel::transcode::utf16::Units;
use tokd_kernel::vocabulary::Vocabulary;

/// What stands before.
const UNTOUCHED: u8 = 0xFE;

fn literal(id: u32, content: String, special: bool) -> AddedToken {
    AddedToken { id, content, special, lstrip: false, rstrip: false, single_word: false, normalized: false }
}

/// Its bytes, and whether it is special; or a hole.
type Token = Option<(Vec<u8>, bool)>;

/// Tokens around the lengths at which something changes, every third id a hole, and two literals at the end.
fn table() -> (Vec<Token>, TokenBytes) {
    let lengths = [1, 2, 3, 14, 15, 16, 17, 31, 32, 33, 64, 65, 126, 127, 128, 129, 255, 256, 300, 4096];
    let mut truth = Vec::new();
    for (at, length) in lengths.into_iter().enumerate() {
        let bytes: Vec<u8> = "é中a👍".bytes().cycle().skip(at).take(length).collect();
        truth.push(Some((bytes, false)));
        truth.push(Some((vec![b'a' + at as u8; length], false)));
        truth.push(None);
    }
    let mut tokens: Vec<(u32, Vec<u8>)> = Vec::new();
    for (id, token) in truth.iter().enumerate() {
        tokens.extend(token.iter().map(|(bytes, _)| (id as u32, bytes.clone())));
    }
    let vocabulary = Vocabulary::new(tokens, Vec::new(), Vec::new()).unwrap();
    let literals = [("<é>".repeat(20), true), ("<s>".to_owned(), true), ("plain".to_owned(), false)];
    let mut added = Vec::new();
    for (content, special) in literals {
        added.push(literal(truth.len() as u32, content.clone(), special));
        truth.push(Some((content.into_bytes(), special)));
    }
    let tokens = TokenBytes::new(&vocabulary, &added, Path::Portable).unwrap();
    (truth, tokens)
}

proptest! {
    #[test]
    fn ids_become_the_bytes_of_each_token_in_turn(
        draws in prop::collection::vec(any::<prop::sample::Index>(), 0..1200),
        skip in any::<bool>(),
        short in 0_usize..80,
    ) {
        let (truth, tokens) = table();
        let there: Vec<u32> = (0..truth.len() as u32).filter(|id| truth[*id as usize].is_some()).collect();
        let ids: Vec<u32> = draws.iter().map(|draw| *draw.get(&there)).collect();
        let kept = ids.iter().filter_map(|id| truth[*id as usize].as_ref()).filter(|(_, special)| !(skip && *special));
        let kept: Vec<&[u8]> = kept.map(|(bytes, _)| bytes.as_slice()).collect();
        let expected = kept.concat();
        prop_assert_eq!(tokens.decode(&ids, skip).unwrap(), expected.as_slice());
        let shared: Vec<AtomicU32> = ids.iter().copied().map(AtomicU32::new).collect();
        prop_assert_eq!(tokens.decode(&shared, skip).unwrap(), expected.as_slice());
        let few = tokens.wide_in(&ids);
        let wide = |id: &&u32| truth[**id as usize].as_ref().is_some_and(|(bytes, special)| {
            bytes.len() <= 127 && !special && !bytes.is_ascii()
        });
        let step = ids.len() / 1024 + 1;
        prop_assert_eq!(few, ids.iter().step_by(step).filter(wide).count() * step);

        // Behind what is there already, in a buffer that has to grow.
        let mut behind = vec![UNTOUCHED; short];
        tokens.append(&ids, skip, &mut behind).unwrap();
        prop_assert!(behind[..short].iter().all(|byte| *byte == UNTOUCHED));
        prop_assert_eq!(&behind[short..], expected);
    }

    #[test]
    fn a_stream_is_the_whole_at_every_split(
        bytes in prop::collection::vec(prop::sample::select(
            b"a\xF0\x9F\x91\x8D\xE4\xB8\xAD\xC3\xA9\xED\xA0\x80\xFF\xEF\xBF\xBD".to_vec()
        ), 0..40),
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
    fn units_are_those_of_the_standard_library(
        parts in prop::collection::vec(prop::sample::select(vec![
            "a", "plain text of some length, more than a window of sixty-four bytes holds at once", "é", "中", "日本語",
            "👍", "\u{7FF}", "\u{800}", "\u{FFFF}", "\u{D7FF}", "\u{E000}", "\u{10000}", "\u{10FFFF}", "\0",
        ]), 0..60),
        cut in any::<prop::sample::Index>(),
    ) {
        let Some(mut units) = wide() else { return Ok(()) };
        let text = parts.concat();
        let cut = text.floor_char_boundary(cut.index(text.len() + 1));
        prop_assert!(units.push(&text.as_bytes()[..cut]).is_some() && units.push(&text.as_bytes()[cut..]).is_some());
        prop_assert_eq!(units.as_slice(), text.encode_utf16().collect::<Vec<_>>());
    }

    #[test]
    fn what_is_not_utf8_has_no_units(
        bytes in prop::collection::vec(prop::sample::select(
            b"aaaa\x00\x7F\x80\x9F\xA0\xBF\xC0\xC1\xC2\xDF\xE0\xE1\xED\xEE\xEF\xF0\xF1\xF4\xF5\xFF\x90\x8F".to_vec()
        ), 0..5),
        before in 0_usize..140, behind in 0_usize..140,
    ) {
        let Some(mut units) = wide() else { return Ok(()) };
        let whole = [vec![b'x'; before], bytes, "é".repeat(behind).into_bytes()].concat();
        let expected = std::str::from_utf8(&whole).ok().map(|text| text.encode_utf16().collect::<Vec<_>>());
        let found = units.push(&whole).map(|()| units.as_slice().to_vec());
        prop_assert_eq!(found, expected);
    }
}

fn wide() -> Option<Units> {
    Units::with_room(0, Path::Avx512)
}

#[test]
fn every_character_has_its_units_wherever_it_stands() {
    let Some(mut units) = wide() else { return };
    let text: String = (0..=0x10FFFF).filter_map(char::from_u32).collect();
    for shift in 0..5 {
        let shifted = "x".repeat(shift) + &text;
        let mut units = Units::with_room(shifted.len(), Path::Avx512).unwrap();
        units.push(shifted.as_bytes()).unwrap();
        assert!(units.as_slice().iter().copied().eq(shifted.encode_utf16()));
    }
    units.push(&[]).unwrap();
    assert!(units.as_slice().is_empty());
}

#[test]
fn only_the_wide_path_makes_units() {
    assert!(Units::with_room(9, Path::Portable).is_none());
    assert_eq!(wide().is_some(), Path::Avx512.is_available());
}

#[test]
fn the_first_id_that_is_no_token_is_named() {
    let (truth, tokens) = table();
    for id in [2, truth.len() as u32, u32::MAX] {
        for skip in [false, true] {
            let error = tokens.decode(&[0, 1, id, 2], skip).unwrap_err();
            assert_eq!((error.code, error.place), (Code::UnknownTokenId, Place::Index(2)));
            for index in [0, 3, 4, 511, 512, 515, 1029] {
                let mut ids = vec![1; 1030];
                ids[index] = id;
                let error = tokens.decode(&ids, skip).unwrap_err();
                assert_eq!((error.code, error.place), (Code::UnknownTokenId, Place::Index(index)));
            }
        }
        assert!(tokens.get(id).is_none());
        assert_eq!(tokens.length(id), 0);
    }
    for (id, token) in truth.iter().enumerate() {
        assert_eq!(tokens.get(id as u32), token.as_ref().map(|(bytes, _)| bytes.as_slice()));
        assert_eq!(tokens.length(id as u32) as usize, token.as_ref().map_or(0, |(bytes, _)| bytes.len()));
    }
}
