use std::collections::HashSet;
use std::sync::Arc;

use proptest::prelude::*;

use super::entries::{Entries, UNKNOWN};
use super::lattice::{Lattice, SUM_LIMIT, Step};
use crate::added_tokens::SpecialPolicy;
use crate::config::{Config, UnigramConfig, UnigramSums};
use crate::decode::token_widths::Unit;
use crate::encode::{EncodeOptions, Pipeline};
use crate::output::count::Count;
use crate::output::offsets::Offsets;
use crate::vocabulary::Vocabulary;

const OPTIONS: EncodeOptions = EncodeOptions { policy: SpecialPolicy::Text, add_special_tokens: false };

fn config() -> UnigramConfig {
    UnigramConfig {
        unk: Some(0),
        byte_fallback: false,
        sums: UnigramSums::Float,
        reserved: vec![0],
        user_defined: vec![],
    }
}

fn vocabulary(entries: &[(String, f32)]) -> Arc<Vocabulary> {
    let mut texts = vec![(0, "<unk>")];
    texts.extend((1..).zip(entries.iter().map(|(text, _)| text.as_str())));
    let scores = std::iter::once(0.0).chain(entries.iter().map(|(_, score)| f64::from(*score))).collect();
    Arc::new(Vocabulary::of_texts(texts, Vec::new(), scores).unwrap())
}

fn pipeline(vocabulary: &Arc<Vocabulary>) -> Pipeline {
    let json = r#"{"model":{"type":"unigram","unk":0,"sums":"float","reserved":[0]}}"#;
    Pipeline::new(Arc::clone(vocabulary), &Config::from_json(json).unwrap(), 1 << 20).unwrap()
}

/// The tokens of the library's own loop over a whole text, unknown ones joined: id and bytes.
fn truth(vocabulary: &Vocabulary, text: &str) -> Vec<Step> {
    let entries = Entries::new(vocabulary, &config(), &HashSet::new()).unwrap();
    let mut lattice = Lattice::default();
    lattice.best_single(&entries, text.as_bytes(), 0.0);
    let mut tokens: Vec<Step> = Vec::new();
    for (id, bytes) in lattice.steps {
        match tokens.last_mut() {
            Some(last) if id == UNKNOWN && last.0 == 0 => last.1 += bytes,
            _ => tokens.push((if id == UNKNOWN { 0 } else { id }, bytes)),
        }
    }
    tokens
}

fn entries() -> impl Strategy<Value = Vec<(String, f32)>> {
    // Few different scores, so that ways tie.
    let score = prop_oneof![(-40_i32..0).prop_map(|score| score as f32 / 8.0), -20.0_f32..0.0];
    prop::collection::btree_map("[ab]{1,4}|▁[ab]{0,3}|[aé漢]{1,3}", score, 1..24)
        .prop_map(|entries| entries.into_iter().collect())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn words_one_by_one_are_the_way_through_the_whole_text(
        entries in entries(), texts in prop::collection::vec("([ab▁éx漢]{0,12}|a{0,40}|▁{1,9}){1,30}", 1..4),
    ) {
        let vocabulary = vocabulary(&entries);
        let pipeline = pipeline(&vocabulary);
        for text in texts.iter().chain(&texts) {
            let expected = truth(&vocabulary, text);
            let mut ids = Vec::new();
            pipeline.encode(text, OPTIONS, &mut ids).unwrap();
            prop_assert_eq!(&ids, &expected.iter().map(|(id, _)| *id).collect::<Vec<_>>());
            let mut count = Count::default();
            pipeline.encode(text, OPTIONS, &mut count).unwrap();
            prop_assert_eq!(count.0, expected.len());
            let mut offsets = Offsets::new(pipeline.tokens(), text, Unit::Byte);
            pipeline.encode(text, OPTIONS, &mut offsets).unwrap();
            prop_assert_eq!(offsets.spans.iter().map(|[start, end]| end - start).collect::<Vec<_>>(),
                expected.iter().map(|(_, bytes)| *bytes).collect::<Vec<_>>());
        }
    }

    #[test]
    fn a_decided_word_has_the_same_tokens_after_every_sum(
        entries in entries(), text in "[ab▁éx漢]{1,12}", sum in -SUM_LIMIT..SUM_LIMIT,
    ) {
        let vocabulary = vocabulary(&entries);
        let entries = Entries::new(&vocabulary, &config(), &HashSet::new()).unwrap();
        let (mut decided, mut exact) = (Lattice::default(), Lattice::default());
        if decided.best_for_every_sum(&entries, text.as_bytes()) {
            for sum in [sum, 0.0, SUM_LIMIT, -SUM_LIMIT] {
                exact.best_single(&entries, text.as_bytes(), sum);
                prop_assert_eq!(&decided.steps, &exact.steps);
            }
        }
    }
}

#[test]
fn long_texts_have_the_library_s_sums() {
    let few: Vec<(String, f32)> = [("a", -3.1), ("aa", -6.2), ("ab", -5.0), ("▁", -2.7), ("▁a", -5.7), ("b", -2.3)]
        .map(|(text, score)| (text.to_owned(), score as f32))
        .into();
    let vocabulary = vocabulary(&few);
    let pipeline = pipeline(&vocabulary);
    let texts = ["a".repeat(200_000), "▁ab▁aab▁xb".repeat(20_000), "▁".repeat(200_000), "xy".repeat(50_000)];
    for text in &texts {
        let mut ids = Vec::new();
        pipeline.encode(text, OPTIONS, &mut ids).unwrap();
        let expected: Vec<u32> = truth(&vocabulary, text).iter().map(|(id, _)| *id).collect();
        assert!(ids == expected);
    }
}
