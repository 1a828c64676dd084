//! The scanners, one character at a time: the truth that those of 64 bytes are tested against, and their fallback.

use super::char_runs::{peek, run, run_of_blanks, run_of_letters};
use super::rules::{Contraction, PatternRules};
use crate::unicode::{CASELESS, LETTER, LOWER, MARK, NEWLINE, NUMBER, SPACE, UPPER};

/// Write the ends of the next matches from `at` on into `ends`, and return how many.
pub(super) fn fill<R: PatternRules>(text: &[u8], mut at: usize, ends: &mut [u32]) -> usize {
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
pub(super) fn match_end<R: PatternRules>(text: &[u8], at: usize) -> usize {
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

/// `[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+` or, where it fails, the same with `+` and `*` changed
/// over; then a contraction. One of them matches wherever a letter or a mark stands.
///
/// The first set takes all it can. If a small letter follows, the second goes on from there; if not, the first gives
/// back up to the last character that is in both sets, which is then the whole of the second.
#[inline(always)]
fn cased_word<R: PatternRules>(text: &[u8], at: usize) -> usize {
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
pub(super) fn contraction<R: PatternRules>(text: &[u8], at: usize) -> usize {
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
fn number<R: PatternRules>(text: &[u8], mut at: usize, mut count: usize) -> usize {
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
fn other<R: PatternRules>(text: &[u8], at: usize) -> usize {
    let mut end = run(text, at, is_other);
    if R::NEWLINE_TAIL {
        while text.get(end).is_some_and(|byte| matches!(byte, b'\r' | b'\n') || R::SLASH_TAIL && *byte == b'/') {
            end += 1;
        }
    }
    end
}

/// The end of a run of white space: after its last newline if that cuts; else, if something follows and there is more
/// than one character, before its last character, which is left to what follows.
#[inline(always)]
fn white_space<R: PatternRules>(text: &[u8], at: usize) -> usize {
    let (mut end, mut last, mut newline_end) = (at, at, at);
    loop {
        let blanks_end = run_of_blanks(text, end);
        if blanks_end > end {
            (last, end) = (blanks_end - 1, blanks_end);
        }
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
