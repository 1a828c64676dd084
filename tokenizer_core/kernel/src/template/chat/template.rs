//! The types of a template, a chat and a rendering.

use std::ops::Range;
use std::sync::Arc;

use once_cell::race::OnceNonZeroUsize;

use super::part_loops::PartLoops;
use super::prompt::PromptWriter;
use crate::template::run::state::Turn;
use crate::template::syntax::ast::{Scope, Stmt};
use crate::template::values::budget::Before;

/// The form of content for a template.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum ContentFormat {
    /// As it is sent.
    #[default]
    Sent,
    /// As the template reads it.
    Auto,
    /// One string, if all parts are texts.
    String,
    /// A list of parts.
    Parts,
}

/// The form of messages.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum MessageForm {
    /// As they are sent.
    #[default]
    Sent,
    /// As vLLM's `/tokenize` has them, which reads reasoning by one name.
    Tokenize,
    /// As its render routes have them.
    Render,
    /// As its route of responses has them.
    Responses,
}

/// The party that has checked the chat to be rendered.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Sent {
    /// The caller.
    #[default]
    Checked,
    /// Nobody: it is rendered if it is plain.
    Raw,
}

/// The roles that a template is tried with.
pub const PROBED: [&str; 4] = ["system", "developer", "user", "assistant"];

/// The findings about each of the probed roles: a bit for strings and one for parts, above one that is always set.
pub type ProbeResults = [OnceNonZeroUsize; PROBED.len()];

/// A compiled template.
#[derive(Debug)]
pub struct Template {
    pub(super) body: Vec<Stmt>,
    pub(super) scope: Scope,
    pub(super) slots: u16,
    pub(super) source: Box<str>,
    /// True if it may write the present time.
    pub tells_time: bool,
    /// Its loops over the content of a message.
    pub part_loops: PartLoops,
    /// True if its source speaks of the role `developer`.
    pub knows_developer: bool,
    /// The literals that it may write.
    pub written: Vec<String>,
    /// The variables that it takes for granted.
    pub needs: Vec<String>,
    /// The statements that write the same generation prompt behind any messages, if the template surely has one.
    pub(super) prompt: Option<PromptWriter>,
    pub(super) found: ProbeResults,
}

/// The input of a rendering: JSON for all that the caller gives.
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
    /// The field of the last message that goes on.
    pub continue_final_message: Option<&'t str>,
    pub content_format: ContentFormat,
    /// The steps that it may take at most; by default what the budget has.
    pub most: Option<u64>,
    /// The chats of the same request that were rendered before.
    pub before: Before,
    /// The party that has checked it.
    pub sent: Sent,
    /// The form that the template is given.
    pub form: MessageForm,
    /// Names that no argument has, if nobody has checked that.
    pub reserved: &'t [String],
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
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Rendering {
    /// The text that the model is given.
    pub text: String,
    /// The parts that the caller wrote, in order.
    pub spans: Vec<Span>,
    /// The text in `{% generation %}` blocks, in bytes.
    pub generated: Vec<Range<usize>>,
    /// The text of each message, in order: the part that a loop wrote while it was at the message, without the parts
    /// that a loop within that wrote at another.
    pub turns: Vec<Turn>,
    /// The role of each message; empty if it is no text.
    pub roles: Vec<Box<str>>,
    /// The generation prompt of the template, if it is surely the same behind any messages and written only if asked
    /// for.
    pub prompt: Option<String>,
    /// True if every message, tools and documents surely left a trace; not looked for where the service checked them.
    pub writes_all: bool,
    /// For the next chat of the same request.
    pub after: Before,
}
