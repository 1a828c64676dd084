//! Every level cuts as the scanner that goes character by character does, wherever the borders of its windows fall.

use std::sync::Arc;

use crate::common;
use crate::scanning::{ALPHABET, PATTERNS, hostile_text, scanner};
use proptest::prelude::*;
use tokd_kernel::config::Config;
use tokd_kernel::encode::Pipeline;
use tokd_kernel::error::Code;
use tokd_kernel::pretokenize::Pretokenizer;
use tokd_kernel::regex::StepBudget;
use tokd_kernel::simd::level::SimdLevel;

/// Every pattern on every level.
struct Contest(Vec<(String, Pretokenizer)>);

impl Contest {
    fn new() -> Self {
        let all = SimdLevel::available()
            .flat_map(|level| PATTERNS.map(|(name, _)| (format!("{name} on {}", level.name()), scanner(name, level))));
        Self(all.collect())
    }

    /// The text stands alone on the heap, without a byte to spare: what AddressSanitizer watches.
    fn check(&self, text: &str) {
        let text: Box<str> = text.into();
        for (name, scanner) in &self.0 {
            let ends = scanner.pieces(&text, &mut StepBudget::default()).unwrap().ends(256).unwrap();
            // For a single end there is no room for those of a window.
            let truth = scanner.pieces(&text, &mut StepBudget::default()).unwrap().ends(1).unwrap();
            if ends != truth {
                let at = ends.iter().zip(&truth).take_while(|(end, other)| end == other).count();
                panic!("{name}: piece {at} ends at {:?}, not {:?} in {text:?}", ends.get(at), truth.get(at));
            }
        }
    }
}

#[test]
fn every_pair_of_neighbours_is_cut_alike_at_every_place_of_a_window() {
    let contest = Contest::new();
    for left in ALPHABET {
        for right in ALPHABET {
            for before in 56..66 {
                contest.check(&format!("{}{left}{right}{left}a 1", "b".repeat(before)));
            }
        }
    }
}

#[test]
fn every_run_across_the_border_of_a_window_is_cut_alike() {
    let contest = Contest::new();
    for filling in ["a", "A", " ", "1", "!", "中", "é", "\n", "\u{301}", "x y"] {
        for middle in ALPHABET {
            for (times, before) in [(1, 62), (2, 61), (5, 58), (40, 40), (70, 3), (200, 60)] {
                for end in ["", "x", " ", "'s", "\n"] {
                    contest.check(&format!("{}{}{end}", filling.repeat(before), middle.repeat(times)));
                }
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    /// Long runs of white space of every make, behind and before anything.
    #[test]
    fn layout_is_cut_alike(
        parts in prop::collection::vec(
            (
                prop::sample::select(vec!["", "a", "word", "it's", "12", "!", "!\n", "é", "中", "x\u{301}", "A"]),
                prop::collection::vec((prop::sample::select(vec![
                    " ", "\n", "\t", "\r\n", "\u{b}", "\u{1c}", "\u{a0}", "\u{3000}",
                ]), 0_usize..3), 0..3),
                0_usize..140,
            ),
            1..8,
        ),
    ) {
        let mut text = String::new();
        for (word, others, blanks) in &parts {
            text += word;
            for (other, times) in others {
                text += &" ".repeat(*blanks);
                text += &other.repeat(*times);
            }
            text += &" ".repeat(*blanks);
        }
        Contest::new().check(&text);
        Contest::new().check(&format!("{text}{}", "so it goes on ".repeat(8)));
    }
}

#[test]
fn texts_of_any_length_end_alike() {
    let contest = Contest::new();
    let words =
        "Don't STOP: 日本語ABCdef 1234567, naïve\u{301}\r\n\r\n  \tx'LL 'ſ it's'tx /\n/ !!\u{301}! Ünïcode中A 👍🏽 ";
    let text = words.repeat(4);
    let places: Vec<usize> = text.char_indices().map(|(at, _)| at).collect();
    for (number, start) in places.iter().enumerate().take(words.chars().count()) {
        for end in &places[number..] {
            contest.check(&text[*start..*end]);
        }
    }
}

#[test]
fn every_character_is_cut_alike_in_every_place_of_its_page() {
    let contest = Contest::new();
    for codes in (0..=0x10_FFFF_u32).collect::<Vec<_>>().chunks(0x800) {
        let characters: Vec<char> = codes.iter().filter_map(|code| char::from_u32(*code)).collect();
        contest.check(&characters.iter().collect::<String>());
        contest.check(&characters.iter().flat_map(|character| ['A', *character, 'b']).collect::<String>());
        contest.check(&characters.iter().flat_map(|character| [' ', *character, '中']).collect::<String>());
    }
}

/// Characters of a few pages of 64, so many of them that a window has hardly anything else, and what may stand between.
fn script() -> impl Strategy<Value = String> {
    let pages =
        [0x80, 0xC0, 0x300, 0x380, 0x400, 0x440, 0x480, 0x5C0, 0x600, 0x640, 0x2000, 0x3000, 0x3040, 0x4DC0, 0x4E00]
            .into_iter()
            .chain([0x9FC0, 0xA000, 0xFF00, 0x1F600]);
    let pages = prop::collection::vec(prop::sample::select(pages.collect::<Vec<_>>()), 1..4);
    let between =
        prop::sample::select(vec!["", "", "", "", "", " ", "a", "'s", "'ſ", "7", "!", "\n", "\u{3000}", "\u{a0}"]);
    let characters = prop::collection::vec((any::<prop::sample::Index>(), 0..64_u32, between), 1..200);
    (pages, characters).prop_map(|(pages, characters)| {
        let mut text = String::new();
        for (page, place, between) in characters {
            text.extend(char::from_u32(page.get(&pages) + place));
            text += between;
        }
        text
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2_000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn scripts_are_cut_alike(text in script()) {
        thread_local! { static CONTEST: Contest = Contest::new(); }
        CONTEST.with(|contest| contest.check(&text));
    }
}

#[test]
fn buffers_of_any_size_give_the_same_pieces() {
    let text = "It's 日本語 12345  \n\n naïve ABCdef! ".repeat(50);
    for (name, _) in PATTERNS {
        let truth =
            scanner(name, SimdLevel::Portable).pieces(&text, &mut StepBudget::default()).unwrap().ends(1).unwrap();
        for level in SimdLevel::available() {
            for batch in [1, 2, 63, 64, 65, 66, 100, 160, 5000] {
                let ends = scanner(name, level).pieces(&text, &mut StepBudget::default()).unwrap().ends(batch).unwrap();
                assert_eq!(ends, truth, "{name} on {} by {batch}", level.name());
            }
        }
    }
}

#[test]
fn only_paths_that_are_there_can_be_chosen() {
    for level in SimdLevel::available() {
        assert_eq!(SimdLevel::of_name(level.name()).unwrap(), level);
    }
    assert!(SimdLevel::available().any(|level| level == SimdLevel::Portable), "every machine has the portable level");
    let unknown = SimdLevel::of_name("sse").unwrap_err();
    assert_eq!(unknown.code, Code::InvalidOption);
    assert!(unknown.message.contains("avx2, portable"), "{}", unknown.message);
    if let Err(error) = SimdLevel::of_name("avx2") {
        assert!(error.message.contains("has only"), "{}", error.message);
    }
}

#[test]
fn a_pipeline_takes_the_path_it_is_given_whatever_the_environment_names() {
    let vocabulary = Arc::new(common::vocabulary(&[("a", "b")]));
    for level in SimdLevel::available() {
        let pipeline = Pipeline::on_level(Arc::clone(&vocabulary), &Config::default(), 1 << 12, level).unwrap();
        assert_eq!(pipeline.level(), level);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 4_000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn hostile_text_is_cut_alike(parts in prop::collection::vec(hostile_text(), 1..12)) {
        thread_local! { static CONTEST: Contest = Contest::new(); }
        CONTEST.with(|contest| contest.check(&parts.concat()));
    }
}
