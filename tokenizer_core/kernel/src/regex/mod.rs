//! Regular expressions as Oniguruma reads them, which is what a `tokenizer.json` is written for, with a bound on their
//! work.
//!
//! `fancy-regex` parses them and `regex-syntax` knows the classes. They run on a backtracking machine of our own (as in
//! Russ Cox, "Regular Expression Matching: the Virtual Machine Approach", 2009), because neither crate counts steps
//! over a whole text: one search may take a million steps on a harmless text, and each of the next ones as many. The
//! bound is on the text and not on the search, and in steps and not in seconds, so a text has the same outcome
//! everywhere.

mod class;
mod compile;
mod dialect;
mod extent;
mod machine;
mod memory;
mod portable;
mod program;
mod python;
mod search;

use fancy_regex::Expr;
// The builder sets these for its own engine; the parser, which is public, takes them as bits.
use fancy_regex::internal::{FLAG_MULTI, FLAG_ONIGURUMA_MODE, FLAG_UNICODE};

pub(crate) use self::memory::OutOfSteps;
pub use self::memory::{BASE_STEPS, StepBudget};
pub use self::portable::from_tiktoken;
use self::program::{Instruction, Program};
pub(crate) use self::search::{Search, Sought};
use crate::error::{Code, Error, Result};
use crate::unicode::utf8::decode;

/// Longer than any real pattern (a few thousand bytes), short enough to be compiled in no time.
const MAX_LENGTH: usize = 1 << 16;

/// `^` and `$` are the ends of lines, `{1,3}+` repeats and is not possessive, `\<` is a literal.
const FLAGS: u32 = FLAG_UNICODE | FLAG_MULTI | FLAG_ONIGURUMA_MODE;

fn refusal(pattern: &str, reason: &str) -> Error {
    let shown: String = pattern.chars().take(200).collect();
    Error::new(Code::InvalidPattern, format!("the regular expression {shown:?} does not compile: {reason}"))
}

/// The syntax tree, and whether it has a back reference.
fn parse(pattern: &str, flags: u32) -> std::result::Result<(Expr, bool), String> {
    match Expr::parse_tree_with_flags(pattern, flags) {
        Ok(tree) => Ok((tree.expr, !tree.backrefs.is_empty())),
        Err(fancy_regex::Error::ParseError(at, error)) => Err(format!("{error} (byte {at})")),
        Err(error) => Err(error.to_string()),
    }
}

/// A compiled regular expression.
#[derive(Debug)]
pub(crate) struct Expression {
    program: Program,
    /// The named groups, and the slots of each; only of an expression in Python's syntax.
    groups: Vec<(String, (usize, usize))>,
    /// Text that every match holds at its beginning or behind it.
    required: Option<Box<[u8]>>,
}

impl Expression {
    /// Compile `pattern`: `^` and `$` are the ends of lines, and `(?m)` lets the dot match a line feed.
    ///
    /// # Errors
    /// `invalid_pattern`.
    pub(crate) fn new(pattern: &str) -> Result<Self> {
        let refuse = |reason: &str| refusal(pattern, reason);
        if pattern.len() > MAX_LENGTH {
            return Err(refuse(&format!("it is longer than {MAX_LENGTH} bytes")));
        }
        let translated = dialect::translate(pattern).map_err(refuse)?;
        let (tree, captures) = parse(&translated, FLAGS).map_err(|reason| refuse(&reason))?;
        let program = compile::compile(&tree, captures).map_err(|reason| refuse(&reason))?;
        Ok(Self { program, groups: Vec::new(), required: None })
    }

    /// The leftmost match that begins at `from` or after.
    ///
    /// # Errors
    /// When the steps are used up.
    pub(crate) fn find(
        &self,
        text: &str,
        from: usize,
        steps: &mut StepBudget,
    ) -> std::result::Result<Option<(usize, usize)>, OutOfSteps> {
        let bytes = text.as_bytes();
        let mut start = from;
        while start <= bytes.len() {
            steps.take(1)?;
            if self.program.first.admits(bytes, start)
                && let Some(end) = machine::run::<false>(&self.program, bytes, start, steps).map_err(|_| OutOfSteps)?
            {
                return Ok(Some((start, end)));
            }
            start = self.next_start(bytes, start, steps)?;
        }
        Ok(None)
    }

    /// The next place where a match may begin, after none began at `start`.
    ///
    /// An expression that begins with an unbounded run cannot match further on in the same run either: what follows the
    /// run has failed at every place where it could end. This keeps `\s+$` linear on spaces.
    fn next_start(&self, text: &[u8], start: usize, steps: &mut StepBudget) -> std::result::Result<usize, OutOfSteps> {
        let Some(&first) = text.get(start) else { return Ok(start + 1) };
        let after = start + decode(text, start, first).1;
        match self.program.instructions.first() {
            Some(Instruction::RepeatSet { set, most: usize::MAX, .. }) => {
                let end = machine::end_of_run(&self.program.sets[*set], text, start);
                steps.take(end - start)?;
                Ok(end.max(after))
            }
            _ => Ok(after),
        }
    }
}
