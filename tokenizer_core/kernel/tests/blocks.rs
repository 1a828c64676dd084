//! Whole texts against their pieces merged one by one: what comes again within a block, and in a later one.

use std::sync::Arc;

use crate::common;
use proptest::prelude::*;
use tokd_kernel::added_tokens::SpecialPolicy;
use tokd_kernel::config::Config;
use tokd_kernel::encode::{EncodeOptions, Pipeline};
use tokd_kernel::output::count::Count;
use tokd_kernel::vocabulary::{Merge, Vocabulary};

const OPTIONS: EncodeOptions = EncodeOptions { policy: SpecialPolicy::Reject, add_special_tokens: false };

const CONFIG: &str = r#"{"pretokenizer":[{"type":"split","pattern":{"name":"gpt2"},"behavior":"isolated"}]}"#;

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    /// More pieces than a block has, of so few words that many come again before they are merged, and caches so small
    /// that they are missed again.
    #[test]
    fn a_text_is_its_pieces(
        draws in prop::collection::vec(any::<(u16, u16)>(), 0..40),
        words in prop::collection::vec("[abcd]{1,9}|[abcd]{8,70}", 1..40),
        order in prop::collection::vec(any::<prop::sample::Index>(), 1..1500),
        cache_bytes in prop::sample::select(vec![0_usize, 1 << 12, 1 << 20]),
    ) {
        let vocabulary = Arc::new(common::drawn_vocabulary(&[b"abcd "], &draws));
        let config = Config::from_json(CONFIG).unwrap();
        let pipeline = Pipeline::new(Arc::clone(&vocabulary), &config, cache_bytes).unwrap();
        let text: String = order.iter().map(|index| format!(" {}", index.get(&words))).collect();
        let truth: Vec<Vec<u32>> =
            words.iter().map(|word| common::merge_slowly(&vocabulary, format!(" {word}").as_bytes())).collect();
        let truth: Vec<u32> = order.iter().flat_map(|index| truth[index.index(words.len())].clone()).collect();
        for _ in 0..2 {
            prop_assert_eq!(&encoded(&pipeline, &text), &truth);
        }
    }

    /// Tokens that merges do not make stand for a piece, and not for the same bytes where they are a part of one.
    #[test]
    fn a_part_has_other_ids_than_a_piece_of_the_same_bytes(
        draws in prop::collection::vec(any::<(u16, u16)>(), 0..20),
        whole in prop::collection::vec("[éß中文]{1,7}", 0..6),
        words in prop::collection::vec("[éß中文]{1,9}", 1..20),
        order in prop::collection::vec(any::<prop::sample::Index>(), 1..100),
    ) {
        let drawn = common::drawn_vocabulary(&["éß中文".as_bytes()], &draws);
        let mut tokens: Vec<(u32, Vec<u8>)> = drawn.tokens().map(|(id, bytes)| (id, bytes.to_vec())).collect();
        tokens.extend((drawn.id_limit()..).zip(whole.iter().map(|word| word.as_bytes().to_vec())));
        let vocabulary = Arc::new(Vocabulary::new(tokens, drawn.merges().to_vec(), Vec::new()).unwrap());
        let config = Config { ignore_merges: true, ..Config::from_json(CONFIG).unwrap() };
        let pipeline = Pipeline::new(Arc::clone(&vocabulary), &config, 1 << 16).unwrap();
        let words: Vec<&String> = order.iter().map(|index| index.get(&words)).chain(&whole).collect();
        let truth: Vec<u32> = words.iter().flat_map(|word| {
            let token = vocabulary.tokens().find(|(_, bytes)| *bytes == word.as_bytes());
            let ids = token.map_or_else(|| common::merge_slowly(&vocabulary, word.as_bytes()), |(id, _)| vec![id]);
            [ids, vec![u32::from(b'\n')]].concat()
        }).collect();
        let text: String = words.iter().flat_map(|word| [word.as_str(), "\n"]).collect();
        for _ in 0..2 {
            prop_assert_eq!(&encoded(&pipeline, &text), &truth);
        }
    }

    /// Merges that join words come after the others, most of which are in no joined word: words are merged first.
    #[test]
    fn superwords_are_merged_as_their_line_is(
        draws in prop::collection::vec(any::<(u16, u16)>(), 0..60),
        order in any::<Option<u64>>(),
        lines in prop::collection::vec("[ab,é中 \u{A0}]{1,90}\n", 1..30),
        cache_bytes in prop::sample::select(vec![0_usize, 1 << 12, 1 << 20]),
    ) {
        let drawn = common::drawn_vocabulary(&["ab,é中 \u{A0}".as_bytes()], &draws);
        let joins = |merge: &Merge| {
            let bytes = drawn.bytes(merge.product).unwrap_or_default();
            bytes.windows(2).any(|pair| pair[0].is_ascii_alphabetic() && pair[1] == b' ')
        };
        let mut merges = drawn.merges().to_vec();
        merges.sort_by_key(joins);
        let sorted = drawn.with_merges(merges);
        let vocabulary = Arc::new(order.map_or_else(|| sorted.clone(), |order| common::reordered(&sorted, order)));
        let config = r#"{"pretokenizer":[{"type":"split","pattern":{"regex":"[^\\n]*\\n"},"behavior":"isolated"}]}"#;
        let config = Config::from_json(config).unwrap();
        let pipeline = Pipeline::new(Arc::clone(&vocabulary), &config, cache_bytes).unwrap();
        let truth: Vec<u32> =
            lines.iter().flat_map(|line| common::merge_slowly(&vocabulary, line.as_bytes())).collect();
        for _ in 0..2 {
            prop_assert_eq!(&encoded(&pipeline, &lines.concat()), &truth);
        }
    }

    /// Layout: runs of white space of all lengths around the limits of each cache, alike but for a few bytes within.
    #[test]
    fn white_space_is_its_pieces(
        draws in prop::collection::vec(any::<(u16, u16)>(), 0..40),
        runs in prop::collection::vec(
            (prop::sample::select(vec![
                14_usize, 15, 16, 17, 30, 31, 32, 33, 47, 48, 63, 64, 65, 127, 128, 255, 256, 257, 400,
            ]), prop::collection::vec(any::<prop::sample::Index>(), 0..3)),
            1..30,
        ),
        order in prop::collection::vec(any::<prop::sample::Index>(), 1..300),
        cache_bytes in prop::sample::select(vec![0_usize, 1 << 12, 1 << 14, 1 << 20]),
    ) {
        let vocabulary = Arc::new(common::drawn_vocabulary(&[b" \n"], &draws));
        let config = Config::from_json(CONFIG).unwrap();
        let pipeline = Pipeline::new(Arc::clone(&vocabulary), &config, cache_bytes).unwrap();
        let runs: Vec<String> = runs.iter().map(|(length, newlines)| {
            let mut run = vec![b' '; *length];
            newlines.iter().for_each(|at| run[at.index(*length)] = b'\n');
            String::from_utf8(run).unwrap()
        }).collect();
        let text: String = order.iter().flat_map(|index| [index.get(&runs), "a"]).collect();
        let mut truths = std::collections::HashMap::new();
        let mut truth: Vec<u32> = Vec::new();
        for piece in pipeline.pieces(&text).unwrap() {
            let merge = || common::merge_slowly(&vocabulary, piece.as_bytes());
            truth.extend(truths.entry(piece.clone()).or_insert_with(merge).iter());
        }
        for _ in 0..2 {
            prop_assert_eq!(&encoded(&pipeline, &text), &truth);
        }
    }
}

/// The ids of a text, of which there are as many as are counted, and which are the same whether they are written where
/// the sink has room, copied there, or both in turn.
fn encoded(pipeline: &Pipeline, text: &str) -> Vec<u32> {
    let (mut before, mut ids, mut after) = (Count(0), Vec::new(), Count(0));
    pipeline.encode(text, OPTIONS, &mut before).unwrap();
    let first = with_room(pipeline, text, text.len() + (1 << 16));
    pipeline.encode(text, OPTIONS, &mut ids).unwrap();
    pipeline.encode(text, OPTIONS, &mut after).unwrap();
    assert_eq!((before.0, after.0), (ids.len(), ids.len()));
    assert!(first == ids);
    for room in [0, text.len(), text.len() + (1 << 16)] {
        assert!(with_room(pipeline, text, room) == ids);
    }
    ids
}

/// The ids of a text that are written to a buffer which had room for so many.
fn with_room(pipeline: &Pipeline, text: &str, room: usize) -> Vec<u32> {
    let mut ids = Vec::with_capacity(room);
    pipeline.encode(text, OPTIONS, &mut ids).unwrap();
    ids.to_vec()
}

/// What a block has found is its own, though the cache forgets it before the block is given.
#[test]
fn what_is_forgotten_within_a_block_stands_in_it() {
    let lengths = [11, 20, 40, 100];
    let known: Vec<String> = lengths.iter().map(|length| format!(" {}", "k".repeat(*length))).collect();
    for cache_bytes in [1 << 12, 1 << 13, 1 << 14] {
        for others in 0..40 {
            let pipeline =
                Pipeline::new(Arc::new(common::vocabulary(&[])), &Config::from_json(CONFIG).unwrap(), cache_bytes)
                    .unwrap();
            // Without merges an id is a byte.
            let bytes = |text: &str| text.bytes().map(u32::from).collect::<Vec<_>>();
            for piece in &known {
                let mut ids = Vec::new();
                pipeline.encode(piece, OPTIONS, &mut ids).unwrap();
                assert_eq!(ids, bytes(piece));
            }
            let new: String = (0..others).map(|at| format!(" {}{}", "n".repeat(30 + at), known[at % 4])).collect();
            let text = format!("{}{new}{}", known.concat(), known.concat());
            let mut ids = Vec::new();
            pipeline.encode(&text, OPTIONS, &mut ids).unwrap();
            assert_eq!(ids, bytes(&text));
        }
    }
}

/// There is room for so many ids of pieces that have more than a few; if they are more, the sink gets them one by one.
#[test]
fn pieces_of_any_number_of_ids_stand_in_their_places() {
    let pipeline =
        Pipeline::new(Arc::new(common::vocabulary(&[])), &Config::from_json(CONFIG).unwrap(), 1 << 20).unwrap();
    let lengths = [3, 600, 2, 500, 9, 1023, 1, 1024, 4, 1025, 12, 5000, 31, 32, 7, 300, 300, 300, 300, 5];
    let text: String = (0..40).flat_map(|_| lengths).map(|length| format!("{} ", "word".repeat(length))).collect();
    for _ in 0..2 {
        // Without merges an id is a byte.
        assert!(encoded(&pipeline, &text).into_iter().eq(text.bytes().map(u32::from)));
    }
}
