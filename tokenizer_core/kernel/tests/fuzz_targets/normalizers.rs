//! Rewrites against the standard library and the crate of Unicode's forms, and where each character came from against a
//! list of characters with their places.

use std::ops::Range;

use tokd_kernel::config::{NormalizerStage, Pattern};
use tokd_kernel::normalize::Normalizer;
use tokd_kernel::regex::StepBudget;
use tokd_kernel::unicode::is_whitespace;
use tokd_kernel::unicode::older::{is_known, is_mark, lowercase};
use unicode_normalization::UnicodeNormalization;

use super::Reader;

/// What is looked for, and what stands in its place: an empty one stands between any two characters.
const REPLACED: [(&str, &str); 10] = [
    (" ", "▁"),
    ("a", ""),
    ("", "-"),
    ("ab", "é"),
    ("é", "ab"),
    ("\u{301}", "x"),
    ("-", "--"),
    ("a", "aab"),
    ("b", "c"),
    ("", ""),
];

/// A character and where it came from; empty for what was inserted there.
type Placed = (char, Range<usize>);

/// Rewrite the input's text by the stages that its first bytes choose.
pub fn normalizers(data: &[u8]) {
    let mut reader = Reader::new(data);
    let stages: Vec<NormalizerStage> = (0..1 + reader.byte() % 5).map(|_| draw(&mut reader)).collect();
    let text = reader.text().into_boxed_str();
    let normalizer = Normalizer::new(&stages).unwrap();
    let Ok(normalized) = normalizer.normalize(&text, &mut StepBudget::default()) else { return };
    let expected = stages.iter().fold(String::from(&*text), |text, stage| rewrite_slowly(&text, stage));
    assert_eq!(normalized.as_ref().map_or(&*text, |new| &new.text), expected, "{stages:?} on {text:?}");
    let Some(new) = normalized else { return };

    let characters = || new.text.char_indices().map(|(at, character)| at..at + character.len_utf8());
    let mut before = 0..0;
    for bytes in characters() {
        let source = new.alignment.source(bytes.clone());
        assert!(text.is_char_boundary(source.start) && text.is_char_boundary(source.end));
        assert!(before.start <= source.start, "starts never decrease: {stages:?} on {text:?}");
        assert!(before.end <= source.end || source.is_empty(), "and ends but for those of what is inserted");
        before = source.start..before.end.max(source.end);
    }
    if let Some(truth) = place_slowly(&text, &stages) {
        let placed = characters().map(|bytes| new.alignment.source(bytes));
        assert!(placed.eq(truth.iter().map(|(_, place)| place.clone())), "{stages:?} on {text:?}: {truth:?}");
    }
    for bytes in [0..new.text.len(), 0..0, new.text.len()..new.text.len(), new.text.len()..usize::MAX] {
        let source = new.alignment.source(bytes);
        assert!(source.start <= source.end && source.end <= text.len());
    }
}

fn draw(reader: &mut Reader<'_>) -> NormalizerStage {
    let kind = reader.byte();
    match kind % 10 {
        0 => NormalizerStage::Nfc,
        1 => NormalizerStage::Nfd,
        2 => NormalizerStage::Nfkc,
        3 => NormalizerStage::Nfkd,
        4 => NormalizerStage::Lowercase,
        5 => NormalizerStage::StripAccents,
        6 => NormalizerStage::Strip { left: kind >= 128, right: kind % 4 > 1 },
        7 => NormalizerStage::Prepend { prefix: ["▁", "", "ab", " "][usize::from(kind / 64)].to_owned() },
        kind => {
            let (from, to) = *reader.pick(&REPLACED);
            // The same by the engine of expressions.
            let pattern = if kind == 8 { Pattern::String(from.to_owned()) } else { Pattern::Regex(from.to_owned()) };
            NormalizerStage::Replace { pattern, content: to.to_owned() }
        }
    }
}

fn rewrite_slowly(text: &str, stage: &NormalizerStage) -> String {
    match stage {
        NormalizerStage::Nfc => between_unknown(text, |part| part.nfc().collect()),
        NormalizerStage::Nfd => between_unknown(text, |part| part.nfd().collect()),
        NormalizerStage::Nfkc => between_unknown(text, |part| part.nfkc().collect()),
        NormalizerStage::Nfkd => between_unknown(text, |part| part.nfkd().collect()),
        _ => {
            let placed = text.chars().map(|character| (character, 0..0)).collect();
            place_stage(placed, stage).into_iter().map(|(character, _)| character).collect()
        }
    }
}

/// Rewrite what is between the characters that the older tables do not know.
fn between_unknown(text: &str, rewrite: impl Fn(&str) -> String) -> String {
    let parts = text.split_inclusive(|character| !is_known(character));
    let rewritten = parts.map(|part| {
        let known = part.trim_end_matches(|character| !is_known(character));
        rewrite(known) + &part[known.len()..]
    });
    rewritten.collect()
}

/// Characters and their places after all stages; `None` where a form joins characters as it likes.
fn place_slowly(text: &str, stages: &[NormalizerStage]) -> Option<Vec<Placed>> {
    use NormalizerStage::{Nfc, Nfd, Nfkc, Nfkd};
    if stages.iter().any(|stage| matches!(stage, Nfc | Nfd | Nfkc | Nfkd)) {
        return None;
    }
    let placed = text.char_indices().map(|(at, character)| (character, at..at + character.len_utf8())).collect();
    Some(stages.iter().fold(placed, place_stage))
}

/// One stage that is no form.
fn place_stage(text: Vec<Placed>, stage: &NormalizerStage) -> Vec<Placed> {
    // What is known of white space is the same in the standard library.
    let is_white = |(character, _): &Placed| is_whitespace(*character);
    match stage {
        NormalizerStage::Lowercase => {
            let lower =
                |(character, place): Placed| lowercase(character).map(move |character| (character, place.clone()));
            text.into_iter().flat_map(lower).collect()
        }
        NormalizerStage::StripAccents => text.into_iter().filter(|(character, _)| !is_mark(*character)).collect(),
        NormalizerStage::Strip { left, right } => {
            let start = if *left { text.iter().take_while(|placed| is_white(placed)).count() } else { 0 };
            let ends = text[start..].iter().rev().take_while(|placed| is_white(placed)).count();
            text[start..text.len() - if *right { ends } else { 0 }].to_vec()
        }
        NormalizerStage::Prepend { prefix } if !text.is_empty() => [inserted(prefix, &text, 0), text].concat(),
        NormalizerStage::Replace { pattern: Pattern::String(from) | Pattern::Regex(from), content } => {
            replace_slowly(&text, &from.chars().collect::<Vec<char>>(), content)
        }
        _ => text,
    }
}

/// What came from nothing stands where the character behind it does, or where the last one ends.
fn inserted(content: &str, text: &[Placed], at: usize) -> Vec<Placed> {
    let place = text.get(at).map_or_else(|| text.last().map_or(0, |(_, place)| place.end), |(_, place)| place.start);
    content.chars().map(|character| (character, place..place)).collect()
}

fn replace_slowly(text: &[Placed], from: &[char], content: &str) -> Vec<Placed> {
    let (mut new, mut at) = (Vec::new(), 0);
    while !text.is_empty() && at <= text.len() {
        let is_here =
            from.len() <= text.len() - at && from.iter().eq(text[at..at + from.len()].iter().map(|(is, _)| is));
        if is_here && !from.is_empty() {
            let places = text[at..at + from.len()].iter().map(|(_, place)| place);
            let mut real = places.clone().filter(|place| !place.is_empty()).peekable();
            let whole = match real.peek() {
                Some(first) => first.start..real.last().map_or(0, |last| last.end),
                None => text[at].1.clone(),
            };
            // What is as it was stays where it was.
            let is_same = from.iter().copied().eq(content.chars());
            let kept = || text[at..at + from.len()].to_vec();
            new.extend(if is_same { kept() } else { content.chars().map(|to| (to, whole.clone())).collect() });
            at += from.len();
            continue;
        }
        if from.is_empty() {
            new.extend(inserted(content, text, at));
        }
        new.extend(text.get(at).cloned());
        at += 1;
    }
    new
}
