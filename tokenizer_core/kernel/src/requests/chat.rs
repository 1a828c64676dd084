//! Requests with one plain chat: `/encode`, `/count`, vLLM's `/tokenize` and render route.

use super::Answer;
use super::answer::write_field;
use super::since::Since;
use super::text::{ReturnField, read_fields};
use super::vllm_variables::VllmVariables;
use crate::capacity::for_ids;
use crate::encode::Pipeline;
use crate::json::numbers::{write_ids, write_number};
use crate::json::scan::Scanner;
use crate::output::count::Count;
use crate::segment_cache::{Owner, SegmentCache};
use crate::template::plain::{Plain, is_empty, not_plain};
use crate::template::{Chat, Clock, ContentFormat, Failure, Kind, MessageForm, Sent, Template};

/// The kind of request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ChatRoute {
    /// Ids and their number.
    Encode,
    /// The number of ids alone.
    Count,
    /// Each id as four bytes, the least one first; the rest is how an answer in JSON begins.
    Bytes,
    /// The answer of vLLM to `/tokenize`.
    Tokenize,
    /// The list of ids, or null and what comes behind those that the caller has: the service writes the rest of the
    /// answer, from the rest of the request.
    Render,
}

/// The request of a body; what is in `chat` is still JSON.
#[derive(Debug)]
pub struct ChatRequest<'a> {
    route: ChatRoute,
    chat: Chat<'a>,
    tokenizer: Option<&'a str>,
    /// True if the literal of a special token in the caller's text is the token.
    parses: bool,
    fields: Vec<ReturnField>,
    /// The ids that the caller has.
    since: Option<Since>,
    variables: VllmVariables<'a>,
    /// Members that are not read here, each with a comma behind it.
    rest: String,
    /// The JSON of `cache_salt`: callers with other salts share nothing.
    salt: &'a str,
}

/// A template, and the beginning of answers about chats that it renders.
#[derive(Debug, Clone, Copy)]
pub struct Renderer<'a> {
    /// The template that renders.
    pub template: &'a Template,
    /// Up to a comma.
    pub head: &'a [u8],
}

/// The outcome of a request with a chat.
#[derive(Debug)]
pub enum ChatOutcome {
    /// The answer.
    Answered(Answer),
    /// The template needs more steps than it may take.
    TakesLong,
    /// The service has to handle it.
    Unhandled,
}

/// The settings that are the same for all chats of a tokenizer.
#[derive(Debug, Clone, Default)]
pub struct ChatSettings {
    /// The literals of special tokens by their names.
    pub specials: Vec<(String, String)>,
    /// Names that no variable may have.
    pub reserved: Vec<String>,
}

/// The settings of a server about chats.
#[derive(Debug, Clone, Copy)]
pub struct ChatOptions<'o> {
    /// The form of content for the template.
    pub content_format: ContentFormat,
    /// True if the literals of special tokens in the caller's text are the tokens, unless the request says otherwise.
    pub parses: bool,
    /// True if a native request may say so.
    pub may_parse: bool,
    /// The most messages.
    pub max_items: usize,
    /// The steps that the template may take.
    pub most: Option<u64>,
    /// The number of ids that the model takes.
    pub max_model_len: usize,
    /// The name of the caller's key.
    pub key: &'o str,
    /// The segments that are kept, those of all callers.
    pub segments: Option<&'o SegmentCache>,
}

impl<'a> ChatRequest<'a> {
    /// Read a body; `None` if the service has to handle it.
    pub fn read(body: &'a [u8], route: ChatRoute, options: &ChatOptions<'_>) -> Option<Self> {
        let mut scanner = Scanner::new(body)?;
        let is_vllm = matches!(route, ChatRoute::Tokenize | ChatRoute::Render);
        let form = match route {
            ChatRoute::Tokenize => MessageForm::Tokenize,
            ChatRoute::Render => MessageForm::Render,
            ChatRoute::Encode | ChatRoute::Count | ChatRoute::Bytes => MessageForm::Sent,
        };
        let mut request = Self {
            route,
            chat: Chat {
                sent: Sent::Raw,
                form,
                add_generation_prompt: is_vllm,
                content_format: options.content_format,
                most: options.most,
                ..Chat::default()
            },
            tokenizer: None,
            parses: options.parses,
            fields: Vec::new(),
            since: None,
            variables: VllmVariables::default(),
            rest: String::new(),
            salt: "",
        };
        scanner.fields(|scanner, key| match key {
            "messages" => {
                let messages = scanner.skip()?;
                request.chat.messages = messages.json;
                (messages.items <= options.max_items).then_some(())
            }
            "tools" => {
                request.chat.tools = scanner.skip_or_null()?;
                if route == ChatRoute::Render && request.chat.tools.is_some() {
                    // Some of the members that are kept go with tools, whatever these are.
                    request.keep(key, "[{}]");
                }
                Some(())
            }
            _ if is_vllm => request.read_of_vllm(scanner, key),
            _ => request.read_native(scanner, key, options.may_parse),
        })?;
        scanner.end()?;
        if request.fields.is_empty() {
            let plain: &[ReturnField] = &[ReturnField::Ids, ReturnField::Count];
            request.fields = plain[usize::from(request.since.is_some())..].to_vec();
        }
        (!request.chat.messages.is_empty()).then_some(request)
    }

    /// Read a member of a native request.
    fn read_native(&mut self, scanner: &mut Scanner<'a>, key: &str, may_parse: bool) -> Option<()> {
        let chat = &mut self.chat;
        match key {
            "add_generation_prompt" => chat.add_generation_prompt = scanner.boolean()?,
            "continue_final_message" | "add_special_tokens" => (!scanner.boolean()?).then_some(())?,
            "tokenizer" => self.tokenizer = scanner.plain_string_or_null()?,
            "template_args" => chat.arguments = scanner.skip_or_null()?,
            "special_tokens" => {
                self.parses = match scanner.plain_string()? {
                    "text" => false,
                    "parse" if may_parse => true,
                    _ => return None,
                };
            }
            "unused" => (scanner.plain_string()? == "refuse").then_some(())?,
            "documents" => chat.documents = scanner.skip_or_null()?,
            "return" if matches!(self.route, ChatRoute::Encode | ChatRoute::Bytes) => {
                self.fields = read_fields(scanner)?
            }
            "since" if self.route == ChatRoute::Encode => self.since = Some(Since::read(scanner.skip()?.json)?),
            _ => return None,
        }
        Some(())
    }

    /// Read a member of a request as vLLM has it.
    fn read_of_vllm(&mut self, scanner: &mut Scanner<'a>, key: &str) -> Option<()> {
        let renders = self.route == ChatRoute::Render;
        match key {
            "add_generation_prompt" => {
                self.chat.add_generation_prompt = scanner.boolean_or_null()?.unwrap_or(true);
            }
            "continue_final_message" if !renders => (!scanner.boolean()?).then_some(())?,
            "continue_final_message" | "add_special_tokens" => not_true(scanner)?,
            "return_token_strs" if !renders => not_true(scanner)?,
            "model" => {
                self.tokenizer = scanner.plain_string_or_null()?;
                if let Some(model) = self.tokenizer {
                    self.keep("model", &format!("\"{model}\""));
                }
            }
            "chat_template_kwargs" => self.variables.sent = scanner.skip_or_null()?,
            "reasoning_effort" if renders => self.variables.effort = scanner.plain_string_or_null()?,
            "documents" if renders => return None,
            "since" if renders => self.since = Some(Since::read(scanner.skip()?.json)?),
            _ if renders => {
                let value = scanner.skip_any()?;
                if key == "cache_salt" {
                    self.salt = value;
                }
                self.keep(key, value);
            }
            _ => return None,
        }
        Some(())
    }

    fn keep(&mut self, key: &str, value: &str) {
        for part in ["\"", key, "\":", value, ","] {
            self.rest.push_str(part);
        }
    }

    /// The tokenizer that the body names.
    pub fn tokenizer(&self) -> Option<&'a str> {
        self.tokenizer
    }

    /// Tell whether there are tools, even if there is none in their list: templates are chosen by that.
    pub fn has_tools(&self) -> bool {
        self.chat.tools.is_some()
    }

    /// Answer, or leave it to the service.
    pub fn answer(
        self,
        pipeline: &Pipeline,
        renderer: Renderer<'_>,
        settings: &ChatSettings,
        options: &ChatOptions<'_>,
        clock: &Clock,
    ) -> ChatOutcome {
        match self.rendered(renderer.template, settings, clock) {
            Ok(plain) => match self.written(&plain, pipeline, renderer.head, options) {
                Some(answer) => ChatOutcome::Answered(answer),
                None => ChatOutcome::Unhandled,
            },
            Err(failure) if failure.kind == Kind::Limit && options.most.is_some() => ChatOutcome::TakesLong,
            Err(_) => ChatOutcome::Unhandled,
        }
    }

    fn rendered(&self, template: &Template, settings: &ChatSettings, clock: &Clock) -> Result<Plain, Box<Failure>> {
        let variables = match self.route {
            // An empty list of tools is refused there.
            ChatRoute::Render if self.chat.tools.is_some_and(is_empty) => return Err(not_plain()),
            ChatRoute::Render => self.variables.json().ok_or_else(not_plain)?,
            _ => self.variables.unchanged(),
        };
        // Together with these variables, which may be made here.
        let mut chat: Chat<'_> = self.chat.clone();
        chat.arguments = chat.arguments.or(variables.as_deref());
        chat.specials = settings.specials.iter().map(|(name, literal)| (name.as_str(), literal.as_str())).collect();
        chat.reserved = &settings.reserved;
        template.render_plain(&chat, clock)
    }

    fn written(self, plain: &Plain, pipeline: &Pipeline, head: &[u8], options: &ChatOptions<'_>) -> Option<Answer> {
        let Self { route, parses, fields, since, rest, salt, .. } = self;
        let caller = (!parses).then_some(plain.caller.as_slice());
        let segments = options.segments.map(|segments| segments.of(Owner::new(options.key, salt)));
        let mut json = head.to_vec();
        let is_count = route == ChatRoute::Encode && fields == [ReturnField::Count] && since.is_none();
        if route == ChatRoute::Count || is_count {
            let mut count = Count::default();
            pipeline.encode_rendered(&plain.text, caller, segments, &mut count).ok()?;
            write_field("count", &mut json, |json| write_number(count.0, json));
            json.push(b'}');
            return Some(Answer { json, tokens: count.0, rest });
        }
        let mut ids = for_ids(plain.text.len());
        pipeline.encode_rendered(&plain.text, caller, segments, &mut ids).ok()?;
        match route {
            ChatRoute::Render => {
                json.clear();
                match since {
                    None => write_ids(&ids, &mut json),
                    Some(since) => {
                        json.extend_from_slice(b"null,");
                        since.write(&ids, &mut json);
                    }
                }
            }
            ChatRoute::Bytes => {
                fields.contains(&ReturnField::Ids).then_some(())?;
                let rest = String::from_utf8(json).ok()?;
                let mut bytes = vec![0; size_of_val::<[u32]>(&ids)];
                bytes.as_chunks_mut().0.iter_mut().zip(&ids).for_each(|(bytes, id)| *bytes = id.to_le_bytes());
                return Some(Answer { json: bytes, tokens: ids.len(), rest });
            }
            ChatRoute::Tokenize => {
                json.clear();
                json.push(b'{');
                write_field("count", &mut json, |json| write_number(ids.len(), json));
                json.push(b',');
                write_field("max_model_len", &mut json, |json| write_number(options.max_model_len, json));
                json.push(b',');
                write_field("tokens", &mut json, |json| write_ids(&ids, json));
                json.extend_from_slice(b",\"token_strs\":null}");
            }
            ChatRoute::Encode | ChatRoute::Count => {
                for field in &fields {
                    match field {
                        ReturnField::Ids => write_field("ids", &mut json, |json| write_ids(&ids, json)),
                        ReturnField::Count => write_field("count", &mut json, |json| write_number(ids.len(), json)),
                    }
                    json.push(b',');
                }
                match since {
                    Some(since) => since.write(&ids, &mut json),
                    None => drop(json.pop()),
                }
                json.push(b'}');
            }
        }
        Some(Answer { json, tokens: ids.len(), rest })
    }
}

/// Take `false` or `null`.
fn not_true(scanner: &mut Scanner<'_>) -> Option<()> {
    (scanner.boolean_or_null()? != Some(true)).then_some(())
}
