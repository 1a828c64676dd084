//! Counting against cutting the whole text at once: nothing may depend on blocks, threads or the order of documents.

use std::collections::HashMap;

use proptest::prelude::*;
use tokd_kernel::config::Config;
use tokd_kernel::error::Code;
use tokd_kernel::normalize::Normalizer;
use tokd_kernel::pretokenize::Pretokenizer;
use tokd_kernel::regex::StepBudget;
use tokd_kernel::train::counter::Counter;
use tokd_kernel::train::counts::Counts;
use tokd_kernel::train::cut::{CutPlaces, last_cut, places};
use tokd_kernel::train::separators::Separators;
use tokd_kernel::train::stream::{InvalidUtf8, Stream};

const PATTERNS: [&str; 6] = [
    "gpt2",
    "cl100k_base",
    "o200k_base",
    "qwen2",
    r"\p{N}{1,3}|[^\r\n\p{N}]+(?:\s*[\r\n]+)?|\s*[\r\n]+",
    r" ?\p{N}+|(?:[^\r\n\p{N} ]| (?!\p{N}))+(?:\s*[\r\n]+)?|\s*[\r\n]+|[^\r\n\p{N}]",
];

const NORMALIZERS: [&str; 6] = ["nfc", "nfd", "nfkc", "nfkd", "lowercase", "strip_accents"];

fn config(pattern: &str) -> Config {
    normalizing(&[], pattern)
}

fn normalizing(normalizers: &[&str], pattern: &str) -> Config {
    let normalizers: Vec<String> = normalizers.iter().map(|name| format!(r#"{{"type":"{name}"}}"#)).collect();
    let kind = if pattern.contains('|') { "regex" } else { "name" };
    Config::from_json(&format!(
        r#"{{"normalizer":[{}],
            "pretokenizer":[{{"type":"split","pattern":{{"{kind}":{}}},"behavior":"isolated"}}]}}"#,
        normalizers.join(","),
        serde_json::json!(pattern),
    ))
    .unwrap()
}

fn normalized(normalizer: &Normalizer, text: &str) -> String {
    normalizer.normalize(text, &mut StepBudget::default()).unwrap().map_or_else(|| text.to_owned(), |new| new.text)
}

fn pieces(pretokenizer: &Pretokenizer, text: &str) -> Vec<String> {
    let ends = pretokenizer.pieces(text, &mut StepBudget::default()).unwrap().ends(100).unwrap();
    let mut start = 0;
    ends.into_iter().map(|end| text[std::mem::replace(&mut start, end)..end].to_string()).collect()
}

fn counted(counts: &Counts) -> HashMap<String, u64> {
    counts.iter().map(|(piece, count)| (String::from_utf8(piece.to_vec()).unwrap(), count)).collect()
}

/// The definition: cut at the special tokens, cut each stretch into pieces, count.
fn truth(pattern: &str, specials: &[&str], documents: &[String]) -> HashMap<String, u64> {
    let pretokenizer = Pretokenizer::new(&config(pattern).pretokenizer).unwrap();
    let mut counts = HashMap::new();
    for document in documents {
        let mut rest = document.as_str();
        while !rest.is_empty() {
            // Leftmost first, then longest.
            let found = specials
                .iter()
                .filter_map(|special| Some((rest.find(special)?, std::cmp::Reverse(special.len()))))
                .min();
            let (end, skip) = found.map_or((rest.len(), 0), |(at, std::cmp::Reverse(length))| (at, length));
            for piece in pieces(&pretokenizer, &rest[..end]) {
                *counts.entry(piece).or_insert(0) += 1;
            }
            rest = &rest[end + skip..];
        }
    }
    counts
}

fn documents() -> impl Strategy<Value = Vec<String>> {
    let part = prop_oneof![
        "[a-zA-Z]{1,6}",
        "[ \t\r\n]{1,4}",
        "['’.,!?/\\-_(]{1,3}",
        "[0-9]{1,5}",
        "(é|日本|ſ|'S|'ll|ー|\u{301}|\u{3000}|。|Ⅷ|😀|ǅ){1,3}",
        "(<\\|end\\|>|<\\|end|<s>|<)",
        // What normalizers make a mark, letters or something else of, and what they compose.
        "(İ|Å|ﬁ|™|㎏|½|…|ﾞ|क़|\u{94d}|가|각|ᄀ|ᅡ|ᆨ|\u{338}|=|≠|´|＇|ŉ|`|\u{1fef}|ﹼ|が){1,3}",
    ];
    prop::collection::vec(prop::collection::vec(part, 0..40).prop_map(|parts| parts.concat()), 1..5)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn a_text_may_be_cut_where_the_rule_says(
        texts in documents(), from in 0..20_usize, pattern in prop::sample::select(&PATTERNS),
        normalizers in prop::collection::vec(prop::sample::select(&NORMALIZERS), 0..4),
    ) {
        let config = normalizing(&normalizers, pattern);
        let rule = if pattern.contains('|') { CutPlaces::BehindLines } else { CutPlaces::BehindLetters };
        prop_assert_eq!(places(&config), Some(rule));
        let pretokenizer = Pretokenizer::new(&config.pretokenizer).unwrap();
        let normalizer = Normalizer::new(&config.normalizer).unwrap();
        let pieces_of = |text: &str| pieces(&pretokenizer, &normalized(&normalizer, text));
        let text = texts.concat();
        let mut to = text.len();
        let from = (0..=from.min(text.len())).rev().find(|at| text.is_char_boundary(*at)).unwrap();
        let whole = pieces_of(&text);
        while let Some(cut) = last_cut(rule, &text, from, to) {
            prop_assert_eq!(&[pieces_of(&text[..cut]), pieces_of(&text[cut..])].concat(), &whole, "cut at {}", cut);
            to = cut;
        }
    }

    #[test]
    fn counts_are_those_of_the_definition_however_the_bytes_come(
        documents in documents(), blocks in prop::collection::vec(1..9_usize, 1..6), threads in 1..4_usize,
        pattern in 0..PATTERNS.len(),
    ) {
        let pattern = PATTERNS[pattern];
        let specials = ["<|end|>", "<s>", "<|end"];
        let specials_owned = specials.map(String::from);
        let mut counter = Counter::new(&config(pattern), &specials_owned, InvalidUtf8::Refuse, threads).unwrap();
        let mut sizes = blocks.iter().cycle();
        for document in &documents {
            let mut rest = document.as_bytes();
            while !rest.is_empty() {
                let (block, behind) = rest.split_at((*sizes.next().unwrap()).min(rest.len()));
                counter.feed(block).unwrap();
                rest = behind;
            }
            counter.end_document().unwrap();
        }
        let counts = counter.finish().unwrap();
        prop_assert_eq!(counted(&counts), truth(pattern, &specials, &documents));
        prop_assert_eq!(counts.documents, documents.len() as u64);
        prop_assert_eq!(counts.bytes, documents.iter().map(String::len).sum::<usize>() as u64);
    }

    #[test]
    fn replaced_bytes_are_those_of_the_standard_library(
        bytes in prop::collection::vec(prop_oneof![any::<u8>(), Just(b'a'), Just(0xE6), Just(0x97)], 0..60),
        block in 1..5_usize,
    ) {
        let mut stream = Stream::new(InvalidUtf8::Replace, None);
        for block in bytes.chunks(block) {
            stream.feed(block).unwrap();
        }
        stream.end_document().unwrap();
        let texts = stream.give(&Separators::default(), true).unwrap_or_default();
        prop_assert_eq!(texts.text, String::from_utf8_lossy(&bytes).into_owned());
        let mut refusing = Stream::new(InvalidUtf8::Refuse, None);
        let fed = bytes.chunks(block).try_for_each(|block| refusing.feed(block));
        let refused = fed.and_then(|()| refusing.end_document());
        let expected = std::str::from_utf8(&bytes).err().map(|error| error.valid_up_to());
        let place = refused.err().map(|error| match (error.code, error.place) {
            (Code::InvalidUtf8, tokd_kernel::error::Place::Index(at)) => at,
            other => panic!("{other:?}"),
        });
        prop_assert_eq!(place, expected);
    }
}

#[test]
fn a_long_document_is_counted_in_parts_and_a_special_token_is_never_cut() {
    let specials = [String::from("end of text"), String::from("<|x|>")];
    let separators = Separators::new(&specials).unwrap();
    let mut stream = Stream::new(InvalidUtf8::Refuse, Some(CutPlaces::BehindLetters));
    let text = "a word, end of text<|x|> and more. ".repeat(100_000);
    let (mut parts, mut joined) = (0, String::new());
    for block in text.as_bytes().chunks(70_001) {
        stream.feed(block).unwrap();
        while let Some(texts) = stream.give(&separators, false) {
            parts += 1;
            joined.push_str(&texts.text);
            // Cut inside the literal, its words would be counted.
            assert!(!texts.text.ends_with("end") && !texts.text.ends_with("end of") && !texts.text.ends_with("<|x"));
        }
    }
    stream.end_document().unwrap();
    joined.push_str(&stream.give(&separators, true).unwrap().text);
    assert_eq!(joined, text);
    assert!(parts >= 3);
}

#[test]
fn the_counts_of_a_long_document_do_not_depend_on_how_its_bytes_come_whatever_its_normalizer() {
    // Nearly every letter stands before or behind what some normalizer joins with a part of it.
    let text = "é!İ.Å?क़।™x™ ㎏-x㎏ ﬁ½g´e…".repeat(40) + "a word,\na ";
    let texts = [text.repeat(600), "é!".repeat(400_000)];
    for (normalizer, pattern) in NORMALIZERS.iter().flat_map(|name| PATTERNS.map(|pattern| (*name, pattern))) {
        let config = normalizing(&[normalizer], pattern);
        let pretokenizer = Pretokenizer::new(&config.pretokenizer).unwrap();
        let normalizer = Normalizer::new(&config.normalizer).unwrap();
        for text in &texts {
            let mut truth = HashMap::new();
            for piece in pieces(&pretokenizer, &normalized(&normalizer, text)) {
                *truth.entry(piece).or_insert(0) += 1;
            }
            for size in [text.len(), 70_001] {
                let mut counter = Counter::new(&config, &[], InvalidUtf8::Refuse, 1).unwrap();
                text.as_bytes().chunks(size).for_each(|block| counter.feed(block).unwrap());
                counter.end_document().unwrap();
                assert_eq!(counted(&counter.finish().unwrap()), truth, "{config:?} in blocks of {size}");
            }
        }
    }
}

#[test]
fn a_pattern_that_may_look_anywhere_is_never_cut() {
    for json in [
        r#"{}"#,
        r#"{"pretokenizer":[{"type":"split","pattern":{"regex":"\\w+|\\W+"},"behavior":"isolated"}]}"#,
        r#"{"prefix_space":true,"pretokenizer":[{"type":"split","pattern":{"name":"gpt2"},"behavior":"isolated"}]}"#,
        r#"{"normalizer":[{"type":"strip","left":true,"right":true}],
            "pretokenizer":[{"type":"split","pattern":{"name":"gpt2"},"behavior":"isolated"}]}"#,
    ] {
        assert_eq!(places(&Config::from_json(json).unwrap()), None, "{json}");
    }
}
