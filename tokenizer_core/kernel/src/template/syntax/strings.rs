//! Strings as Python reads, writes and classifies them.

use std::ops::RangeInclusive;
use std::sync::OnceLock;

use crate::unicode::table::ranges_of;

/// `str.isspace`, which is also what `strip` and `split` go by.
pub fn is_space(character: char) -> bool {
    character.is_whitespace() || matches!(character, '\x1c'..='\x1f')
}

/// Tell whether `str.splitlines` ends a line at a character.
pub fn is_line_break(character: char) -> bool {
    matches!(character, '\n' | '\r' | '\x0b' | '\x0c' | '\x1c'..='\x1e' | '\u{85}' | '\u{2028}' | '\u{2029}')
}

/// Return the value of a string literal, given without its quotes.
pub fn literal(source: &str) -> Result<String, String> {
    let mut text = String::with_capacity(source.len());
    let mut rest = source;
    while let Some(at) = rest.find('\\') {
        text.push_str(&rest[..at]);
        rest = &rest[at + 1..];
        let Some(escape) = rest.chars().next() else { return Err("\\ at end of string".to_owned()) };
        rest = &rest[escape.len_utf8()..];
        let simple = match escape {
            '\n' => Some(""),
            '\\' => Some("\\"),
            '\'' => Some("'"),
            '"' => Some("\""),
            'a' => Some("\x07"),
            'b' => Some("\x08"),
            'f' => Some("\x0c"),
            'n' => Some("\n"),
            'r' => Some("\r"),
            't' => Some("\t"),
            'v' => Some("\x0b"),
            _ => None,
        };
        if let Some(simple) = simple {
            text.push_str(simple);
            continue;
        }
        let digits = match escape {
            'x' => 2,
            'u' => 4,
            'U' => 8,
            '0'..='7' => {
                let more = rest.bytes().take(2).take_while(|byte| matches!(byte, b'0'..=b'7')).count();
                let digits = format!("{escape}{}", &rest[..more]);
                rest = &rest[more..];
                text.extend(u32::from_str_radix(&digits, 8).ok().and_then(char::from_u32));
                continue;
            }
            'N' => return Err("names of characters are not supported".to_owned()),
            // Jinja writes what is not ASCII as an escape, whose backslash this one takes.
            _ if !escape.is_ascii() => {
                text.push('\\');
                text.push_str(escape_of(escape).trim_start_matches('\\'));
                continue;
            }
            _ => {
                text.push('\\');
                text.push(escape);
                continue;
            }
        };
        let code = rest.get(..digits).filter(|digits| digits.bytes().all(|byte| byte.is_ascii_hexdigit()));
        let code = code.and_then(|digits| u32::from_str_radix(digits, 16).ok());
        let character = code.and_then(char::from_u32).ok_or_else(|| format!("truncated \\{escape} escape"))?;
        text.push(character);
        rest = &rest[digits..];
    }
    text.push_str(rest);
    Ok(text)
}

/// `\xe9`, `\u4f60` or `\U0001f600`.
fn escape_of(character: char) -> String {
    match u32::from(character) {
        code @ ..0x100 => format!("\\x{code:02x}"),
        code @ ..0x1_0000 => format!("\\u{code:04x}"),
        code => format!("\\U{code:08x}"),
    }
}

/// Write a string as `repr` does.
pub fn write_repr(text: &str, into: &mut String) {
    let quote = if text.contains('\'') && !text.contains('"') { '"' } else { '\'' };
    into.push(quote);
    for character in text.chars() {
        match character {
            '\\' => into.push_str("\\\\"),
            '\n' => into.push_str("\\n"),
            '\r' => into.push_str("\\r"),
            '\t' => into.push_str("\\t"),
            _ if character == quote => {
                into.push('\\');
                into.push(quote);
            }
            ' '..='~' => into.push(character),
            _ if is_printable(character) => into.push(character),
            _ => into.push_str(&escape_of(character)),
        }
    }
    into.push(quote);
}

fn holds(ranges: &[RangeInclusive<usize>], character: char) -> bool {
    let at = ranges.partition_point(|range| *range.end() < character as usize);
    ranges.get(at).is_some_and(|range| range.contains(&(character as usize)))
}

/// `str.isprintable`, of this kernel's version of Unicode.
pub fn is_printable(character: char) -> bool {
    static HIDDEN: OnceLock<Vec<RangeInclusive<usize>>> = OnceLock::new();
    character == ' ' || !holds(HIDDEN.get_or_init(|| ranges_of(r"[\p{C}\p{Z}]")), character)
}

/// `str.isalpha` of one character.
pub fn is_letter(character: char) -> bool {
    static LETTERS: OnceLock<Vec<RangeInclusive<usize>>> = OnceLock::new();
    character.is_ascii_alphabetic()
        || (!character.is_ascii() && holds(LETTERS.get_or_init(|| ranges_of(r"\p{L}")), character))
}

/// `str.isdecimal` of one character.
pub fn is_decimal(character: char) -> bool {
    static DECIMALS: OnceLock<Vec<RangeInclusive<usize>>> = OnceLock::new();
    character.is_ascii_digit()
        || (!character.is_ascii() && holds(DECIMALS.get_or_init(|| ranges_of(r"\p{Nd}")), character))
}

/// A letter that has a titlecase form of its own.
fn is_title(character: char) -> bool {
    matches!(character, 'ǅ' | 'ǈ' | 'ǋ' | 'ǲ' | '\u{1F88}'..='\u{1F8F}' | '\u{1F98}'..='\u{1F9F}')
        || matches!(character, '\u{1FA8}'..='\u{1FAF}' | '\u{1FBC}' | '\u{1FCC}' | '\u{1FFC}')
}

/// Tell whether a character has a case.
pub fn is_cased(character: char) -> bool {
    character.is_lowercase() || character.is_uppercase() || is_title(character)
}

/// Append the form that `title` and `capitalize` give to the first letter of a word.
pub fn push_title(character: char, into: &mut String) {
    let single = match character {
        'Ǆ'..='ǆ' => Some('ǅ'),
        'Ǉ'..='ǉ' => Some('ǈ'),
        'Ǌ'..='ǌ' => Some('ǋ'),
        'Ǳ'..='ǳ' => Some('ǲ'),
        '\u{10D0}'..='\u{10FA}' | '\u{10FD}'..='\u{10FF}' => Some(character),
        '\u{1F80}'..='\u{1FAF}' => char::from_u32(u32::from(character) | 8),
        '\u{1FB3}' | '\u{1FC3}' | '\u{1FF3}' => char::from_u32(u32::from(character) + 9),
        '\u{1FBC}' | '\u{1FCC}' | '\u{1FFC}' => Some(character),
        _ => None,
    };
    if let Some(single) = single {
        into.push(single);
        return;
    }
    let mut upper = character.to_uppercase();
    into.extend(upper.next());
    for rest in upper {
        match rest {
            '\u{399}' => into.push('\u{345}'),
            _ if character == 'ŉ' => into.push(rest),
            _ => into.extend(rest.to_lowercase()),
        }
    }
}

/// `str.islower`: some characters have a case, and all of these are lower.
pub fn is_lower(text: &str) -> bool {
    text.chars().any(char::is_lowercase) && !text.chars().any(|c| c.is_uppercase() || is_title(c))
}

/// `str.isupper`.
pub fn is_upper(text: &str) -> bool {
    text.chars().any(char::is_uppercase) && !text.chars().any(|c| c.is_lowercase() || is_title(c))
}
