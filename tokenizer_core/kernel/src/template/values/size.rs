//! The size of a caller's values, however their JSON is written: the budget of a rendering grows with it.

use super::value::Value;

/// The bytes that an object counts beside its JSON: a template does so much for each, however short it is.
const OBJECT_SIZE: usize = 200;
/// The bytes that a number counts.
const NUMBER_SIZE: usize = 8;

/// The bytes of a value's JSON without white space and escapes.
pub fn size(value: &Value<'_>) -> usize {
    match value {
        Value::Str(text) => text.len() + 2,
        Value::List(items) => 2 + sizes(&items.values),
        Value::Dict(dict) => {
            let entries = dict.entries().iter().map(|(key, value)| size(key) + size(value) + 2);
            OBJECT_SIZE + 2 + entries.sum::<usize>()
        }
        Value::Int(..) | Value::Float(..) => NUMBER_SIZE,
        Value::Big(digits, _) => digits.len(),
        _ => 4,
    }
}

/// The same of several values, with a comma behind each.
pub fn sizes(values: &[Value<'_>]) -> usize {
    values.iter().map(|value| size(value) + 1).sum()
}
