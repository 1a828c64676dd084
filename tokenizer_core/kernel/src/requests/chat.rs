//! Requests with one plain chat: `/encode`, `/count`, and `/tokenize` as vLLM has it.

use super::Answer;
use super::scan::{Scanner, Seen};
use super::text::{ReturnField, read_fields};
use crate::encode::Pipeline;
use crate::json::numbers::{write_ids, write_number};
use crate::output::count::Count;
use crate::template::{Chat, Clock, ContentFormat, Sent, Template};

/// The kind of request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ChatRoute {
    /// Ids and their number.
    Encode,
    /// The number of ids alone.
    Count,
    /// What vLLM answers to `/tokenize`.
    Tokenize,
}

/// The request of a body; what is in `chat` is still JSON.
#[derive(Debug)]
pub struct ChatRequest<'a> {
    route: ChatRoute,
    chat: Chat<'a>,
    tokenizer: Option<&'a str>,
    fields: Vec<ReturnField>,
}

/// A template, and the beginning of answers about chats that it renders.
#[derive(Debug, Clone, Copy)]
pub struct Renderer<'a> {
    /// What renders.
    pub template: &'a Template,
    /// Up to a comma.
    pub head: &'a [u8],
}

/// What is the same for all chats of a tokenizer.
#[derive(Debug, Clone, Default)]
pub struct ChatSettings {
    /// The literals of special tokens by their names.
    pub specials: Vec<(String, String)>,
    /// Names that no variable may have.
    pub reserved: Vec<String>,
    /// How many ids the model takes.
    pub max_model_len: usize,
}

impl<'a> ChatRequest<'a> {
    /// Read a body with at most `max_items` messages; `None` if the service has to handle it.
    pub fn read(body: &'a [u8], route: ChatRoute, format: ContentFormat, max_items: usize) -> Option<Self> {
        let mut scanner = Scanner::new(body)?;
        let is_vllm = route == ChatRoute::Tokenize;
        let sent = if is_vllm { Sent::Vllm } else { Sent::Native };
        let mut request = Self {
            route,
            chat: Chat { sent, add_generation_prompt: is_vllm, content_format: format, ..Chat::default() },
            tokenizer: None,
            fields: vec![ReturnField::Ids, ReturnField::Count],
        };
        let mut seen = Seen::default();
        scanner.object(|scanner, key| {
            let chat = &mut request.chat;
            let number = match key {
                "messages" => {
                    let messages = scanner.skip()?;
                    chat.messages = messages.json;
                    (messages.items <= max_items).then_some(0)?
                }
                "tools" => {
                    chat.tools = scanner.skip_or_null()?;
                    1
                }
                "add_generation_prompt" if is_vllm => {
                    chat.add_generation_prompt = scanner.boolean_or_null()?.unwrap_or(true);
                    2
                }
                "add_generation_prompt" => {
                    chat.add_generation_prompt = scanner.boolean()?;
                    2
                }
                "continue_final_message" => (!scanner.boolean()?).then_some(3)?,
                "model" if is_vllm => {
                    request.tokenizer = scanner.plain_string_or_null()?;
                    4
                }
                "tokenizer" if !is_vllm => {
                    request.tokenizer = scanner.plain_string_or_null()?;
                    4
                }
                "chat_template_kwargs" if is_vllm => {
                    chat.arguments = scanner.skip_or_null()?;
                    5
                }
                "template_args" if !is_vllm => {
                    chat.arguments = scanner.skip_or_null()?;
                    5
                }
                "add_special_tokens" if is_vllm => (scanner.boolean_or_null()? != Some(true)).then_some(6)?,
                "add_special_tokens" => (!scanner.boolean()?).then_some(6)?,
                "return_token_strs" if is_vllm => (scanner.boolean_or_null()? != Some(true)).then_some(7)?,
                "special_tokens" if !is_vllm => (scanner.plain_string()? == "text").then_some(7)?,
                "unused" if !is_vllm => (scanner.plain_string()? == "refuse").then_some(8)?,
                "documents" if !is_vllm => {
                    chat.documents = scanner.skip_or_null()?;
                    9
                }
                "return" if route == ChatRoute::Encode => {
                    request.fields = read_fields(scanner)?;
                    10
                }
                _ => return None,
            };
            seen.once(number)
        })?;
        scanner.end()?;
        (!request.chat.messages.is_empty()).then_some(request)
    }

    /// The tokenizer that the body names.
    pub fn tokenizer(&self) -> Option<&'a str> {
        self.tokenizer
    }

    /// Whether there are tools, even if there is none in their list: templates are chosen by that.
    pub fn has_tools(&self) -> bool {
        self.chat.tools.is_some()
    }

    /// Answer within so many steps of the template, or leave it to the service.
    pub fn answer(
        self,
        pipeline: &Pipeline,
        renderer: Renderer<'a>,
        settings: &'a ChatSettings,
        clock: &Clock,
        most: Option<u64>,
    ) -> Option<Answer> {
        let Self { route, mut chat, fields, .. } = self;
        chat.specials = settings.specials.iter().map(|(name, literal)| (name.as_str(), literal.as_str())).collect();
        chat.reserved = &settings.reserved;
        chat.most = most;
        let plain = renderer.template.render_plain(&chat, clock).ok()?;
        let mut json = if route == ChatRoute::Tokenize { b"{".to_vec() } else { renderer.head.to_vec() };
        let count_only = route == ChatRoute::Count || fields == [ReturnField::Count];
        if count_only && route != ChatRoute::Tokenize {
            let mut count = Count::default();
            pipeline.encode_chat(&plain.text, &plain.caller, false, &mut count).ok()?;
            write_field("count", &mut json, |json| write_number(count.0, json));
            json.push(b'}');
            return Some(Answer { json, tokens: count.0 });
        }
        let mut ids = crate::capacity::for_ids(plain.text.len());
        pipeline.encode_chat(&plain.text, &plain.caller, false, &mut ids).ok()?;
        if route == ChatRoute::Tokenize {
            write_field("count", &mut json, |json| write_number(ids.len(), json));
            json.push(b',');
            write_field("max_model_len", &mut json, |json| write_number(settings.max_model_len, json));
            json.push(b',');
            write_field("tokens", &mut json, |json| write_ids(&ids, json));
            json.extend_from_slice(b",\"token_strs\":null");
        } else {
            for (at, field) in fields.iter().enumerate() {
                if at > 0 {
                    json.push(b',');
                }
                match field {
                    ReturnField::Ids => write_field("ids", &mut json, |json| write_ids(&ids, json)),
                    ReturnField::Count => write_field("count", &mut json, |json| write_number(ids.len(), json)),
                }
            }
        }
        json.push(b'}');
        Some(Answer { json, tokens: ids.len() })
    }
}

fn write_field(name: &str, json: &mut Vec<u8>, write: impl FnOnce(&mut Vec<u8>)) {
    json.push(b'"');
    json.extend_from_slice(name.as_bytes());
    json.extend_from_slice(b"\":");
    write(json);
}
