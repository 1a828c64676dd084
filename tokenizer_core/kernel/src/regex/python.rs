//! Expressions as Python's module `regex` reads them with `DOTALL`, whose groups are captured.

use fancy_regex::internal::{FLAG_DOTNL, FLAG_UNICODE};
use fancy_regex::{Expr, LookAround};

use super::portable::WORD;
use super::{Expression, MAX_LENGTH, compile, refusal};
use crate::error::Result;

impl Expression {
    /// Compile an expression in Python's syntax.
    ///
    /// # Errors
    /// `invalid_pattern`: it does not compile, or has a part whose meaning differs here.
    pub(crate) fn python(pattern: &str) -> Result<Self> {
        let refuse = |reason: &str| refusal(pattern, reason);
        if pattern.len() > MAX_LENGTH {
            return Err(refuse(&format!("it is longer than {MAX_LENGTH} bytes")));
        }
        let translated = translate(pattern).map_err(refuse)?;
        let tree = Expr::parse_tree_with_flags(&translated, FLAG_UNICODE | FLAG_DOTNL)
            .map_err(|error| refuse(&error.to_string()))?;
        let captures = !tree.named_groups.is_empty() || !tree.backrefs.is_empty();
        let program = compile::compile(&tree.expr, captures).map_err(|reason| refuse(&reason))?;
        let mut groups = Vec::new();
        for (name, numbers) in &tree.named_groups {
            let [number] = numbers[..] else { return Err(refuse("two groups have one name")) };
            let slots = *program.groups.get(number - 1).ok_or_else(|| refuse("a group is never reached"))?;
            groups.push((name.to_string(), slots));
        }
        groups.sort();
        Ok(Self { program, groups, required: required(&tree.expr) })
    }

    /// Compile a choice of texts, of which the longest counts that is there.
    pub(crate) fn of_literals(literals: &[String]) -> Result<Self> {
        let mut longest_first: Vec<&String> = literals.iter().collect();
        longest_first.sort_by_key(|literal| std::cmp::Reverse(literal.len()));
        let escaped: Vec<String> = longest_first.into_iter().map(|literal| regex_syntax::escape(literal)).collect();
        Self::python(&escaped.join("|"))
    }

    /// The names of the groups.
    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        self.groups.iter().map(|(name, _)| name.as_str())
    }
}

/// The longest text that every match holds, or has behind it in a look-ahead.
fn required(expression: &Expr) -> Option<Box<[u8]>> {
    match expression {
        Expr::Literal { val, casei: false } => Some(val.as_bytes().into()),
        Expr::Concat(parts) => {
            // The parser makes one literal of each character.
            let mut found: Vec<Box<[u8]>> = Vec::new();
            let mut text = Vec::new();
            for part in parts {
                match part {
                    Expr::Literal { val, casei: false } => text.extend_from_slice(val.as_bytes()),
                    other => {
                        found.push(std::mem::take(&mut text).into());
                        found.extend(required(other));
                    }
                }
            }
            found.push(text.into());
            found.into_iter().filter(|text| !text.is_empty()).max_by_key(|text| text.len())
        }
        Expr::Group(inner) => required(inner),
        Expr::AtomicGroup(inner) | Expr::LookAround(inner, LookAround::LookAhead) => required(inner),
        Expr::Repeat { child, lo: 1.., .. } => required(child),
        _ => None,
    }
}

/// Rewrite what the parser would read in another way than Python, or refuse it.
fn translate(pattern: &str) -> std::result::Result<String, &'static str> {
    let word = &WORD[1..WORD.len() - 1];
    let mut translated = String::with_capacity(pattern.len());
    let mut rest = pattern;
    // Where the open class began.
    let mut class = None;
    while let Some(character) = rest.chars().next() {
        let mut length = character.len_utf8();
        let here = translated.len();
        match character {
            '\\' => {
                let letter = rest[1..].chars().next().ok_or("it ends in a backslash")?;
                length = 1 + letter.len_utf8();
                match (letter, class.is_some()) {
                    ('w', true) => translated.push_str(word),
                    ('w', false) => translated.extend(["[", word, "]"]),
                    ('W', false) => translated.extend(["[^", word, "]"]),
                    ('b', false) => {
                        translated.extend(["(?:(?<=[", word, "])(?![", word, "])|(?<![", word, "])(?=[", word, "]))"]);
                    }
                    ('Z', false) => translated.push_str("\\z"),
                    ('A' | 'd' | 'D' | 's' | 'S' | 'n' | 'r' | 't' | 'f' | 'v' | '0'..='9', _) | ('x' | 'u', _) => {
                        translated.push_str(&rest[..length]);
                    }
                    ('p' | 'P', _) if rest[length..].starts_with('{') => translated.push_str(&rest[..length]),
                    (letter, _) if !letter.is_alphanumeric() => {
                        translated.push_str(&regex_syntax::escape(letter.encode_utf8(&mut [0; 4])));
                    }
                    _ => return Err("it has an escape that is not supported"),
                }
            }
            '[' if class.is_none() => {
                class = Some(here);
                length = ["[^]", "[]", "[^"].into_iter().find(|start| rest.starts_with(start)).map_or(1, str::len);
                translated.push_str(rest[..length].trim_end_matches(']'));
                if rest[..length].ends_with(']') {
                    translated.push_str("\\]");
                }
            }
            '[' if rest.starts_with("[:") => return Err("POSIX brackets are not supported"),
            '-' if class.is_some() && rest.starts_with("--") => return Err("-- in a class is not supported"),
            '[' | '&' | '~' if class.is_some() => translated.extend(['\\', character]),
            ']' if class.is_some() => {
                class = None;
                translated.push(']');
            }
            '$' if class.is_none() => translated.push_str("(?=\\n?\\z)"),
            '(' if class.is_none() => {
                if let Some(flags) = super::dialect::flags(rest) {
                    if flags.contains(|flag| !matches!(flag, 'i' | 's')) {
                        return Err("no group options but i and s are supported");
                    }
                    if rest[2 + flags.len()..].starts_with(')') && here > 0 {
                        return Err("options of the whole expression stand at its beginning");
                    }
                }
                translated.push('(');
            }
            _ => translated.push(character),
        }
        rest = &rest[length..];
    }
    Ok(translated)
}
