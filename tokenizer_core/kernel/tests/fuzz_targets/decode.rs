//! Any ids back to bytes, whole and as they come, against a walk over a list of tokens.

use std::sync::OnceLock;

use tokd_kernel::decode::{StreamDecoder, TokenBytes};
use tokd_kernel::error::{Code, Place};
use tokd_kernel::vocabulary::Vocabulary;

use super::{Reader, added_token};

/// Ids below it are asked for; the highest are not tokens.
const LIMIT: usize = 400;
const HOLES: std::ops::Range<usize> = 260..270;
const SPECIAL: usize = 370;

/// The bytes of every id; every length from 1 to 100, characters and parts of them.
fn tokens() -> Vec<Option<Vec<u8>>> {
    let text = "a ¢中🙂\n".repeat(20).into_bytes();
    let byte = |id: usize| vec![id as u8];
    let token = |id: usize| if id < 256 { byte(id) } else { text[id % 11..][..id - 255].to_vec() };
    (0..LIMIT).map(|id| (id < 356 && !HOLES.contains(&id)).then(|| token(id))).collect()
}

fn vocabulary() -> (Vec<Option<Vec<u8>>>, TokenBytes) {
    let mut known = tokens();
    let listed = known.iter().enumerate().filter_map(|(id, token)| Some((id as u32, token.clone()?))).collect();
    let literal = "<|the end of all things|>".to_owned();
    known[SPECIAL] = Some(literal.clone().into_bytes());
    let added = added_token(SPECIAL as u32, &literal, 1);
    let vocabulary = Vocabulary::new(listed, Vec::new(), Vec::new()).unwrap();
    (known, TokenBytes::new(&vocabulary, &[added]).unwrap())
}

/// Decode the input's ids, with special tokens or without, and in steps.
pub fn decode(data: &[u8]) {
    static MADE: OnceLock<(Vec<Option<Vec<u8>>>, TokenBytes)> = OnceLock::new();
    let (known, laid_out) = MADE.get_or_init(vocabulary);
    let mut reader = Reader::new(data);
    let skip = reader.byte() % 2 == 1;
    let mut ids = Vec::new();
    while !reader.is_empty() {
        ids.push(reader.below(LIMIT) as u32);
    }
    // Alone on the heap, so that a sanitizer sees an id read too far.
    let ids = ids.into_boxed_slice();
    let answer = laid_out.decode(&ids, skip);
    if let Some(unknown) = ids.iter().position(|id| known[*id as usize].is_none()) {
        let error = answer.unwrap_err();
        assert_eq!((error.code, error.place), (Code::UnknownTokenId, Place::Index(unknown)), "the first is named");
        return;
    }
    let tokens: Vec<&[u8]> = ids
        .iter()
        .filter(|id| !(skip && **id as usize == SPECIAL))
        .filter_map(|id| known[*id as usize].as_deref())
        .collect();
    let expected = tokens.concat();
    assert_eq!(answer.unwrap(), expected, "the tokens behind each other");

    let mut stream = StreamDecoder::default();
    let mut streamed: String = tokens.iter().map(|token| stream.push(token)).collect();
    streamed += &stream.finish();
    assert_eq!(streamed, String::from_utf8_lossy(&expected), "in steps as at once");
}
