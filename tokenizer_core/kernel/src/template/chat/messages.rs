//! Messages as a template gets them: without nulls, with reasoning by every name, and with content in one form.

use std::rc::Rc;

use super::places::Places;
use crate::template::syntax::failure::Result;
use crate::template::values::budget::Budget;
use crate::template::values::compare::truth;
use crate::template::values::text::{Builder, Origin, Text};
use crate::template::values::value::{Dict, Value};

/// The names that templates read reasoning by.
pub const REASONING: [&str; 3] = ["reasoning_content", "thinking", "reasoning"];

/// Stands between the text parts of a message in one string, as in vLLM.
const BETWEEN: &str = "\n";

/// A dictionary with another value behind a key; a new key is the template's.
pub fn with<'t>(dict: &Dict<'t>, key: &'static str, value: Value<'t>, budget: &Budget) -> Result<Value<'t>> {
    replaced(dict, key, value, || Value::literal(key), budget)
}

/// A dictionary with another value behind a key, which is made if it is not there.
pub fn replaced<'t>(
    dict: &Dict<'t>,
    name: &str,
    value: Value<'t>,
    key: impl FnOnce() -> Value<'t>,
    budget: &Budget,
) -> Result<Value<'t>> {
    let mut entries = dict.entries().to_vec();
    match entries.iter_mut().find(|(known, _)| known.as_str() == Some(name)) {
        Some((_, old)) => *old = value,
        None => entries.push((key(), value)),
    }
    Ok(Value::Dict(Dict::of(entries, budget)?))
}

/// Leave out what is null, and give a message's reasoning all the names that templates read it by.
pub fn named_alike<'t>(message: Value<'t>, budget: &Budget) -> Result<Value<'t>> {
    let Value::Dict(dict) = &message else { return Ok(message) };
    let reasoning = REASONING.iter().find_map(|name| dict.get_str(name).filter(|value| !matches!(value, Value::None)));
    let has_nulls = dict.entries().iter().any(|(_, value)| matches!(value, Value::None));
    if reasoning.is_none() && !has_nulls {
        return Ok(message);
    }
    let kept = dict.entries().iter().filter(|(_, value)| !matches!(value, Value::None)).cloned();
    let mut entries = Vec::with_capacity(dict.len() + 2);
    if let Some(reasoning) = reasoning {
        entries.push((Value::literal("thinking"), reasoning.clone()));
    }
    entries.extend(kept);
    if let Some(reasoning) = reasoning {
        entries.push((Value::literal("reasoning_content"), reasoning.clone()));
    }
    Ok(Value::Dict(Dict::of(entries, budget)?))
}

/// The text parts of a message as one string, each with its place; `None` if there are other parts.
pub fn joined<'t>(parts: &[Value<'t>], keeps_empty: bool, places: &mut Places<'t>, message: u32) -> Option<Value<'t>> {
    let texts: Vec<_> = parts.iter().map(text_of_part).collect::<Option<_>>()?;
    let between = places.content_of(message) * 2;
    let mut joined = Builder::with_capacity(texts.iter().map(|text| text.len() + BETWEEN.len()).sum());
    let written = texts.iter().filter(|text| keeps_empty || !text.is_empty());
    for (at, text) in written.enumerate() {
        if at > 0 {
            joined.push(BETWEEN, between);
        }
        joined.push_text(text);
    }
    Some(Value::Str(joined.finish()))
}

/// A string as a list of one text part.
pub fn as_parts<'t>(text: &Text<'t>, budget: &Budget) -> Result<Value<'t>> {
    let of_caller = |literal: &'static str, origin: Origin| Value::Str(Text::Plain(literal, origin));
    let origin = text.origin();
    let part = vec![
        (of_caller("type", origin), of_caller("text", origin)),
        (Value::literal("text"), Value::Str(text.clone())),
    ];
    Value::list(vec![Value::Dict(Dict::of(part, budget)?)], budget)
}

pub fn text_of_part<'v, 't>(part: &'v Value<'t>) -> Option<&'v Text<'t>> {
    let Value::Dict(part) = part else { return None };
    match (part.get_str("type")?.as_str()?, part.get_str("text")?) {
        ("text", Value::Str(text)) => Some(text),
        _ => None,
    }
}

/// The dictionary that a message is.
pub fn fields<'v, 't>(message: &'v Value<'t>) -> Option<&'v Rc<Dict<'t>>> {
    match message {
        Value::Dict(dict) => Some(dict),
        _ => None,
    }
}

/// The first unusual field of a message, which templates seldom expect.
pub fn unusual(messages: &[Value<'_>]) -> Option<String> {
    messages.iter().enumerate().find_map(|(at, message)| {
        let get = |field| fields(message).and_then(|fields| fields.get_str(field));
        let at = fields(message).and_then(|fields| fields.message()).unwrap_or(at as u32);
        if !matches!(get("role"), Some(Value::Str(_))) {
            return Some(format!("messages[{at}].role"));
        }
        let has_calls = get("tool_calls").is_some_and(truth);
        let is_usual = has_calls || matches!(get("content"), Some(Value::Str(_) | Value::List(_)));
        (!is_usual).then(|| format!("messages[{at}].content"))
    })
}
