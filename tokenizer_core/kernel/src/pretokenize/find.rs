//! The pattern that a split looks for, and its matches one after the other.

use super::char_runs::{peek, run};
use super::scanner::Scanner;
use crate::config::Pattern;
use crate::error::{Code, Error, Result};
use crate::regex::{Expression, OutOfSteps, StepBudget};
use crate::simd::level::SimdLevel;
use crate::unicode::NUMBER;
use crate::unicode::older::{self, PUNCTUATION};
use crate::unicode::table::ClassTable;

/// A compiled pattern.
#[derive(Debug)]
pub(super) enum Finder {
    Scanner(Scanner),
    Regex(Box<Expression>),
    Literal(String),
    /// Each character of `\p{N}`.
    Numeric,
    /// Each punctuation mark.
    Punctuation(&'static ClassTable<u16>),
}

/// The start of the next search.
#[derive(Debug, Default)]
pub(super) struct Search {
    from: usize,
    /// The end of the last match.
    last: Option<usize>,
}

impl Finder {
    /// # Errors
    /// `invalid_pattern`.
    pub(super) fn new(pattern: &Pattern, level: SimdLevel) -> Result<Self> {
        match pattern {
            Pattern::Name(name) => Scanner::new(name, level).map(Self::Scanner).ok_or_else(|| {
                let message = format!("no scanner is named {name:?}; give the pattern as a regular expression");
                Error::new(Code::InvalidPattern, message)
            }),
            Pattern::Regex(pattern) => Expression::new(pattern).map(Box::new).map(Self::Regex),
            Pattern::String(literal) => Ok(Self::Literal(literal.clone())),
        }
    }

    /// Each punctuation mark.
    pub(super) fn punctuation() -> Self {
        Self::Punctuation(older::table())
    }

    /// The next match. One that is empty and touches the match before it is passed over.
    ///
    /// # Errors
    /// `step_limit` at the rest of the text.
    pub(super) fn next(
        &self,
        text: &str,
        search: &mut Search,
        steps: &mut StepBudget,
    ) -> Result<Option<(usize, usize)>> {
        while search.from <= text.len() {
            let Some((start, end)) = self.find(text, search.from, steps)? else {
                search.from = text.len() + 1;
                break;
            };
            let empty = start == end;
            let passed = empty && search.last == Some(end);
            search.from = if empty { after(text, end) } else { end };
            if !passed {
                search.last = Some(end);
                return Ok(Some((start, end)));
            }
        }
        Ok(None)
    }

    /// The leftmost match that begins at `from` or after.
    fn find(&self, text: &str, from: usize, steps: &mut StepBudget) -> Result<Option<(usize, usize)>> {
        match self {
            Self::Scanner(scanner) => Ok((from < text.len()).then(|| (from, scanner.match_end(text, from)))),
            Self::Numeric => {
                let start = run(text.as_bytes(), from, |class| class & NUMBER == 0);
                let (_, length) = peek(text.as_bytes(), start);
                Ok((length > 0).then_some((start, start + length)))
            }
            Self::Punctuation(table) => {
                let mut found = text[from..].char_indices().map(|(at, mark)| (from + at, mark));
                let mark = found.find(|(_, mark)| table.has(*mark, PUNCTUATION));
                Ok(mark.map(|(at, mark)| (at, at + mark.len_utf8())))
            }
            Self::Literal(literal) => {
                let found = text.get(from..).and_then(|rest| rest.find(literal.as_str()));
                Ok(found.map(|at| (from + at, from + at + literal.len())))
            }
            Self::Regex(expression) => {
                let error = || {
                    let message = "the regular expression takes too many steps on this text; use a simpler pattern";
                    Error::new(Code::StepLimit, message).at_bytes(from..text.len())
                };
                expression.find(text, from, steps).map_err(|OutOfSteps| error())
            }
        }
    }
}

/// The position of the next character, or beyond the end.
fn after(text: &str, at: usize) -> usize {
    at + peek(text.as_bytes(), at).1.max(1)
}
