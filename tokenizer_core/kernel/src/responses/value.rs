//! Values of a message.

use std::ops::Range;

use rustc_hash::FxHashMap;

use crate::json::string::write_string;

/// A value, as JSON has them.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Value {
    Null,
    Bool(bool),
    /// As JSON writes it.
    Number(String),
    Text(String),
    List(Vec<Value>),
    Dict(Dict),
}

/// Values by name, in their order.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Dict {
    pub(super) entries: Vec<(String, Value)>,
    /// The place in the text where it was written.
    pub(super) written: Option<Range<usize>>,
}

impl Dict {
    /// The last value of each name, where the name stood first.
    pub(super) fn new(entries: Vec<(String, Value)>, written: Option<Range<usize>>) -> Self {
        let mut places = FxHashMap::default();
        let mut kept: Vec<(String, Value)> = Vec::with_capacity(entries.len());
        for (name, value) in entries {
            match places.get(&name) {
                Some(place) => kept[*place] = (name, value),
                None => {
                    places.insert(name.clone(), kept.len());
                    kept.push((name, value));
                }
            }
        }
        Self { entries: kept, written }
    }

    pub(super) fn get(&self, name: &str) -> Option<&Value> {
        self.entries.iter().find(|(known, _)| known == name).map(|(_, value)| value)
    }

    pub(super) fn get_mut(&mut self, name: &str) -> Option<&mut Value> {
        self.entries.iter_mut().find(|(known, _)| known == name).map(|(_, value)| value)
    }

    pub(super) fn set(&mut self, name: &str, value: Value) {
        match self.get_mut(name) {
            Some(place) => *place = value,
            None => self.entries.push((name.to_owned(), value)),
        }
    }
}

impl Value {
    /// Tell whether it is nothing, or holds nothing.
    pub(super) fn is_empty(&self) -> bool {
        match self {
            Self::Null => true,
            Self::Text(text) => text.is_empty(),
            Self::List(items) => items.is_empty(),
            Self::Dict(dict) => dict.entries.is_empty(),
            _ => false,
        }
    }

    pub(super) fn as_dict(&self) -> Option<&Dict> {
        if let Self::Dict(dict) = self { Some(dict) } else { None }
    }

    pub(super) fn as_text(&self) -> Option<&str> {
        if let Self::Text(text) = self { Some(text) } else { None }
    }

    /// Append it as JSON.
    pub(super) fn write(&self, json: &mut Vec<u8>) {
        match self {
            Self::Null => json.extend_from_slice(b"null"),
            Self::Bool(true) => json.extend_from_slice(b"true"),
            Self::Bool(false) => json.extend_from_slice(b"false"),
            Self::Number(number) => json.extend_from_slice(number.as_bytes()),
            Self::Text(text) => write_string(text, json),
            Self::List(items) => write_items(json, (b'[', b']'), items, |item, json| item.write(json)),
            Self::Dict(dict) => write_items(json, (b'{', b'}'), &dict.entries, |(name, value), json| {
                write_string(name, json);
                json.push(b':');
                value.write(json);
            }),
        }
    }
}

/// Append items with commas between them, in brackets.
pub(super) fn write_items<T>(
    json: &mut Vec<u8>,
    (open, close): (u8, u8),
    items: impl IntoIterator<Item = T>,
    mut write: impl FnMut(T, &mut Vec<u8>),
) {
    json.push(open);
    for (at, item) in items.into_iter().enumerate() {
        if at > 0 {
            json.push(b',');
        }
        write(item, json);
    }
    json.push(close);
}
