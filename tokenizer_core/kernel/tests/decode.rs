//! Decoding against the bytes of each token in turn, and streams against the whole.

use std::sync::atomic::AtomicU32;

use proptest::prelude::*;
use tokd_kernel::config::AddedToken;
use tokd_kernel::decode::{StreamDecoder, TokenBytes};
use tokd_kernel::error::{Code, Place};
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
    let tokens = TokenBytes::new(&vocabulary, &added).unwrap();
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
