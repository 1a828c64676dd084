//! Request bodies by hand: what is taken and what is left to the models.

use std::sync::Arc;

use crate::common;
use proptest::prelude::*;
use tokd_kernel::config::Config;
use tokd_kernel::encode::Pipeline;
use tokd_kernel::json::check::Objects;
use tokd_kernel::json::string::write_string;
use tokd_kernel::requests::{CutOut, IdsLimits, IdsRequest, Parts, Route, TextRequest};

const LIMITS: IdsLimits = IdsLimits { ids: 4, rows: 2, values: 23 };

fn pipeline() -> Pipeline {
    let vocabulary = common::vocabulary(&[("a", "b")]);
    Pipeline::new(Arc::new(vocabulary), &Config::default(), 1 << 12).unwrap()
}

/// The answer after its brace, or nothing where the body is left to the models.
fn texts(route: Route, body: &str) -> Option<String> {
    let answer = TextRequest::read(body.as_bytes(), route, 2)?.answer(&pipeline(), b"{", 1).unwrap()?;
    Some(String::from_utf8(answer.json).unwrap())
}

fn ids(body: &str) -> Option<String> {
    let answer = IdsRequest::read(body.as_bytes(), LIMITS)?.answer(&pipeline(), b"{").unwrap();
    Some(String::from_utf8(answer.json).unwrap())
}

#[test]
fn common_bodies_are_answered() {
    let encode = |body| texts(Route::Encode, body).unwrap();
    assert_eq!(encode(r#"{"text":"abc"}"#), r#"{"ids":[256,99],"count":2}"#);
    assert_eq!(encode(" {\"text\" :\t\"\" ,\"tokenizer\": null}\r\n"), r#"{"ids":[],"count":0}"#);
    assert_eq!(encode(r#"{"return":["count","ids"],"text":["ab",""]}"#), r#"{"count":[1,0],"ids":[[256],[]]}"#);
    assert_eq!(encode(r#"{"text":"\u0061b\n\"\/"}"#), r#"{"ids":[256,10,34,47],"count":4}"#);
    assert_eq!(encode(r#"{"text":"\ud83d\ude42"}"#), r#"{"ids":[240,159,153,130],"count":4}"#);
    assert_eq!(texts(Route::Count, r#"{"text":["ab"],"special_tokens":"text"}"#).unwrap(), r#"{"count":[1]}"#);
    let offsets = texts(Route::Offsets, r#"{"text":"éab","unit":"char"}"#).unwrap();
    assert_eq!(offsets, r#"{"ids":[195,169,256],"spans":[[0,1],[0,1],[1,3]]}"#);
    assert_eq!(ids(r#"{"ids":[256,34,0]}"#).unwrap(), r#"{"text":"ab\"\u0000"}"#);
    assert_eq!(ids(r#"{"ids":[[ 195 ],[]]}"#).unwrap(), "{\"text\":[\"\u{FFFD}\",\"\"]}");
    assert_eq!(ids(r#"{"ids":[]}"#).unwrap(), r#"{"text":""}"#);
}

#[test]
fn what_is_unusual_or_wrong_is_left_to_the_models() {
    for body in [
        "",
        "null",
        "[]",
        "{}",
        r#"{"text":"a"} x"#,
        r#"{"text":"a",}"#,
        r#"{"text":"a""#,
        r#"{"text":"a"#,
        r#"{"text":"a\"#,
        r#"{"text":"a","text":"a"}"#,
        r#"{"te\u0078t":"a"}"#,
        r#"{"text":"a","other":1}"#,
        r#"{"text":null}"#,
        r#"{"text":["a","a","a"]}"#,
        r#"{"text":["a",1]}"#,
        r#"{"text":"\ud83d"}"#,
        r#"{"text":"\ud83d\ud83d\ude42"}"#,
        r#"{"text":"\ude42"}"#,
        r#"{"text":"\x"}"#,
        r#"{"text":"\u00+1"}"#,
        "{\"text\":\"a\nb\"}",
        r#"{"text":"a","special_tokens":"ordinary"}"#,
        r#"{"text":"a","add_special_tokens":1}"#,
        r#"{"text":"a","add_special_tokens":truefalse}"#,
        r#"{"text":"a","return":[]}"#,
        r#"{"text":"a","return":["ids","ids"]}"#,
        r#"{"text":"a","return":["tokens"]}"#,
        r#"{"text":"a","unit":"char"}"#,
    ] {
        assert_eq!(texts(Route::Encode, body), None, "{body}");
    }
    assert_eq!(texts(Route::Count, r#"{"text":"a","return":["ids"]}"#), None);
    assert!(TextRequest::read(b"{\"text\":\"\xFF\"}", Route::Encode, 2).is_none());
    for body in [
        r#"{"ids":1}"#,
        r#"{"ids":[01]}"#,
        r#"{"ids":[-1]}"#,
        r#"{"ids":[1.0]}"#,
        r#"{"ids":[1e2]}"#,
        r#"{"ids":[4294967296]}"#,
        r#"{"ids":[11111111111111111111]}"#,
        r#"{"ids":[1,[2]]}"#,
        r#"{"ids":[[1],2]}"#,
        r#"{"ids":[1,2,3,4,5]}"#,
        r#"{"ids":[[],[],[]]}"#,
        r#"{"ids":[[1,2],[3,4]]}"#,
        r#"{"ids":[1],"pending":""}"#,
        r#"{"skip_special_tokens":true}"#,
    ] {
        assert_eq!(ids(body), None, "{body}");
    }
}

#[test]
fn words_that_json_has_not_are_left_to_the_models_wherever_they_stand() {
    for word in ["NaN", "Infinity", "-Infinity", "nan", "undefined"] {
        for field in ["text", "ids", "tokenizer", "special_tokens", "skip_special_tokens", "add_special_tokens", "x"] {
            let unused = format!(r#""{field}":{word}"#);
            for (before, behind) in [("", ""), ("[", "]"), ("{\"a\":", "}")] {
                let unused = unused.replace(word, &format!("{before}{word}{behind}"));
                for used in [r#""text":"a""#, r#""ids":[1]"#] {
                    for body in [format!("{{{unused},{used}}}"), format!("{{{used},{unused}}}")] {
                        assert_eq!(texts(Route::Encode, &body), None, "{body}");
                        assert_eq!(ids(&body), None, "{body}");
                    }
                }
            }
        }
    }
}

#[test]
fn a_body_is_read_up_to_any_byte_without_harm() {
    for body in [r#"{"text":["\ud83d\ude42é",""],"return":["ids"]}"#, r#"{"ids":[[1,2],[3]],"tokenizer":null}"#] {
        for end in 0..body.len() {
            assert!(TextRequest::read(&body.as_bytes()[..end], Route::Encode, 9).is_none());
            assert!(IdsRequest::read(&body.as_bytes()[..end], LIMITS).is_none());
        }
    }
}

proptest! {
    #[test]
    fn strings_are_what_serde_writes(text in "[\\PC\u{0}-\u{1F}\"\\\\\u{7F}]{0,40}") {
        let mut json = Vec::new();
        write_string(&text, &mut json);
        prop_assert_eq!(String::from_utf8(json).unwrap(), serde_json::to_string(&text).unwrap());
    }

    #[test]
    fn a_text_is_read_as_serde_wrote_it(text in "[\\PC\u{0}-\u{1F}\"\\\\\u{7F}]{0,40}") {
        let body = serde_json::json!({"text": text}).to_string();
        let mut expected = Vec::new();
        let options = tokd_kernel::encode::EncodeOptions {
            policy: tokd_kernel::added_tokens::SpecialPolicy::Reject,
            add_special_tokens: true,
        };
        pipeline().encode(&text, options, &mut expected).unwrap();
        let answer = texts(Route::Encode, &body).unwrap();
        let ids = serde_json::to_string(&expected).unwrap();
        prop_assert_eq!(answer, format!("{{\"ids\":{ids},\"count\":{}}}", expected.len()));
    }
}

#[test]
fn lists_of_objects_are_cut_out_and_leave_as_many_empty_ones() {
    let names = ["messages", "tools", "documents"].map(str::to_owned);
    let body = r#" {"a":[{"b":1}], "messages" :[ {"b":"]\n"} , {} ],"tools":[[{"c":[[]]}],[]],"documents":[]}"#;
    let parts = Parts::of(body.as_bytes(), &names).unwrap();
    assert_eq!(parts.rest, r#" {"a":[{"b":1}], "messages" :[{},{}],"tools":[[{}],[]],"documents":[]}"#);
    let list = |json, ends: &[usize]| Objects { json, ends: ends.to_vec() };
    let messages = CutOut::One(list(r#"[ {"b":"]\n"} , {} ]"#, &[13, 18]));
    let tools = CutOut::Many(vec![list(r#"[{"c":[[]]}]"#, &[11]), list("[]", &[])]);
    let documents = CutOut::One(list("[]", &[]));
    assert_eq!(parts.lists, [("messages", messages), ("tools", tools), ("documents", documents)]);
}

#[test]
fn of_equal_fields_the_models_find_the_last() {
    for behind in ["null", "1", "\"x\"", "[]", "[{}]", "[[{}]]"] {
        let body = format!(r#"{{"messages":[{{"a":1}}],"messages":{behind}}}"#);
        assert_eq!(Parts::of(body.as_bytes(), &["messages".to_owned()]), None, "{body}");
    }
}

#[test]
fn what_a_reader_may_refuse_is_not_cut_out() {
    let is_cut = |list: &str| {
        let body = format!(r#"{{"messages":{list}}}"#);
        Parts::of(body.as_bytes(), &["messages".to_owned()]).is_some_and(|parts| !parts.lists.is_empty())
    };
    let value = |value: &str| is_cut(&format!(r#"[{{"a":{value}}}]"#));
    for right in ["1", "-0", "1.5e-7", "0.0", r#""\u00e9\ud83d\ude42""#, "[1, {}, null]", "true", "false"] {
        assert!(value(right), "{right}");
    }
    let (deep, long) = (format!("{}{}", "[".repeat(100), "]".repeat(100)), "1".repeat(300));
    for wrong in [
        "", "nul", "NaN", "-", "01", "1.", ".5", "1e", "1e999", "+1", r#""\ud800""#, r#""\x""#, "\"\n\"", "[1,]", "[1",
        "{\"b\"}", "{b:1}", "{\"b\":1,}", "[}", "Infinity", &deep, &long,
    ] {
        assert!(!value(wrong), "{wrong}");
    }
    for wrong in ["[1]", "[{},1]", "[[{}],{}]", "[[[]]]", "null", "{}", "[{}", "[{}],\"messages\":[{}]"] {
        assert!(!is_cut(wrong), "{wrong}");
    }
}
