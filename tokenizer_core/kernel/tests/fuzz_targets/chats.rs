//! Rendered chats: literals that the caller had a hand in, against a scan of what the template wrote alone.

use std::ops::Range;
use std::sync::OnceLock;

use tokd_kernel::added_tokens::SpecialPolicy;
use tokd_kernel::config::Config;
use tokd_kernel::decode::token_widths::Unit;
use tokd_kernel::encode::Pipeline;
use tokd_kernel::normalize::Normalizer;
use tokd_kernel::output::offsets::Offsets;
use tokd_kernel::regex::StepBudget;

use super::added_tokens::scan_slowly;
use super::{Reader, added_token, pipeline_of_bytes};

const LITERALS: [&str; 8] = ["<s>", "</s>", "<s", "ab", "abc", "é<", "<|end|>", "s>a"];
/// Some of them, a bit each.
const CHOICES: [u8; 4] = [0xFF, 0b0101_1011, 0b1010_0101, 0b0100_0001];
/// Added tokens have ids from here on.
const FIRST: u32 = 300;
const NORMALIZERS: [&str; 6] = [
    "",
    r#"{"type":"lowercase"}"#,
    r#"{"type":"nfkc"}"#,
    r#"{"type":"nfd"},{"type":"strip_accents"}"#,
    concat!(
        r#"{"type":"replace","pattern":{"string":"-"},"content":""},"#,
        r#"{"type":"replace","pattern":{"string":"x"},"content":"<s>"}"#
    ),
    r#"{"type":"prepend","prefix":"<"},{"type":"strip","left":true,"right":true},{"type":"lowercase"}"#,
];
/// What texts are made of: parts of literals, and what normalizers make such of.
const PARTS: [&str; 32] = [
    "<s>", "</s>", "<", "s", ">", "/", "a", "b", "c", "ab", "é", "e", "\u{301}", "<|end|>", "<|", "end", "|>", " ",
    "\n", "-", "x", "A", "S", "＜", "ｓ", "＞", "🙂", "<S>", "<-s>", "s>", "AB", "",
];

/// Making a pipeline costs as much as a thousand chats, so there are a few of them, made once: every combination of
/// literals, normalizer, and whether they are special and looked for in what is normalized.
const CASES: usize = CHOICES.len() * NORMALIZERS.len() * 4;

/// One pipeline and what it was made from.
struct Case {
    stages: &'static str,
    config: Config,
    normalizer: Normalizer,
    pipeline: Pipeline,
}

fn make_case(number: usize) -> Case {
    let [chosen, number] = [number % CHOICES.len(), number / CHOICES.len()];
    let (stages, kinds) = (NORMALIZERS[number % NORMALIZERS.len()], (number / NORMALIZERS.len()) as u8);
    let mut config = Config::from_json(&format!(r#"{{"normalizer":[{stages}]}}"#)).unwrap();
    for (at, literal) in LITERALS.iter().enumerate().filter(|(at, _)| CHOICES[chosen] >> at & 1 != 0) {
        // Flags that move the borders of what is found are for another target.
        config.added_tokens.push(added_token(FIRST + at as u32, literal, kinds & 1 | kinds >> 1 << 4));
    }
    let (normalizer, pipeline) = (Normalizer::new(&config.normalizer).unwrap(), pipeline_of_bytes(&config));
    Case { stages, config, normalizer, pipeline }
}

/// Encode a chat that the input says, and find every literal that is allowed, and those alone.
pub fn chats(data: &[u8]) {
    static MADE: [OnceLock<Case>; CASES] = [const { OnceLock::new() }; CASES];
    let mut reader = Reader::new(data);
    let number = reader.below(CASES);
    let Case { stages, config, normalizer, pipeline } = MADE[number].get_or_init(|| make_case(number));
    let (text, caller) = read(reader.rest());
    let mut sink = Offsets::new(pipeline.tokens(), &text, Unit::Byte);
    let refused = pipeline.encode_chat(&text, &caller, false, None, &mut sink).unwrap();
    let found: Vec<(u32, Range<usize>)> = std::iter::zip(&*sink.ids, &*sink.spans)
        .filter(|(id, _)| **id >= FIRST)
        .map(|(id, [start, end])| (*id, *start as usize..*end as usize))
        .collect();

    let touched =
        |bytes: &Range<usize>| caller.iter().any(|range| range.start.max(bytes.start) < range.end.min(bytes.end));
    assert!(refused.iter().all(|(bytes, _)| touched(bytes)), "what is refused was the caller's: {refused:?}");
    assert!(refused.is_sorted_by_key(|(bytes, _)| bytes.start));
    let normalized = |text: &str| {
        normalizer.normalize(text, &mut StepBudget::default()).unwrap().map_or_else(|| text.to_owned(), |new| new.text)
    };
    for (id, bytes) in &found {
        assert!(!touched(bytes), "{:?} at {bytes:?} of {text:?} is the caller's", &text[bytes.clone()]);
        let literal = LITERALS[(id - FIRST) as usize];
        // What is put before a text has no place in it.
        let is_literal =
            text[bytes.clone()] == *literal || normalized(&text[bytes.clone()]).contains(&normalized(literal));
        assert!(is_literal || stages.contains("prepend"), "{literal:?} is not {:?}", &text[bytes.clone()]);
    }
    if stages.is_empty() {
        let free = free(&caller, text.len());
        let allowed = free.into_iter().flat_map(|free| {
            let found = scan_slowly(&text[free.clone()], &config.added_tokens, SpecialPolicy::Parse);
            found.into_iter().map(move |(at, id)| (id, free.start + at))
        });
        assert!(found.iter().map(|(id, bytes)| (*id, bytes.start)).eq(allowed), "{found:?} in {text:?}");
        let all = scan_slowly(&text, &config.added_tokens, SpecialPolicy::Parse).into_iter();
        let all = all.map(|(at, id)| (at..at + LITERALS[(id - FIRST) as usize].len(), id));
        assert!(refused.into_iter().eq(all.filter(|(bytes, _)| touched(bytes))), "of {text:?}");
    }
}

/// The text that bytes stand for, and which of it is the caller's.
fn read(bytes: &[u8]) -> (String, Vec<Range<usize>>) {
    let (mut text, mut caller): (String, Vec<Range<usize>>) = (String::new(), Vec::new());
    for byte in bytes {
        let start = text.len();
        text.push_str(PARTS[usize::from(byte % 32)]);
        match byte >> 5 {
            // One field behind the other, or longer than before.
            4..6 => caller.push(start..text.len()),
            6.. => match caller.last_mut().filter(|last| last.end == start) {
                Some(last) => last.end = text.len(),
                None => caller.push(start..text.len()),
            },
            _ => (),
        }
    }
    (text, caller)
}

/// What lies between the caller's ranges that are not empty.
fn free(caller: &[Range<usize>], length: usize) -> Vec<Range<usize>> {
    let caller = || caller.iter().filter(|range| !range.is_empty());
    let starts = std::iter::once(0).chain(caller().map(|range| range.end));
    starts.zip(caller().map(|range| range.start).chain([length])).map(|(start, end)| start..end).collect()
}
