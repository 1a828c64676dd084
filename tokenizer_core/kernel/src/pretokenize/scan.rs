//! Hand-written scanners: one walk, shared by a family of patterns and compiled once for each set of its rules.
//!
//! All of them cut words, numbers, everything else and white space, in this shape (o200k_base, GPT-2):
//!
//! ```text
//! [^\r\n\p{L}\p{N}]? word (?i:'s|...)?  |  \p{N}{1,3}  |   ?[^\s\p{L}\p{N}]+[\r\n/]*  |  \s*[\r\n]+  |  \s+(?!\S)  |  \s+
//! 's|...  |   ?\p{L}+                   |   ?\p{N}+    |   ?[^\s\p{L}\p{N}]+          |                 \s+(?!\S)  |  \s+
//! ```
//!
//! Each of them covers any text: every character begins a match.

use super::runs::{peek, run, run_of_letters};
use crate::unicode::{CASELESS, LETTER, LOWER, MARK, NEWLINE, NUMBER, SPACE, UPPER};

/// Where `'s`, `'t`, `'re`, `'ve`, `'m`, `'ll` and `'d` are looked for, and in which case.
#[derive(PartialEq, Eq)]
enum Contraction {
    /// Pieces of their own, in lower case.
    Lower,
    /// Pieces of their own, in any case; `ſ` is an `s`.
    AnyCase,
    /// At the end of a word, in any case.
    Suffix,
}

/// What distinguishes the patterns of the family.
trait Rules {
    const CONTRACTION: Contraction;
    /// Any one character but a letter, a number or a newline may lead a word; else only a space, which may lead a number too.
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

struct Gpt2;

impl Rules for Gpt2 {
    const CONTRACTION: Contraction = Contraction::Lower;
    const ANY_LEAD: bool = false;
    const CASED: bool = false;
    const DIGITS: usize = usize::MAX;
    const NEWLINE_TAIL: bool = false;
    const SLASH_TAIL: bool = false;
    const NEWLINE_CUT: bool = false;
}

/// `cl100k_base` and Llama 3 with three digits, Qwen2 with one.
struct Cl100k<const DIGITS: usize>;

impl<const DIGITS: usize> Rules for Cl100k<DIGITS> {
    const CONTRACTION: Contraction = Contraction::AnyCase;
    const ANY_LEAD: bool = true;
    const CASED: bool = false;
    const DIGITS: usize = DIGITS;
    const NEWLINE_TAIL: bool = true;
    const SLASH_TAIL: bool = false;
    const NEWLINE_CUT: bool = true;
}

struct O200k;

impl Rules for O200k {
    const CONTRACTION: Contraction = Contraction::Suffix;
    const ANY_LEAD: bool = true;
    const CASED: bool = true;
    const DIGITS: usize = 3;
    const NEWLINE_TAIL: bool = true;
    const SLASH_TAIL: bool = true;
    const NEWLINE_CUT: bool = true;
}

/// A pattern that has a scanner.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scanner {
    /// GPT-2.
    Gpt2,
    /// cl100k_base, and Llama 3, whose pattern cuts the same.
    Cl100k,
    /// o200k_base.
    O200k,
    /// Qwen2: cl100k_base with single digits.
    Qwen2,
}

impl Scanner {
    /// The scanner of a pattern's name.
    pub fn of_name(name: &str) -> Option<Self> {
        match name {
            "gpt2" => Some(Self::Gpt2),
            "cl100k_base" | "llama3" => Some(Self::Cl100k),
            "o200k_base" => Some(Self::O200k),
            "qwen2" => Some(Self::Qwen2),
            _ => None,
        }
    }

    /// Write the ends of the next matches from `at` on into `ends`, and return how many.
    pub(super) fn fill(self, text: &str, at: usize, ends: &mut [u32]) -> usize {
        let text = text.as_bytes();
        match self {
            Self::Gpt2 => fill::<Gpt2>(text, at, ends),
            Self::Cl100k => fill::<Cl100k<3>>(text, at, ends),
            Self::O200k => fill::<O200k>(text, at, ends),
            Self::Qwen2 => fill::<Cl100k<1>>(text, at, ends),
        }
    }

    /// The end of the match that begins at `at`, which is before the end of the text.
    pub(super) fn match_end(self, text: &str, at: usize) -> usize {
        let mut end = [0];
        self.fill(text, at, &mut end);
        end[0] as usize
    }
}

fn fill<R: Rules>(text: &[u8], mut at: usize, ends: &mut [u32]) -> usize {
    let mut count = 0;
    for end in ends {
        if at >= text.len() {
            break;
        }
        at = match_end::<R>(text, at);
        *end = at as u32;
        count += 1;
    }
    count
}

/// The end of the match that begins at `at`, which is before the end of the text.
#[inline(always)]
fn match_end<R: Rules>(text: &[u8], at: usize) -> usize {
    let (class, length) = peek(text, at);
    let next = at + length;
    if R::CASED && class & (LETTER | MARK) != 0 {
        // A mark could also lead the word that follows it: that ends in the same place, or matches less.
        return cased_word::<R>(text, at);
    }
    if class & LETTER != 0 {
        return run_of_letters::<false>(text, next, is_letter);
    }
    if class & NUMBER != 0 {
        return number::<R>(text, next, 1);
    }
    let first = text[at];
    if R::CONTRACTION != Contraction::Suffix && first == b'\'' {
        let end = contraction::<R>(text, at);
        if end > at {
            return end;
        }
    }
    let (following, following_length) = peek(text, next);
    if class & NEWLINE == 0 && (R::ANY_LEAD || first == b' ') {
        if R::CASED && following & (LETTER | MARK) != 0 {
            return cased_word::<R>(text, next);
        }
        if following & LETTER != 0 {
            return run_of_letters::<false>(text, next + following_length, is_letter);
        }
        if !R::ANY_LEAD && following & NUMBER != 0 {
            return number::<R>(text, next + following_length, 1);
        }
    }
    if class & SPACE == 0 {
        return other::<R>(text, next);
    }
    if first == b' ' && following_length > 0 && is_other(following) {
        return other::<R>(text, next + following_length);
    }
    white_space::<R>(text, at)
}

#[inline(always)]
fn is_letter(class: u8) -> bool {
    class & LETTER != 0
}

#[inline(always)]
fn is_other(class: u8) -> bool {
    class & (SPACE | LETTER | NUMBER) == 0
}

/// `[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+` or, where it fails, the same with `+` and `*` changed over;
/// then a contraction. One of them matches wherever a letter or a mark stands.
///
/// The first set takes all it can. If a small letter follows, the second goes on from there; if not, the first gives back
/// up to the last character that is in both sets, which is then the whole of the second.
#[inline(always)]
fn cased_word<R: Rules>(text: &[u8], at: usize) -> usize {
    let mut end = at;
    let mut shared_end = at;
    let (class, length) = loop {
        let (class, length) = peek(text, end);
        if class & (UPPER | CASELESS | MARK) == 0 {
            break (class, length);
        }
        end += length;
        if class & UPPER == 0 {
            shared_end = end;
        }
    };
    if class & LOWER != 0 {
        end = run_of_letters::<true>(text, end + length, |class| class & (LOWER | CASELESS | MARK) != 0);
    } else if shared_end > at {
        end = shared_end;
    }
    contraction::<R>(text, end)
}

/// The end of the contraction at `at`, or `at`.
#[inline(always)]
fn contraction<R: Rules>(text: &[u8], at: usize) -> usize {
    if text.get(at) != Some(&b'\'') {
        return at;
    }
    let fold = if R::CONTRACTION == Contraction::Lower { 0 } else { 0x20 };
    let letter = |offset: usize| text.get(at + offset).map_or(0, |byte| byte | fold);
    match (letter(1), letter(2)) {
        (b's' | b't' | b'm' | b'd', _) => at + 2,
        (b'r' | b'v', b'e') | (b'l', b'l') => at + 3,
        // U+017F, the long s, is an s in any case.
        _ if fold != 0 && text[at + 1..].starts_with("ſ".as_bytes()) => at + 3,
        _ => at,
    }
}

/// The end of a number of which `count` characters end at `at`.
#[inline(always)]
fn number<R: Rules>(text: &[u8], mut at: usize, mut count: usize) -> usize {
    while count < R::DIGITS {
        let (class, length) = peek(text, at);
        if class & NUMBER == 0 {
            break;
        }
        at += length;
        count += 1;
    }
    at
}

/// The end of a run of neither words nor numbers nor spaces that goes on at `at`.
#[inline(always)]
fn other<R: Rules>(text: &[u8], at: usize) -> usize {
    let mut end = run(text, at, is_other);
    if R::NEWLINE_TAIL {
        while text.get(end).is_some_and(|byte| matches!(byte, b'\r' | b'\n') || R::SLASH_TAIL && *byte == b'/') {
            end += 1;
        }
    }
    end
}

/// The end of a run of white space: after its last newline if that cuts; else, if something follows and there is more than
/// one character, before its last character, which is left to what follows.
#[inline(always)]
fn white_space<R: Rules>(text: &[u8], at: usize) -> usize {
    let (mut end, mut last, mut newline_end) = (at, at, at);
    loop {
        let (class, length) = peek(text, end);
        if class & SPACE == 0 {
            break;
        }
        last = end;
        end += length;
        if class & NEWLINE != 0 {
            newline_end = end;
        }
    }
    if R::NEWLINE_CUT && newline_end > at {
        newline_end
    } else if end < text.len() && last > at {
        last
    } else {
        end
    }
}
