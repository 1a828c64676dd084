//! Expressions against a matcher that follows the definition: every way is tried in order, by recursion, one character
//! at a time. And any text as an expression, which is compiled or refused.

use std::ops::Range;

use tokd_kernel::config::{Behavior, Pattern, PretokenizerStage};
use tokd_kernel::error::Result;
use tokd_kernel::pretokenize::Pretokenizer;
use tokd_kernel::regex::{StepBudget, from_tiktoken};
use tokd_kernel::simd::level::SimdLevel;

use super::Reader;

/// All that texts are made of, of one to four bytes.
const ALPHABET: &str = "aabbcAsSſ  \n\n\r\t12٣éé中!'_\u{301}\u{200d}🙂";
/// Expressions of one character, and which of the alphabet they match; a dash before them means all others.
const CHARACTERS: [(&str, &str); 21] = [
    ("a", "a"),
    ("b", "b"),
    ("é", "é"),
    ("🙂", "🙂"),
    (r"\n", "\n"),
    (" ", " "),
    (".", "-\n"),
    ("(?m:.)", "-"),
    ("[ab]", "ab"),
    ("[^a]", "-a"),
    ("[a-z&&[^b]]", "acs"),
    ("(?i:a)", "aA"),
    ("(?i:s)", "sSſ"),
    (r"\s", " \n\r\t"),
    (r"[^\S\n]", " \r\t"),
    (r"\d", "12٣"),
    (r"\p{L}", "abcAsSſé中"),
    (r"\P{L}", "-abcAsSſé中"),
    (r"\w", "abcAsSſ12٣é中_\u{301}"),
    (r"\W", "-abcAsSſ12٣é中_\u{301}"),
    (r"[^\s\p{L}]", "-abcAsSſé中 \n\r\t"),
];
const WORD: &str = CHARACTERS[18].1;
/// How often, and what that is; the first three have no bound.
const COUNTS: [(&str, Range<usize>); 8] = [
    ("*", 0..usize::MAX),
    ("+", 1..usize::MAX),
    ("{2,}", 2..usize::MAX),
    ("?", 0..1),
    ("{2}", 2..2),
    ("{1,2}", 1..2),
    ("{,3}", 0..3),
    ("{2,4}", 2..4),
];
const PLACES: [&str; 7] = ["^", "$", r"\A", r"\z", r"\Z", r"\b", r"\B"];

/// What may be tried before a case is given up: the definition takes time in the power of the length.
const TRIES: usize = 200_000;
const TEXT_LIMIT: usize = 16;

/// An expression as it is made of parts.
enum Part {
    Character(&'static str),
    Sequence(Vec<Part>),
    Choice(Vec<Part>),
    Repeated(Box<Part>, Range<usize>, Greed),
    Atomic(Box<Part>),
    Ahead(Box<Part>, bool),
    Behind(Box<Part>, bool),
    Place(&'static str),
    /// The same text again.
    Twice(Box<Part>),
}

#[derive(Clone, Copy, PartialEq)]
enum Greed {
    Most,
    Least,
    Possessive,
}

/// Cut texts by the expression that the input says.
pub fn expressions(data: &[u8]) {
    let mut reader = Reader::new(data);
    if reader.byte().is_multiple_of(4) {
        return any_text(&reader.text());
    }
    let mut source = String::new();
    let part = draw(&mut reader, 4, &mut source, &mut 0);
    let Ok(pretokenizer) = compile(&source) else { return };
    let letters: Vec<char> = ALPHABET.chars().collect();
    for text in reader.rest().chunks(TEXT_LIMIT) {
        let text: Vec<char> = text.iter().map(|byte| letters[*byte as usize % letters.len()]).collect();
        let Some(truth) = borders(&part, &text) else { return };
        assert_eq!(ends(&pretokenizer, &String::from_iter(&text)).unwrap(), truth, "{source:?} on {text:?}");
    }
}

fn compile(source: &str) -> Result<Pretokenizer> {
    let stage = PretokenizerStage::Split {
        pattern: Pattern::Regex(source.to_owned()),
        behavior: Behavior::Isolated,
        invert: false,
    };
    Pretokenizer::on_level(&[stage], SimdLevel::Portable)
}

fn ends(pretokenizer: &Pretokenizer, text: &str) -> Result<Vec<usize>> {
    pretokenizer.pieces(text, &mut StepBudget::default())?.ends(7)
}

/// Whatever compiles tiles any text, and what is written for tiktoken's engine compiles where it can be compiled at
/// all.
fn any_text(source: &str) {
    let text = format!("{ALPHABET}{source}");
    for source in [Some(source.to_owned()), from_tiktoken(source).ok()].into_iter().flatten() {
        let Ok(Ok(ends)) = compile(&source).map(|pretokenizer| ends(&pretokenizer, &text)) else { continue };
        assert!(ends.is_sorted_by(|one, next| one < next) && ends.iter().all(|end| text.is_char_boundary(*end)));
        assert_eq!(ends.last(), Some(&text.len()));
    }
}

/// Draw an expression and write it down; `groups` is how many are numbered.
fn draw(reader: &mut Reader<'_>, depth: usize, source: &mut String, groups: &mut usize) -> Part {
    let kind = if depth == 0 { 0 } else { reader.byte() };
    let negative = kind >= 128;
    // At first something that is made of parts.
    match if depth > 2 { 6 + kind % 10 } else { kind % 16 } {
        0..4 => {
            let (written, matched) = *reader.pick(&CHARACTERS);
            source.push_str(written);
            Part::Character(matched)
        }
        4..6 => {
            let place = *reader.pick(&PLACES);
            source.push_str(place);
            Part::Place(place)
        }
        6..8 => Part::Sequence((0..2 + kind / 128).map(|_| draw(reader, depth - 1, source, groups)).collect()),
        8..10 => {
            source.push_str("(?:");
            let several = (0..2 + kind / 128).map(|at| {
                source.push_str(if at > 0 { "|" } else { "" });
                // One in eight is empty.
                let is_empty = reader.byte().is_multiple_of(8);
                if is_empty { Part::Sequence(Vec::new()) } else { draw(reader, depth - 1, source, groups) }
            });
            let several = several.collect();
            source.push(')');
            Part::Choice(several)
        }
        10..12 => {
            let part = enclosed("(?:", reader, depth, source, groups);
            let (written, count) = reader.pick(&COUNTS);
            source.push_str(written);
            // Behind a count a plus repeats it, and a question mark behind some does.
            let may_choose = !written.contains('{');
            let greed = match reader.byte() % 3 {
                1 if may_choose => Greed::Least,
                2 if may_choose => Greed::Possessive,
                _ => Greed::Most,
            };
            source.push_str(["", "?", "+"][greed as usize]);
            Part::Repeated(part, count.clone(), greed)
        }
        12 => Part::Atomic(enclosed("(?>", reader, depth, source, groups)),
        13 => {
            let open = if negative { "(?!" } else { "(?=" };
            Part::Ahead(enclosed(open, reader, depth, source, groups), negative)
        }
        14 => {
            let open = if negative { "(?<!" } else { "(?<=" };
            Part::Behind(enclosed(open, reader, depth, source, groups), negative)
        }
        _ => {
            *groups += 1;
            let own = *groups;
            let part = enclosed("(", reader, depth, source, groups);
            source.push_str(&format!("\\k<{own}>"));
            Part::Twice(part)
        }
    }
}

fn enclosed(open: &str, reader: &mut Reader<'_>, depth: usize, source: &mut String, groups: &mut usize) -> Box<Part> {
    source.push_str(open);
    let part = draw(reader, depth - 1, source, groups);
    source.push(')');
    Box::new(part)
}

/// Where pieces end by definition, in bytes; `None` if that takes too long.
fn borders(part: &Part, text: &[char]) -> Option<Vec<usize>> {
    let mut truth = Truth { text, tries: TRIES };
    let (mut borders, mut from, mut last) = (vec![text.len()], 0, None);
    while from <= text.len() {
        let found = (from..=text.len()).find_map(|start| truth.first_end(part, start).map(|end| (start, end)));
        if truth.tries == 0 {
            return None;
        }
        let Some((start, end)) = found else { break };
        // An empty match right behind another does not count.
        if start < end || last != Some(end) {
            borders.extend([start, end]);
            last = Some(end);
        }
        from = if start == end { end + 1 } else { end };
    }
    borders.sort_unstable();
    borders.dedup();
    let bytes = |end: usize| text[..end].iter().map(|character| character.len_utf8()).sum();
    Some(borders.into_iter().filter(|end| *end > 0).map(bytes).collect())
}

struct Truth<'t> {
    text: &'t [char],
    tries: usize,
}

/// What is asked of each end of a match in turn: whether it will do.
type Then<'a, 't> = &'a mut dyn FnMut(&mut Truth<'t>, usize) -> bool;

impl<'t> Truth<'t> {
    fn first_end(&mut self, part: &Part, start: usize) -> Option<usize> {
        let mut first = None;
        self.matches(part, start, &mut |_, end| {
            first = Some(end);
            true
        });
        first
    }

    /// Offer each end of a match from `at` on, the preferred first, until one will do. Returns whether one did.
    fn matches(&mut self, part: &Part, at: usize, then: Then<'_, 't>) -> bool {
        if self.tries == 0 {
            return true;
        }
        self.tries -= 1;
        match part {
            Part::Character(matched) => {
                self.text.get(at).is_some_and(|character| is_of(matched, *character)) && then(self, at + 1)
            }
            Part::Sequence(parts) => self.sequence(parts, at, then),
            Part::Choice(parts) => parts.iter().any(|part| self.matches(part, at, then)),
            Part::Repeated(part, count, Greed::Possessive) => {
                let mut first = None;
                self.repeated(part, count.clone(), Greed::Most, at, &mut |_, end| {
                    first = Some(end);
                    true
                });
                first.is_some_and(|end| then(self, end))
            }
            Part::Repeated(part, count, greed) => self.repeated(part, count.clone(), *greed, at, then),
            Part::Atomic(part) => self.first_end(part, at).is_some_and(|end| then(self, end)),
            Part::Ahead(part, negative) => self.first_end(part, at).is_some() != *negative && then(self, at),
            Part::Behind(part, negative) => {
                let found = (0..=at).any(|start| self.matches(part, start, &mut |_, end| end == at));
                found != *negative && then(self, at)
            }
            Part::Place(place) => self.is_at(place, at) && then(self, at),
            Part::Twice(part) => self.matches(part, at, &mut |truth, end| {
                let (again, text) = (end + (end - at), truth.text);
                text.get(end..again) == Some(&text[at..end]) && then(truth, again)
            }),
        }
    }

    fn sequence(&mut self, parts: &[Part], at: usize, then: Then<'_, 't>) -> bool {
        match parts {
            [] => then(self, at),
            [part, rest @ ..] => self.matches(part, at, &mut |truth, end| truth.sequence(rest, end, then)),
        }
    }

    /// So many turns, of which one that may always be followed by another ends the repetition if it is empty.
    fn repeated(&mut self, part: &Part, count: Range<usize>, greed: Greed, at: usize, then: Then<'_, 't>) -> bool {
        let Range { start: least, end: most } = count;
        if least == 0 && greed == Greed::Least && then(self, at) {
            return true;
        }
        let rest = least.saturating_sub(1)..if most == usize::MAX { most } else { most.saturating_sub(1) };
        let turn = most > 0
            && self.matches(part, at, &mut |truth, end| {
                let ends = most == usize::MAX && least <= 1 && end == at;
                if ends { then(truth, end) } else { truth.repeated(part, rest.clone(), greed, end, then) }
            });
        turn || least == 0 && greed == Greed::Most && then(self, at)
    }

    fn is_at(&self, place: &str, at: usize) -> bool {
        let (before, behind) = (at.checked_sub(1).map(|before| self.text[before]), self.text.get(at).copied());
        let is_word = |character: Option<char>| character.is_some_and(|character| is_of(WORD, character));
        match place {
            r"\A" => at == 0,
            r"\z" => behind.is_none(),
            r"\Z" => self.text[at..].is_empty() || self.text[at..] == ['\n'],
            "^" => at == 0 || before == Some('\n') && behind.is_some(),
            "$" => behind.is_none_or(|character| character == '\n'),
            r"\b" => is_word(before) != is_word(behind),
            _ => is_word(before) == is_word(behind),
        }
    }
}

fn is_of(matched: &str, character: char) -> bool {
    match matched.strip_prefix('-') {
        Some(others) => !others.contains(character),
        None => matched.contains(character),
    }
}
