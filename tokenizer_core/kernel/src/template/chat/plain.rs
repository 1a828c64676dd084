//! Chats straight from the bytes of a request. What is plain in them is checked here; all else is refused without a
//! word, for the caller to check in full and to say what is wrong.

use std::ops::Range;

use super::messages::fields;
use super::places::Places;
use super::template::{Chat, MessageForm, Template};
use crate::template::run::clock::Clock;
use crate::template::syntax::failure::{Failure, Kind, Result};
use crate::template::syntax::strings::is_space;
use crate::template::values::compare::truth;
use crate::template::values::text::Run;
use crate::template::values::value::Value;

/// The types of content parts that are no text, and the keys that hold what they are made from.
pub const MEDIA: [&str; 14] = [
    "image", "image_url", "input_image", "image_embeds", "image_pil", "audio", "audio_url", "input_audio",
    "audio_embeds", "video", "video_url", "input_video", "file", "input_file",
];
/// The keys under which some clients send media beside the content of a message.
pub const BESIDE: [&str; 12] = [
    "image", "images", "image_url", "image_urls", "audio", "audios", "audio_url", "audio_urls", "video", "videos",
    "video_url", "video_urls",
];

/// A rendered chat, without what only few callers ask for.
#[derive(Debug, PartialEq, Eq)]
pub struct Plain {
    /// The text that the model is given.
    pub text: String,
    /// The bytes that the caller wrote, in order and disjoint.
    pub caller: Vec<Range<usize>>,
}

/// Return the failure for a chat that is not plain; nobody reads the message.
pub fn not_plain() -> Box<Failure> {
    Failure::new(Kind::NotPlain, "")
}

impl Template {
    /// Render a chat that is plain. A native one is not if the template leaves out a message, tools or documents.
    pub fn render_plain(&self, chat: &Chat<'_>, clock: &Clock) -> Result<Plain> {
        if chat.continue_final_message.is_some() {
            return Err(not_plain());
        }
        self.run(chat, clock, |made, places, messages| {
            let (text, runs) = made.text.into_parts();
            let mut caller: Vec<Range<usize>> = Vec::with_capacity(runs.len());
            let mut start = 0;
            for run in &runs {
                let end = run.end as usize;
                match caller.last_mut() {
                    _ if run.origin >> 1 == 0 => {}
                    Some(last) if last.end == start => last.end = end,
                    _ => caller.push(start..end),
                }
                start = end;
            }
            if chat.form == MessageForm::Sent && !writes_all(&runs, places, messages, chat) {
                return Err(not_plain());
            }
            Ok(Plain { text, caller })
        })
    }
}

/// Tell whether something was written of every message that says something, of tools and of documents.
pub fn writes_all(runs: &[Run], places: &Places<'_>, messages: &[Value<'_>], chat: &Chat<'_>) -> bool {
    let mut written = vec![false; messages.len()];
    let (mut tools, mut documents) = (chat.tools.is_none_or(is_empty), chat.documents.is_none_or(is_empty));
    let mut last = 0;
    for place in runs.iter().map(|run| run.origin >> 1) {
        if place == last || place == 0 {
            continue;
        }
        last = place;
        match places.root(place) {
            (Some(message), _) => written[message as usize] |= !places.is_role(place),
            (None, "tools") => tools = true,
            (None, "documents") => documents = true,
            _ => {}
        }
    }
    tools && documents && messages.iter().zip(written).all(|(message, written)| written || is_silent(message))
}

/// Tell whether a message surely says nothing.
fn is_silent(message: &Value<'_>) -> bool {
    let Some(fields) = fields(message) else { return false };
    let is_blank = |text: &str| text.chars().all(is_space);
    let is_blank_part = |part: &Value<'_>| match part {
        Value::Dict(part) => part.get_str("text").and_then(Value::as_str).is_some_and(is_blank),
        _ => false,
    };
    let content_is_silent = match fields.get_str("content") {
        None | Some(Value::None) => true,
        Some(Value::Str(text)) => is_blank(text.as_str()),
        Some(Value::List(parts)) => parts.values.iter().all(is_blank_part),
        _ => false,
    };
    // In the form of ShareGPT a message has its text elsewhere.
    content_is_silent && !fields.get_str("tool_calls").is_some_and(truth) && fields.get_str("from").is_none()
}

/// Tell whether the JSON of a list holds nothing.
pub fn is_empty(list: &str) -> bool {
    list.bytes().filter(|byte| !byte.is_ascii_whitespace()).count() == 2
}

/// Tell whether an option is a list of objects.
pub fn is_objects(value: &Value<'_>) -> bool {
    matches!(value, Value::List(values) if values.values.iter().all(|value| matches!(value, Value::Dict(_))))
}

/// Tell whether messages are objects whose content is text, in one string or in parts, with nothing else beside it.
pub fn are_plain(messages: &[Value<'_>]) -> bool {
    !messages.is_empty() && messages.iter().all(is_plain)
}

fn is_plain(message: &Value<'_>) -> bool {
    let Some(fields) = fields(message) else { return false };
    if holds(message, &BESIDE) {
        return false;
    }
    match fields.get_str("content") {
        None | Some(Value::None | Value::Str(_)) => true,
        Some(Value::List(parts)) => parts.values.iter().all(|part| text_of(part).is_some()),
        _ => false,
    }
}

/// The text of a part that is nothing but text.
pub fn text_of<'v, 't>(part: &'v Value<'t>) -> Option<&'v Value<'t>> {
    let Value::Dict(fields) = part else { return None };
    let is_text = fields.get_str("type").and_then(Value::as_str) == Some("text");
    let text = fields.get_str("text").filter(|text| matches!(text, Value::Str(_)));
    text.filter(|_| is_text && fields.get_str("content").is_none() && !holds(part, &MEDIA))
}

/// Tell whether an object has one of these keys.
fn holds(value: &Value<'_>, names: &[&str]) -> bool {
    let Value::Dict(fields) = value else { return false };
    // Most keys differ from all of these in their first letter.
    let mut keys = fields.entries().iter().filter_map(|(key, _)| key.as_str());
    keys.any(|key| key.starts_with(['a', 'f', 'i', 'v']) && names.contains(&key))
}
