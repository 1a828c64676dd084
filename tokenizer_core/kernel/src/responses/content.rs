//! What a region's text is worth, by the `content` of its field.

use std::ops::Range;

use super::coerce::{float, integer};
use super::json::Dialect;
use super::value::{Dict, Value};
use super::{Malformed, calls};
use crate::regex::{Expression, Search, Sought};
use crate::template::{is_space, write_float};

/// A content parser with its arguments.
#[derive(Debug)]
pub(super) enum Content {
    /// Text, with white space at its ends if not `strip`.
    Text {
        strip: bool,
    },
    Integer,
    Float,
    Bool {
        strip: bool,
    },
    /// JSON; what is not is text if `or_text` says how to strip it.
    Json {
        dialect: Dialect,
        or_text: Option<bool>,
    },
    /// Tags with a name and a value each, as groups of an expression.
    XmlInline {
        tag: Box<Expression>,
        value: Option<Box<Content>>,
        merge: bool,
    },
    KeyValueLines {
        line: String,
        separator: String,
        strip: bool,
        value: Option<Box<Content>>,
    },
    PythonCalls {
        lax: bool,
    },
    JsonSequence(Dialect),
}

impl Content {
    /// Tell whether each part of a region's text is a part of its value.
    pub(super) fn is_plain(&self) -> bool {
        matches!(self, Self::Text { .. } | Self::Integer | Self::Float | Self::Bool { .. })
    }

    /// Read a part of a text.
    pub(super) fn read(&self, text: &str, range: Range<usize>) -> Result<Value, Malformed> {
        let body = &text[range.clone()];
        match self {
            Self::Text { strip } => Ok(Value::Text(stripped(body, *strip).to_owned())),
            Self::Integer => integer(body).ok_or("invalid_number"),
            Self::Float => float(body).map(|number| Value::Number(write_float(number))).ok_or("invalid_number"),
            Self::Bool { strip } => {
                Ok(Value::Bool(matches!(stripped(body, *strip).to_lowercase().as_str(), "true" | "1")))
            }
            Self::Json { dialect, or_text } => match (dialect.read(text, range), or_text) {
                (Err(_), Some(strip)) => Ok(Value::Text(stripped(body, *strip).to_owned())),
                (read, _) => read,
            },
            Self::XmlInline { tag, value, merge } => read_tags(text, range, tag, value.as_deref(), *merge),
            Self::KeyValueLines { line: line_separator, separator, strip, value } => {
                let mut entries = Vec::new();
                for line in body.split(line_separator.as_str()) {
                    if let Some((name, after)) = stripped(line, *strip).split_once(separator.as_str()) {
                        let after = stripped(after, *strip);
                        let at = after.as_ptr() as usize - text.as_ptr() as usize;
                        let read = read_value(text, at..at + after.len(), value.as_deref())?;
                        entries.push((stripped(name, *strip).to_owned(), read));
                    }
                }
                Ok(Value::Dict(Dict::new(entries, Some(range))))
            }
            Self::PythonCalls { lax } => calls::read(text, range, *lax),
            Self::JsonSequence(dialect) => dialect.read_sequence(text, range),
        }
    }
}

fn stripped(text: &str, strip: bool) -> &str {
    if strip { text.trim_matches(is_space) } else { text }
}

fn read_value(text: &str, range: Range<usize>, content: Option<&Content>) -> Result<Value, Malformed> {
    match content {
        None => Ok(Value::Text(text[range].to_owned())),
        Some(content) => content.read(text, range),
    }
}

fn read_tags(
    text: &str,
    range: Range<usize>,
    tag: &Expression,
    content: Option<&Content>,
    merge: bool,
) -> Result<Value, Malformed> {
    let body = &text[range.clone()];
    let has_value = tag.names().any(|name| name == "value");
    let mut entries: Vec<(String, Value)> = Vec::new();
    let mut search = Search::default();
    let mut from = 0;
    while let Sought::Found(start, end) = search.advance(tag, body, from, false).map_err(|_| "step_limit")? {
        let group = |wanted| search.groups(tag).find(|(name, _)| *name == wanted).map(|(_, place)| place);
        let (from_key, to_key) = group("key").ok_or("missing_key")?;
        let value = match group("value") {
            Some((from, to)) => read_value(text, range.start + from..range.start + to, content)?,
            None if has_value => Value::Null,
            None => read_value("", 0..0, content)?,
        };
        entries.push((body[from_key..to_key].to_owned(), value));
        let is_empty = start == end;
        from = end + if is_empty { body[end..].chars().next().map_or(1, char::len_utf8) } else { 0 };
    }
    Ok(Value::Dict(Dict::new(if merge { merged(entries) } else { entries }, Some(range))))
}

/// The values of each name that stands more than once as a list.
fn merged(entries: Vec<(String, Value)>) -> Vec<(String, Value)> {
    let mut places = rustc_hash::FxHashMap::<String, (usize, usize)>::default();
    let mut kept: Vec<(String, Value)> = Vec::new();
    for (name, value) in entries {
        match places.get_mut(&name) {
            None => {
                places.insert(name.clone(), (kept.len(), 1));
                kept.push((name, value));
            }
            Some((place, count)) => {
                let known = &mut kept[*place].1;
                if *count == 1 {
                    *known = Value::List(vec![std::mem::replace(known, Value::Null)]);
                }
                if let Value::List(values) = known {
                    values.push(value);
                }
                *count += 1;
            }
        }
    }
    kept
}
