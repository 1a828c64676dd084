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

/// Tell whether `digits` begin with two that are a byte beyond ASCII.
fn is_high_byte(digits: &str) -> bool {
    matches!(digits.as_bytes(), [b'8' | b'9' | b'a'..=b'f' | b'A'..=b'F', low, ..] if low.is_ascii_hexdigit())
}

/// Tell whether `braces` are those of `\p{Graph}` or `\p{Print}`, with any signs that no engine looks at between.
fn is_visible(braces: &str) -> bool {
    let name = braces.split('}').next().unwrap_or_default();
    let name: String = name.chars().filter(char::is_ascii_alphabetic).collect();
    ["graph", "print"].into_iter().any(|visible| name.eq_ignore_ascii_case(visible))
}

/// Tell whether `rest` begins like `{2}?`.
fn is_optional_count(rest: &str) -> bool {
    let count = rest.strip_prefix('{').and_then(|count| count.split_once("}?"));
    count.is_some_and(|(count, _)| !count.is_empty() && count.bytes().all(|digit| digit.is_ascii_digit()))
}

/// The flags of a group such as `(?i)` or `(?m-i:a)`.
pub(super) fn flags(rest: &str) -> Option<&str> {
    let flags = rest.strip_prefix("(?")?;
    let end = flags.find(|flag: char| flag != '-' && !flag.is_ascii_alphabetic())?;
    flags[end..].starts_with([')', ':']).then(|| &flags[..end]).filter(|flags| !flags.is_empty())
}

/// Tell whether `rest` begins like `[:alpha:]`, which is a class only inside another, there of all Unicode.
fn is_posix_bracket(rest: &str) -> bool {
    let name = rest.strip_prefix("[:").map(|name| name.strip_prefix('^').unwrap_or(name));
    name.is_some_and(|name| name.trim_start_matches(|letter: char| letter.is_ascii_lowercase()).starts_with(":]"))
}

#[cfg(test)]
#[path = "../../tests/unit/expression_dialect.rs"]
mod tests;
