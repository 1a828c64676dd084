//! Messages of `developer` for a template that does not know the role, as vLLM gives them: as messages of `system`.

use super::messages::{fields, text_of_part};
use super::places::Places;
use crate::template::syntax::failure::Result;
use crate::template::values::budget::Budget;
use crate::template::values::text::{Builder, Text};
use crate::template::values::value::{Dict, Value};

/// A message, and its number in the request.
pub type Numbered<'t> = (u32, Value<'t>);

/// Stands between the system messages that become one.
const BETWEEN: &str = "\n\n";

/// Tell whether a template's source speaks of the role.
pub fn knows_developer(source: &str) -> bool {
    source.contains("\"developer\"") || source.contains("'developer'")
}

/// Tell whether a message has this role.
pub fn has_role(message: &Value<'_>, role: &str) -> bool {
    fields(message).and_then(|fields| fields.get_str("role")).and_then(Value::as_str) == Some(role)
}

/// Make messages of `developer` messages of `system`, and all of these one at the beginning, if there is more than one
/// or it stands elsewhere.
pub fn as_system<'t>(
    messages: Vec<Numbered<'t>>,
    places: &mut Places<'t>,
    budget: &Budget,
) -> Result<Vec<Numbered<'t>>> {
    let is_developer = |message: &Value<'t>| has_role(message, "developer");
    if !messages.iter().any(|(_, message)| is_developer(message)) {
        return Ok(messages);
    }
    let is_system = |message: &Value<'t>| is_developer(message) || has_role(message, "system");
    let count = messages.iter().filter(|(_, message)| is_system(message)).count();
    if count > 1 || !is_system(&messages[0].1) {
        return joined(messages, &is_system, places, budget);
    }
    let mut messages = messages;
    if let Some(sent) = fields(&messages[0].1) {
        let kept = sent.entries().iter().filter(|(key, _)| key.as_str() != Some("tools")).cloned();
        let entries = kept.map(|(key, value)| match key.as_str() {
            Some("role") => (key, Value::literal("system")),
            _ => (key, value),
        });
        messages[0].1 = Value::Dict(Dict::of(entries.collect(), budget)?);
    }
    Ok(messages)
}

fn joined<'t>(
    messages: Vec<Numbered<'t>>,
    is_system: &dyn Fn(&Value<'t>) -> bool,
    places: &mut Places<'t>,
    budget: &Budget,
) -> Result<Vec<Numbered<'t>>> {
    let (systems, mut rest): (Vec<_>, Vec<_>) = messages.into_iter().partition(|(_, message)| is_system(message));
    let mut whole = Builder::with_capacity(256);
    for (number, message) in &systems {
        let texts: Vec<&Text<'t>> = match fields(message).and_then(|fields| fields.get_str("content")) {
            Some(Value::Str(text)) => vec![text],
            Some(Value::List(parts)) => parts.values.iter().filter_map(text_of_part).collect(),
            _ => Vec::new(),
        };
        if texts.iter().all(|text| text.is_empty()) && texts.len() < 2 {
            continue;
        }
        let origin = places.content_of(*number) * 2;
        if whole.len() > 0 {
            whole.push(BETWEEN, origin);
        }
        for (at, text) in texts.into_iter().enumerate() {
            if at > 0 {
                whole.push("\n", origin);
            }
            whole.push_text(text);
        }
    }
    let content = (places.key(0, "content").0, Value::Str(whole.finish()));
    let entries = vec![(places.key(0, "role").0, Value::literal("system")), content];
    let number = systems.first().map_or(0, |(number, _)| *number);
    rest.insert(0, (number, Value::Dict(Dict::of(entries, budget)?)));
    Ok(rest)
}
