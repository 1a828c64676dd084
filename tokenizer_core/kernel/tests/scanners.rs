//! Every scanner cuts as its pattern does: fancy-regex, run on the pattern's own text, is the truth.

#![allow(clippy::expect_used, clippy::panic, clippy::unwrap_used, reason = "a test may fail loudly")]

use std::time::{Duration, Instant};

use fancy_regex::Regex;
use proptest::prelude::*;
use proptest::sample::select;
use tokd_kernel::config::{Behavior, Pattern, PretokenizerStage};
use tokd_kernel::pretokenize::Pretokenizer;

const GPT2: &str = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+";
const LLAMA3: &str = concat!(
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}",
    r"| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+",
);
const QWEN2: &str = concat!(
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}",
    r"| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+",
);
const O200K: &str = concat!(
    r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?",
    r"|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?",
    r"|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+",
);
const PATTERNS: [(&str, &str); 5] =
    [("gpt2", GPT2), ("cl100k_base", LLAMA3), ("llama3", LLAMA3), ("o200k_base", O200K), ("qwen2", QWEN2)];

fn scanner(name: &str) -> Pretokenizer {
    let stage = PretokenizerStage::Split {
        pattern: Pattern::Name(name.to_owned()),
        behavior: Behavior::Isolated,
        invert: false,
    };
    Pretokenizer::new(&[stage]).unwrap()
}

fn cut<'t>(pretokenizer: &Pretokenizer, text: &'t str, hint: usize) -> Vec<&'t str> {
    let ends = pretokenizer.pieces(text).unwrap().ends(hint).unwrap();
    let starts = std::iter::once(0).chain(ends.iter().copied());
    starts.zip(&ends).map(|(start, end)| &text[start..*end]).collect()
}

fn matches<'t>(regex: &Regex, text: &'t str) -> Vec<&'t str> {
    regex.find_iter(text).map(|found| found.unwrap().as_str()).collect()
}

fn assert_equal(name: &str, pretokenizer: &Pretokenizer, regex: &Regex, text: &str) {
    let (pieces, truth) = (cut(pretokenizer, text, 100), matches(regex, text));
    if pieces == truth {
        return;
    }
    let at = pieces.iter().zip(&truth).take_while(|(piece, found)| piece == found).count();
    let place = |cut: &[&str]| format!("{:?}", &cut[at.saturating_sub(2)..cut.len().min(at + 3)]);
    panic!("{name} cuts {} where its pattern cuts {}", place(&pieces), place(&truth));
}

fn everywhere(contexts: &[(&str, &str)]) {
    // Llama 3's scanner is that of cl100k_base.
    for (name, pattern) in PATTERNS.into_iter().filter(|(name, _)| *name != "llama3") {
        let (pretokenizer, regex) = (scanner(name), Regex::new(pattern).unwrap());
        for codes in (0..=0x10_FFFF_u32).collect::<Vec<_>>().chunks(0x1000) {
            let mut text = String::new();
            for character in codes.iter().filter_map(|code| char::from_u32(*code)) {
                for (before, after) in contexts {
                    text.push_str(before);
                    text.push(character);
                    text.push_str(after);
                }
            }
            assert_equal(name, &pretokenizer, &regex, &text);
        }
    }
}

#[test]
fn every_character_among_words_is_cut_as_the_pattern_does() {
    everywhere(&[("a", "b"), ("A", "B"), ("\u{301}", "c"), ("中", "'s"), (" ", "d ")]);
}

#[test]
fn every_character_among_others_is_cut_as_the_pattern_does() {
    everywhere(&[("1", "2"), ("  ", "\n"), ("!", "/\n"), ("'", "l'l"), ("\n", " \u{3000}")]);
}

#[test]
fn words_of_any_length_end_at_any_character() {
    for (name, pattern) in PATTERNS {
        let (pretokenizer, regex) = (scanner(name), Regex::new(pattern).unwrap());
        for (length, letter) in (0..20).flat_map(|length| [(length, "a"), (length, "B"), (length, "é")]) {
            let ends = (0..128_u8).map(char::from).chain("éſ中\u{301}\u{a0}٣😀".chars());
            let texts = ends.map(|end| format!(" {}{end}aBcdefghijklmn", letter.repeat(length)));
            texts.for_each(|text| assert_equal(name, &pretokenizer, &regex, &text));
        }
    }
}

#[test]
fn a_million_of_anything_is_cut_in_linear_time() {
    let repeated = [
        "a",
        "A",
        " ",
        "\n",
        "\n ",
        " \t",
        "1",
        "'",
        "'s",
        "\u{301}",
        "é",
        "中",
        "!",
        "/\n",
        "aA",
        "A\u{301}",
        "👨\u{200d}👩",
    ];
    let mut texts: Vec<String> = repeated.into_iter().map(|piece| piece.repeat(1_000_000 / piece.len())).collect();
    texts.push(" ".repeat(1_000_000) + "x");
    texts.push("x".to_owned() + &" ".repeat(1_000_000) + "\n");
    texts.push("o".to_owned() + &"A".repeat(1_000_000));
    for (name, _) in PATTERNS {
        let pretokenizer = scanner(name);
        for text in &texts {
            let start = Instant::now();
            assert_eq!(cut(&pretokenizer, text, 160).concat(), *text);
            let shown: String = text.chars().take(4).collect();
            assert!(start.elapsed() < Duration::from_secs(10), "{name} takes {:?} on {shown:?}", start.elapsed());
        }
    }
}

/// Characters of every class, and those that the patterns name.
const ALPHABET: [&str; 48] = [
    "a",
    "b",
    "s",
    "t",
    "r",
    "e",
    "v",
    "m",
    "l",
    "d",
    "S",
    "T",
    "R",
    "E",
    "V",
    "M",
    "L",
    "D",
    "ſ",
    "K",
    "ǅ",
    "É",
    "ß",
    "ʰ",
    "中",
    "あ",
    "한",
    "\u{301}",
    "\u{20dd}",
    "1",
    "٠",
    "²",
    "\u{2167}",
    "'",
    "'",
    "’",
    "/",
    "!",
    "😀",
    "👨\u{200d}👩",
    " ",
    "\t",
    "\u{a0}",
    "\u{85}",
    "\u{2028}",
    "\u{3000}",
    "\r",
    "\n",
];

fn hostile_text() -> impl Strategy<Value = String> {
    let single = select(&ALPHABET[..]).prop_map(str::to_owned);
    let space = select(&[" ", " ", "\n", "\r\n", "\t"][..]).prop_map(str::to_owned);
    let repeated = (select(&ALPHABET[..]), 1..6_usize).prop_map(|(piece, times)| piece.repeat(times));
    let any = any::<char>().prop_map(String::from);
    prop::collection::vec(prop_oneof![6 => single, 2 => space, 2 => repeated, 1 => any], 0..24)
        .prop_map(|pieces| pieces.concat())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(6_000))]

    #[test]
    fn hostile_text_is_cut_as_the_pattern_does(text in hostile_text()) {
        for (name, pattern) in PATTERNS {
            thread_local! {
                static COMPILED: std::cell::RefCell<std::collections::HashMap<&'static str, (Pretokenizer, Regex)>> =
                    std::cell::RefCell::default();
            }
            COMPILED.with_borrow_mut(|compiled| {
                let (pretokenizer, regex) =
                    compiled.entry(name).or_insert_with(|| (scanner(name), Regex::new(pattern).unwrap()));
                assert_equal(name, pretokenizer, regex, &text);
            });
        }
    }

    #[test]
    fn batches_of_any_size_give_the_same_cut(text in hostile_text(), hint in 0..5_usize) {
        for (name, _) in PATTERNS {
            let pretokenizer = scanner(name);
            prop_assert_eq!(cut(&pretokenizer, &text, hint), cut(&pretokenizer, &text, 1000));
        }
    }
}
