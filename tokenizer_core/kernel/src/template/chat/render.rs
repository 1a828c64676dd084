//! A template and a chat: text out, with what the caller wrote and what stands in `{% generation %}` blocks.

use std::collections::HashMap;
use std::ops::Range;
use std::rc::Rc;
use std::sync::Arc;

use super::continuing::marked;
use super::developer::{Numbered, as_system, has_role, knows_developer};
use super::messages::{fields, named_alike, unusual};
use super::needs::needs;
use super::part_loops::part_loops;
use super::places::Places;
use super::plain::{are_plain, is_objects, not_plain, writes_all};
use super::prompt::{PromptWriter, behind_messages};
use super::reading::written;
use super::template::{Chat, ContentFormat, MessageForm, ProbeResults, Rendering, Sent, Span, Template};
use super::vllm_form::{self, Form};
use crate::template::run::clock::Clock;
use crate::template::run::state::{Run, Turn};
use crate::template::syntax::failure::{Failure, Kind, Result};
use crate::template::syntax::parser::parse;
use crate::template::syntax::scopes::resolve;
use crate::template::values::budget::{Before, Budget};
use crate::template::values::size::{size, sizes};
use crate::template::values::text::{self, Builder, GENERATED, TEMPLATE, Text};
use crate::template::values::value::{Dict, Items, Value};

/// Characters of a source: four times the longest of forty real templates.
const MAX_SOURCE: usize = 1 << 16;

impl Template {
    /// Compile a source.
    pub fn compile(source: &str) -> Result<Self> {
        if source.chars().count() > MAX_SOURCE {
            let message = format!("the chat template is longer than {MAX_SOURCE} characters");
            return Err(Failure::new(Kind::Syntax, message));
        }
        let mut body = parse(source)?;
        let (part_loops, written, needs) = (part_loops(&mut body), written(&mut body), needs(&mut body));
        let behind = behind_messages(&mut body);
        let (scope, slots) = resolve(&mut body)?;
        let prompt = behind.map(|behind| PromptWriter::new(&mut body, behind));
        let (tells_time, knows_developer) = (source.contains("strftime_now"), knows_developer(source));
        let (source, found) = (source.into(), ProbeResults::default());
        Ok(Self { body, scope, slots, source, tells_time, part_loops, knows_developer, written, needs, prompt, found })
    }

    /// Render a chat.
    pub fn render(&self, chat: &Chat<'_>, clock: &Clock) -> Result<Rendering> {
        self.run(chat, clock, |made, places, messages| {
            let is_whole = chat.continue_final_message.is_none() && chat.form == MessageForm::Sent;
            let (text, runs) = made.text.into_parts();
            let writes_all = is_whole && chat.sent == Sent::Raw && writes_all(&runs, places, messages, chat);
            let mut rendering = rendering(text, runs, apart(made.turns), places, made.after);
            rendering.writes_all = writes_all;
            rendering.roles = made.roles.iter().map(|role| role.as_str().into()).collect();
            rendering.prompt = made.prompt;
            if let Some(last) = made.last {
                rendering.cut_behind(last.as_str())?;
            }
            Ok(rendering)
        })
    }

    /// Run the template over a chat; `finish` gets what it wrote, and the messages that it was given.
    pub(super) fn run<R>(
        &self,
        chat: &Chat<'_>,
        clock: &Clock,
        finish: impl FnOnce(MadePrompt<'_>, &Places<'_>, &[Value<'_>]) -> Result<R>,
    ) -> Result<R> {
        let mut read = Places::new();
        let sent = read.messages(chat.messages)?;
        if chat.sent == Sent::Raw && !are_plain(&sent) {
            return Err(not_plain());
        }
        let roles = sent.iter().map(role).collect();
        let calls = if chat.form == MessageForm::Sent { Vec::new() } else { vllm_form::arguments(&sent) };
        // Behind the texts of calls, in which some values stand.
        let mut places = read;
        let unlimited = Budget::of_steps(u64::MAX);
        let (mut variables, shared) = options(chat, &mut places, &unlimited)?;
        let own = sizes(&sent);
        let formed = match chat.form {
            MessageForm::Sent => {
                let count = sent.len();
                let read = self.as_read(sent, chat.content_format, &mut places, &unlimited)?;
                // Traces are looked for by the number in the request, which messages that became one have no more.
                if chat.sent == Sent::Raw && read.len() < count {
                    return Err(not_plain());
                }
                read
            }
            form => {
                let parts = self.vllm_parts(chat.content_format);
                let keeps_empty = self.part_loops.found_by_vllm;
                let (arguments, raw) = (calls.iter(), chat.sent == Sent::Raw);
                let (places, budget) = (&mut places, &unlimited);
                let formed = Form { places, arguments, budget, form, parts, keeps_empty, raw }.messages(&sent)?;
                if self.knows_developer { formed } else { as_system(formed, places, budget)? }
            }
        };
        let (numbers, mut messages): (Vec<u32>, Vec<Value<'_>>) = formed.into_iter().unzip();
        let mut last_text = None;
        if let Some(field) = chat.continue_final_message {
            let (message, text) = marked(messages.pop(), field, &self.source, &unlimited)?;
            messages.push(message);
            last_text = Some(text);
        }
        for (number, message) in numbers.iter().zip(&mut messages) {
            if let Value::Dict(message) = message {
                Dict::number(message, *number);
            }
        }
        let messages = Items::of(messages, &unlimited)?;
        variables.push((Value::literal("messages"), Value::List(Rc::clone(&messages))));
        variables.push((Value::literal("add_generation_prompt"), Value::Bool(chat.add_generation_prompt)));
        let variables = Dict::of(variables, &unlimited)?;
        let (budget, after) = chat.before.and_another(shared, own, chat.most);
        let given = budget.left();
        let mut run = Run::new(variables, clock, budget);
        run.out.reserve(own)?;
        let text = run.root(&self.body, &self.scope, self.slots).map_err(|mut failure| {
            if failure.kind == Kind::Failed {
                places.tell(&mut failure);
                failure.field = failure.field.take().or_else(|| unusual(&messages.values));
            }
            failure.at(run.line, 0)
        })?;
        let after = after.without(given - run.budget.left());
        let turns = std::mem::take(&mut run.turns);
        let prompt = self.prompt.as_ref().and_then(|prompt| prompt.write(&mut run, &self.body));
        finish(MadePrompt { text, turns, last: last_text, after, roles, prompt }, &places, &messages.values)
    }
}

impl Template {
    /// Messages in the form that the template reads: content, and `developer` where it does not write the role.
    fn as_read<'t>(
        &self,
        sent: Vec<Value<'t>>,
        format: ContentFormat,
        places: &mut Places<'t>,
        budget: &Budget,
    ) -> Result<Vec<Numbered<'t>>> {
        let mut messages: Vec<Numbered<'t>> = Vec::with_capacity(sent.len());
        for (at, message) in sent.into_iter().enumerate() {
            messages.push((at as u32, named_alike(message, budget)?));
        }
        let is_unread = format == ContentFormat::Auto && !self.knows_developer;
        if is_unread && messages.iter().any(|(_, message)| has_role(message, "developer")) && !self.writes("developer")
        {
            messages = as_system(messages, places, budget)?;
        }
        for (number, message) in &mut messages {
            *message = self.fitted(message.clone(), format, places, *number, budget)?;
        }
        Ok(messages)
    }
}

/// The result of a run of a template.
pub(super) struct MadePrompt<'t> {
    pub text: Builder,
    pub turns: Vec<Turn>,
    /// The text of the last message, if that goes on.
    pub last: Option<Text<'t>>,
    /// For the next chat of the same request.
    pub after: Before,
    /// The roles of the messages.
    pub roles: Vec<Text<'t>>,
    /// The generation prompt that stands behind any messages.
    pub prompt: Option<String>,
}

/// The role of a message.
fn role<'t>(message: &Value<'t>) -> Text<'t> {
    match fields(message).and_then(|fields| fields.get_str("role")) {
        Some(Value::Str(role)) => role.clone(),
        _ => Text::Plain("", TEMPLATE),
    }
}

/// Of several with one name the last counts.
type Variables<'t> = Vec<(Value<'t>, Value<'t>)>;

/// The variables of a chat beside its messages, and the size of those that the caller gives.
fn options<'t>(chat: &Chat<'t>, places: &mut Places<'t>, unlimited: &Budget) -> Result<(Variables<'t>, usize)> {
    let mut variables = Vec::with_capacity(16);
    let mut shared = 0;
    for (name, literal) in &chat.specials {
        variables.push((Value::literal(name), Value::literal(literal)));
    }
    if let Some(arguments) = chat.arguments {
        let arguments = places.option(arguments, "template_args")?;
        shared += size(&arguments);
        let Value::Dict(arguments) = arguments else { return Err(not_plain()) };
        for (name, value) in arguments.entries() {
            let Some(name) = name.as_text() else { continue };
            if chat.reserved.iter().any(|reserved| reserved == name.as_str()) {
                return Err(not_plain());
            }
            variables.push((Value::Str(name.clone()), value.clone()));
        }
    }
    for (name, json) in [("tools", chat.tools), ("documents", chat.documents)] {
        let mut value = Value::None;
        if let Some(json) = json {
            value = places.option(json, name)?;
            if chat.sent == Sent::Raw && !is_objects(&value) {
                return Err(not_plain());
            }
            if chat.form != MessageForm::Sent && name == "tools" {
                value = vllm_form::tools(&value, places, unlimited)?;
            }
            shared += size(&value);
        }
        variables.push((Value::literal(name), value));
    }
    Ok((variables, shared))
}

fn rendering(text: String, runs: Vec<text::Run>, turns: Vec<Turn>, places: &Places<'_>, after: Before) -> Rendering {
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
    Rendering { text, spans, generated, turns, after, ..Rendering::default() }
}

/// Return the text of each message, in order and disjoint; of turns within one another, the inner takes from the outer.
fn apart(mut turns: Vec<Turn>) -> Vec<Turn> {
    turns.sort_by_key(|turn| (turn.bytes.start, std::cmp::Reverse(turn.bytes.end)));
    let (mut parts, mut open): (Vec<Turn>, Vec<Turn>) = (Vec::with_capacity(turns.len()), Vec::new());
    let mut at = 0;
    let mut write = |message, end: usize, at: &mut usize| {
        if *at < end {
            parts.push(Turn { message, bytes: *at..end });
        }
        *at = end.max(*at);
    };
    for turn in turns {
        while let Some(outer) = open.pop() {
            if outer.bytes.end > turn.bytes.start {
                write(outer.message, turn.bytes.start, &mut at);
                open.push(outer);
                break;
            }
            write(outer.message, outer.bytes.end, &mut at);
        }
        at = turn.bytes.start;
        open.push(turn);
    }
    while let Some(outer) = open.pop() {
        write(outer.message, outer.bytes.end, &mut at);
    }
    parts
}
