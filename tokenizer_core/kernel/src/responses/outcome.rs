//! What is known of an answer at its end, as JSON.

use std::ops::Range;

use super::Malformed;
use super::parser::ResponseParser;
use super::value::{Dict, Value, write_items};
use crate::json::string::write_string;

/// A part of the text: a region's text, or what belongs to no field.
#[derive(Debug)]
pub(super) struct Part {
    pub(super) field: Option<usize>,
    pub(super) range: Range<usize>,
}

/// A part of the text that is not as the template says, and why.
#[derive(Debug)]
pub(super) struct Malformation {
    pub(super) reason: Malformed,
    pub(super) range: Range<usize>,
}

/// Write an object: the message, the text of each call's arguments, the parts and what is malformed with their places
/// in characters of the output, the field that is open at the end, and the one that lacks its end.
pub(super) fn write(parser: &ResponseParser, open: Option<usize>, unfinished: Option<usize>) -> Vec<u8> {
    let places = Places::new(parser);
    let fields = &parser.template.fields;
    let name = |field: Option<usize>, json: &mut Vec<u8>| match field {
        Some(at) => write_string(&fields[at].name, json),
        None => json.extend_from_slice(b"null"),
    };
    let mut json = b"{\"message\":".to_vec();
    Value::Dict(parser.message.clone()).write(&mut json);
    json.extend_from_slice(b",\"arguments\":");
    let calls = match parser.message.get("tool_calls") {
        Some(Value::List(calls)) => &calls[..],
        _ => &[],
    };
    write_items(&mut json, (b'[', b']'), calls, |call, json| {
        let function = call.as_dict().and_then(|call| call.get("function")).and_then(Value::as_dict);
        match function.and_then(|function| function.get("arguments")) {
            Some(Value::Text(text)) => write_string(text, json),
            Some(Value::Dict(Dict { written: Some(range), .. })) => write_string(&parser.text[range.clone()], json),
            other => {
                let mut text = Vec::new();
                other.unwrap_or(&Value::Null).write(&mut text);
                write_string(&String::from_utf8_lossy(&text), json);
            }
        }
    });
    json.extend_from_slice(b",\"parts\":");
    write_items(&mut json, (b'[', b']'), places.all(parser.parts.iter(), |part| &part.range), |(part, place), json| {
        json.push(b'[');
        name(part.field, json);
        json.extend_from_slice(format!(",{},{}]", place.start, place.end).as_bytes());
    });
    json.extend_from_slice(b",\"malformed\":");
    let malformed = places.all(parser.malformed.iter(), |one| &one.range);
    write_items(&mut json, (b'[', b']'), malformed, |(one, place), json| {
        json.extend_from_slice(format!("[\"{}\",{},{}]", one.reason, place.start, place.end).as_bytes());
    });
    json.extend_from_slice(b",\"open\":");
    name(open, &mut json);
    json.extend_from_slice(b",\"unfinished\":");
    name(unfinished, &mut json);
    json.push(b'}');
    json
}

/// Places of the text in characters of the output.
struct Places<'p> {
    output: &'p str,
    start: usize,
    /// Every so many bytes, the characters before; empty if each is a byte.
    counted: Vec<usize>,
}

/// Bytes between two places whose characters are counted.
const STRIDE: usize = 256;

impl<'p> Places<'p> {
    fn new(parser: &'p ResponseParser) -> Self {
        let output = &parser.text[parser.output_start..];
        let mut counted = Vec::new();
        if !output.is_ascii() {
            let mut count = 0;
            for chunk in output.as_bytes().chunks(STRIDE) {
                counted.push(count);
                count += characters(chunk);
            }
            counted.push(count);
        }
        Self { output, start: parser.output_start, counted }
    }

    fn place(&self, byte: usize) -> usize {
        let byte = byte.saturating_sub(self.start);
        let from = byte / STRIDE;
        match self.counted.get(from) {
            None => byte,
            Some(count) => count + characters(&self.output.as_bytes()[from * STRIDE..byte]),
        }
    }

    /// Each of what is not wholly before the output, with its place.
    fn all<'i, T: 'i>(
        &self,
        items: impl Iterator<Item = &'i T>,
        range: impl Fn(&T) -> &Range<usize>,
    ) -> impl Iterator<Item = (&'i T, Range<usize>)> {
        items.filter_map(move |item| {
            let Range { start, end } = *range(item);
            (end > self.start || start >= self.start).then(|| (item, self.place(start)..self.place(end)))
        })
    }
}

/// The number of characters that begin in bytes.
fn characters(bytes: &[u8]) -> usize {
    bytes.iter().filter(|byte| **byte & 0xC0 != 0x80).count()
}
