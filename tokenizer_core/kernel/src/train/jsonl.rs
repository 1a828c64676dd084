//! One field of every line of JSON.
//!
//! Parts that are not read are judged by JSON's grammar and the limits of `json/limits.rs` alone: a lone surrogate may
//! occur in them, and a number be out of range.

use std::borrow::Cow;
use std::fmt;
use std::str;

use serde::de::{self, DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};

use super::label::label;
use super::stream::{InvalidUtf8, refused};
use crate::error::{Code, Error, Result};
use crate::formats::json::JsonText;
use crate::json::limits::exceeded;
use crate::json::scan::Scanner;

/// Before the first line of a file it is not part of the line: some editors write it.
const BYTE_ORDER_MARK: &str = "\u{feff}";

/// Words that Python's `json` writes for numbers, and JSON does not have.
const NO_JSON: [&str; 2] = ["NaN", "Infinity"];

/// The source of lines, and the field to read.
#[derive(Debug, Clone, Copy)]
pub struct Lines<'l> {
    /// Whole lines.
    pub bytes: &'l [u8],
    /// Number of the first line in its file.
    pub first_line: u64,
    /// Its beginning in the file.
    pub first_byte: u64,
    /// The field whose string is a document.
    pub field: &'l str,
    /// The field whose string is the language of the document; empty where that is not asked for.
    pub language: &'l str,
}

/// A document of a line.
#[derive(Debug)]
pub struct Document<'l> {
    /// Its text.
    pub text: Cow<'l, str>,
    /// The label of its language, if the language is asked for.
    pub label: Option<String>,
}

/// Call `take` with the number of every line that is not blank, and its document or what is wrong with it:
/// `invalid_corpus` at `line n`, or `invalid_utf8` at the byte of the file.
///
/// # Errors
/// The error of `take`.
pub fn each_document(
    lines: Lines<'_>,
    invalid_utf8: InvalidUtf8,
    mut take: impl FnMut(u64, Result<Document<'_>>) -> Result<()>,
) -> Result<()> {
    let begins_file = lines.first_byte == 0;
    let without_mark = lines.bytes.strip_prefix(BYTE_ORDER_MARK.as_bytes()).filter(|_| begins_file);
    let bytes = without_mark.unwrap_or(lines.bytes);
    let mut start = lines.first_byte + (lines.bytes.len() - bytes.len()) as u64;
    for (line, number) in bytes.split(|byte| *byte == b'\n').zip(lines.first_line..) {
        if !line.iter().all(u8::is_ascii_whitespace) {
            match utf8(line, start, invalid_utf8) {
                Ok(line) => take(number, document_of(&line, number, lines, invalid_utf8))?,
                Err(error) => take(number, Err(error))?,
            }
        }
        start += line.len() as u64 + 1;
    }
    Ok(())
}

/// A line as UTF-8, which JSON has to be.
fn utf8(line: &[u8], start: u64, rule: InvalidUtf8) -> Result<Cow<'_, str>> {
    if let Ok(line) = simdutf8::basic::from_utf8(line) {
        return Ok(Cow::Borrowed(line));
    }
    match (str::from_utf8(line), rule) {
        (Ok(line), _) => Ok(Cow::Borrowed(line)),
        (Err(_), InvalidUtf8::Replace) => Ok(String::from_utf8_lossy(line)),
        (Err(error), InvalidUtf8::Refuse) => Err(refused(start + error.valid_up_to() as u64)),
    }
}

fn document_of<'l>(line: &'l str, number: u64, lines: Lines<'_>, rule: InvalidUtf8) -> Result<Document<'l>> {
    let text = text_of(line, number, lines.field, rule)?;
    if lines.language.is_empty() {
        return Ok(Document { text, label: None });
    }
    let refused = |error: Error| {
        let message = format!("line {number}: {}", error.message);
        Error::new(error.code, message).at_field(format!("line {number}"))
    };
    let label = label(&text_of(line, number, lines.language, rule)?, false).map_err(refused)?;
    Ok(Document { text, label: Some(label) })
}

fn text_of<'l>(line: &'l str, number: u64, field: &str, rule: InvalidUtf8) -> Result<Cow<'l, str>> {
    let at_column = |column: usize, reason: &str| {
        let message = format!("line {number}, column {column}: {reason}");
        Error::new(Code::InvalidCorpus, message).at_field(format!("line {number}"))
    };
    if let Some(text) = scanned(line, field) {
        return Ok(text);
    }
    if let Some((at, reason)) = exceeded(line.as_bytes()) {
        return Err(at_column(at + 1, &reason));
    }
    let error = match parse(line, field) {
        Ok(text) => return Ok(text),
        Err(error) => error,
    };
    let at_line = |reason: &str| at_column(error.column().max(1), reason);
    // The parser takes lone surrogates where a value is not read, but in no key and no text.
    let parsed_with = |other| Some(parse(&with_surrogates_as(line, other)?, field).ok()?.into_owned());
    if let Some(text) = parsed_with("\\ufffd") {
        let without = parsed_with("");
        let stand_in_a_key = without.as_ref() == Some(&text);
        return match rule {
            InvalidUtf8::Refuse if !stand_in_a_key => {
                Err(at_line("a surrogate stands alone in the text; replace_invalid makes it U+FFFD"))
            }
            _ => Ok(Cow::Owned(text)),
        };
    }
    let behind = line.get(error.column().saturating_sub(1)..).unwrap_or_default();
    if line.starts_with(BYTE_ORDER_MARK) {
        return Err(at_line("a byte order mark, which may stand only at the beginning of a file"));
    }
    if let Some(word) = NO_JSON.iter().find(|word| behind.starts_with(**word)) {
        return Err(at_line(&format!("{word} is not JSON; write null")));
    }
    if error.is_data() && !line.trim_ascii_start().starts_with('{') {
        return Err(at_line(&format!("not an object with a string {field:?}")));
    }
    let reason = error.to_string();
    Err(at_line(reason.split(" at line ").next().unwrap_or_default()))
}

/// The text of a line as nearly all are; the parser reads the rest, and says what is wrong with a line.
fn scanned<'l>(line: &'l str, field: &str) -> Option<Cow<'l, str>> {
    let mut scanner = Scanner::of(line);
    let mut text = None;
    scanner.object(|scanner, key| {
        if key != field {
            return scanner.check();
        }
        text.replace(scanner.text()?).is_none().then_some(())
    })?;
    scanner.end()?;
    text
}

fn parse<'l>(line: &'l str, field: &str) -> serde_json::Result<Cow<'l, str>> {
    let mut json = serde_json::Deserializer::from_str(line);
    let text = FieldSeed(field).deserialize(&mut json)?;
    json.end().map(|()| text)
}

/// A line of JSON with `other` in the place of every escaped surrogate that has no partner; `None` if it has none.
fn with_surrogates_as(line: &str, other: &str) -> Option<String> {
    let mut written = String::new();
    let mut copied = 0;
    let mut at = 0;
    while let Some(found) = line.get(at..).and_then(|rest| rest.find('\\')) {
        at += found;
        let step = match (escaped(line, at), escaped(line, at + 6)) {
            (Some(0xD800..0xDC00), Some(0xDC00..0xE000)) => 12,
            (Some(0xD800..0xE000), _) => {
                written.push_str(line.get(copied..at)?);
                written.push_str(other);
                copied = at + 6;
                6
            }
            _ => 2,
        };
        at += step;
    }
    written.push_str(line.get(copied..)?);
    (copied > 0).then_some(written)
}

/// The code unit that `\uXXXX` at a place stands for.
fn escaped(line: &str, at: usize) -> Option<u16> {
    let digits = line.get(at..at + 6)?.strip_prefix("\\u")?;
    u16::from_str_radix(digits, 16).ok()
}

/// Reads an object and keeps one of its strings.
struct FieldSeed<'f>(&'f str);

impl<'de> DeserializeSeed<'de> for FieldSeed<'_> {
    type Value = Cow<'de, str>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> std::result::Result<Self::Value, D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for FieldSeed<'_> {
    type Value = Cow<'de, str>;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "an object with a string {:?}", self.0)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> std::result::Result<Self::Value, A::Error> {
        let mut text = None;
        while let Some(JsonText(key)) = map.next_key()? {
            if key != self.0 {
                map.next_value::<IgnoredAny>()?;
            } else if text.replace(map.next_value_seed(DocumentSeed(self.0))?).is_some() {
                return Err(de::Error::custom(format_args!("the field {:?} stands twice", self.0)));
            }
        }
        text.ok_or_else(|| de::Error::custom(format_args!("there is no field {:?}", self.0)))
    }
}

/// Reads the value of a field, which has to be a string.
struct DocumentSeed<'f>(&'f str);

impl DocumentSeed<'_> {
    fn refuse<T, E: de::Error>(&self, found: &str) -> std::result::Result<T, E> {
        Err(E::custom(format_args!("the field {:?} is {found}, not a string", self.0)))
    }
}

impl<'de> DeserializeSeed<'de> for DocumentSeed<'_> {
    type Value = Cow<'de, str>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> std::result::Result<Self::Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for DocumentSeed<'_> {
    type Value = Cow<'de, str>;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a string")
    }

    fn visit_borrowed_str<E>(self, text: &'de str) -> std::result::Result<Self::Value, E> {
        Ok(Cow::Borrowed(text))
    }

    fn visit_str<E>(self, text: &str) -> std::result::Result<Self::Value, E> {
        Ok(Cow::Owned(text.to_owned()))
    }

    fn visit_unit<E: de::Error>(self) -> std::result::Result<Self::Value, E> {
        self.refuse("null")
    }

    fn visit_bool<E: de::Error>(self, value: bool) -> std::result::Result<Self::Value, E> {
        self.refuse(if value { "true" } else { "false" })
    }

    fn visit_i64<E: de::Error>(self, _: i64) -> std::result::Result<Self::Value, E> {
        self.refuse("a number")
    }

    fn visit_u64<E: de::Error>(self, _: u64) -> std::result::Result<Self::Value, E> {
        self.refuse("a number")
    }

    fn visit_f64<E: de::Error>(self, _: f64) -> std::result::Result<Self::Value, E> {
        self.refuse("a number")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, _: A) -> std::result::Result<Self::Value, A::Error> {
        self.refuse("a list")
    }

    fn visit_map<A: MapAccess<'de>>(self, _: A) -> std::result::Result<Self::Value, A::Error> {
        self.refuse("an object")
    }
}
