//! Sets of characters, which `regex-syntax` parses as Oniguruma would.

use regex_syntax::ParserBuilder;
use regex_syntax::hir::{Class, ClassUnicode, ClassUnicodeRange, HirKind};

/// The characters of Oniguruma's `\w` in a class of brackets.
const WORD: &str = r"[\p{Alphabetic}\p{M}\p{Nd}\p{Pc}]";
/// Outside of brackets it also holds these six of Latin-1.
const BARE_WORD: &str = r"[\p{Alphabetic}\p{M}\p{Nd}\p{Pc}²³¹¼½¾]";

/// Code points that a set has a bit for: those of nearly every text.
const NEAR: u32 = 1 << 16;

/// A set of characters.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct CharSet {
    /// Half-open ranges of code points, in order.
    ranges: Box<[(u32, u32)]>,
    /// A bit for each code point below [`NEAR`].
    near: Box<[u64]>,
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
        let mut near = vec![0; NEAR as usize / 64].into_boxed_slice();
        for (start, end) in &ranges {
            let end = (*end).min(NEAR);
            for word in start / 64..end.div_ceil(64) {
                let (first, last) = ((*start).max(word * 64), (end - 1).min(word * 64 + 63));
                near[word as usize] |= u64::MAX >> (63 - (last - first)) << (first % 64);
            }
        }
        Self { ranges, near }
    }

    /// Its characters as inclusive ranges, in order.
    pub(super) fn ranges(&self) -> Vec<(u32, u32)> {
        self.ranges.iter().map(|(start, end)| (*start, end - 1)).collect()
    }

    #[inline]
    pub(super) fn contains(&self, code: u32) -> bool {
        match self.near.get(code as usize / 64) {
            Some(word) => word >> (code % 64) & 1 != 0,
            None => {
                let after = self.ranges.partition_point(|(start, _)| *start <= code);
                after > 0 && code < self.ranges[after - 1].1
            }
        }
    }

    /// The first set of a match of the set.
    pub(super) fn first_set(&self) -> FirstSet {
        let word = |at: usize| self.near.get(at).copied().map_or(0, u128::from);
        let wide = self.ranges.last().is_some_and(|(_, end)| *end > 128);
        FirstSet { ascii: word(1) << 64 | word(0), wide, empty: false }
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
