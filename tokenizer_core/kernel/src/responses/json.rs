//! JSON as Python's `json.loads` takes it, and the dialects that models write.

use std::ops::Range;

use super::Malformed;
use super::value::{Dict, Value};
use crate::json::string::unescape;

/// The most lists and objects that enclose a value.
pub(super) const MAX_DEPTH: usize = 200;

/// The differences between what a model writes and JSON.
#[derive(Debug, Default)]
pub(super) struct Dialect {
    /// What opens and what closes a string besides quotation marks.
    pub(super) delimiters: Vec<(String, String)>,
    /// Names without quotation marks are names.
    pub(super) unquoted_keys: bool,
}

const WRONG: Malformed = "invalid_json";

impl Dialect {
    /// Read a part of a text that is one value.
    pub(super) fn read(&self, text: &str, range: Range<usize>) -> Result<Value, Malformed> {
        let mut reader = self.reader(text, &range);
        let value = reader.value(0)?;
        reader.skip_space();
        if reader.at == range.end { Ok(value) } else { Err(WRONG) }
    }

    /// Read a part of a text that is values with white space, a comma, a semicolon or nothing between them.
    pub(super) fn read_sequence(&self, text: &str, range: Range<usize>) -> Result<Value, Malformed> {
        let mut reader = self.reader(text, &range);
        let mut values = Vec::new();
        loop {
            reader.skip_space();
            if !values.is_empty() && (reader.takes(",") || reader.takes(";")) {
                reader.skip_space();
            }
            if reader.at == range.end {
                return Ok(Value::List(values));
            }
            values.push(reader.value(0)?);
        }
    }

    fn reader<'t>(&'t self, text: &'t str, range: &Range<usize>) -> Reader<'t> {
        Reader { dialect: self, text: &text[..range.end], at: range.start }
    }
}

/// Read a whole text of plain JSON.
pub(super) fn read(text: &str) -> Result<Value, Malformed> {
    Dialect::default().read(text, 0..text.len())
}

struct Reader<'t> {
    dialect: &'t Dialect,
    text: &'t str,
    at: usize,
}

impl Reader<'_> {
    fn skip_space(&mut self) {
        let rest = &self.text.as_bytes()[self.at..];
        self.at += rest.iter().take_while(|byte| matches!(byte, b' ' | b'\t' | b'\n' | b'\r')).count();
    }

    fn takes(&mut self, literal: &str) -> bool {
        let is_here = self.text[self.at..].starts_with(literal);
        if is_here {
            self.at += literal.len();
        }
        is_here
    }

    fn value(&mut self, depth: usize) -> Result<Value, Malformed> {
        self.skip_space();
        if let Some(text) = self.string()? {
            return Ok(Value::Text(text));
        }
        let start = self.at;
        if self.takes("{") {
            let mut entries = Vec::new();
            self.items("}", depth, |reader| {
                let name = reader.name()?;
                reader.skip_space();
                if !reader.takes(":") {
                    return Err(WRONG);
                }
                entries.push((name, reader.value(depth + 1)?));
                Ok(())
            })?;
            return Ok(Value::Dict(Dict::new(entries, Some(start..self.at))));
        }
        if self.takes("[") {
            let mut items = Vec::new();
            self.items("]", depth, |reader| {
                items.push(reader.value(depth + 1)?);
                Ok(())
            })?;
            return Ok(Value::List(items));
        }
        let words = [("null", Value::Null), ("true", Value::Bool(true)), ("false", Value::Bool(false))];
        for (word, value) in words {
            if self.takes(word) {
                return Ok(value);
            }
        }
        let length = number_length(&self.text.as_bytes()[start..]).ok_or(WRONG)?;
        self.at += length;
        Ok(Value::Number(self.text[start..self.at].to_owned()))
    }

    /// Read items up to `close`, with commas between them.
    fn items(
        &mut self,
        close: &str,
        depth: usize,
        mut item: impl FnMut(&mut Self) -> Result<(), Malformed>,
    ) -> Result<(), Malformed> {
        if depth >= MAX_DEPTH {
            return Err("nested_too_deep");
        }
        self.skip_space();
        if self.takes(close) {
            return Ok(());
        }
        loop {
            item(self)?;
            self.skip_space();
            if self.takes(close) {
                return Ok(());
            }
            if !self.takes(",") {
                return Err(WRONG);
            }
        }
    }

    fn name(&mut self) -> Result<String, Malformed> {
        self.skip_space();
        if let Some(name) = self.string()? {
            return Ok(name);
        }
        let rest = &self.text[self.at..];
        let length = rest.find(|letter: char| !is_word(letter)).unwrap_or(rest.len());
        if length == 0 || !self.dialect.unquoted_keys {
            return Err(WRONG);
        }
        self.at += length;
        Ok(rest[..length].to_owned())
    }

    /// Read a string, if one begins here.
    fn string(&mut self) -> Result<Option<String>, Malformed> {
        for (open, close) in &self.dialect.delimiters {
            if self.takes(open) {
                let rest = &self.text[self.at..];
                let length = rest.find(close.as_str()).ok_or(WRONG)?;
                self.at += length + close.len();
                return Ok(Some(rest[..length].to_owned()));
            }
        }
        if !self.takes("\"") {
            return Ok(None);
        }
        let mut text = Vec::new();
        self.at = unescape(self.text, self.at, &mut text).ok_or(WRONG)?;
        String::from_utf8(text).map(Some).map_err(|_| WRONG)
    }
}

/// Tell whether a character is one of Python's `\w`.
pub(super) fn is_word(letter: char) -> bool {
    letter.is_alphanumeric() || letter == '_'
}

/// The length of the number of JSON that the bytes begin with.
pub(super) fn number_length(bytes: &[u8]) -> Option<usize> {
    let digits = |from: usize| bytes[from..].iter().take_while(|byte| byte.is_ascii_digit()).count();
    let mut at = usize::from(bytes.first() == Some(&b'-'));
    let whole = if bytes.get(at) == Some(&b'0') { 1 } else { digits(at) };
    if whole == 0 {
        return None;
    }
    at += whole;
    if bytes.get(at) == Some(&b'.') && digits(at + 1) > 0 {
        at += 1 + digits(at + 1);
    }
    if matches!(bytes.get(at), Some(b'e' | b'E')) {
        let sign = usize::from(matches!(bytes.get(at + 1), Some(b'+' | b'-')));
        let exponent = if at + 1 + sign < bytes.len() { digits(at + 1 + sign) } else { 0 };
        if exponent > 0 {
            at += 1 + sign + exponent;
        }
    }
    Some(at)
}
