//! Every scanner cuts as its pattern does: fancy-regex, run on the pattern's own text, is the truth.

use std::time::{Duration, Instant};

use crate::scanning::{self, PATTERNS, hostile_text, long_text};
use fancy_regex::Regex;
use proptest::prelude::*;
use tokd_kernel::pretokenize::Pretokenizer;
use tokd_kernel::regex::StepBudget;
use tokd_kernel::simd::level::SimdLevel;

/// The scanner of a pattern, on each path that the machine has.
fn scanner(name: &str) -> Vec<Pretokenizer> {
    SimdLevel::available().map(|path| scanning::scanner(name, path)).collect()
}

fn cut<'t>(pretokenizer: &Pretokenizer, text: &'t str, hint: usize) -> Vec<&'t str> {
    let ends = pretokenizer.pieces(text, &mut StepBudget::default()).unwrap().ends(hint).unwrap();
    let starts = std::iter::once(0).chain(ends.iter().copied());
    starts.zip(&ends).map(|(start, end)| &text[start..*end]).collect()
}

fn matches<'t>(regex: &Regex, text: &'t str) -> Vec<&'t str> {
    regex.find_iter(text).map(|found| found.unwrap().as_str()).collect()
}

fn assert_equal(name: &str, pretokenizers: &[Pretokenizer], regex: &Regex, text: &str) {
    let truth = matches(regex, text);
    for (pretokenizer, path) in pretokenizers.iter().zip(SimdLevel::available()) {
        let pieces = cut(pretokenizer, text, 100);
        if pieces == truth {
            continue;
        }
        let at = pieces.iter().zip(&truth).take_while(|(piece, found)| piece == found).count();
        let place = |cut: &[&str]| format!("{:?}", &cut[at.saturating_sub(2)..cut.len().min(at + 3)]);
        panic!("{name} on {} cuts {} where its pattern cuts {}", path.name(), place(&pieces), place(&truth));
    }
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
fn the_end_of_a_window_may_fall_anywhere() {
    let texts = [
        "it's's 'll'LL'd've 'ſ'ſ a'",
        "Привет’s в 1234567 中文字丿㐀ﬀ, ひらカタ。Ünï'T",
        "\u{10000}\u{1F600} \u{4DC0}\u{4DFF}\u{4E00}\u{4FFF}\u{9FFF}\u{A000}  \r\n\u{3000}x",
    ];
    for (name, pattern) in PATTERNS {
        let (pretokenizer, regex) = (scanner(name), Regex::new(pattern).unwrap());
        for (text, before) in texts.iter().flat_map(|text| (0..70).map(move |before| (text, before))) {
            for filler in ["a", " ", "é", "'"] {
                assert_equal(name, &pretokenizer, &regex, &format!("{}{text}{text}", filler.repeat(before)));
            }
        }
    }
}

#[test]
fn a_million_of_anything_is_cut_in_linear_time() {
    let repeated = [
        "a", "A", " ", "\n", "\n ", " \t", "1", "'", "'s", "\u{301}", "é", "中", "!", "/\n", "aA", "A\u{301}",
        "👨\u{200d}👩",
    ];
    let mut texts: Vec<String> = repeated.into_iter().map(|piece| piece.repeat(1_000_000 / piece.len())).collect();
    texts.push(" ".repeat(1_000_000) + "x");
    texts.push("x".to_owned() + &" ".repeat(1_000_000) + "\n");
    texts.push("o".to_owned() + &"A".repeat(1_000_000));
    texts.push("中A".repeat(250_000) + &"A".repeat(250_000));
    for (name, pretokenizer) in
        PATTERNS.iter().flat_map(|(name, _)| scanner(name).into_iter().map(move |it| (name, it)))
    {
        for text in &texts {
            let start = Instant::now();
            assert_eq!(cut(&pretokenizer, text, 160).concat(), *text);
            let shown: String = text.chars().take(4).collect();
            assert!(start.elapsed() < Duration::from_secs(10), "{name} takes {:?} on {shown:?}", start.elapsed());
        }
    }
}

/// [`assert_equal`] for all patterns.
fn assert_all_equal(text: &str) {
    for (name, pattern) in PATTERNS {
        thread_local! {
            static COMPILED: std::cell::RefCell<std::collections::HashMap<&'static str, (Vec<Pretokenizer>, Regex)>> =
                std::cell::RefCell::default();
        }
        COMPILED.with_borrow_mut(|compiled| {
            let (pretokenizer, regex) =
                compiled.entry(name).or_insert_with(|| (scanner(name), Regex::new(pattern).unwrap()));
            assert_equal(name, pretokenizer, regex, text);
        });
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn windows_that_go_on_with_anything_are_cut_as_the_pattern_does(text in long_text()) {
        assert_all_equal(&text);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(6_000))]

    #[test]
    fn hostile_text_is_cut_as_the_pattern_does(text in hostile_text()) {
        assert_all_equal(&text);
    }

    #[test]
    fn batches_of_any_size_give_the_same_cut(text in hostile_text(), hint in 0..5_usize) {
        for (name, _) in PATTERNS {
            for pretokenizer in scanner(name) {
                prop_assert_eq!(cut(&pretokenizer, &text, hint), cut(&pretokenizer, &text, 1000));
            }
        }
    }
}
