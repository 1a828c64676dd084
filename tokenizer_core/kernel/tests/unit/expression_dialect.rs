//! The dialect that Hugging Face reads: what is translated, and what it then finds.

use super::*;
use crate::regex::{Expression, StepBudget};

/// The text with `_` for every match; an empty match right after another does not count.
fn replaced(expression: &Expression, text: &str) -> String {
    let mut steps = StepBudget::default();
    let (mut from, mut last, mut kept, mut new) = (0, None, 0, String::new());
    while let Some((start, end)) = expression.find(text, from, &mut steps).expect("few steps") {
        let passed = start == end && last == Some(end);
        if !passed {
            new.push_str(&text[kept..start]);
            new.push('_');
            (kept, last) = (end, Some(end));
        }
        from = if start == end { end + text[end..].chars().next().map_or(1, char::len_utf8) } else { end };
    }
    new + &text[kept..]
}

#[test]
fn flags_are_translated_outside_of_classes_and_escapes() {
    let translated = |pattern| translate(pattern).expect("no s");
    assert_eq!(translated(r"(?m)a(?i-m:b)(?-m)"), "(?s:a(?i-s:b)(?-s:))");
    assert_eq!(translated("(a(?i)b|c)d|(?i)e|f"), "(a(?i:b|c))d|(?i:e|f)");
    assert_eq!(translated(r"a{,}[{,}]\{,}"), r"a\{,\}[{,}]\{,}");
    for same in [r"\(?m", "[(?m)]", "[[a](?m)]", "(?#(?m)x", "(?<m>a)", "(?=m)", "(?:m)", r"\", "(?", "(?m"] {
        assert_eq!(translated(same), same);
    }
    assert!(translate("(?s)a").is_err() && translate("(?x)a").is_err() && translate("(?i)a)").is_err());
    assert!(translate("[[:^alpha:]]").is_err() && translate("[[:;]]").is_ok());
    assert!(translate("a{2}?").is_err() && translate(r"\p{^graph}").is_err() && translate(r"[\P{Print}]").is_err());
    for refused in [r"\u{61}", r"\U00000061", r"\xe9", r"[\xC3\xA9]"] {
        assert!(translate(refused).is_err(), "{refused}");
    }
    for same in [r"\x7f\u0061\x{e9}\\xe9", "a{}?", "a{2,2}?", r"\{2}?", "[{2}?]", r"\x{61}?", r"\p{L}?"] {
        assert_eq!(translated(same), same);
    }
    assert!(translate(r"[\w--_]").is_err() && translate("a--[-~]").is_ok());
}

#[test]
fn expressions_are_read_as_oniguruma_reads_them() {
    // The right sides were printed by Hugging Face tokenizers 0.23.3.
    for (pattern, text, expected) in [
        (r"(?m)a.c", "a\nc", "_"),
        (r"(?mi:A.)c", "a\nc", "_"),
        (r"(?-m)a.c", "a\nc", "a\nc"),
        (r"a$", "a\nb a", "_\nb _"),
        (r"\Aa", "a\na", "_\na"),
        (r"a\Z", "a\na\n", "a\n_\n"),
        (r"a\z", "a\na\n", "a\na\n"),
        (r"^", "a\nb\n", "_a\n_b\n"),
        (r"$", "a\nb\n", "a_\nb_\n_"),
        (r"[:alp]+", "alp:é", "_é"),
        (r"\w+", "aⅧ1_-", "_-"),
        (r"\d", "1٣", "__"),
        (r"\p{Han}", "中a", "_a"),
        (r"\x{4e2d}", "中", "_"),
        (r"\u4e2d", "中", "_"),
        (r"[a-z&&[^b]]+", "abc", "_b_"),
        (r"a{,2}b", "aab", "_"),
        (r"\R", "\r\n\n", "__"),
        (r"(?<n>a)\k<n>", "aab", "_b"),
        (r"a++b", "aab", "_"),
        (r"\p{^L}", "a1", "a_"),
        (r"\P{L}", "a1", "a_"),
        (r"\s", "\u{85}\u{180e}\u{200b}\u{a0}", "_\u{180e}\u{200b}_"),
        (r"[^\S\n]+", "a \n ", "a_\n_"),
        (r"\b", "ab cd", "_ab_ _cd_"),
        (r"\h+", "0fg", "_g"),
        (r".", "a\r\n\u{2028}", "__\n_"),
    ] {
        let expression = Expression::new(pattern).expect(pattern);
        assert_eq!(replaced(&expression, text), expected, "{pattern:?} on {text:?}");
    }
}
