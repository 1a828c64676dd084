//! Replace the matches of a pattern in each text.

use memchr::memmem::Finder;

use super::{Held, Next};
use crate::config::Pattern;
use crate::error::{Code, Error, Result};
use crate::normalize::Replace;
use crate::regex::StepBudget;

/// A result may be this many times as long as its text, and [`GRACE`] bytes more.
const GROWTH: usize = 64;
const GRACE: usize = 1 << 16;

/// A pattern, and what its matches become.
#[derive(Debug)]
pub(in crate::decode) enum Replacement {
    /// A literal that is not empty, found as its text comes.
    Literal { finder: Box<Finder<'static>>, content: String },
    /// Any other pattern, which sees each text as a whole.
    Whole(Replace),
}

impl Replacement {
    /// # Errors
    /// `invalid_option` for an expression where there is only one text, which would be held back to its end;
    /// `invalid_pattern`.
    pub(super) fn new(pattern: &Pattern, content: &str, fused: bool) -> Result<Self> {
        match pattern {
            Pattern::String(literal) if !literal.is_empty() => Ok(Self::literal(literal, content)),
            _ if fused => {
                let message = "after the texts of all tokens are joined, only a literal can be replaced";
                Err(Error::new(Code::InvalidOption, message))
            }
            _ => Replace::new(pattern, content).map(Self::Whole),
        }
    }

    /// Replace a literal, which is not empty.
    pub(super) fn literal(literal: &str, content: &str) -> Self {
        Self::Literal { finder: Box::new(Finder::new(literal).into_owned()), content: content.to_owned() }
    }

    pub(super) fn text(&self, text: &str, held: &mut Held, next: &mut Next<'_>) -> Result<()> {
        let Self::Literal { finder, content } = self else {
            held.text.push_str(text);
            return Ok(());
        };
        if held.text.is_empty() {
            let certain = replace(finder, content, text, next)?;
            held.text.push_str(&text[certain..]);
        } else {
            let mut all = std::mem::take(&mut held.text);
            all.push_str(text);
            let certain = replace(finder, content, &all, next)?;
            held.text.push_str(&all[certain..]);
        }
        Ok(())
    }

    pub(super) fn end(&self, held: &mut Held, next: &mut Next<'_>) -> Result<()> {
        let text = std::mem::take(&mut held.text);
        match self {
            Self::Literal { .. } => next.text(&text)?,
            Self::Whole(replace) => {
                let most = text.len().saturating_mul(GROWTH).saturating_add(GRACE);
                // The place would be one in the text of a token.
                let replaced = replace.rewrite(&text, most, &mut StepBudget::default());
                let replaced = replaced.map_err(|error| Error::new(error.code, error.message))?;
                next.text(replaced.as_ref().map_or(&text, |replaced| &replaced.text))?;
            }
        }
        next.end()
    }
}

/// Give all of `text` but the end that may be the beginning of a match, and return where that is.
fn replace(finder: &Finder<'_>, content: &str, text: &str, next: &mut Next<'_>) -> Result<usize> {
    let (needle, mut at) = (finder.needle(), 0);
    for found in finder.find_iter(text.as_bytes()) {
        next.text(&text[at..found])?;
        next.text(content)?;
        at = found + needle.len();
    }
    let rest = &text.as_bytes()[at..];
    let begun = (1..needle.len().min(rest.len() + 1)).rev().find(|begun| rest.ends_with(&needle[..*begun]));
    // A needle is UTF-8, and the bytes of a text that it begins with end where a character ends.
    let certain = text.len() - begun.unwrap_or(0);
    next.text(&text[at..certain])?;
    Ok(certain)
}
