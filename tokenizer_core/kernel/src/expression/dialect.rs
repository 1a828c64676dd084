//! Regular expressions as Oniguruma reads them, which is what a `tokenizer.json` is written for.
//!
//! One difference is left, which no known file depends on: here one letter never matches two when the case is ignored
//! (`(?i)ss` and `ß`). Whatever else the parser would read in another way is rewritten or refused.

/// Rewrite flags: `s` for every `m`, and `(?i:...)` up to the end of the group for `(?i)`, which reaches over `|`.
/// Refuse with the reason where the engines differ and no rewrite exists.
pub(super) fn translate(pattern: &str) -> Result<String, &'static str> {
    let mut translated = String::with_capacity(pattern.len());
    // Depth of brackets: a class may hold classes, and a group never begins in one.
    let mut classes = 0_usize;
    // For the whole and each open group: how many flags end with it.
    let mut groups = vec![0_usize];
    let mut rest = pattern;
    while let Some(character) = rest.chars().next() {
        let mut length = character.len_utf8();
        match character {
            '\\' => length = escape(rest)?,
            '[' if classes > 0 && is_posix_bracket(rest) => {
                return Err("a POSIX bracket is not supported; write \\p{Alphabetic}, \\p{P} or the like");
            }
            '-' | '~' if classes > 0 && (rest.starts_with("--") || rest.starts_with("~~")) => {
                return Err("-- and ~~ in a class are read by every engine in a way of its own; write \\- or \\~");
            }
            '[' => {
                classes += 1;
                length = ["[^]", "[]"].into_iter().find(|start| rest.starts_with(start)).map_or(1, str::len);
            }
            ']' => classes = classes.saturating_sub(1),
            // Without a number it is text.
            '{' if classes == 0 && rest.starts_with("{,}") => {
                translated.push_str(r"\{,\}");
                rest = &rest[3..];
                continue;
            }
            '{' if classes == 0 && is_optional_count(rest) => {
                return Err("a{2}? is (?:a{2})? in Oniguruma and a{2} elsewhere; write what is meant");
            }
            '(' if classes == 0 && rest.starts_with("(?#") => length = rest.find(')').map_or(rest.len(), |end| end + 1),
            '(' if classes == 0 => {
                if let Some(flags) = flags(rest) {
                    if flags.contains(|flag| !matches!(flag, 'i' | 'm' | '-')) {
                        return Err("no group options but i and m are supported; (?m) lets the dot match a line feed");
                    }
                    length = 2 + flags.len() + 1;
                    translated.push_str("(?");
                    translated.push_str(&flags.replace('m', "s"));
                    translated.push(':');
                    match groups.last_mut() {
                        Some(open) if rest[..length].ends_with(')') => *open += 1,
                        _ => groups.push(0),
                    }
                    rest = &rest[length..];
                    continue;
                }
                groups.push(0);
            }
            ')' if classes == 0 => {
                let flags = groups.pop().filter(|_| !groups.is_empty()).ok_or("a group is closed that was not open")?;
                translated.extend(std::iter::repeat_n(')', flags));
            }
            _ => {}
        }
        translated.push_str(&rest[..length]);
        rest = &rest[length..];
    }
    translated.extend(std::iter::repeat_n(')', groups.first().copied().unwrap_or(0)));
    Ok(translated)
}

/// The length of the escape that `rest` begins with.
fn escape(rest: &str) -> Result<usize, &'static str> {
    let Some(letter) = rest[1..].chars().next() else { return Ok(1) };
    let length = 1 + letter.len_utf8();
    match (letter, rest[length..].starts_with('{')) {
        ('p' | 'P', false) => Err("a property needs braces, as in \\p{L}"),
        ('p' | 'P', true) if is_visible(&rest[length..]) => {
            Err("every engine reads \\p{Graph} and \\p{Print} in a way of its own; write [^\\s\\p{Cc}] or the like")
        }
        ('u', true) | ('U', _) => Err("\\u{17F} and \\U0000017F are not Oniguruma's; write \\x{17F}"),
        ('x', false) if is_high_byte(&rest[length..]) => {
            Err("\\xE9 is a byte in Oniguruma and a character elsewhere; write \\x{E9}")
        }
        ('p' | 'P' | 'x' | 'o', true) => Ok(rest.find('}').map_or(rest.len(), |end| end + 1)),
        _ => Ok(length),
    }
}

/// Whether `digits` begin with two that are a byte beyond ASCII.
fn is_high_byte(digits: &str) -> bool {
    matches!(digits.as_bytes(), [b'8' | b'9' | b'a'..=b'f' | b'A'..=b'F', low, ..] if low.is_ascii_hexdigit())
}

/// Whether `braces` are those of `\p{Graph}` or `\p{Print}`, with any signs that no engine looks at between.
fn is_visible(braces: &str) -> bool {
    let name = braces.split('}').next().unwrap_or_default();
    let name: String = name.chars().filter(char::is_ascii_alphabetic).collect();
    ["graph", "print"].into_iter().any(|visible| name.eq_ignore_ascii_case(visible))
}

/// Whether `rest` begins like `{2}?`.
fn is_optional_count(rest: &str) -> bool {
    let count = rest.strip_prefix('{').and_then(|count| count.split_once("}?"));
    count.is_some_and(|(count, _)| !count.is_empty() && count.bytes().all(|digit| digit.is_ascii_digit()))
}

/// The flags of a group such as `(?i)` or `(?m-i:a)`.
fn flags(rest: &str) -> Option<&str> {
    let flags = rest.strip_prefix("(?")?;
    let end = flags.find(|flag: char| flag != '-' && !flag.is_ascii_alphabetic())?;
    flags[end..].starts_with([')', ':']).then(|| &flags[..end]).filter(|flags| !flags.is_empty())
}

/// Whether `rest` begins like `[:alpha:]`, which is a class only inside another, there of all Unicode.
fn is_posix_bracket(rest: &str) -> bool {
    let name = rest.strip_prefix("[:").map(|name| name.strip_prefix('^').unwrap_or(name));
    name.is_some_and(|name| name.trim_start_matches(|letter: char| letter.is_ascii_lowercase()).starts_with(":]"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::expression::{Expression, StepBudget};

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
}
