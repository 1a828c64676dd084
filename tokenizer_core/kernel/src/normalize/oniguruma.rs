//! Regular expressions as Oniguruma reads them, which is what a `tokenizer.json` is written for.
//!
//! Three differences are left, all without a known use in such files: `\w` here has U+200C and U+200D, one letter
//! never matches two without regard to case (`(?i)ss` and `ß`), and what `fancy-regex` lists as missing is refused.

use fancy_regex::{Regex, RegexBuilder};

use crate::error::{Code, Error, Result};

/// Backtracks that one search may take.
const MAX_BACKTRACKS: usize = 1_000_000;

/// Compile `pattern`: `^` and `$` are the ends of lines, and `(?m)` lets the dot match a line feed.
///
/// # Errors
/// `invalid_pattern`.
pub(crate) fn compile(pattern: &str) -> Result<Regex> {
    let refuse = |reason: &str| {
        // The pattern stands in a file; its beginning is enough to know it by, however long it is.
        let begin: String = pattern.chars().take(100).collect();
        Error::new(Code::InvalidPattern, format!("{begin:?} does not compile: {reason}"))
    };
    let translated = translate(pattern).map_err(refuse)?;
    RegexBuilder::new(&translated)
        .oniguruma_mode(true)
        .multi_line(true)
        .backtrack_limit(MAX_BACKTRACKS)
        .build()
        .map_err(|error| refuse(&error.to_string()))
}

/// Write `s` for every flag `m`; say why not where the engines differ and nothing can be written.
fn translate(pattern: &str) -> std::result::Result<String, &'static str> {
    let mut translated = String::with_capacity(pattern.len());
    // Depth of brackets: a class may hold classes, and a group never begins in one.
    let mut classes = 0_usize;
    let mut rest = pattern;
    while let Some(character) = rest.chars().next() {
        let mut length = character.len_utf8();
        match character {
            '\\' => length += rest[1..].chars().next().map_or(0, char::len_utf8),
            '[' if classes > 0 && is_posix_bracket(rest) => {
                return Err("a POSIX bracket is not supported; write \\p{Alphabetic}, \\p{P} or the like");
            }
            '[' => classes += 1,
            ']' => classes = classes.saturating_sub(1),
            '(' if classes == 0 && rest.starts_with("(?#") => length = rest.find(')').unwrap_or(rest.len()),
            '(' if classes == 0 && rest.starts_with("(?") => {
                let flags = rest[2..].trim_start_matches(|flag: char| flag == '-' || flag.is_ascii_alphabetic());
                let end = rest.len() - flags.len();
                if flags.starts_with([')', ':']) {
                    if rest[2..end].contains('s') {
                        return Err("undefined group option s; in Oniguruma (?m) lets the dot match a line feed");
                    }
                    translated.push_str(&rest[..end].replace('m', "s"));
                    rest = &rest[end..];
                    continue;
                }
            }
            _ => {}
        }
        translated.push_str(&rest[..length]);
        rest = &rest[length..];
    }
    Ok(translated)
}

/// Whether `rest` begins like `[:alpha:]`, which is a class only inside another, there of all Unicode.
fn is_posix_bracket(rest: &str) -> bool {
    let name = rest.strip_prefix("[:").map(|name| name.strip_prefix('^').unwrap_or(name));
    name.is_some_and(|name| name.trim_start_matches(|letter: char| letter.is_ascii_lowercase()).starts_with(":]"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flags_are_translated_outside_of_classes_and_escapes() {
        let translated = |pattern| translate(pattern).expect("no s");
        assert_eq!(translated(r"(?m)a(?im-x:b)(?-m)"), "(?s)a(?is-x:b)(?-s)");
        for same in [r"\(?m)", "[(?m)]", "[[a](?m)]", "(?#(?m)x)", "(?<m>a)", "(?=m)", "(?:m)", r"\", "(?", "(?m"] {
            assert_eq!(translated(same), same);
        }
        assert!(translate("(?s)a").is_err() && translate("[[:^alpha:]]").is_err() && translate("[[:;]]").is_ok());
    }

    #[test]
    fn expressions_are_read_as_oniguruma_reads_them() {
        // The right sides were printed by Hugging Face tokenizers 0.23.3.
        for (pattern, text, expected) in [
            (r"(?m)a.c", "a\nc", "_"),
            (r"(?mi-x:A.)c", "a\nc", "_"),
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
            (r"(?x) a b # c", "ab", "_"),
            (r"\h+", "0fg", "_g"),
            (r".", "a\r\n\u{2028}", "__\n_"),
        ] {
            let replace = super::super::replace::Replace::new(&crate::config::Pattern::Regex(pattern.to_owned()), "_");
            let new = replace.expect(pattern).rewrite(text, 1000).expect("no limit");
            assert_eq!(new.map_or(text.to_owned(), |new| new.text), expected, "{pattern:?} on {text:?}");
        }
    }
}
