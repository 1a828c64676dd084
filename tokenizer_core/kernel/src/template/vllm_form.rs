//! Messages and tools as vLLM gives them to templates: all content is text parts, arguments of calls are objects, and
//! tools have the fields that vLLM knows. `service/routes/compat/vllm_messages.py` says what is not plain.

use std::rc::Rc;

use super::budget::Budget;
use super::dict::Dict;
use super::failure::Result;
use super::messages::{fields, replaced, with};
use super::places::Places;
use super::plain::{not_plain, text_of};
use super::value::{Items, Value};

/// How deep the arguments of a call stand in a message.
const ARGUMENTS_DEPTH: usize = 4;
/// Bytes of all arguments; more are counted before they are read.
const MAX_ARGUMENTS: usize = 128 << 10;
/// Ids that an engine made, which `/tokenize` goes on from: seldom sent, and read by the service.
const IDS_OF_A_MESSAGE: [&str; 2] = ["prompt_token_ids", "generation_token_ids"];

/// The arguments of all calls that are JSON in strings, in order.
pub fn arguments(messages: &[Value<'_>]) -> Vec<String> {
    let calls = messages.iter().filter_map(called).flat_map(|calls| &calls.values);
    let functions = calls.filter_map(|call| fields(call)?.get_str("function"));
    let arguments = functions.filter_map(|function| fields(function)?.get_str("arguments")?.as_str());
    arguments.map(str::to_owned).collect()
}

/// The calls of an assistant's message, if they are a list.
fn called<'v, 't>(message: &'v Value<'t>) -> Option<&'v Rc<Items<'t>>> {
    let fields = fields(message).filter(|fields| is_assistant(fields))?;
    match fields.get_str("tool_calls")? {
        Value::List(calls) => Some(calls),
        _ => None,
    }
}

/// Gives values the form of vLLM; each new key has a place of its own, as if the caller had sent it.
pub struct Form<'p, 't> {
    /// All places.
    pub places: &'p mut Places<'t>,
    /// What [`arguments`] found.
    pub arguments: std::slice::Iter<'t, String>,
    /// Nothing is charged: the budget grows with what is given.
    pub budget: &'p Budget,
}

impl<'t> Form<'_, 't> {
    /// The form of plain messages.
    pub fn messages(&mut self, messages: &[Value<'t>]) -> Result<Vec<Value<'t>>> {
        if self.arguments.as_slice().iter().map(String::len).sum::<usize>() > MAX_ARGUMENTS {
            return Err(not_plain());
        }
        messages.iter().enumerate().map(|(at, message)| self.message(message, at as u32)).collect()
    }

    fn message(&mut self, message: &Value<'t>, number: u32) -> Result<Value<'t>> {
        let sent = fields(message).ok_or_else(not_plain)?;
        if !matches!(sent.get_str("role"), Some(Value::Str(_))) {
            // The service says that it is missing; most templates would leave the message out.
            return Err(not_plain());
        }
        if IDS_OF_A_MESSAGE.iter().any(|field| sent.get_str(field).is_some()) {
            return Err(not_plain());
        }
        let content = self.content(sent.get_str("content"), number)?;
        let given = replaced(sent, "content", content, || self.places.key(0, "content").0, self.budget)?;
        let calls = match sent.get_str("tool_calls") {
            Some(calls) if is_assistant(sent) => calls,
            _ => return Ok(given),
        };
        // Even an empty list goes, and calls stand behind all other fields.
        let given = fields(&given).ok_or_else(not_plain)?;
        let of_calls = |(key, _): &&(Value<'t>, Value<'t>)| key.as_str() == Some("tool_calls");
        let mut entries: Vec<_> = given.entries().iter().filter(|entry| !of_calls(entry)).cloned().collect();
        let key = given.entries().iter().find(of_calls).map(|(key, _)| key.clone());
        match (calls, key) {
            (Value::None, _) => {}
            (Value::List(calls), Some(key)) => {
                let calls: Vec<_> = calls.values.iter().map(|call| self.call(call)).collect::<Result<_>>()?;
                if !calls.is_empty() {
                    entries.push((key, Value::list(calls, self.budget)?));
                }
            }
            _ => return Err(not_plain()),
        }
        Ok(Value::Dict(Dict::of(entries, self.budget)?))
    }

    fn content(&mut self, content: Option<&Value<'t>>, message: u32) -> Result<Value<'t>> {
        let texts: Vec<Value<'t>> = match content {
            None | Some(Value::None) => Vec::new(),
            Some(text @ Value::Str(_)) => vec![text.clone()],
            Some(Value::List(parts)) => {
                parts.values.iter().map(|part| text_of(part).cloned()).collect::<Option<_>>().ok_or_else(not_plain)?
            }
            Some(_) => return Err(not_plain()),
        };
        let above = self.places.content_of(message);
        let parts = texts.into_iter().enumerate().map(|(at, text)| {
            let above = self.places.item(above, at);
            let (kind, place) = self.places.key(above, "type");
            let (key, _) = self.places.key(above, "text");
            let part = vec![(kind, Value::of_caller("text", place)), (key, text)];
            Ok(Value::Dict(Dict::of(part, self.budget)?))
        });
        let parts = parts.collect::<Result<_>>()?;
        Value::list(parts, self.budget)
    }

    fn call(&mut self, call: &Value<'t>) -> Result<Value<'t>> {
        let call = fields(call).ok_or_else(not_plain)?;
        let function = call.get_str("function").and_then(fields).ok_or_else(not_plain)?;
        let (key, place) = self.places.key(0, "arguments");
        let given = match function.get_str("arguments") {
            Some(Value::Str(_)) => {
                let json = self.arguments.next().ok_or_else(not_plain)?;
                self.places.nested(json, place, ARGUMENTS_DEPTH)?
            }
            other => other.cloned().unwrap_or(Value::None),
        };
        let given = match given {
            Value::Dict(_) => given,
            _ => Value::Dict(Dict::of(Vec::new(), self.budget)?),
        };
        let function = replaced(function, "arguments", given, || key, self.budget)?;
        with(call, "function", function, self.budget)
    }

    /// The form of tools.
    pub fn tools(&mut self, tools: &Value<'t>) -> Result<Value<'t>> {
        let Value::List(tools) = tools else { return Err(not_plain()) };
        let tools = tools.values.iter().map(|tool| self.tool(tool)).collect::<Result<_>>()?;
        Value::list(tools, self.budget)
    }

    fn tool(&mut self, tool: &Value<'t>) -> Result<Value<'t>> {
        let tool = fields(tool).ok_or_else(not_plain)?;
        let sent = tool.get_str("function").and_then(fields).ok_or_else(not_plain)?;
        let is_text = |value: Option<&Value<'t>>| matches!(value, Some(Value::Str(_)));
        let is_none = |value: Option<&Value<'t>>| matches!(value, None | Some(Value::None));
        let (description, parameters) = (sent.get_str("description"), sent.get_str("parameters"));
        if !is_text(sent.get_str("name"))
            || !(is_none(description) || is_text(description))
            || !(is_none(parameters) || matches!(parameters, Some(Value::Dict(_))))
        {
            return Err(not_plain());
        }
        let mut function = Vec::with_capacity(5);
        for name in ["name", "description", "parameters", "strict", "defer_loading"] {
            let value = sent.get_str(name).cloned().unwrap_or(Value::None);
            if !matches!(value, Value::None) || matches!(name, "description" | "parameters") {
                function.push((self.places.key(0, name).0, value));
            }
        }
        let (kind, place) = self.places.key(0, "type");
        let type_of = tool.get_str("type").cloned().unwrap_or(Value::of_caller("function", place));
        let function = Value::Dict(Dict::of(function, self.budget)?);
        let entries = vec![(kind, type_of), (self.places.key(0, "function").0, function)];
        Ok(Value::Dict(Dict::of(entries, self.budget)?))
    }
}

fn is_assistant(message: &Dict<'_>) -> bool {
    message.get_str("role").and_then(Value::as_str) == Some("assistant")
}
