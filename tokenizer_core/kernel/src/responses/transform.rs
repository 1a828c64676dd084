//! The form that a field's `transform` gives to what was read.

use super::Malformed;
use super::json::is_word;
use super::value::{Dict, Value};

/// The names within `{...}` if the whole text is a placeholder.
fn placeholder(text: &str) -> Option<&str> {
    let path = text.strip_prefix('{')?.strip_suffix('}')?;
    path.split('.').all(|name| !name.is_empty() && name.chars().all(is_word)).then_some(path)
}

/// Find a text that mixes a placeholder with other text.
pub(super) fn mixed(transform: &Value) -> Option<&str> {
    match transform {
        Value::Dict(dict) => dict.entries.iter().find_map(|(_, value)| mixed(value)),
        Value::List(items) => items.iter().find_map(mixed),
        Value::Text(text) => {
            let within = |(at, _): (usize, &str)| {
                let end = text[at..].find('}').map(|end| at + end + 1);
                end.is_some_and(|end| placeholder(&text[at..end]).is_some())
            };
            (placeholder(text).is_none() && text.match_indices('{').any(within)).then_some(text)
        }
        _ => None,
    }
}

/// Put the values of a scope where the placeholders stand.
pub(super) fn apply(transform: &Value, scope: &[&Dict]) -> Result<Value, Malformed> {
    Ok(match transform {
        Value::Dict(dict) => {
            let entries = dict.entries.iter().map(|(name, value)| Ok((name.clone(), apply(value, scope)?)));
            Value::Dict(Dict { entries: entries.collect::<Result<_, Malformed>>()?, written: None })
        }
        Value::List(items) => Value::List(items.iter().map(|item| apply(item, scope)).collect::<Result<_, _>>()?),
        Value::Text(text) => match placeholder(text) {
            None => transform.clone(),
            Some(path) => {
                let mut names = path.split('.');
                let root = names.next().unwrap_or_default();
                let mut value = scope.iter().find_map(|scope| scope.get(root)).ok_or("missing_value")?;
                for name in names {
                    value = value.as_dict().ok_or("not_an_object")?.get(name).ok_or("missing_value")?;
                }
                value.clone()
            }
        },
        _ => transform.clone(),
    })
}
