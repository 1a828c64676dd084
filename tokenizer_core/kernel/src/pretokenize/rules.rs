//! A family of patterns: one shape, and what distinguishes each of them.
//!
//! All of them cut words, numbers, everything else and white space, in this shape (o200k_base, GPT-2):
//!
//! ```text
//! [^\r\n\p{L}\p{N}]? word (?i:'s|...)? |  \p{N}{1,3} |   ?[^\s\p{L}\p{N}]+[\r\n/]* |  \s*[\r\n]+ |  \s+(?!\S) |  \s+
//! 's|...  |   ?\p{L}+                  |   ?\p{N}+   |   ?[^\s\p{L}\p{N}]+         |                \s+(?!\S) |  \s+
//! ```
//!
//! Each of them covers any text: every character begins a match.

/// The places where `'s`, `'t`, `'re`, `'ve`, `'m`, `'ll` and `'d` are looked for, and their case.
#[derive(PartialEq, Eq)]
pub(crate) enum Contraction {
    /// Pieces of their own, in lower case.
    Lower,
    /// Pieces of their own, in any case; `ſ` is an `s`.
    AnyCase,
    /// At the end of a word, in any case.
    Suffix,
}

/// The differences between the patterns of the family.
pub(crate) trait PatternRules {
    const CONTRACTION: Contraction;
    /// Any one character but a letter, a number or a newline may lead a word; else only a space, which may lead a
    /// number too.
    const ANY_LEAD: bool;
    /// A word ends where a lower-case letter is followed by an upper-case one, and marks are in words.
    const CASED: bool;
    /// The longest number, in characters.
    const DIGITS: usize;
    /// Newlines end a run of what is neither word nor number nor space.
    const NEWLINE_TAIL: bool;
    /// Slashes between such newlines belong to the run.
    const SLASH_TAIL: bool;
    /// White space is cut after its last newline.
    const NEWLINE_CUT: bool;
}

pub(super) struct Gpt2;

impl PatternRules for Gpt2 {
    const CONTRACTION: Contraction = Contraction::Lower;
    const ANY_LEAD: bool = false;
    const CASED: bool = false;
    const DIGITS: usize = usize::MAX;
    const NEWLINE_TAIL: bool = false;
    const SLASH_TAIL: bool = false;
    const NEWLINE_CUT: bool = false;
}

/// `cl100k_base` and Llama 3 with three digits, Qwen2 with one.
pub(super) struct Cl100k<const DIGITS: usize>;

impl<const DIGITS: usize> PatternRules for Cl100k<DIGITS> {
    const CONTRACTION: Contraction = Contraction::AnyCase;
    const ANY_LEAD: bool = true;
    const CASED: bool = false;
    const DIGITS: usize = DIGITS;
    const NEWLINE_TAIL: bool = true;
    const SLASH_TAIL: bool = false;
    const NEWLINE_CUT: bool = true;
}

pub(super) struct O200k;

impl PatternRules for O200k {
    const CONTRACTION: Contraction = Contraction::Suffix;
    const ANY_LEAD: bool = true;
    const CASED: bool = true;
    const DIGITS: usize = 3;
    const NEWLINE_TAIL: bool = true;
    const SLASH_TAIL: bool = true;
    const NEWLINE_CUT: bool = true;
}
