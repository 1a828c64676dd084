//! A template and a chat: text out, with what the caller wrote and what stands in `{% generation %}` blocks.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

use super::ast::{Scope, Stmt};
use super::budget::Budget;
use super::clock::Clock;
use super::dict::Dict;
use super::failure::{Failure, Kind, Result};
use super::json_in::Places;
use super::parser::parse;
use super::resolve::resolve;
use super::run::Run;
use super::text::{self, Builder, GENERATED, Text};
use super::value::Value;

/// Characters of a source: four times the longest of forty real templates.
const MAX_SOURCE: usize = 1 << 16;

/// Marks where the last message ends whose text is continued, as in Hugging Face.
const CONTINUE: &str = "CONTINUE_FINAL_MESSAGE_TAG ";

/// The names that templates read reasoning by.
const REASONING: [&str; 3] = ["reasoning_content", "thinking", "reasoning"];

/// A compiled template.
#[derive(Debug)]
pub struct Template {
    body: Vec<Stmt>,
    scope: Scope,
    slots: u16,
    /// Whether the source speaks of `content`.
    has_content: bool,
}

/// What is rendered: JSON for what the caller gives.
#[derive(Debug, Clone, Default)]
#[allow(missing_docs, reason = "as in transformers")]
pub struct Chat<'t> {
    pub messages: &'t str,
    pub tools: Option<&'t str>,
    pub documents: Option<&'t str>,
    pub arguments: Option<&'t str>,
    /// The literals of special tokens by their names, such as `bos_token`.
    pub specials: Vec<(&'t str, &'t str)>,
    pub add_generation_prompt: bool,
    pub continue_final_message: bool,
}

/// Bytes of a rendered text that the caller wrote.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Span {
    /// The number of the message; `None` for tools, documents and arguments.
    pub message: Option<u32>,
    /// The path of the field, such as `content` or `tools[0].function.name`.
    pub field: Arc<str>,
    /// In bytes of the text.
    pub bytes: Range<usize>,
}

/// A rendered chat.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rendering {
    /// What the model is given.
    pub text: String,
    /// What the caller wrote, in order.
    pub spans: Vec<Span>,
    /// What stands in `{% generation %}` blocks, in bytes.
    pub generated: Vec<Range<usize>>,
    /// The steps that were left.
    pub left: u64,
}

impl Template {
    /// Compile a source.
    pub fn compile(source: &str) -> Result<Self> {
        if source.chars().count() > MAX_SOURCE {
            let message = format!("the chat template is longer than {MAX_SOURCE} characters");
            return Err(Failure::new(Kind::Syntax, message));
        }
        let mut body = parse(source)?;
        let (scope, slots) = resolve(&mut body)?;
        Ok(Self { body, scope, slots, has_content: source.contains("content") })
    }

    /// Render a chat.
    pub fn render(&self, chat: &Chat<'_>, clock: &Clock) -> Result<Rendering> {
        let mut places = Places::new();
        let unlimited = Budget::of_steps(u64::MAX);
        let mut variables = Vec::with_capacity(16);
        for (name, literal) in &chat.specials {
            variables.push((Text::literal(name), Value::literal(literal)));
        }
        if let Some(arguments) = chat.arguments
            && let Value::Dict(arguments) = places.option(arguments, "template_args")?
        {
            for (name, value) in arguments.entries() {
                if let Some(name) = name.as_text() {
                    variables.retain(|(known, _)| known.as_str() != name.as_str());
                    variables.push((name.clone(), value.clone()));
                }
            }
        }
        for (name, json) in [("tools", chat.tools), ("documents", chat.documents)] {
            let value = json.map_or(Ok(Value::None), |json| places.option(json, name))?;
            variables.push((Text::literal(name), value));
        }
        let mut messages = Vec::new();
        for message in places.messages(chat.messages)? {
            messages.push(named_alike(message, &unlimited)?);
        }
        let mut last_text = None;
        if chat.continue_final_message {
            let (message, text) = self.begin_to_continue(messages.pop(), &unlimited)?;
            messages.push(message);
            last_text = Some(text);
        }
        variables.push((Text::literal("messages"), Value::list(messages, &unlimited)?));
        variables.push((Text::literal("add_generation_prompt"), Value::Bool(chat.add_generation_prompt)));
        let run = Run::new(variables, clock, Budget::of_size(places.size));
        let (outcome, line, left) = run.root(&self.body, &self.scope, self.slots);
        let made = outcome.map_err(|failure| failure.at(line, 0))?;
        let mut rendering = rendering(made, &places, left);
        if let Some(last) = last_text {
            rendering.cut_behind(last.as_str())?;
        }
        Ok(rendering)
    }

    /// Mark the end of the last message's text, and return that text.
    fn begin_to_continue<'t>(&self, message: Option<Value<'t>>, budget: &Budget) -> Result<(Value<'t>, Text<'t>)> {
        let refuse = || {
            let mut failure = Failure::new(Kind::Input, "the last message has no text to continue");
            failure.field = Some("continue_final_message".to_owned());
            failure
        };
        let Some(Value::Dict(message)) = message else { return Err(refuse()) };
        let mark = |text: &Text<'t>| {
            let mut marked = Builder::with_capacity(text.len() + CONTINUE.len());
            marked.push_text(text);
            marked.push(CONTINUE, text::TEMPLATE);
            Value::Str(marked.finish())
        };
        let (content, last) = match message.get_str("content") {
            Some(Value::Str(text)) if self.has_content => (mark(text), text.clone()),
            Some(Value::List(parts)) => {
                let has_text = |part: &Value<'t>| matches!(part, Value::Dict(part) if part.get_str("text").is_some());
                let at = parts.values.iter().rposition(has_text).ok_or_else(refuse)?;
                let Value::Dict(part) = &parts.values[at] else { return Err(refuse()) };
                let Some(Value::Str(text)) = part.get_str("text") else { return Err(refuse()) };
                let mut values = parts.values.clone();
                values[at] = with(part, "text", mark(text), budget)?;
                (Value::list(values, budget)?, text.clone())
            }
            _ => return Err(refuse()),
        };
        Ok((with(&message, "content", content, budget)?, last))
    }
}

impl Rendering {
    /// Cut behind the last message's text.
    fn cut_behind(&mut self, last: &str) -> Result<()> {
        let tag = CONTINUE.trim_end();
        let found = self.text.rfind(tag).filter(|_| self.text.contains(last.trim_matches(super::strings::is_space)));
        let Some(end) = found else {
            let message = "the chat template does not write the last message as it is, so it cannot be continued";
            let mut failure = Failure::new(Kind::Input, message);
            failure.field = Some("continue_final_message".to_owned());
            return Err(failure);
        };
        let whole = self.text[end..].starts_with(CONTINUE);
        self.text.truncate(end);
        if !whole {
            self.text.truncate(self.text.trim_end_matches(super::strings::is_space).len());
        }
        let length = self.text.len();
        self.spans.retain_mut(|span| {
            span.bytes.end = span.bytes.end.min(length);
            span.bytes.start < length
        });
        self.generated.retain_mut(|block| {
            block.end = block.end.min(length);
            block.start < length
        });
        Ok(())
    }
}

/// A dictionary with another value behind a key.
fn with<'t>(dict: &Dict<'t>, key: &'static str, value: Value<'t>, budget: &Budget) -> Result<Value<'t>> {
    let mut entries = dict.entries().to_vec();
    match entries.iter_mut().find(|(known, _)| known.as_str() == Some(key)) {
        Some((_, old)) => *old = value,
        None => entries.push((Value::literal(key), value)),
    }
    Ok(Value::Dict(Dict::of(entries, budget)?))
}

/// Leave out what is null, and give a message's reasoning all the names that templates read it by.
fn named_alike<'t>(message: Value<'t>, budget: &Budget) -> Result<Value<'t>> {
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

fn rendering(made: Builder, places: &Places<'_>, left: u64) -> Rendering {
    let (text, runs) = made.into_parts();
    let (mut spans, mut generated): (Vec<Span>, Vec<Range<usize>>) = Default::default();
    let mut paths: HashMap<u32, (Option<u32>, Arc<str>)> = HashMap::new();
    let (mut start, mut last) = (0, 0);
    for run in runs {
        let (end, place) = (run.end as usize, run.origin >> 1);
        if place > 0 {
            match spans.last_mut() {
                Some(span) if span.bytes.end == start && last == place => span.bytes.end = end,
                _ => {
                    // A template may write each letter of a text alone.
                    let (message, field) = paths.entry(place).or_insert_with(|| {
                        let (message, field) = places.path(place);
                        (message, field.into())
                    });
                    let (message, field) = (*message, Arc::clone(field));
                    spans.push(Span { message, field, bytes: start..end });
                }
            }
            last = place;
        }
        if run.origin & GENERATED != 0 {
            match generated.last_mut() {
                Some(block) if block.end == start => block.end = end,
                _ => generated.push(start..end),
            }
        }
        start = end;
    }
    Rendering { text, spans, generated, left }
}
