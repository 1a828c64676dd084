//! Replace every match of a literal or of a regular expression by a fixed text.

use memchr::memmem::Finder;

use super::Normalized;
use super::rewriter::Rewriter;
use crate::config::Pattern;
use crate::error::{Code, Error, Result};
use crate::regex::{Expression, OutOfSteps, StepBudget};

/// The compiled pattern.
#[derive(Debug)]
enum Needle {
    Literal(Box<Finder<'static>>),
    Regex(Box<Expression>),
}

/// A compiled replacement.
#[derive(Debug)]
pub(crate) struct Replace {
    needle: Needle,
    content: String,
}

impl Replace {
    /// Compile the pattern.
    ///
    /// # Errors
    /// `invalid_pattern` for a regular expression that does not compile, and for the name of a scanner.
    pub(crate) fn new(pattern: &Pattern, content: &str) -> Result<Self> {
        let needle = match pattern {
            Pattern::String(literal) => Needle::Literal(Box::new(Finder::new(literal).into_owned())),
            Pattern::Regex(regex) => Needle::Regex(Box::new(Expression::new(regex)?)),
            Pattern::Name(name) => {
                return Err(Error::new(
                    Code::InvalidPattern,
                    format!("{name:?} names a pretokenizer pattern; a replacement takes a regex or a string"),
                ));
            }
        };
        Ok(Self { needle, content: content.to_owned() })
    }

    /// Rewrite `text` into at most `max_len` bytes, within the steps of the whole; `None` when nothing matches.
    ///
    /// # Errors
    /// `step_limit` with the range of the text that was left.
    pub(crate) fn rewrite(&self, text: &str, max_len: usize, steps: &mut StepBudget) -> Result<Option<Normalized>> {
        let mut rewriter = Rewriter::new(text);
        let (mut at, mut last_end) = (0, None);
        steps.allow(text.len());
        while !text.is_empty() && at <= text.len() {
            let Some((start, end)) = self.find(text, at, steps)? else {
                break;
            };
            if start == end && last_end == Some(end) {
                // An empty match right after a match does not count, as in every engine.
                at += text[at..].chars().next().map_or(1, char::len_utf8);
                continue;
            }
            rewriter.keep(start);
            if start == end {
                rewriter.insert(&self.content);
            } else {
                rewriter.replace(end, &self.content);
            }
            if rewriter.len() > max_len {
                let message = "the normalizer makes this text absurdly long; use another tokenizer for it";
                return Err(Error::new(Code::StepLimit, message).at_bytes(at..text.len()));
            }
            (at, last_end) = (end, Some(end));
        }
        Ok(rewriter.finish())
    }

    /// The leftmost match at or after `at`.
    fn find(&self, text: &str, at: usize, steps: &mut StepBudget) -> Result<Option<(usize, usize)>> {
        match &self.needle {
            // An empty literal would be found inside a character; it matches between any two.
            Needle::Literal(finder) if finder.needle().is_empty() => Ok(Some((at, at))),
            Needle::Literal(finder) => {
                Ok(finder.find(&text.as_bytes()[at..]).map(|found| (at + found, at + found + finder.needle().len())))
            }
            Needle::Regex(expression) => {
                let error = || {
                    let message =
                        "a regular expression of the normalizer takes too long on this text; shorten the text";
                    Error::new(Code::StepLimit, message).at_bytes(at..text.len())
                };
                expression.find(text, at, steps).map_err(|OutOfSteps| error())
            }
        }
    }
}
