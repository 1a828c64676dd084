//! Sets of characters, which `regex-syntax` parses as Oniguruma would.

use regex_syntax::ParserBuilder;
use regex_syntax::hir::{Class, ClassUnicode, ClassUnicodeRange, HirKind};

/// The characters of Oniguruma's `\w` in a class of brackets.
const WORD: &str = r"[\p{Alphabetic}\p{M}\p{Nd}\p{Pc}]";
/// Outside of brackets it also holds these six of Latin-1.
const BARE_WORD: &str = r"[\p{Alphabetic}\p{M}\p{Nd}\p{Pc}²³¹¼½¾]";

/// Code points that a set has bits for: those of nearly every text.
const NEAR: u32 = 1 << 16;

/// 256 code points, a bit for each.
type Page = [u64; 4];

/// A set of characters.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct CharSet {
    /// Half-open ranges of code points, in order.
    ranges: Box<[(u32, u32)]>,
    /// By 256 code points below [`NEAR`], which of `pages` has their bits: a table of two stages, as libraries of
    /// Unicode have them, for whole bits would take 8 KB for each letter of an expression.
    page_of: Box<[u8]>,
    /// Different pages.
    pages: Box<[Page]>,
}

impl CharSet {
    /// Read one class, such as `\s` or `[^\p{L}0-9]`.
    pub(super) fn parse(class: &str, ignore_case: bool) -> Result<Self, String> {
        let class = match class {
            r"\w" => BARE_WORD.to_owned(),
            r"\W" => BARE_WORD.replacen('[', "[^", 1),
            _ => words_in_brackets(class),
        };
        // In Oniguruma a property has no case to ignore.
        let ignore_case = ignore_case && !class.starts_with(r"\p") && !class.starts_with(r"\P");
        if ignore_case && class.starts_with('[') {
            return Self::parse_as_regex(&class, false).map(|set| set.folded(class.starts_with("[^")));
        }
        Self::parse_as_regex(&class, ignore_case)
    }

    /// The set with the other cases of its characters; if the class is `negated`, of those it leaves out. Oniguruma
    /// folds a class as a whole, other engines fold each of its parts.
    fn folded(&self, negated: bool) -> Self {
        let range = |(start, end)| Some(ClassUnicodeRange::new(char::from_u32(start)?, char::from_u32(end)?));
        let mut class = ClassUnicode::new(self.ranges().into_iter().filter_map(range));
        if negated {
            class.negate();
        }
        class.case_fold_simple();
        if negated {
            class.negate();
        }
        Self::of_class(&class)
    }

    /// Read one class as the crate `regex` does.
    pub(super) fn parse_as_regex(class: &str, ignore_case: bool) -> Result<Self, String> {
        let parsed = ParserBuilder::new().case_insensitive(ignore_case).build().parse(class);
        match parsed.map_err(|error| error.to_string())?.into_kind() {
            HirKind::Class(Class::Unicode(class)) => Ok(Self::of_class(&class)),
            HirKind::Literal(literal) => {
                let text = std::str::from_utf8(&literal.0).map_err(|error| error.to_string())?;
                match (text.chars().next(), text.chars().nth(1)) {
                    (Some(only), None) => Ok(Self::of_ranges([(only.into(), only.into())].into_iter())),
                    _ => Err(format!("{class} is not one character")),
                }
            }
            _ => Err(format!("{class} is not a set of characters")),
        }
    }

    /// One character, and all that fold to it if the case is ignored.
    pub(super) fn of_char(character: char, ignore_case: bool) -> Result<Self, String> {
        Self::parse(&regex_syntax::escape(character.encode_utf8(&mut [0; 4])), ignore_case)
    }

    /// Every character, except `\n` if `line`.
    pub(super) fn any(line: bool) -> Self {
        let all = [(0, 0x09), (if line { 0x0B } else { 0x0A }, u32::from(char::MAX))];
        Self::of_ranges(all.into_iter())
    }

    fn of_class(class: &ClassUnicode) -> Self {
        Self::of_ranges(class.ranges().iter().map(|range| (range.start().into(), range.end().into())))
    }

    /// From inclusive ranges in order.
    fn of_ranges(ranges: impl Iterator<Item = (u32, u32)>) -> Self {
        let ranges: Box<[_]> = ranges.map(|(start, end)| (start, end + 1)).collect();
        let mut near = vec![Page::default(); NEAR as usize / 256];
        for (start, end) in &ranges {
            let end = (*end).min(NEAR);
            for word in start / 64..end.div_ceil(64) {
                let (first, last) = ((*start).max(word * 64), (end - 1).min(word * 64 + 63));
                near[word as usize / 4][word as usize % 4] |= u64::MAX >> (63 - (last - first)) << (first % 64);
            }
        }
        let mut pages: Vec<Page> = Vec::new();
        let mut number = |page: &Page| {
            let known = pages.iter().position(|known| known == page);
            known.unwrap_or_else(|| {
                pages.push(*page);
                pages.len() - 1
            }) as u8
        };
        let page_of = near.iter().map(&mut number).collect();
        Self { ranges, page_of, pages: pages.into() }
    }

    /// Its characters as inclusive ranges, in order.
    pub(super) fn ranges(&self) -> Vec<(u32, u32)> {
        self.ranges.iter().map(|(start, end)| (*start, end - 1)).collect()
    }

    #[inline]
    pub(super) fn contains(&self, code: u32) -> bool {
        match self.page_of.get(code as usize / 256) {
            Some(page) => self.pages[usize::from(*page)][code as usize / 64 % 4] >> (code % 64) & 1 != 0,
            None => {
                let after = self.ranges.partition_point(|(start, _)| *start <= code);
                after > 0 && code < self.ranges[after - 1].1
            }
        }
    }

    /// The first set of a match of the set.
    pub(super) fn first_set(&self) -> FirstSet {
        let [low, high, ..] = self.pages[usize::from(self.page_of[0])].map(u128::from);
        let wide = self.ranges.last().is_some_and(|(_, end)| *end > 128);
        FirstSet { ascii: high << 64 | low, wide, empty: false }
    }
}

/// The class with `\w` and `\W` written out.
fn words_in_brackets(class: &str) -> String {
    let mut written = String::with_capacity(class.len());
    let mut characters = class.chars();
    while let Some(character) = characters.next() {
        match (character, if character == '\\' { characters.next() } else { None }) {
            ('\\', Some('w')) => written.push_str(WORD),
            ('\\', Some('W')) => written.push_str(&WORD.replacen('[', "[^", 1)),
            (character, escaped) => written.extend([character].into_iter().chain(escaped)),
        }
    }
    written
}

/// The characters that a match can begin with, as in parsing: a filter that lets through too many, never too few.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct FirstSet {
    ascii: u128,
    /// Any character that is not ASCII.
    wide: bool,
    /// A match may be empty, and so can begin anywhere.
    pub(super) empty: bool,
}

impl FirstSet {
    pub(super) const EMPTY: Self = Self { ascii: 0, wide: false, empty: true };
    pub(super) const ANY: Self = Self { ascii: u128::MAX, wide: true, empty: true };

    /// The first set of an alternation.
    pub(super) fn or(self, other: Self) -> Self {
        let Self { ascii, wide, empty } = other;
        Self { ascii: self.ascii | ascii, wide: self.wide || wide, empty: self.empty || empty }
    }

    /// The first set of a sequence.
    pub(super) fn then(self, other: Self) -> Self {
        if self.empty { Self { empty: other.empty, ..self.or(other) } } else { self }
    }

    /// The one byte that every match begins with.
    pub(super) fn byte(&self) -> Option<u8> {
        let is_one = !self.empty && !self.wide && self.ascii.count_ones() == 1;
        is_one.then_some(self.ascii.trailing_zeros() as u8)
    }

    /// Tell whether a match may begin at `at`.
    #[inline]
    pub(super) fn admits(&self, text: &[u8], at: usize) -> bool {
        self.empty
            || match text.get(at) {
                Some(&byte) if byte < 0x80 => self.ascii >> byte & 1 != 0,
                Some(_) => self.wide,
                None => false,
            }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_set_contains_what_its_ranges_do() {
        for class in
            [r"[a-z]", r"\p{L}", r"[^\r\n\p{N}]", r"[\x{7E}-\x{81}\x{FF}\x{100}]", r"[\x{FFC0}-\x{10040}]", r"\W"]
        {
            let set = CharSet::parse(class, false).unwrap();
            for code in 0..=u32::from(char::MAX) + 1 {
                let truth = set.ranges.iter().any(|(start, end)| (*start..*end).contains(&code));
                assert_eq!(set.contains(code), truth, "{class} {code:x}");
            }
            let ascii = (0..128).filter(|code| set.contains(*code)).fold(0_u128, |bits, code| bits | 1 << code);
            assert_eq!(set.first_set().ascii, ascii, "{class}");
        }
    }

    /// An expression of 64 KB may have 20,000 letters, each of which is a set if the case is ignored.
    #[test]
    fn a_set_takes_little_more_memory_than_its_ranges() {
        for (class, most) in [("k", 4), ("漢", 2), (r"[^漢]", 2), (r"\p{L}", 128)] {
            let set = CharSet::parse(class, true).unwrap();
            assert!(set.pages.len() <= most, "{class} {}", set.pages.len());
        }
    }
}
