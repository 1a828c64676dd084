//! One field of every line of JSON.

use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, Visitor};

use crate::error::{Code, Error, Result};

const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// Call `document` with the text of `field` in every line that is not blank.
///
/// # Errors
/// `invalid_corpus` at `line n` (`first_line` is the number of the first), and what `document` returns.
pub fn each_document(
    lines: &[u8],
    first_line: u64,
    field: &str,
    mut document: impl FnMut(&str) -> Result<()>,
) -> Result<()> {
    for (line, number) in lines.split(|byte| *byte == b'\n').zip(first_line..) {
        if line.iter().all(u8::is_ascii_whitespace) {
            continue;
        }
        let mut json = serde_json::Deserializer::from_slice(line);
        let text = Field(field).deserialize(&mut json).and_then(|text| json.end().map(|()| text));
        let text = text.map_err(|error| {
            let column = error.column();
            let mut reason = error.to_string();
            reason.truncate(reason.find(" at line ").unwrap_or(reason.len()));
            if line.starts_with(BYTE_ORDER_MARK) {
                reason = String::from("a byte order mark, with which no JSON begins; write the file without it");
            }
            let message = format!("line {number}, column {column}: {reason}");
            Error::new(Code::InvalidCorpus, message).at_field(format!("line {number}"))
        })?;
        document(&text)?;
    }
    Ok(())
}

/// Reads an object and keeps one of its strings.
struct Field<'f>(&'f str);

impl<'de> DeserializeSeed<'de> for Field<'_> {
    type Value = String;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> std::result::Result<String, D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for Field<'_> {
    type Value = String;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "an object with a string {:?}", self.0)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> std::result::Result<String, A::Error> {
        let mut text = None;
        while let Some(key) = map.next_key::<std::borrow::Cow<'de, str>>()? {
            if key != self.0 {
                map.next_value::<IgnoredAny>()?;
            } else if text.replace(map.next_value::<String>()?).is_some() {
                return Err(serde::de::Error::custom(format_args!("the field {:?} stands twice", self.0)));
            }
        }
        text.ok_or_else(|| serde::de::Error::custom(format_args!("there is no field {:?}", self.0)))
    }
}
