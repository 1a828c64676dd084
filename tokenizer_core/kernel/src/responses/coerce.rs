//! The types of a tool's parameters, and arguments that were written as text cast to them, as Python casts.

use rustc_hash::FxHashMap;

use super::json;
use super::value::{Dict, Value};
use crate::error::{Code, Error, Result};
use crate::template::{is_space, write_float};

/// The most digits that Python makes a number of.
const MAX_DIGITS: usize = 4300;

/// The types of the parameters of each tool that has any.
#[derive(Debug, Default)]
pub struct Tools(FxHashMap<String, FxHashMap<String, Vec<String>>>);

impl Tools {
    /// Read a list of tools, with or without `function` around each.
    ///
    /// # Errors
    /// `invalid_option`: it is not a list.
    pub fn read(tools: &str) -> Result<Self> {
        let Ok(Value::List(tools)) = json::read(tools) else {
            return Err(Error::new(Code::InvalidOption, "tools is a list of objects").at_field("tools"));
        };
        let mut all = FxHashMap::default();
        for tool in tools.iter().filter_map(Value::as_dict) {
            let tool = tool.get("function").map_or(Some(tool), Value::as_dict);
            let Some((tool, name)) = tool.and_then(|tool| Some((tool, tool.get("name")?.as_text()?))) else { continue };
            let parameters = tool.get("parameters").and_then(Value::as_dict);
            let properties = parameters.and_then(|parameters| parameters.get("properties")).and_then(Value::as_dict);
            let entries = properties.map_or(&[][..], |properties| &properties.entries);
            let typed = entries.iter().map(|(name, schema)| (name.clone(), types_of(schema)));
            all.insert(name.to_owned(), typed.filter(|(_, types)| !types.is_empty()).collect());
        }
        Ok(Self(all))
    }

    /// Cast the arguments of a call, or of each of a list.
    pub(super) fn cast(&self, value: &mut Value) {
        if self.0.is_empty() {
            return;
        }
        match value {
            Value::List(items) => items.iter_mut().for_each(|item| self.cast(item)),
            Value::Dict(call) => self.cast_call(call),
            _ => {}
        }
    }

    fn cast_call(&self, call: &mut Dict) {
        let Some(Value::Dict(function)) = call.get_mut("function") else { return };
        let Some(types) = function.get("name").and_then(Value::as_text).and_then(|name| self.0.get(name)) else {
            return;
        };
        let Some(Value::Dict(arguments)) = function.get_mut("arguments") else { return };
        for (name, argument) in &mut arguments.entries {
            let Some(types) = types.get(name) else { continue };
            match argument {
                Value::Text(text) => *argument = cast(text, types),
                // What `merge_duplicates` gathered.
                Value::List(items) if !types.iter().any(|name| name == "array") => {
                    for item in items {
                        if let Value::Text(text) = item {
                            *item = cast(text, types);
                        }
                    }
                }
                _ => {}
            }
        }
    }
}

/// The types that a schema names, in their order.
fn types_of(schema: &Value) -> Vec<String> {
    let Value::Dict(schema) = schema else { return Vec::new() };
    let mut types: Vec<String> = match schema.get("type") {
        Some(Value::Text(name)) => vec![name.clone()],
        Some(Value::List(names)) => names.iter().filter_map(Value::as_text).map(str::to_owned).collect(),
        _ => Vec::new(),
    };
    for union in ["anyOf", "oneOf"] {
        if let Some(Value::List(choices)) = schema.get(union) {
            types.extend(choices.iter().flat_map(types_of));
        }
    }
    if schema.get("nullable").is_some_and(|flag| !flag.is_empty() && *flag != Value::Bool(false)) {
        types.push("null".to_owned());
    }
    types
}

/// Cast a text to the first type that it fits; a text that fits none stays.
fn cast(text: &str, types: &[String]) -> Value {
    types.iter().find_map(|name| cast_to(text, name)).unwrap_or_else(|| Value::Text(text.to_owned()))
}

fn cast_to(text: &str, name: &str) -> Option<Value> {
    let word = text.trim_matches(is_space);
    let whole = |number: f64| (number.fract() == 0.0).then(|| Value::Number(format!("{:.0}", number + 0.0)));
    match name {
        "integer" => integer(text).or_else(|| whole(float(text)?)),
        "number" => {
            let number = float(text)?;
            whole(number).filter(|_| !text.contains('.')).or_else(|| Some(Value::Number(write_float(number))))
        }
        "boolean" => boolean(word),
        "null" => matches!(word, "null" | "None").then_some(Value::Null),
        "object" => json::read(text).ok().filter(|value| matches!(value, Value::Dict(_))),
        "array" => json::read(text).ok().filter(|value| matches!(value, Value::List(_))),
        _ => None,
    }
}

/// The truth value that a word names.
fn boolean(word: &str) -> Option<Value> {
    match word.to_lowercase().as_str() {
        "true" | "1" => Some(Value::Bool(true)),
        "false" | "0" => Some(Value::Bool(false)),
        _ => None,
    }
}

/// The digits without the single underscores between them.
fn digits(text: &str) -> Option<String> {
    let parts = text.split('_');
    let is_number = parts.clone().all(|part| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit()));
    is_number.then(|| parts.collect())
}

/// A whole number as Python's `int` reads it.
pub(super) fn integer(text: &str) -> Option<Value> {
    let text = text.trim_matches(is_space);
    let (sign, number) = match text.strip_prefix('-') {
        Some(number) => ("-", number),
        None => ("", text.strip_prefix('+').unwrap_or(text)),
    };
    let number = digits(number).filter(|digits| digits.len() <= MAX_DIGITS)?;
    let number = number.trim_start_matches('0');
    Some(Value::Number(if number.is_empty() { "0".to_owned() } else { format!("{sign}{number}") }))
}

/// A finite number as Python's `float` reads it.
pub(super) fn float(text: &str) -> Option<f64> {
    let text = text.trim_matches(is_space);
    let is_between = |at: usize| {
        let is_digit = |at: usize| text.as_bytes().get(at).is_some_and(u8::is_ascii_digit);
        at > 0 && is_digit(at - 1) && is_digit(at + 1)
    };
    if text.match_indices('_').any(|(at, _)| !is_between(at)) {
        return None;
    }
    text.replace('_', "").parse().ok().filter(|number: &f64| number.is_finite())
}
