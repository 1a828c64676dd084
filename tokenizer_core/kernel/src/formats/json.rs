//! Read JSON strictly: duplicate keys are refused, nesting is bounded, every error has the path of its field.

use std::borrow::Cow;
use std::fmt;

use serde::de::{self, Deserialize, DeserializeSeed, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value};

use crate::error::{Code, Error, Result};

/// A string that is borrowed from the document unless it holds an escape.
pub struct JsonText<'de>(pub Cow<'de, str>);

impl<'de> Deserialize<'de> for JsonText<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> std::result::Result<Self, D::Error> {
        struct TextVisitor;
        impl<'de> Visitor<'de> for TextVisitor {
            type Value = JsonText<'de>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a string")
            }
            fn visit_borrowed_str<E>(self, text: &'de str) -> std::result::Result<JsonText<'de>, E> {
                Ok(JsonText(Cow::Borrowed(text)))
            }
            fn visit_str<E>(self, text: &str) -> std::result::Result<JsonText<'de>, E> {
                Ok(JsonText(Cow::Owned(text.to_owned())))
            }
        }
        deserializer.deserialize_str(TextVisitor)
    }
}

/// One step of a path.
#[derive(Debug, Clone)]
pub enum JsonStep<'de> {
    /// A key of an object.
    Key(Cow<'de, str>),
    /// An index into an array.
    Index(usize),
}

/// The path that is being read, and the error that made reading stop.
#[derive(Debug, Default)]
pub struct JsonReader<'de> {
    path: Vec<JsonStep<'de>>,
    failure: Option<Error>,
    /// Values read into a tree so far.
    values: usize,
}

impl<'de> JsonReader<'de> {
    /// Go down one step; the path stays there if an error ends the reading.
    pub fn enter(&mut self, step: JsonStep<'de>) {
        self.path.push(step);
    }

    /// Come back up.
    pub fn leave(&mut self) {
        self.path.pop();
    }

    /// Replace the last step: the next key or index of the same container.
    pub fn turn(&mut self, step: JsonStep<'de>) {
        if let Some(last) = self.path.last_mut() {
            *last = step;
        }
    }

    /// Keep an error at the current path; the returned one only makes serde stop.
    pub fn fail<E: de::Error>(&mut self, code: Code, message: impl Into<String>) -> E {
        let error = Error::new(code, message).at_field(render(&self.path));
        self.failure.get_or_insert(error);
        E::custom("refused")
    }

    fn error(self, error: &serde_json::Error) -> Error {
        self.failure.unwrap_or_else(|| {
            let error = Error::new(Code::InvalidFile, format!("not the JSON that is expected here: {error}"));
            if self.path.is_empty() { error } else { error.at_field(render(&self.path)) }
        })
    }
}

/// The longest part of a key that an error repeats, in characters.
const KEY_SHOWN: usize = 80;

/// The path of a key below `parent`.
pub fn key_path(parent: &str, key: &str) -> String {
    if is_identifier(key) { format!("{parent}.{key}") } else { format!("{parent}[{}]", quote(key)) }
}

fn render(path: &[JsonStep<'_>]) -> String {
    let mut text = String::new();
    for step in path {
        match step {
            JsonStep::Index(index) => text.push_str(&format!("[{index}]")),
            JsonStep::Key(key) if text.is_empty() && is_identifier(key) => text.push_str(key),
            JsonStep::Key(key) => text = key_path(&text, key),
        }
    }
    text
}

fn is_identifier(key: &str) -> bool {
    key.len() <= KEY_SHOWN
        && key.starts_with(|char: char| char.is_ascii_alphabetic() || char == '_')
        && key.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}

/// The text as a JSON string, cut if it is long: what a file says must not flood a message.
pub fn quote(text: &str) -> String {
    let mut shown: String = text.chars().take(KEY_SHOWN).collect();
    if shown.len() < text.len() {
        shown.push('…');
    }
    Value::String(shown).to_string()
}

/// The text of a file.
///
/// # Errors
/// `invalid_file`: not UTF-8, or a byte order mark.
pub fn utf8(data: &[u8]) -> Result<&str> {
    if data.starts_with(b"\xEF\xBB\xBF") {
        return Err(Error::new(
            Code::InvalidFile,
            "the file begins with a byte order mark; save it as UTF-8 without one",
        ));
    }
    std::str::from_utf8(data).map_err(|error| {
        Error::new(Code::InvalidFile, format!("the file is not UTF-8 from byte {} on", error.valid_up_to()))
    })
}

/// Read one whole document with `seed`, which is given the reader that keeps the path.
///
/// # Errors
/// The seed's error, else `invalid_file` with line and column: also trailing data, and nesting deeper than 127.
pub fn read<'de, T, F>(text: &'de str, seed: F) -> Result<T>
where
    F: FnOnce(
        &mut JsonReader<'de>,
        &mut serde_json::Deserializer<serde_json::de::StrRead<'de>>,
    ) -> serde_json::Result<T>,
{
    let mut reader = JsonReader::default();
    let mut deserializer = serde_json::Deserializer::from_str(text);
    match seed(&mut reader, &mut deserializer).and_then(|value| deserializer.end().map(|()| value)) {
        Ok(value) => Ok(value),
        Err(error) => Err(reader.error(&error)),
    }
}

/// The most values in a tree, since a list of zeros takes 16 times its size in memory. Llama 3's file has 2,100 besides
/// its entries and merges.
const MAX_VALUES: usize = 2_000_000;

/// Reads any value into a tree, and refuses an object that has a key twice.
pub struct Checked<'r, 'de>(pub &'r mut JsonReader<'de>);

impl<'de> DeserializeSeed<'de> for Checked<'_, 'de> {
    type Value = Value;
    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> std::result::Result<Value, D::Error> {
        self.0.values += 1;
        if self.0.values > MAX_VALUES {
            return Err(self.0.fail(Code::InvalidFile, format!("the file has more than {MAX_VALUES} values here")));
        }
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Checked<'_, 'de> {
    type Value = Value;
    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("any JSON value")
    }
    fn visit_bool<E>(self, value: bool) -> std::result::Result<Value, E> {
        Ok(Value::Bool(value))
    }
    fn visit_i64<E>(self, value: i64) -> std::result::Result<Value, E> {
        Ok(Value::from(value))
    }
    fn visit_u64<E>(self, value: u64) -> std::result::Result<Value, E> {
        Ok(Value::from(value))
    }
    fn visit_f64<E: de::Error>(self, value: f64) -> std::result::Result<Value, E> {
        match Number::from_f64(value) {
            Some(number) => Ok(Value::Number(number)),
            None => Err(self.0.fail(Code::InvalidFile, "the number is not finite")),
        }
    }
    fn visit_str<E>(self, value: &str) -> std::result::Result<Value, E> {
        Ok(Value::String(value.to_owned()))
    }
    fn visit_unit<E>(self) -> std::result::Result<Value, E> {
        Ok(Value::Null)
    }
    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> std::result::Result<Value, A::Error> {
        read_items(self.0, |reader| items.next_element_seed(Checked(reader))).map(Value::Array)
    }
    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> std::result::Result<Value, A::Error> {
        let mut values = Map::new();
        while let Some(JsonText(key)) = entries.next_key()? {
            insert(self.0, &mut values, key, &mut entries)?;
        }
        Ok(Value::Object(values))
    }
}

/// Read the items of an array, each of which `next` reads.
pub fn read_items<'de, T, E>(
    reader: &mut JsonReader<'de>,
    mut next: impl FnMut(&mut JsonReader<'de>) -> std::result::Result<Option<T>, E>,
) -> std::result::Result<Vec<T>, E> {
    let mut items = Vec::new();
    reader.enter(JsonStep::Index(0));
    while let Some(item) = next(reader)? {
        items.push(item);
        reader.turn(JsonStep::Index(items.len()));
    }
    reader.leave();
    Ok(items)
}

/// Read the value of `key` into `values`, refusing a key that is there already.
pub fn insert<'de, A: MapAccess<'de>>(
    reader: &mut JsonReader<'de>,
    values: &mut Map<String, Value>,
    key: Cow<'de, str>,
    entries: &mut A,
) -> std::result::Result<(), A::Error> {
    let is_new = !values.contains_key(key.as_ref());
    let value = read_once(reader, key.clone(), is_new, |reader| entries.next_value_seed(Checked(reader)))?;
    values.insert(key.into_owned(), value);
    Ok(())
}

/// Go down to `key` and read its value, refusing a key that stood before it already.
pub fn read_once<'de, T, E: de::Error>(
    reader: &mut JsonReader<'de>,
    key: Cow<'de, str>,
    is_new: bool,
    read: impl FnOnce(&mut JsonReader<'de>) -> std::result::Result<T, E>,
) -> std::result::Result<T, E> {
    reader.enter(JsonStep::Key(key));
    if !is_new {
        return Err(reader.fail(Code::InvalidFile, "the key stands twice"));
    }
    let value = read(reader)?;
    reader.leave();
    Ok(value)
}

#[cfg(test)]
#[path = "../../tests/unit/formats_json.rs"]
mod tests;
