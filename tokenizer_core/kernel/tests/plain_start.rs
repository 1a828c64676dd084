//! Long texts, in which added tokens are looked for while they are encoded, against the same texts over two threads and
//! as a chat that only its template wrote, where all of the text is looked through first.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod common;
mod scanning;

use std::fmt;
use std::sync::Arc;

use proptest::prelude::*;
use proptest::sample::select;
use scanning::{PATTERNS, hostile_text, long_text};
use tokd_kernel::added_tokens::SpecialPolicy;
use tokd_kernel::config::{AddedToken, Config};
use tokd_kernel::decode::steps::Unit;
use tokd_kernel::encode::{EncodeOptions, Pipeline};
use tokd_kernel::error::Code;
use tokd_kernel::machine::path::Path;
use tokd_kernel::sink::offsets::Offsets;

/// Literals of three first bytes at the most, so that they are looked for by these.
const LITERALS: [[&str; 3]; 4] =
    [["<|end|>", "<s>", "<s>x"], ["<s>", " <s>", "e <"], ["aé", "a\u{301}", "中a"], ["z e", "'s<", "\nB"]];

/// The shortest text whose beginning is encoded before it is looked through, in bytes.
const LONG: usize = 64 * 1024;

/// About as many pieces as are cut together.
const BEFORE: std::ops::Range<usize> = 1900..2050;

#[derive(Clone)]
struct Case {
    pattern: &'static str,
    path: Path,
    added_tokens: Vec<AddedToken>,
    text: String,
}

/// Without most of the text.
impl fmt::Debug for Case {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let part = &self.text[2 * BEFORE.start..self.text.floor_char_boundary(2 * BEFORE.end + 500)];
        let contents: Vec<_> = self.added_tokens.iter().map(|token| &token.content).collect();
        write!(out, "{} on {}, {contents:?}, a text with {part:?}", self.pattern, self.path.name())
    }
}

fn added_tokens() -> impl Strategy<Value = Vec<AddedToken>> {
    let flags = [0.5, 0.5, 0.5, 0.1, 0.5].map(prop::bool::weighted);
    (select(&LITERALS[..]), prop::collection::vec(flags, 3)).prop_map(|(literals, flags)| {
        let of = |(at, [special, lstrip, rstrip, single_word, normalized]): (usize, [bool; 5])| AddedToken {
            id: 1000 + at as u32,
            content: literals[at].to_owned(),
            special,
            lstrip,
            rstrip,
            single_word,
            normalized,
        };
        flags.into_iter().enumerate().map(of).collect()
    })
}

/// Literals where the pieces end that are cut together, and a long text after them.
fn case() -> impl Strategy<Value = Case> {
    let paths: Vec<Path> = Path::available().collect();
    let space = prop::collection::vec(select(&[" ", "\n", "\t", "\u{3000}", "z"][..]), 0..30);
    (select(&PATTERNS[..]), select(paths), added_tokens(), BEFORE, space, hostile_text(), long_text())
        .prop_flat_map(|((pattern, _), path, added_tokens, before, space, text, after)| {
            let literals: Vec<String> = added_tokens.iter().map(|token| token.content.clone()).collect();
            let inserted = prop::collection::vec((any::<prop::sample::Index>(), select(literals)), 0..4);
            (Just((pattern, path, added_tokens, " e".repeat(before), space.concat() + &text, after)), inserted)
        })
        .prop_map(|((pattern, path, added_tokens, before, mut text, after), inserted)| {
            for (place, literal) in inserted {
                let at = text.floor_char_boundary(place.index(text.len() + 1));
                text.insert_str(at, &literal);
            }
            let text = [before, text, after.repeat(LONG / after.len() + 1)].concat();
            Case { pattern, path, added_tokens, text }
        })
}

fn pipeline(case: &Case) -> Pipeline {
    let config = format!(
        r#"{{"pretokenizer":[{{"type":"split","pattern":{{"name":"{}"}},"behavior":"isolated"}}]}}"#,
        case.pattern
    );
    let config = Config { added_tokens: case.added_tokens.clone(), ..Config::from_json(&config).unwrap() };
    // Enough merges across what may be a border that another cut gives other ids.
    let merges = [(" ", " "), ("e", "e"), (" ", "e"), ("e", " "), ("  ", "  "), ("\n", "\n"), ("!", "\n"), ("B", "B")];
    Pipeline::on_path(Arc::new(common::vocabulary(&merges)), &config, 1 << 16, case.path).unwrap()
}

fn plain(content: &str) -> AddedToken {
    AddedToken {
        id: 1000,
        content: content.to_owned(),
        special: false,
        lstrip: false,
        rstrip: false,
        single_word: false,
        normalized: false,
    }
}

/// The first reaches over the border of pieces after its first byte; the others depend on what stands before.
#[test]
fn a_literal_is_found_wherever_what_is_cut_together_ends() {
    let single_word = AddedToken { single_word: true, ..plain("<s>") };
    let lstrip = AddedToken { lstrip: true, normalized: true, ..plain("<s>") };
    for (token, text) in [(plain("z e"), " z e"), (single_word, "<s>"), (lstrip, " \n \n <s>")] {
        let case = Case { pattern: "gpt2", path: Path::Portable, added_tokens: vec![token], text: String::new() };
        let pipeline = pipeline(&case);
        let after = " e".repeat(LONG / 2);
        for (before, first) in (1960..2000).flat_map(|before| (0..64).map(move |first| (before, first))) {
            let text = [&"e".repeat(first), &after[..2 * before], text, &after].concat();
            let options = EncodeOptions { policy: SpecialPolicy::Parse, add_special_tokens: false };
            let [mut ids, mut truth] = [Vec::new(), Vec::new()];
            pipeline.encode(&text, options, &mut ids).unwrap();
            pipeline.encode_with_threads(&text, options, 2, &mut truth).unwrap();
            assert!(ids == truth, "{:?} after {first} bytes and {before} pieces", case.added_tokens);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn a_long_text_is_encoded_as_if_it_were_looked_through_first(case in case()) {
        let (pipeline, text) = (pipeline(&case), case.text.as_str());
        for policy in [SpecialPolicy::Parse, SpecialPolicy::Text, SpecialPolicy::Reject] {
            let options = EncodeOptions { policy, add_special_tokens: false };
            let [mut ids, mut truth] = [Vec::new(), Vec::new()];
            let outcome = pipeline.encode(text, options, &mut ids);
            match (outcome, pipeline.encode_with_threads(text, options, 2, &mut truth)) {
                (Ok(()), Ok(())) => {
                    let equal = ids.iter().zip(&truth).take_while(|(id, other)| id == other).count();
                    prop_assert!(ids == truth, "{:?} from id {} of {} on", policy, equal, truth.len());
                },
                (Err(error), Err(other)) => {
                    prop_assert_eq!((error.code, &error.place), (other.code, &other.place));
                    prop_assert_eq!(error.code, Code::ReservedLiteral);
                }
                (one, other) => prop_assert!(false, "{:?} and {:?}", one, other),
            }
        }
        for unit in [Unit::Byte, Unit::Char, Unit::Utf16] {
            let options = EncodeOptions { policy: SpecialPolicy::Parse, add_special_tokens: false };
            let [mut offsets, mut truth] = [(); 2].map(|()| Offsets::new(pipeline.tokens(), text, unit));
            pipeline.encode(text, options, &mut offsets).unwrap();
            pipeline.encode_chat(text, &[], false, &mut truth).unwrap();
            prop_assert!(offsets.ids[..] == truth.ids[..] && offsets.spans[..] == truth.spans[..], "{:?}", unit);
        }
    }
}
