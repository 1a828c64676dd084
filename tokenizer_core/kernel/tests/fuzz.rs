//! The fuzz targets on random bytes and on mutations of real inputs: what `cargo fuzz` does, small enough for every
//! run.

use crate::fuzz_targets::{
    added_tokens::added_tokens, body::body, chats::chats, counting::counting, decode::decode, encode::encode,
    expressions::expressions, from_utf32::from_utf32, load::load, normalizers::normalizers, paths::paths,
    responses::responses, sentencepiece::sentencepiece, templates::templates,
};
use proptest::collection::vec;
use proptest::prelude::*;
use tokd_kernel::config::Config;
use tokd_kernel::formats::{from_tiktoken, from_tokenizer_json, from_vocab_merges};
use tokd_kernel::requests::{IdsLimits, IdsRequest, Route, TextRequest};

/// Characters where classes, cases and widths change.
const HARD_TEXT: &str = r"[ \t\r\n\u{85}\u{A0}\u{3000}a-cA-C0-3'stSTſ.,/é\u{301}中あ🙂👨\u{200D}]{0,120}";

const TOKENIZER_JSON: &str = r#"{"version":"1.0","added_tokens":[{"id":2,"content":"<s>","special":true}],
    "model":{"type":"BPE","vocab":{"a":0,"b":1,"ab":3},"merges":["a b",["a","b"]]}}"#;
const TIKTOKEN: &str = "YQ== 0\nYg== 1\nYWI= 2\n";

const TEXT_BODY: &str = r#"{"text":["caf\u00e9\n","a\ud83d\ude42"],"tokenizer":"base","special_tokens":"text"}"#;
const IDS_BODY: &str = r#"{"ids":[[97,98],[195,169],[]],"skip_special_tokens":true,"tokenizer":null}"#;

/// Real files with a few bytes changed, or cut short.
fn mutated(seed: &'static str) -> impl Strategy<Value = Vec<u8>> {
    (vec((any::<prop::sample::Index>(), any::<u8>()), 0..4), any::<prop::sample::Index>(), any::<bool>()).prop_map(
        move |(changes, cut, short)| {
            let mut data = seed.as_bytes().to_vec();
            for (at, byte) in changes {
                let at = at.index(data.len());
                data[at] = byte;
            }
            if short {
                data.truncate(cut.index(data.len()));
            }
            data
        },
    )
}

#[test]
fn nothing_is_answered_with_nothing() {
    let limits = IdsLimits { ids: 0, rows: 2, values: 20 };
    for (data, is_text) in [
        (r#"{"text":""}"#, true),
        (r#"{"text":[]}"#, true),
        (r#"{"text":["",""]}"#, true),
        (r#"{"ids":[]}"#, false),
        (r#"{"ids":[[],[]]}"#, false),
    ] {
        let data = data.as_bytes();
        assert_eq!(TextRequest::read(data, Route::Encode, 2).is_some(), is_text);
        assert_eq!(IdsRequest::read(data, limits).is_some(), !is_text);
        body(data);
    }
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: if cfg!(miri) { 3 } else { 300 },
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn encoding_keeps_its_promises(head in vec(any::<u8>(), 2), text in HARD_TEXT) {
        encode(&[&head[..], text.as_bytes()].concat());
    }

    #[test]
    fn any_ids_are_decoded_or_refused(skip in any::<u8>(), ids in vec(0..420_u16, 0..60), known in any::<bool>()) {
        // With one in ten unknown, few lists of any length would be decoded at all.
        let ids = ids.into_iter().map(|id| if known { id % 256 + 100 * (id % 2) } else { id });
        let ids = ids.filter(|id| !known || !(260..270).contains(id));
        decode(&[vec![skip], ids.flat_map(u16::to_le_bytes).collect()].concat());
    }

    #[test]
    fn every_path_cuts_alike(head in vec(any::<u8>(), 4), text in HARD_TEXT, times in 1..5_usize) {
        paths(&[&head[..], text.repeat(times).as_bytes()].concat());
    }

    #[test]
    fn added_tokens_are_leftmost_longest(head in vec(any::<u8>(), 13), text in r"[<>s/ab|endé🙂 ]{0,60}") {
        added_tokens(&[&head[..], text.as_bytes()].concat());
    }

    #[test]
    fn no_literal_is_found_that_the_caller_had_a_hand_in(data in vec(any::<u8>(), 4..60)) {
        chats(&data);
    }

    #[test]
    fn no_template_loses_what_a_caller_wrote(data in vec(any::<u8>(), 0..120)) {
        templates(&data);
    }

    #[test]
    fn expressions_match_as_they_are_defined(
        parts in vec(any::<u8>(), 1..60),
        texts in vec(prop_oneof![0..7_u8, 0..29_u8], 0..800),
    ) {
        expressions(&[parts, texts].concat());
    }

    #[test]
    fn answers_in_parts_are_parsed_as_the_whole(data in vec(any::<u8>(), 2..200)) {
        responses(&data);
    }

    #[test]
    fn any_sentencepiece_model_is_read_or_refused(data in vec(any::<u8>(), 4..3000), text in HARD_TEXT) {
        sentencepiece(&[&data[..4], text.as_bytes()].concat());
        sentencepiece(&data);
    }

    #[test]
    fn texts_are_rewritten_as_the_standard_says(head in vec(any::<u8>(), 1..16), text in HARD_TEXT) {
        normalizers(&[&head[..], text.as_bytes()].concat());
    }

    #[test]
    fn any_corpus_is_counted_as_its_documents_are(
        flags in 0..0xF0_u8, head in vec(any::<u8>(), 7),
        documents in vec(r"([a-c' ,é!1\n中]|<s>|<\|end\|?>?){0,40}|\PC{0,20}", 0..4), other in any::<Option<u8>>(),
    ) {
        let documents: Vec<&[u8]> = documents.iter().map(String::as_bytes).collect();
        counting(&[vec![flags], head, documents.join(&0xFF), other.into_iter().collect()].concat());
    }

    #[test]
    fn any_text_becomes_what_it_is_in_another_encoding(head in vec(any::<u8>(), 3), data in vec(any::<u8>(), 0..400)) {
        from_utf32(&[head, data].concat());
    }

    #[test]
    fn any_file_is_read_or_refused(data in vec(any::<u8>(), 0..400)) {
        load(&data);
    }

    #[test]
    fn any_damaged_tokenizer_json_is_read_or_refused(data in mutated(TOKENIZER_JSON)) {
        load(&data);
    }

    #[test]
    fn any_damaged_rank_file_is_read_or_refused(data in mutated(TIKTOKEN)) {
        load(&data);
    }

    #[test]
    fn any_damaged_body_is_read_as_serde_reads_it(texts in mutated(TEXT_BODY), ids in mutated(IDS_BODY)) {
        body(&texts);
        body(&ids);
    }
}

#[test]
fn deep_nesting_is_refused() {
    for (open, close) in [("[", "]"), (r#"{"a":"#, "}")] {
        let (open, close) = (open.repeat(200_000), close.repeat(200_000));
        for text in [open.clone(), format!("{open}0{close}"), format!(r#"{{"model":{open}0{close}}}"#)] {
            let data = text.as_bytes();
            assert!(from_tokenizer_json(data).is_err());
            assert!(from_tiktoken(data).is_err());
            assert!(from_vocab_merges(data, b"").is_err());
            assert!(Config::from_json(&text).is_err());
        }
    }
}
