//! Whole texts against their pieces merged one by one: what comes again within a portion, and in a later one.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod common;

use std::sync::Arc;

use proptest::prelude::*;
use tokd_kernel::added_tokens::SpecialPolicy;
use tokd_kernel::config::Config;
use tokd_kernel::encode::{EncodeOptions, Pipeline};

const OPTIONS: EncodeOptions = EncodeOptions { policy: SpecialPolicy::Reject, add_special_tokens: false };

const CONFIG: &str = r#"{"pretokenizer":[{"type":"split","pattern":{"name":"gpt2"},"behavior":"isolated"}]}"#;

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    /// More pieces than a portion has, of so few words that many come again before they are merged, and caches so small that
    /// they are missed again.
    #[test]
    fn a_text_is_its_pieces(
        draws in prop::collection::vec(any::<(u16, u16)>(), 0..40),
        words in prop::collection::vec("[abcd]{1,9}|[abcd]{8,40}", 1..40),
        order in prop::collection::vec(any::<prop::sample::Index>(), 1..1500),
        cache_bytes in prop::sample::select(vec![0_usize, 1 << 12, 1 << 20]),
    ) {
        let vocabulary = Arc::new(common::drawn_vocabulary(&[b"abcd "], &draws));
        let pipeline = Pipeline::new(Arc::clone(&vocabulary), &Config::from_json(CONFIG).unwrap(), cache_bytes).unwrap();
        let text: String = order.iter().map(|index| format!(" {}", index.get(&words))).collect();
        let truth: Vec<Vec<u32>> =
            words.iter().map(|word| common::merge_slowly(&vocabulary, format!(" {word}").as_bytes())).collect();
        let truth: Vec<u32> = order.iter().flat_map(|index| truth[index.index(words.len())].clone()).collect();
        for _ in 0..2 {
            let mut ids = Vec::new();
            pipeline.encode(&text, OPTIONS, &mut ids).unwrap();
            prop_assert_eq!(&ids, &truth);
        }
    }
}

/// A row of ids has room for so many of pieces that have more than a few; what is over goes to the sink at once.
#[test]
fn pieces_of_any_number_of_ids_stand_in_their_places() {
    let pipeline =
        Pipeline::new(Arc::new(common::vocabulary(&[])), &Config::from_json(CONFIG).unwrap(), 1 << 20).unwrap();
    let lengths = [3, 600, 2, 500, 9, 1023, 1, 1024, 4, 1025, 12, 5000, 31, 32, 7, 300, 300, 300, 300, 5];
    let text: String = (0..40).flat_map(|_| lengths).map(|length| format!("{} ", "word".repeat(length))).collect();
    for _ in 0..2 {
        let mut ids = Vec::new();
        pipeline.encode(&text, OPTIONS, &mut ids).unwrap();
        // Without merges an id is a byte.
        assert!(ids.iter().copied().eq(text.bytes().map(u32::from)));
    }
}
