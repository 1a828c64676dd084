//! Messages and tools as vLLM 0.32 gives them to templates: only the fields that it knows, content as parts or as one
//! string, arguments of calls as objects. `service/routes/compat/vllm_messages.py` says what it refuses.

use std::rc::Rc;

use super::developer::{Numbered, has_role};
use super::messages::{fields, joined};
use super::places::Places;
use super::plain::{not_plain, text_of};
use super::template::MessageForm;
use crate::template::syntax::failure::Result;
use crate::template::values::budget::Budget;
use crate::template::values::value::{Dict, Items, Value};

/// The depth of the arguments of a call within a message.
const ARGUMENTS_DEPTH: usize = 4;
/// Bytes of all arguments; more are counted before they are read.
const MAX_ARGUMENTS: usize = 128 << 10;
/// Ids that an engine made, which `/tokenize` goes on from: seldom sent, and read by the service.
const IDS_OF_A_MESSAGE: [&str; 2] = ["prompt_token_ids", "generation_token_ids"];
/// The fields of content parts that vLLM knows, of whatever type; templates are given the others beside the text.
const FIELDS_OF_PARTS: [&str; 18] = [
    "audio_embeds",
    "audio_url",
    "closed",
    "data",
    "file",
    "image_embeds",
    "image_pil",
    "image_url",
    "input_audio",
    "name",
    "prompt_cache_breakpoint",
    "refusal",
    "text",
    "thinking",
    "type",
    "uuid",
    "video_embeds",
    "video_url",
];
/// Clients of Anthropic's begin a system text with it; the service takes the line away.
const BILLING_HEADER: &str = "x-anthropic-billing-header";

/// The arguments of all calls that are JSON in strings, in order.
pub fn arguments(messages: &[Value<'_>]) -> Vec<String> {
    let calls = messages.iter().filter_map(called).flat_map(|calls| &calls.values);
    let functions = calls.filter_map(|call| fields(call)?.get_str("function"));
    let arguments = functions.filter_map(|function| fields(function)?.get_str("arguments")?.as_str());
    arguments.map(str::to_owned).collect()
}

/// The calls of an assistant's message, if they are a list.
fn called<'v, 't>(message: &'v Value<'t>) -> Option<&'v Rc<Items<'t>>> {
    match fields(message).filter(|_| has_role(message, "assistant"))?.get_str("tool_calls")? {
        Value::List(calls) => Some(calls),
        _ => None,
    }
}

/// The form of tools.
pub fn tools<'t>(tools: &Value<'t>, places: &mut Places<'t>, budget: &Budget) -> Result<Value<'t>> {
    let (arguments, form) = ([].iter(), MessageForm::Render);
    Form { places, arguments, budget, form, parts: false, keeps_empty: false, raw: false }.tools(tools)
}

/// Gives values the form of vLLM; each new key has a place of its own, as if the caller had sent it.
pub struct Form<'p, 't> {
    /// All places.
    pub places: &'p mut Places<'t>,
    /// The arguments that [`arguments`] found.
    pub arguments: std::slice::Iter<'t, String>,
    /// Nothing is charged: the budget grows with what is given.
    pub budget: &'p Budget,
    /// The route's.
    pub form: MessageForm,
    /// True if content becomes parts.
    pub parts: bool,
    /// True if results of tools keep empty texts.
    pub keeps_empty: bool,
    /// True if nobody has checked the messages.
    pub raw: bool,
}

impl<'t> Form<'_, 't> {
    /// The form of messages.
    pub fn messages(&mut self, messages: &[Value<'t>]) -> Result<Vec<Numbered<'t>>> {
        if self.raw && self.arguments.as_slice().iter().map(String::len).sum::<usize>() > MAX_ARGUMENTS {
            return Err(not_plain());
        }
        let formed =
            messages.iter().enumerate().map(|(at, message)| Ok((at as u32, self.message(message, at as u32)?)));
        formed.collect()
    }

    fn message(&mut self, message: &Value<'t>, number: u32) -> Result<Value<'t>> {
        let sent = fields(message).ok_or_else(not_plain)?;
        let Some(role @ Value::Str(name)) = sent.get_str("role") else { return Err(not_plain()) };
        let role_name = name.as_str();
        if self.raw {
            require_usual(sent, role_name)?;
        }
        let content = self.content(sent.get_str("content"), number, role_name)?;
        let mut entries = Vec::with_capacity(6);
        entries.push((self.key("role"), role.clone()));
        entries.push((self.key("content"), content));
        if role_name == "assistant" {
            // Even an empty list of calls goes.
            if let Some(calls) = called(message).filter(|calls| !calls.values.is_empty()) {
                let calls: Vec<_> = calls.values.iter().map(|call| self.call(call)).collect::<Result<_>>()?;
                entries.push((self.key("tool_calls"), Value::list(calls, self.budget)?));
            }
            let given = |name| sent.get_str(name).filter(|value| !matches!(value, Value::None));
            let older = if self.form == MessageForm::Tokenize { None } else { given("reasoning_content") };
            if let Some(reasoning) = given("reasoning").or(older) {
                entries.push((self.key("reasoning"), reasoning.clone()));
                entries.push((self.key("reasoning_content"), reasoning.clone()));
            }
        }
        let mut copy = |name: &'static str, entries: &mut Vec<_>| {
            if let Some(value) = sent.get_str(name) {
                entries.push((self.key(name), value.clone()));
            }
        };
        if role_name == "tool" {
            copy("tool_call_id", &mut entries);
        }
        for name in ["name", "task"] {
            if matches!(sent.get_str(name), Some(Value::Str(_))) {
                copy(name, &mut entries);
            }
        }
        if role_name == "developer" {
            entries.push((self.key("tools"), sent.get_str("tools").cloned().unwrap_or(Value::None)));
        }
        Ok(Value::Dict(Dict::of(entries, self.budget)?))
    }

    fn key(&mut self, name: &'static str) -> Value<'t> {
        self.places.key(0, name).0
    }

    fn content(&mut self, content: Option<&Value<'t>>, message: u32, role: &str) -> Result<Value<'t>> {
        let is_parts = self.parts && role != "tool";
        let parts = match content {
            None | Some(Value::None) => Vec::new(),
            Some(text @ Value::Str(_)) if !is_parts => {
                return if self.raw { self.without_header(text, role) } else { Ok(text.clone()) };
            }
            Some(text @ Value::Str(_)) => {
                let text = if self.raw { self.without_header(text, role)? } else { text.clone() };
                let above = self.places.content_of(message);
                vec![self.part(text, &[], above, 0)?]
            }
            Some(Value::List(sent)) => {
                let above = self.places.content_of(message);
                let mut parts = Vec::with_capacity(sent.values.len());
                for (at, part) in sent.values.iter().enumerate() {
                    let own = fields(part).ok_or_else(not_plain)?;
                    let text = if self.raw { text_of(part) } else { own.get_str("text") }.ok_or_else(not_plain)?;
                    let text = if self.raw { self.without_header(text, role)? } else { text.clone() };
                    let own = own.entries();
                    parts.push(self.part(text, own, above, at)?);
                }
                parts
            }
            Some(_) => return Err(not_plain()),
        };
        if is_parts {
            return Value::list(parts, self.budget);
        }
        joined(&parts, role == "tool" && self.keeps_empty, self.places, message).ok_or_else(not_plain)
    }

    /// A text, unless a line of it is taken away first.
    fn without_header(&self, text: &Value<'t>, role: &str) -> Result<Value<'t>> {
        let has_header = role == "system" && text.as_str().is_some_and(|text| text.starts_with(BILLING_HEADER));
        if has_header { Err(not_plain()) } else { Ok(text.clone()) }
    }

    fn part(&mut self, text: Value<'t>, sent: &[(Value<'t>, Value<'t>)], above: u32, at: usize) -> Result<Value<'t>> {
        let above = self.places.item(above, at);
        let (kind, place) = self.places.key(above, "type");
        let (key, _) = self.places.key(above, "text");
        let mut part = vec![(kind, Value::of_caller("text", place)), (key, text)];
        let is_other = |key: &Value<'t>| key.as_str().is_some_and(|key| !FIELDS_OF_PARTS.contains(&key));
        part.extend(sent.iter().filter(|(key, _)| is_other(key)).cloned());
        Ok(Value::Dict(Dict::of(part, self.budget)?))
    }

    /// A call with its fields in vLLM's order.
    fn call(&mut self, call: &Value<'t>) -> Result<Value<'t>> {
        let call = fields(call).ok_or_else(not_plain)?;
        let function = call.get_str("function").and_then(fields).ok_or_else(not_plain)?;
        let (key, place) = self.places.key(0, "arguments");
        let given = match function.get_str("arguments") {
            Some(Value::Str(_)) => {
                let json = self.arguments.next().ok_or_else(not_plain)?;
                self.places.nested(json, place, ARGUMENTS_DEPTH)?
            }
            _ if self.raw => return Err(not_plain()),
            other => other.cloned().unwrap_or(Value::None),
        };
        let given = match given {
            Value::Dict(_) => given,
            _ => Value::Dict(Dict::of(Vec::new(), self.budget)?),
        };
        let mut parts = vec![(key, given)];
        let known = function.get_str("name").cloned();
        parts.extend(known.map(|name| (self.key("name"), name)));
        if self.form == MessageForm::Responses {
            parts.reverse();
        }
        let function = others(parts, function);
        let function = (self.key("function"), Value::Dict(Dict::of(function, self.budget)?));
        let mut entries = Vec::with_capacity(4);
        let mut copy = |name: &'static str, entries: &mut Vec<_>| -> Result<()> {
            match call.get_str(name) {
                Some(value @ Value::Str(_)) => entries.push((self.key(name), value.clone())),
                _ if self.raw => return Err(not_plain()),
                _ => {}
            }
            Ok(())
        };
        copy("id", &mut entries)?;
        entries.push(function);
        copy("type", &mut entries)?;
        Ok(Value::Dict(Dict::of(others(entries, call), self.budget)?))
    }

    fn tools(&mut self, tools: &Value<'t>) -> Result<Value<'t>> {
        let Value::List(tools) = tools else { return Err(not_plain()) };
        let tools = tools.values.iter().map(|tool| self.tool(tool)).collect::<Result<_>>()?;
        Value::list(tools, self.budget)
    }

    fn tool(&mut self, tool: &Value<'t>) -> Result<Value<'t>> {
        let tool = fields(tool).ok_or_else(not_plain)?;
        let sent = tool.get_str("function").and_then(fields).ok_or_else(not_plain)?;
        let is_text = |value: Option<&Value<'t>>| matches!(value, Some(Value::Str(_)));
        let is_none = |value: Option<&Value<'t>>| matches!(value, None | Some(Value::None));
        let is_flag = |value: Option<&Value<'t>>| matches!(value, None | Some(Value::None | Value::Bool(_)));
        let (description, parameters) = (sent.get_str("description"), sent.get_str("parameters"));
        if !is_text(sent.get_str("name"))
            || !(is_none(description) || is_text(description))
            || !(is_none(parameters) || matches!(parameters, Some(Value::Dict(_))))
            || !matches!(tool.get_str("type").map(Value::as_str), None | Some(Some("function")))
            || !is_flag(sent.get_str("strict"))
            || !is_flag(sent.get_str("defer_loading"))
            || !is_flag(tool.get_str("defer_loading"))
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
        let type_of = Value::of_caller("function", place);
        let loading = tool.get_str("defer_loading").filter(|value| !matches!(value, Value::None)).cloned();
        if let (Some(loading), false) =
            (&loading, function.iter().any(|(key, _)| key.as_str() == Some("defer_loading")))
        {
            function.push((self.key("defer_loading"), loading.clone()));
        }
        let function = Value::Dict(Dict::of(function, self.budget)?);
        let mut entries = vec![(kind, type_of), (self.key("function"), function)];
        entries.extend(loading.map(|loading| (self.key("defer_loading"), loading)));
        Ok(Value::Dict(Dict::of(entries, self.budget)?))
    }
}

/// Refuse what the service looks at, or says something about.
fn require_usual(message: &Dict<'_>, role: &str) -> Result<()> {
    let has = |name: &str| message.get_str(name).is_some();
    let is_text = |name: &str| matches!(message.get_str(name), None | Some(Value::Str(_)));
    let may_be_null = matches!(role, "assistant" | "function");
    let is_usual = !IDS_OF_A_MESSAGE.iter().any(|field| has(field))
        && !has("tools")
        && ["name", "task", "tool_call_id"].iter().all(|name| is_text(name))
        && (may_be_null || !matches!(message.get_str("content"), Some(Value::None)))
        && matches!(message.get_str("tool_calls"), None | Some(Value::None | Value::List(_)));
    if is_usual { Ok(()) } else { Err(not_plain()) }
}

/// Entries, and behind them those of an object that have other keys.
fn others<'t>(mut entries: Vec<(Value<'t>, Value<'t>)>, sent: &Dict<'t>) -> Vec<(Value<'t>, Value<'t>)> {
    let known: Vec<Option<String>> = entries.iter().map(|(key, _)| key.as_str().map(str::to_owned)).collect();
    let is_other = |key: &Value<'t>| !known.iter().any(|name| name.as_deref() == key.as_str());
    entries.extend(sent.entries().iter().filter(|(key, _)| is_other(key)).cloned());
    entries
}
