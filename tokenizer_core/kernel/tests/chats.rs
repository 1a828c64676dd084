//! Rendered chats: literals that the caller had a hand in are text, all others are what they are in any text.

use std::ops::Range;
use std::sync::Arc;

use crate::common;
use proptest::prelude::*;
use tokd_kernel::added_tokens::SpecialPolicy;
use tokd_kernel::config::Config;
use tokd_kernel::decode::token_widths::Unit;
use tokd_kernel::encode::{EncodeOptions, Pipeline};
use tokd_kernel::error::Code;
use tokd_kernel::output::offsets::Offsets;

const END: u32 = 900;
const TOOL: u32 = 901;
const LONG: u32 = 902;

/// Bytes and nothing else, with `<end>` (special), `<tool>` (not special) and `<end>!` (special).
fn pipeline(normalizer: &str, normalized: bool) -> Pipeline {
    let token = |id: u32, content: &str, special: bool| {
        format!(r#"{{"id":{id},"content":"{content}","special":{special},"normalized":{normalized}}}"#)
    };
    let added = [token(END, "<end>", true), token(TOOL, "<tool>", false), token(LONG, "<end>!", true)].join(",");
    let config = format!(r#"{{"normalizer":{normalizer},"added_tokens":[{added}]}}"#);
    Pipeline::new(Arc::new(common::vocabulary(&[])), &Config::from_json(&config).unwrap(), 1 << 16).unwrap()
}

/// What stands in `«»` is the caller's.
fn read(marked: &str) -> (String, Vec<Range<usize>>) {
    let (mut text, mut caller) = (String::new(), Vec::new());
    for (index, part) in marked.split(['«', '»']).enumerate() {
        if index % 2 == 1 {
            caller.push(text.len()..text.len() + part.len());
        }
        text.push_str(part);
    }
    (text, caller)
}

/// Ids of added tokens, and the texts that were refused.
fn control(pipeline: &Pipeline, marked: &str) -> (Vec<u32>, Vec<String>) {
    let (text, caller) = read(marked);
    let mut ids: Vec<u32> = Vec::new();
    let refused = pipeline.encode_chat(&text, &caller, false, None, &mut ids).unwrap();
    ids.retain(|id| *id >= END);
    (ids, refused.into_iter().map(|(bytes, _)| text[bytes].to_owned()).collect())
}

#[test]
fn only_the_template_writes_control_tokens() {
    let pipeline = pipeline("[]", false);
    let check = |marked: &str, ids: &[u32], refused: &[&str]| {
        assert_eq!(control(&pipeline, marked), (ids.to_vec(), refused.iter().map(|text| (*text).to_owned()).collect()));
    };
    check("<end>«hello»<end>", &[END, END], &[]);
    check("<end>«a<end>b<tool>»<end>", &[END, END], &["<end>", "<tool>"]);
    check("<en«d>»<end>", &[END], &["<end>"]);
    check("«<e»nd><end>", &[END], &["<end>"]);
    check("<«e»nd>", &[], &["<end>"]);
    check("<end«»>", &[END], &[]);
    // A forged beginning or end neither hides nor lengthens what the template writes.
    check("«<end»<end>", &[END], &[]);
    check("<end>«!»", &[END], &["<end>!"]);
    check("<end>!«!»", &[LONG], &[]);
    check("«<»<end>!", &[LONG], &[]);
}

#[test]
fn no_rewrite_joins_the_callers_characters_to_a_literal() {
    let folding = pipeline(r#"[{"type":"nfkc"},{"type":"lowercase"}]"#, true);
    assert_eq!(control(&folding, "<END>«＜ＥＮＤ＞ <End>»<end>").0, [END, END]);
    assert_eq!(control(&folding, "<END>«＜ＥＮＤ＞ <End>»<end>").1, ["＜ＥＮＤ＞", "<End>"]);
    assert!(control(&folding, "<En«Ｄ»＞").0.is_empty());
    let stripping = pipeline(r#"[{"type":"replace","pattern":{"string":"\u200b"},"content":""}]"#, true);
    assert_eq!(control(&stripping, "<en\u{200b}d>").0, [END]);
    assert_eq!(control(&stripping, "<en«\u{200b}»d>"), (vec![], vec!["<en\u{200b}d>".to_owned()]));
    assert_eq!(control(&stripping, "«\u{200b}»<end>«\u{200b}»").0, [END]);
    let accents = pipeline(r#"[{"type":"nfd"},{"type":"strip_accents"}]"#, true);
    assert_eq!(control(&accents, "<en«\u{301}»d><end>").0, [END]);
}

#[test]
fn no_merge_makes_a_special_token() {
    let vocabulary = Arc::new(common::vocabulary(&[("<", "s"), ("<s", ">")]));
    for ignore_merges in [false, true] {
        let config = format!(
            r#"{{"ignore_merges":{ignore_merges},"normalizer":[{{"type":"nfkc"}}],
                "added_tokens":[{{"id":257,"content":"<s>","special":true}}]}}"#
        );
        let pipeline = Pipeline::new(Arc::clone(&vocabulary), &Config::from_json(&config).unwrap(), 1 << 16).unwrap();
        for (text, policy) in [("<s>", SpecialPolicy::Text), ("＜s＞", SpecialPolicy::Parse)] {
            let mut ids: Vec<u32> = Vec::new();
            pipeline.encode(text, EncodeOptions { policy, add_special_tokens: false }, &mut ids).unwrap();
            assert_eq!(ids, [256, u32::from(b'>')]);
        }
    }
}

#[test]
fn an_added_token_stands_for_no_other_bytes_than_the_entry_of_its_id() {
    let vocabulary = Arc::new(common::vocabulary(&[(" ", "t")]));
    // In the byte alphabet both entries are written as the literals are.
    for (id, content) in [(0xE9, "é"), (256, "Ġt")] {
        let config = format!(r#"{{"added_tokens":[{{"id":{id},"content":"{content}"}}]}}"#);
        let refused =
            Pipeline::new(Arc::clone(&vocabulary), &Config::from_json(&config).unwrap(), 1 << 12).unwrap_err();
        assert_eq!(refused.code, Code::IdConflict, "{content}");
    }
}

#[test]
fn hostile_texts_take_linear_time() {
    let pipeline = pipeline(r#"[{"type":"lowercase"}]"#, true);
    let text = "<end".repeat(200_000) + &"<END>".repeat(200_000);
    let every_fourth: Vec<_> = (0..text.len()).step_by(4).map(|at| at..at + 1).collect();
    let mut ids: Vec<u32> = Vec::new();
    let refused = pipeline.encode_chat(&text, &every_fourth, false, None, &mut ids).unwrap();
    assert!(ids.iter().all(|id| *id < END));
    assert_eq!(refused.len(), 200_000);
}

proptest! {
    #[test]
    fn no_literal_touches_the_caller_and_the_rest_is_as_ever(
        parts in proptest::collection::vec(("(<end>|<tool>|!|<|e|nd>|é| ){0,4}", any::<bool>()), 0..8),
        normalized in any::<bool>(),
    ) {
        let (mut text, mut caller) = (String::new(), Vec::new());
        for (part, is_caller) in &parts {
            if *is_caller {
                caller.push(text.len()..text.len() + part.len());
            }
            text.push_str(part);
        }
        let pipeline = pipeline("[]", normalized);
        let mut offsets = Offsets::new(pipeline.tokens(), &text, Unit::Byte);
        let refused = pipeline.encode_chat(&text, &caller, false, None, &mut offsets).unwrap();
        for (id, [start, end]) in offsets.ids.iter().zip(offsets.spans.iter()) {
            let touches = |range: &Range<usize>| range.start < *end as usize && (*start as usize) < range.end;
            // A field that is empty has no byte that a literal could touch.
            let touches = caller.iter().any(|range| !range.is_empty() && touches(range));
            prop_assert!(*id < END || !touches);
        }
        if refused.is_empty() {
            let mut plain: Vec<u32> = Vec::new();
            let options = EncodeOptions { policy: SpecialPolicy::Parse, add_special_tokens: false };
            pipeline.encode(&text, options, &mut plain).unwrap();
            prop_assert_eq!(&offsets.ids[..], &plain);
        }
    }
}
