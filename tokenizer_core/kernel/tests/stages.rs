//! What the stages do with matches and gaps, as Hugging Face tokenizers 0.23 does.

use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::common;
use tokd_kernel::added_tokens::SpecialPolicy;
use tokd_kernel::config::{Behavior, Config, Pattern, PretokenizerStage};
use tokd_kernel::encode::{EncodeOptions, Pipeline};
use tokd_kernel::error::{Code, Place, Result};
use tokd_kernel::pretokenize::Pretokenizer;
use tokd_kernel::regex::StepBudget;

/// A pattern, a text, and its pieces: isolated, contiguous, merged with the previous (and inverted), with the next (and
/// inverted).
const TRUTHS: [(&str, &str, [&str; 6]); 7] = [
    (
        r"-",
        "the-final--countdown",
        [
            "the|-|final|-|-|countdown",
            "the|-|final|--|countdown",
            "the-|final-|-|countdown",
            "the|-final|-|-countdown",
            "the|-final|-|-countdown",
            "the-|final-|-|countdown",
        ],
    ),
    (r"-", "-a-", ["-|a|-", "-|a|-", "-|a-", "-a|-", "-a|-", "-|a-"]),
    (r"\d", "a1b22c", ["a|1|b|2|2|c", "a|1|b|22|c", "a1|b2|2|c", "a|1b|2|2c", "a|1b|2|2c", "a1|b2|2|c"]),
    (r"(?=b)", "a1b22c", ["a1|b22c", "a1|b22c", "a1|b22c", "a1|b22c", "a1|b22c", "a1|b22c"]),
    (r"", "-a-", ["-|a|-", "-|a|-", "-|a|-", "-|a|-", "-|a|-", "-|a|-"]),
    (r"b*", "a1b22c", ["a|1|b|2|2|c", "a|1|b|2|2|c", "a|1b|2|2|c", "a|1|b2|2|c", "a|1|b2|2|c", "a|1b|2|2|c"]),
    (r"\s+", " a  b ", [" |a|  |b| ", " |a|  |b| ", " |a  |b ", " a|  b| ", " a|  b| ", " |a  |b "]),
];

fn regex(pattern: &str) -> Pattern {
    Pattern::Regex(pattern.to_owned())
}

fn split(pattern: Pattern, behavior: Behavior, invert: bool) -> PretokenizerStage {
    PretokenizerStage::Split { pattern, behavior, invert }
}

fn ends(stages: &[PretokenizerStage], text: &str, hint: usize) -> Result<Vec<usize>> {
    Pretokenizer::new(stages)?.pieces(text, &mut StepBudget::default())?.ends(hint)
}

/// The pieces with bars between them, the same whatever the batch.
fn cut(stages: &[PretokenizerStage], text: &str) -> Result<String> {
    let whole = ends(stages, text, 1000)?;
    for hint in [0, 1, 2, 3] {
        assert_eq!(ends(stages, text, hint)?, whole, "in batches of {hint}");
    }
    let mut start = 0;
    let mut pieces = Vec::new();
    for end in whole {
        assert!(start < end, "an empty piece at {start} of {text:?}");
        pieces.push(&text[start..end]);
        start = end;
    }
    assert_eq!(start, text.len(), "the pieces do not cover {text:?}");
    Ok(pieces.join("|"))
}

#[test]
fn behaviors_cut_as_hugging_face_does() {
    use Behavior::{Contiguous, Isolated, MergedWithNext, MergedWithPrevious};
    for (pattern, text, [isolated, contiguous, previous, previous_inverted, next, next_inverted]) in TRUTHS {
        for (behavior, invert, truth) in [
            (Isolated, false, isolated),
            (Isolated, true, isolated),
            (Contiguous, false, contiguous),
            (Contiguous, true, contiguous),
            (MergedWithPrevious, false, previous),
            (MergedWithPrevious, true, previous_inverted),
            (MergedWithNext, false, next),
            (MergedWithNext, true, next_inverted),
        ] {
            let pieces = cut(&[split(regex(pattern), behavior, invert)], text).unwrap();
            assert_eq!(pieces, truth, "{pattern:?} {behavior:?} {invert}");
            if !pattern.contains(['(', '\\', '*']) {
                let pieces = cut(&[split(Pattern::String(pattern.to_owned()), behavior, invert)], text).unwrap();
                assert_eq!(pieces, truth, "the literal {pattern:?} {behavior:?} {invert}");
            }
        }
    }
}

#[test]
fn text_outside_the_matches_is_refused_with_its_place() {
    for (pattern, text, place) in [("[a-z]+", "ab, cd", 2..4), ("b", "ab", 0..1)] {
        let error = cut(&[split(regex(pattern), Behavior::Removed, true)], text).unwrap_err();
        assert_eq!((error.code, error.place), (Code::UncoveredText, Place::Bytes(place)));
    }
    let digits = PretokenizerStage::Digits { individual: true };
    let error = cut(&[digits, split(regex("[^-]"), Behavior::Removed, true)], "é12a-").unwrap_err();
    assert_eq!((error.code, error.place), (Code::UncoveredText, Place::Bytes(5..6)));
    assert_eq!(cut(&[split(regex(r"\S+|\s+"), Behavior::Removed, true)], "a  b").unwrap(), "a|  |b");
    let scanner = Pattern::Name("gpt2".to_owned());
    assert_eq!(cut(&[split(scanner, Behavior::Removed, true)], "it's  so").unwrap(), "it|'s| | so");
}

#[test]
fn removed_matches_are_dropped() {
    for (pattern, text, truth) in [
        (regex("-"), "a--b-", "a|b"),
        (regex("(?=b)"), "a1b22c", "a1|b22c"),
        (Pattern::String(" ".to_owned()), " é  x", "é|x"),
        (Pattern::Name("gpt2".to_owned()), "it's", ""),
    ] {
        let pretokenizer = Pretokenizer::new(&[split(pattern, Behavior::Removed, false)]).unwrap();
        let recut = pretokenizer.recut(text, true, &mut StepBudget::default()).unwrap().unwrap();
        let starts = std::iter::once(0).chain(recut.ends.iter().map(|end| *end as usize));
        let pieces: Vec<&str> = starts.zip(&recut.ends).map(|(start, end)| &recut.text[start..*end as usize]).collect();
        assert_eq!(pieces.join("|"), truth, "{text:?}");
    }
}

#[test]
fn scanners_obey_every_behavior() {
    let scanner = || Pattern::Name("cl100k_base".to_owned());
    for (behavior, invert, truth) in [
        (Behavior::Isolated, true, "it|'s| | so"),
        (Behavior::Contiguous, false, "it's  so"),
        (Behavior::MergedWithPrevious, false, "it|'s| | so"),
        (Behavior::MergedWithPrevious, true, "it|'s| | so"),
        (Behavior::MergedWithNext, false, "it|'s| | so"),
    ] {
        assert_eq!(cut(&[split(scanner(), behavior, invert)], "it's  so").unwrap(), truth, "{behavior:?} {invert}");
    }
}

#[test]
fn digits_are_characters_of_the_class_n() {
    let digits = |individual| [PretokenizerStage::Digits { individual }];
    assert_eq!(cut(&digits(false), "ab12²Ⅷ3 x٠1.5").unwrap(), "ab|12²Ⅷ3| x|٠1|.|5");
    assert_eq!(cut(&digits(true), "ab12²Ⅷ3 x٠1.5").unwrap(), "ab|1|2|²|Ⅷ|3| x|٠|1|.|5");
}

#[test]
fn each_stage_refines_the_one_before() {
    let space = || split(Pattern::String(" ".to_owned()), Behavior::MergedWithNext, false);
    let digits = || PretokenizerStage::Digits { individual: true };
    assert_eq!(cut(&[digits(), space()], "a b1 23 c").unwrap(), "a| b|1| |2|3| c");
    assert_eq!(cut(&[space(), digits()], "a b1 23 c").unwrap(), "a| b|1| |2|3| c");
    // A stage sees no further than the piece it cuts: the look-ahead fails at its end, `\s+(?!\S)` takes all.
    let scanner = || split(Pattern::Name("gpt2".to_owned()), Behavior::Isolated, false);
    assert_eq!(cut(&[scanner()], "a  1").unwrap(), "a| | 1");
    assert_eq!(cut(&[digits(), scanner()], "a  1").unwrap(), "a|  |1");
    assert_eq!(cut(&[digits(), split(regex("a(?= )"), Behavior::Isolated, false)], "a1a ").unwrap(), "a|1|a| ");
    assert_eq!(cut(&[scanner(), digits(), space()], " 12 a").unwrap(), " |1|2| a");
}

#[test]
fn no_stage_makes_one_piece() {
    assert_eq!(cut(&[], "a b").unwrap(), "a b");
    assert!(ends(&[], "", 1).unwrap().is_empty());
}

#[test]
fn empty_text_has_no_piece() {
    for pattern in [regex("a"), regex(""), Pattern::String(String::new()), Pattern::Name("gpt2".to_owned())] {
        for behavior in [Behavior::Isolated, Behavior::Removed, Behavior::Contiguous] {
            assert!(ends(&[split(pattern.clone(), behavior, false)], "", 8).unwrap().is_empty());
        }
    }
}

#[test]
fn unknown_names_and_broken_patterns_are_refused() {
    let nested = "(".repeat(200_000);
    for pattern in [Pattern::Name("gpt5".to_owned()), regex("(a"), regex(r"\p{Nope}"), regex("*"), regex(&nested)] {
        let error = Pretokenizer::new(&[split(pattern, Behavior::Isolated, false)]).unwrap_err();
        assert_eq!(error.code, Code::InvalidPattern);
    }
}

#[test]
fn hostile_patterns_end_with_a_typed_error() {
    for (pattern, text, limited) in [
        ("(a+)+$", "a".repeat(28) + "!", true),
        (r"(?=(\d{3})+(?!\d))", "1".repeat(40_000), true),
        ("(?:a|b|ab)*c", "ab".repeat(100_000), true),
        ("(a*)*b", "a".repeat(100_000), true),
        (r"(?:a(?=.*b))+", "a".repeat(100_000) + "b", true),
        ("a+b|a", "a".repeat(200_000), true),
        (r"\s+$", " ".repeat(1_000_000) + "x", false),
        (r"\d+(?=x)|y", "1".repeat(1000), false),
        (r"(?=.*x)y", "z".repeat(1_000_000), false),
        (r"(?<=x{100000})|[\s\S]", "x".repeat(80_000), false),
        (r"(?<=é{100000})|[\s\S]", "é".repeat(80_000), true),
        // What each start of a search clears is work too.
        (&format!(r"aab{}|[\s\S]", "(?=c)".repeat(13_000)), "a".repeat(300_000), true),
    ] {
        let start = Instant::now();
        let cut = ends(&[split(regex(pattern), Behavior::Isolated, false)], &text, 100);
        assert_eq!(cut.err().map(|error| error.code), limited.then_some(Code::StepLimit), "{pattern}");
        assert!(start.elapsed() < Duration::from_secs(20), "{pattern} takes {:?}", start.elapsed());
    }
}

#[test]
fn steps_are_counted_over_the_whole_text() {
    let text = "1".repeat(40_000);
    let error = ends(&[split(regex(r"(?=(\d{3})+(?!\d))"), Behavior::Isolated, false)], &text, 1).unwrap_err();
    let Place::Bytes(range) = error.place else { panic!("{:?}", error.place) };
    assert!(range.start > 0 && range.end == text.len(), "{range:?}");
}

#[test]
fn steps_are_counted_over_all_that_lies_between_added_tokens() {
    let split = r#""pretokenizer":[{"type":"split","pattern":{"regex":"(?:a+)+b|[\\s\\S]"},"behavior":"isolated"}]"#;
    let replace = r#""normalizer":[{"type":"replace","pattern":{"regex":"(?:a+)+b"},"content":""}]"#;
    let token = r#"{"id":256,"content":"<x>","special":false,"normalized":false,
        "lstrip":false,"rstrip":false,"single_word":false}"#;
    for stages in [split, replace] {
        let config = Config::from_json(&format!(r#"{{"added_tokens":[{token}],{stages}}}"#)).unwrap();
        let pipeline = Pipeline::new(Arc::new(common::vocabulary(&[])), &config, 0).unwrap();
        let options = EncodeOptions { policy: SpecialPolicy::Text, add_special_tokens: false };
        let encode =
            |stretches| pipeline.encode(&format!("{}<x>", "a".repeat(19)).repeat(stretches), options, &mut Vec::new());
        assert!(encode(2).is_ok());
        let error = encode(100).unwrap_err();
        assert_eq!(error.code, Code::StepLimit);
        let Place::Bytes(range) = error.place else { panic!("{:?}", error.place) };
        assert!(range.start > 22 && range.end <= 2200, "{range:?}");
    }
}

#[test]
fn a_pretokenizer_is_shared_between_threads() {
    fn shared<T: Send + Sync>() {}
    shared::<Pretokenizer>();
}
