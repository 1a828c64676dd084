//! Expressions as tiktoken reads them (`fancy-regex` over `regex`), written so that Oniguruma reads the same.
//!
//! Both readings are brought into one form, in which every set of characters is a list of ranges. What is written is
//! then read as Oniguruma would, and refused unless it has the same form.

use fancy_regex::internal::FLAG_UNICODE;
use fancy_regex::{Assertion, Expr, LookAround};

use super::class::CharSet;
use super::{MAX_LENGTH, dialect, parse, refusal};
use crate::error::Result;

/// The characters of `\w` in tiktoken's engine, written so that both engines read them alike.
pub(super) const WORD: &str = r"[\p{Alphabetic}\p{M}\p{Nd}\p{Pc}\x{200C}\x{200D}]";

/// Write `pattern` as Oniguruma reads it; one that both read alike stays as it is.
///
/// # Errors
/// `invalid_pattern`: it does not compile, or has a part that cannot be written so.
pub fn from_tiktoken(pattern: &str) -> Result<String> {
    let refuse = |reason: String| refusal(pattern, &reason);
    if pattern.len() > MAX_LENGTH {
        return Err(refuse(format!("it is longer than {MAX_LENGTH} bytes")));
    }
    let (tree, captures) = parse(pattern, FLAG_UNICODE).map_err(refuse)?;
    let write = |readable| Writer { rust: true, readable, captures, ..Writer::default() }.all(&tree);
    let meaning = write(false).map_err(refuse)?;
    if !may_fold_several(pattern) && as_oniguruma(pattern).is_ok_and(|same| same == meaning) {
        return Ok(pattern.to_owned());
    }
    let written = write(true).map_err(refuse)?;
    match as_oniguruma(&written) {
        Ok(again) if again == meaning && written.len() <= MAX_LENGTH => Ok(written),
        _ => Err(refuse("it cannot be written as a tokenizer.json holds expressions".to_owned())),
    }
}

/// Tell whether the case is ignored and Oniguruma might then let one letter match two, such as `ß` and `ss`: tiktoken
/// never does.
fn may_fold_several(pattern: &str) -> bool {
    let flags = |at: usize| pattern[at..].chars().skip(2).take_while(|flag| flag.is_ascii_alphabetic() || *flag == '-');
    let ignores_case = pattern.match_indices("(?").any(|(at, _)| flags(at).any(|flag| flag == 'i'));
    let lower = pattern.to_lowercase();
    ignores_case
        && (!pattern.is_ascii() || ["ss", "ff", "fi", "fl", "st", "\\x", "\\u"].iter().any(|two| lower.contains(two)))
}

/// The form of what Oniguruma reads.
fn as_oniguruma(pattern: &str) -> std::result::Result<String, String> {
    let translated = dialect::translate(pattern)?;
    let (tree, captures) = parse(&translated, super::FLAGS)?;
    Writer { captures, ..Writer::default() }.all(&tree)
}

type Written = std::result::Result<(), String>;

/// The most bytes that are written: two bytes of a pattern can become a class of ten thousand, so that the longest
/// pattern would take minutes and gigabytes.
const MAX_WRITTEN: usize = 1 << 21;

/// The context of a part, by how tightly it binds: a part that binds less is put into a group.
#[derive(Clone, Copy, PartialEq, PartialOrd)]
enum Around {
    Nothing,
    Sequence,
    Repetition,
}

#[derive(Default)]
struct Writer {
    out: String,
    /// Read sets and assertions as tiktoken's engine does, not as Oniguruma does.
    rust: bool,
    /// Keep the source of a set that Oniguruma reads the same way.
    readable: bool,
    /// Keep groups, since there is a back reference.
    captures: bool,
}

impl Writer {
    fn all(mut self, tree: &Expr) -> std::result::Result<String, String> {
        self.write(tree, Around::Nothing)?;
        Ok(self.out)
    }

    fn write(&mut self, expression: &Expr, around: Around) -> Written {
        if self.out.len() > MAX_WRITTEN {
            return Err(format!(
                "it is too large: its classes take more than {MAX_WRITTEN} bytes when they are written out"
            ));
        }
        match expression {
            Expr::Empty => self.grouped(around == Around::Repetition, |_| Ok(())),
            Expr::Any { newline, crlf: false } => {
                self.out.push_str(if *newline { "(?m:.)" } else { "." });
                Ok(())
            }
            Expr::Literal { val, casei } => {
                let several = val.chars().nth(1).is_some();
                self.grouped(several && around == Around::Repetition, |writer| {
                    val.chars().try_for_each(|character| writer.character(character, *casei))
                })
            }
            Expr::LiteralBytes { bytes } => match bytes[..] {
                [byte] => self.character(char::from(byte), false),
                _ => Err("it has bytes that are not a character".to_owned()),
            },
            Expr::Delegate { inner, casei } => self.class(inner, *casei),
            Expr::Concat(parts) => self.grouped(around == Around::Repetition, |writer| {
                parts.iter().try_for_each(|part| writer.write(part, Around::Sequence))
            }),
            Expr::Alt(branches) => self.grouped(around != Around::Nothing, |writer| writer.branches(branches)),
            Expr::Group(inner) if self.captures => self.enclosed("(", inner),
            Expr::Group(inner) => self.write(inner, around),
            Expr::AtomicGroup(inner) => self.enclosed("(?>", inner),
            Expr::LookAround(inner, kind) => self.grouped(around == Around::Repetition, |writer| {
                let open = match kind {
                    LookAround::LookAhead => "(?=",
                    LookAround::LookAheadNeg => "(?!",
                    LookAround::LookBehind => "(?<=",
                    LookAround::LookBehindNeg => "(?<!",
                };
                writer.enclosed(open, inner)
            }),
            Expr::Repeat { child, lo, hi, greedy } => self.grouped(around == Around::Repetition, |writer| {
                writer.write(child, Around::Repetition)?;
                writer.count(*lo, *hi, *greedy);
                Ok(())
            }),
            Expr::Assertion(assertion) => self.assertion(*assertion, around),
            Expr::GeneralNewline { unicode: true } => {
                self.out.push_str("\\R");
                Ok(())
            }
            Expr::Backref { group, casei: false } => {
                self.out.push_str(&format!("\\k<{group}>"));
                Ok(())
            }
            _ => {
                Err("it has a part that is not supported: a condition, a call, an absent group, a verb, \\K, \\G, the \
                      flag R, or a back reference that ignores case"
                    .to_owned())
            }
        }
    }

    fn grouped(&mut self, group: bool, inner: impl FnOnce(&mut Self) -> Written) -> Written {
        if !group {
            return inner(self);
        }
        self.out.push_str("(?:");
        inner(self)?;
        self.out.push(')');
        Ok(())
    }

    fn enclosed(&mut self, open: &str, inner: &Expr) -> Written {
        self.out.push_str(open);
        self.write(inner, Around::Nothing)?;
        self.out.push(')');
        Ok(())
    }

    fn branches(&mut self, branches: &[Expr]) -> Written {
        for (at, branch) in branches.iter().enumerate() {
            if at > 0 {
                self.out.push('|');
            }
            self.write(branch, Around::Nothing)?;
        }
        Ok(())
    }

    fn count(&mut self, least: usize, most: usize, greedy: bool) {
        match (least, most) {
            (0, usize::MAX) => self.out.push('*'),
            (1, usize::MAX) => self.out.push('+'),
            (0, 1) => self.out.push('?'),
            (_, usize::MAX) => self.out.push_str(&format!("{{{least},}}")),
            _ if least == most => self.out.push_str(&format!("{{{least}}}")),
            _ => self.out.push_str(&format!("{{{least},{most}}}")),
        }
        // A fixed count is not greedy; Oniguruma reads a question mark after it in another way.
        if !greedy && least != most {
            self.out.push('?');
        }
    }

    fn character(&mut self, character: char, ignore_case: bool) -> Written {
        let source = regex_syntax::escape(character.encode_utf8(&mut [0; 4]));
        let set = self.read(&source, ignore_case)?;
        if set.ranges().len() == 1 && set == self.read(&source, false)? {
            self.one(character);
        } else {
            self.ranges(&set);
        }
        Ok(())
    }

    /// A character that stands for itself, within brackets or without.
    fn one(&mut self, character: char) {
        if character.is_alphanumeric()
            || matches!(character, ' ' | '\'' | '"' | '/' | ',' | ';' | '=' | '_' | '%' | '@')
        {
            self.out.push(character);
        } else if character.is_ascii_graphic() {
            self.out.extend(['\\', character]);
        } else {
            self.coded(u32::from(character));
        }
    }

    fn coded(&mut self, code: u32) {
        self.out.push_str(&format!("\\x{{{code:X}}}"));
    }

    fn read(&self, class: &str, ignore_case: bool) -> std::result::Result<CharSet, String> {
        if self.rust { CharSet::parse_as_regex(class, ignore_case) } else { CharSet::parse(class, ignore_case) }
    }

    fn class(&mut self, source: &str, ignore_case: bool) -> Written {
        let set = self.read(source, ignore_case)?;
        if self.readable {
            let words = source.replace("\\w", WORD).replace("\\W", &WORD.replacen('[', "[^", 1));
            for text in [source, &words] {
                let plain = dialect::translate(text).is_ok_and(|same| same == text);
                if plain && CharSet::parse(text, false).is_ok_and(|same| same == set) {
                    self.out.push_str(text);
                    return Ok(());
                }
            }
        }
        self.ranges(&set);
        Ok(())
    }

    fn ranges(&mut self, set: &CharSet) {
        let ranges = set.ranges();
        if ranges.is_empty() {
            return self.out.push_str("(?!)");
        }
        self.out.push('[');
        for (start, end) in ranges {
            for (at, code) in [start, end].into_iter().enumerate() {
                if at == 1 && start == end {
                    break;
                }
                if at == 1 {
                    self.out.push('-');
                }
                match char::from_u32(code).filter(char::is_ascii_alphanumeric) {
                    Some(character) => self.out.push(character),
                    None => self.coded(code),
                }
            }
        }
        self.out.push(']');
    }

    fn assertion(&mut self, assertion: Assertion, around: Around) -> Written {
        let sign = match assertion {
            Assertion::StartText => r"\A",
            Assertion::EndText => r"\z",
            Assertion::StartLineOniguruma { crlf: false } => "^",
            Assertion::EndTextIgnoreTrailingNewlines { crlf: false } if !self.rust => r"\Z",
            Assertion::WordBoundary if !self.rust => r"\b",
            Assertion::NotWordBoundary if !self.rust => r"\B",
            _ => return self.write(&spelled_out(assertion)?, around),
        };
        self.grouped(around == Around::Repetition, |writer| {
            writer.out.push_str(sign);
            Ok(())
        })
    }
}

/// An assertion of tiktoken's engine in parts that both engines have.
fn spelled_out(assertion: Assertion) -> std::result::Result<Expr, String> {
    let word = || Box::new(Expr::Delegate { inner: r"\w".to_owned(), casei: false });
    let line_feed = || Box::new(Expr::Literal { val: "\n".to_owned(), casei: false });
    let [behind, not_behind] =
        [LookAround::LookBehind, LookAround::LookBehindNeg].map(|kind| Expr::LookAround(word(), kind));
    let [ahead, not_ahead] =
        [LookAround::LookAhead, LookAround::LookAheadNeg].map(|kind| Expr::LookAround(word(), kind));
    Ok(match assertion {
        Assertion::StartLine { crlf: false } => Expr::Alt(vec![
            Expr::Assertion(Assertion::StartText),
            Expr::LookAround(line_feed(), LookAround::LookBehind),
        ]),
        Assertion::EndLine { crlf: false } => {
            Expr::Alt(vec![Expr::Assertion(Assertion::EndText), Expr::LookAround(line_feed(), LookAround::LookAhead)])
        }
        Assertion::EndTextIgnoreTrailingNewlines { crlf: false } => Expr::LookAround(
            Box::new(Expr::Concat(vec![
                Expr::Repeat { child: line_feed(), lo: 0, hi: usize::MAX, greedy: true },
                Expr::Assertion(Assertion::EndText),
            ])),
            LookAround::LookAhead,
        ),
        Assertion::WordBoundary => {
            Expr::Alt(vec![Expr::Concat(vec![not_behind, ahead]), Expr::Concat(vec![behind, not_ahead])])
        }
        Assertion::NotWordBoundary => {
            Expr::Alt(vec![Expr::Concat(vec![not_behind, not_ahead]), Expr::Concat(vec![behind, ahead])])
        }
        Assertion::LeftWordBoundary => Expr::Concat(vec![not_behind, ahead]),
        Assertion::RightWordBoundary => Expr::Concat(vec![behind, not_ahead]),
        Assertion::LeftWordHalfBoundary => not_behind,
        Assertion::RightWordHalfBoundary => not_ahead,
        _ => return Err("the flag R is not supported; write the ends of lines out".to_owned()),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn expressions_keep_the_meaning_that_tiktoken_gives_them() {
        // The left sides as tiktoken 0.14 (fancy-regex 0.19) reads them.
        for (pattern, written) in [
            (r"\p{L}+|[^\s\p{N}]", r"\p{L}+|[^\s\p{N}]"),
            (r"a$|^b", r"a\z|\Ab"),
            (r"(?s).(?-s:.)", "(?m:.)."),
            (r"\p{N}{1,3}+", r"(?>\p{n}{1,3})"),
            (r"(?i:'s|'ll)", r"(?i:'s|'ll)"),
            (r"(?i:ss)", r"[Ss\x{17F}][Ss\x{17F}]"),
            (r"a(?i)b|c", "a[Bb]|[Cc]"),
            (r"\w", WORD),
            (r"[[:alpha:]]", "[A-Za-z]"),
            (r"(?m)^", r"\A|(?<=\x{A})"),
            (r"a$(b)\1", r"a\z(b)\k<1>"),
        ] {
            assert_eq!(from_tiktoken(pattern).expect(pattern), written, "{pattern}");
        }
        for pattern in ["(", r"(?Rm)^", r"a\Kb", r"(?i)(a)\1"] {
            assert!(from_tiktoken(pattern).is_err(), "{pattern}");
        }
    }

    #[test]
    fn expressions_that_would_be_written_out_at_great_length_are_refused() {
        for class in [r"\pL", r"\w", r"\b", r"[^\p{L}]", r"(?i:\p{L})"] {
            let most = from_tiktoken(&class.repeat(MAX_LENGTH / class.len()));
            assert!(most.is_err_and(|error| error.to_string().contains("too large")), "{class}");
        }
        let several = r"[^\p{L}\p{N}]?\p{Lu}+".repeat(20);
        assert_eq!(from_tiktoken(&several).expect("twenty of them"), several);
    }
}
