//! Calls as Python writes them: `[f(a=1, b="x"), g()]`.

use std::ops::Range;

use super::Malformed;
use super::json::{MAX_DEPTH, number_length};
use super::value::{Dict, Value};

const WRONG: Malformed = "invalid_calls";
/// The most lists and dicts that enclose a value in transformers.
const STRICT_DEPTH: usize = 100;
/// The largest integer that every reader of JSON keeps.
const MAX_INTEGER: u64 = (1 << 53) - 1;

/// Read calls; with `lax` a call may stand without brackets, commas may trail, names may repeat, and strings and
/// numbers are all that Python has.
pub(super) fn read(text: &str, range: Range<usize>, lax: bool) -> Result<Value, Malformed> {
    let mut reader = Reader { text: &text[..range.end], at: range.start, lax };
    let mut calls = Vec::new();
    if reader.takes("[") {
        reader.items("]", |reader| {
            calls.push(reader.call()?);
            Ok(())
        })?;
    } else if lax {
        calls.push(reader.call()?);
    } else {
        return Err(WRONG);
    }
    reader.skip_space();
    if reader.at == range.end { Ok(Value::List(calls)) } else { Err(WRONG) }
}

struct Reader<'t> {
    text: &'t str,
    at: usize,
    lax: bool,
}

impl Reader<'_> {
    fn rest(&self) -> &str {
        &self.text[self.at..]
    }

    fn skip_space(&mut self) {
        self.at = self.text.len() - self.rest().trim_start_matches([' ', '\t', '\n', '\r']).len();
    }

    fn takes(&mut self, literal: &str) -> bool {
        self.skip_space();
        let is_here = self.rest().starts_with(literal);
        if is_here {
            self.at += literal.len();
        }
        is_here
    }

    fn expect(&mut self, literal: &str) -> Result<(), Malformed> {
        if self.takes(literal) { Ok(()) } else { Err(WRONG) }
    }

    fn items(
        &mut self,
        close: &str,
        mut item: impl FnMut(&mut Self) -> Result<(), Malformed>,
    ) -> Result<(), Malformed> {
        if self.takes(close) {
            return Ok(());
        }
        loop {
            item(self)?;
            if self.takes(close) {
                return Ok(());
            }
            self.expect(",")?;
            if self.lax && self.takes(close) {
                return Ok(());
            }
        }
    }

    /// The length of the name that begins here: words with `-` or `.` between them.
    fn name_length(&self) -> usize {
        let bytes = self.rest().as_bytes();
        let word = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'_';
        if !bytes.first().is_some_and(|byte| word(byte) && !byte.is_ascii_digit()) {
            return 0;
        }
        let mut length = 1;
        while let Some(byte) = bytes.get(length) {
            let joins = matches!(byte, b'-' | b'.') && bytes.get(length + 1).is_some_and(word);
            if !word(byte) && !joins {
                break;
            }
            length += 1 + usize::from(joins);
        }
        length
    }

    fn name(&mut self) -> Result<String, Malformed> {
        self.skip_space();
        let length = self.name_length();
        let name = self.rest()[..length].to_owned();
        self.at += length;
        if length > 0 { Ok(name) } else { Err(WRONG) }
    }

    fn call(&mut self) -> Result<Value, Malformed> {
        let name = self.name()?;
        self.expect("(")?;
        let start = self.at;
        let mut entries = Vec::new();
        self.items(")", |reader| {
            let name = reader.name()?;
            reader.expect("=")?;
            entries.push((name, reader.value(0)?));
            Ok(())
        })?;
        let arguments = self.dict(entries, start..self.at - 1)?;
        let call = [("name", Value::Text(name)), ("arguments", arguments)];
        Ok(Value::Dict(Dict::new(call.map(|(name, value)| (name.to_owned(), value)).into(), None)))
    }

    fn dict(&self, entries: Vec<(String, Value)>, written: Range<usize>) -> Result<Value, Malformed> {
        let count = entries.len();
        let dict = Dict::new(entries, Some(written));
        if self.lax || dict.entries.len() == count { Ok(Value::Dict(dict)) } else { Err("repeated_name") }
    }

    fn value(&mut self, depth: usize) -> Result<Value, Malformed> {
        self.skip_space();
        let start = self.at;
        let is_deep = depth >= if self.lax { MAX_DEPTH } else { STRICT_DEPTH };
        match self.rest().as_bytes().first() {
            Some(b'"' | b'\'') => self.string().map(Value::Text),
            Some(b'[' | b'{') if is_deep => Err("nested_too_deep"),
            Some(b'[') => {
                self.at += 1;
                let mut items = Vec::new();
                self.items("]", |reader| {
                    items.push(reader.value(depth + 1)?);
                    Ok(())
                })?;
                Ok(Value::List(items))
            }
            Some(b'{') => {
                self.at += 1;
                let mut entries = Vec::new();
                self.items("}", |reader| {
                    reader.skip_space();
                    let name = reader.string()?;
                    reader.expect(":")?;
                    entries.push((name, reader.value(depth + 1)?));
                    Ok(())
                })?;
                self.dict(entries, start..self.at)
            }
            _ => self.atom(),
        }
    }

    fn atom(&mut self) -> Result<Value, Malformed> {
        if let Some(length) = number_length(self.rest().as_bytes()) {
            let number = &self.rest()[..length];
            let is_whole = !number.contains(['.', 'e', 'E']);
            let is_kept = self.lax
                || if is_whole {
                    number.trim_start_matches('-').parse().is_ok_and(|number: u64| number <= MAX_INTEGER)
                } else {
                    number.parse().is_ok_and(f64::is_finite)
                };
            let value = Value::Number(number.to_owned());
            self.at += length;
            return if is_kept { Ok(value) } else { Err("number_too_large") };
        }
        let length = self.name_length();
        let value = match &self.rest()[..length] {
            "True" | "true" => Value::Bool(true),
            "False" | "false" => Value::Bool(false),
            "None" | "null" => Value::Null,
            _ => return Err(WRONG),
        };
        self.at += length;
        Ok(value)
    }

    fn string(&mut self) -> Result<String, Malformed> {
        let quote = self.rest().chars().next().filter(|quote| matches!(quote, '"' | '\'')).ok_or(WRONG)?;
        self.at += 1;
        let mut text = String::new();
        loop {
            let plain = self.rest().find([quote, '\\', '\n', '\r']).ok_or(WRONG)?;
            text.push_str(&self.rest()[..plain]);
            self.at += plain;
            match self.rest().as_bytes()[0] {
                b'\\' => text.push_str(&self.escape()?),
                b'\n' | b'\r' if !self.lax => return Err(WRONG),
                byte => {
                    self.at += 1;
                    if char::from(byte) == quote {
                        return Ok(text);
                    }
                    text.push(char::from(byte));
                }
            }
        }
    }

    /// Read an escape, whose backslash is here.
    fn escape(&mut self) -> Result<String, Malformed> {
        let letter = self.rest()[1..].chars().next().ok_or(WRONG)?;
        let found = match letter {
            '\\' | '\'' | '"' | '/' => letter,
            'b' => '\x08',
            'f' => '\x0c',
            'n' => '\n',
            'r' => '\r',
            't' => '\t',
            'u' => return self.code(4),
            'x' if self.lax => return self.code(2),
            'U' if self.lax => return self.code(8),
            _ if self.lax => {
                self.at += 1 + letter.len_utf8();
                return Ok(format!("\\{letter}"));
            }
            _ => return Err(WRONG),
        };
        self.at += 2;
        Ok(found.into())
    }

    /// Read a code point of so many digits, or two that are a surrogate pair.
    fn code(&mut self, digits: usize) -> Result<String, Malformed> {
        let unit = |text: &str| {
            let digits = text.get(2..2 + digits).filter(|digits| digits.bytes().all(|digit| digit.is_ascii_hexdigit()));
            digits.and_then(|digits| u32::from_str_radix(digits, 16).ok())
        };
        let mut code = unit(self.rest()).ok_or(WRONG)?;
        self.at += 2 + digits;
        if (0xD800..0xDC00).contains(&code)
            && self.rest().starts_with("\\u")
            && let Some(low @ 0xDC00..0xE000) = unit(self.rest())
        {
            code = 0x10000 + ((code - 0xD800) << 10) + (low - 0xDC00);
            self.at += 2 + digits;
        }
        char::from_u32(code).map(String::from).ok_or(WRONG)
    }
}
