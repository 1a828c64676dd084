//! A model whose tokens do not tile, through all that is above it.

use std::collections::HashMap;
use std::sync::Arc;

use proptest::prelude::*;

use super::{AnyModel, Covered, Model, ModelBuffers, Piece, PieceIds, Token, Uncovered};
use crate::added_tokens::SpecialPolicy;
use crate::config::Config;
use crate::decode::token_widths::Unit;
use crate::encode::{EncodeOptions, Pipeline};
use crate::error::{Code, Place};
use crate::output::count::Count;
use crate::output::offsets::Offsets;
use crate::output::stack_ids::StackIds;
use crate::vocabulary::Vocabulary;

/// The longest word first, one that goes on with `##` before it, and `[UNK]` for a piece that cannot be made of them.
#[derive(Debug)]
pub struct WholeWords {
    ids: HashMap<Vec<u8>, u32>,
    unknown: Option<u32>,
}

impl WholeWords {
    fn tokens(&self, piece: &[u8]) -> Option<Vec<Token>> {
        let (mut tokens, mut at) = (Vec::new(), 0);
        while at < piece.len() {
            let prefix = if at == 0 { "" } else { "##" };
            let longest = (at + 1..=piece.len()).rev();
            let mut found = longest.filter_map(|end| {
                let id = self.ids.get(&[prefix.as_bytes(), &piece[at..end]].concat())?;
                Some(Token { id: *id, bytes: (end - at) as u32 })
            });
            let token = found.next()?;
            at += token.bytes as usize;
            tokens.push(token);
        }
        Some(tokens)
    }
}

impl Model for WholeWords {
    const TILES: bool = false;

    fn encode(&self, text: &[u8], pieces: &[Piece], _work: &mut ModelBuffers, out: &mut PieceIds) -> Covered {
        // In any order.
        for (at, piece) in pieces.iter().enumerate().rev() {
            let unknown = || self.unknown.map(|id| vec![Token { id, bytes: piece.length() as u32 }]);
            let tokens = self.tokens(&text[piece.range()]).or_else(unknown);
            out.give_tokens(at, &tokens.ok_or(Uncovered(piece.range()))?);
        }
        Ok(())
    }
}

const ENTRIES: &[&str] =
    &["a", "b", "é", "👍", "ab", "play", "##ing", "##é", "##👍", "##a", "##b", "##ab", " ", "\n", "[UNK]"];

/// Of the words, and with a normalizer if `config` says so.
fn pipeline(config: &str, unknown: bool) -> Pipeline {
    let bytes = (0..=u8::MAX).map(|byte| (u32::from(byte), vec![byte]));
    let entries = (256..).zip(ENTRIES).map(|(id, entry)| (id, entry.as_bytes().to_vec()));
    let vocabulary = Arc::new(Vocabulary::new(bytes.chain(entries).collect(), Vec::new(), Vec::new()).unwrap());
    let ids: HashMap<_, _> = (256..).zip(ENTRIES).map(|(id, entry)| (entry.as_bytes().to_vec(), id)).collect();
    let unknown = unknown.then(|| ids["[UNK]".as_bytes()]);
    let pipeline = Pipeline::new(vocabulary, &Config::from_json(config).unwrap(), 1 << 12).unwrap();
    pipeline.with_model(AnyModel::Words(Box::new(WholeWords { ids, unknown })))
}

const SPACES: &str = r#"{"pretokenizer":[{"type":"split","pattern":{"regex":"\\s"},"behavior":"isolated"}]}"#;
const LOWER: &str = r#"{"normalizer":[{"type":"lowercase"}],
    "pretokenizer":[{"type":"split","pattern":{"regex":"\\s"},"behavior":"isolated"}]}"#;
const GPT2: &str = r#"{"pretokenizer":[{"type":"split","pattern":{"name":"gpt2"},"behavior":"isolated"}]}"#;

const OPTIONS: EncodeOptions = EncodeOptions { policy: SpecialPolicy::Reject, add_special_tokens: false };

fn ids(pipeline: &Pipeline, text: &str, threads: usize) -> Vec<u32> {
    let mut ids = Vec::new();
    pipeline.encode_with_threads(text, OPTIONS, threads, &mut ids).unwrap();
    ids
}

fn offsets(pipeline: &Pipeline, text: &str, unit: Unit) -> (Vec<u32>, Vec<[u32; 2]>) {
    let mut sink = Offsets::new(pipeline.tokens(), text, unit);
    pipeline.encode(text, OPTIONS, &mut sink).unwrap();
    (sink.ids, sink.spans)
}

/// The tokens of each piece in turn, with the bytes that each stands for.
fn truth(pipeline: &Pipeline, text: &str) -> (Vec<u32>, Vec<[usize; 2]>) {
    let AnyModel::Words(words) = pipeline.model() else { panic!("another model") };
    let (mut ids, mut spans, mut at) = (Vec::new(), Vec::new(), 0);
    for piece in pipeline.pieces(text).unwrap() {
        let unknown = || vec![Token { id: words.unknown.unwrap(), bytes: piece.len() as u32 }];
        for Token { id, bytes } in words.tokens(piece.as_bytes()).unwrap_or_else(unknown) {
            ids.push(id);
            spans.push([at, at + bytes as usize]);
            at += bytes as usize;
        }
    }
    (ids, spans)
}

#[test]
fn a_token_spans_what_it_stands_for_and_not_as_much_as_it_has_bytes() {
    let pipeline = pipeline(SPACES, true);
    let (ids, spans) = offsets(&pipeline, "playing xyz é👍", Unit::Char);
    let names: Vec<&str> = ids.iter().map(|id| ENTRIES[*id as usize - 256]).collect();
    assert_eq!(names, ["play", "##ing", " ", "[UNK]", " ", "é", "##👍"]);
    assert_eq!(spans, [[0, 4], [4, 7], [7, 8], [8, 11], [11, 12], [12, 13], [13, 14]]);
    assert_eq!(offsets(&pipeline, "é👍é", Unit::Utf16).1, [[0, 1], [1, 3], [3, 4]]);
    assert_eq!(offsets(&pipeline, "é👍é", Unit::Byte).1, [[0, 2], [2, 6], [6, 8]]);
}

#[test]
fn text_that_no_token_stands_for_is_refused_with_its_place() {
    for (config, text) in [(SPACES, "é play xyz a"), (LOWER, "É PLAY xyz A")] {
        let error = pipeline(config, false).encode(text, OPTIONS, &mut Count::default()).unwrap_err();
        assert_eq!((error.code, error.place), (Code::UncoveredText, Place::Bytes(8..11)));
    }
    let long = "play\n".repeat(120_000) + "xyz";
    let error = pipeline(GPT2, false).encode_with_threads(&long, OPTIONS, 2, &mut Vec::new()).unwrap_err();
    assert_eq!(error.place, Place::Bytes(long.len() - 3..long.len()));
}

#[test]
fn a_long_text_is_the_same_over_threads() {
    let pipeline = pipeline(GPT2, true);
    let text = "playing ab\né👍 xyz aaabab\nplay".repeat(40_000);
    let (expected, spans) = truth(&pipeline, &text);
    assert_eq!(ids(&pipeline, &text, 2), expected);
    let mut sink = Offsets::new(pipeline.tokens(), &text, Unit::Byte);
    pipeline.encode_with_threads(&text, OPTIONS, 2, &mut sink).unwrap();
    assert_eq!(sink.ids, expected);
    assert!(sink.spans.iter().zip(&spans).all(|(span, truth)| *span == truth.map(|at| at as u32)));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn every_sink_and_cache_has_the_tokens_of_each_piece_in_turn(
        words in prop::collection::vec("[abé👍]{1,4}|[ab]{5,40}|(ab){120,140}|play(ing){0,12}|xyz", 1..40),
        order in prop::collection::vec(any::<prop::sample::Index>(), 1..900),
        config in prop::sample::select(vec![SPACES, LOWER, GPT2]),
    ) {
        let pipeline = pipeline(config, true);
        let text: String = order.iter().flat_map(|index| [index.get(&words).as_str(), " "]).collect();
        let (expected, spans) = truth(&pipeline, &text);
        // Cold, and from the caches.
        for _ in 0..2 {
            prop_assert_eq!(&ids(&pipeline, &text, 1), &expected);
            let mut count = Count::default();
            pipeline.encode(&text, OPTIONS, &mut count).unwrap();
            prop_assert_eq!(count.0, expected.len());
            let mut inline = StackIds::new();
            pipeline.encode(&text, OPTIONS, &mut inline).unwrap();
            prop_assert_eq!(inline.as_slice(), &expected);
        }
        let batch = pipeline.encode_batch(&[&text, "playing", &text], OPTIONS, 2).unwrap();
        prop_assert_eq!(batch.ids, [expected.clone(), ids(&pipeline, "playing", 1), expected.clone()].concat());
        for unit in [Unit::Byte, Unit::Char, Unit::Utf16] {
            let count = |char: char| match unit {
                Unit::Byte => char.len_utf8(),
                Unit::Char => 1,
                Unit::Utf16 => char.len_utf16(),
            };
            // By byte: the units before it.
            let (mut places, mut before) = (vec![0; text.len() + 1], 0);
            for (at, char) in text.char_indices() {
                before += count(char);
                places[at + char.len_utf8()] = before as u32;
            }
            let (found, measured) = offsets(&pipeline, &text, unit);
            prop_assert_eq!(&found, &expected);
            prop_assert_eq!(measured, spans.iter().map(|span| span.map(|at| places[at])).collect::<Vec<_>>());
        }
    }
}
