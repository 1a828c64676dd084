//! Chat templates: Jinja2 as transformers sets it up, with the author of every byte, within bounds.
//!
//! `syntax` reads a template, `values` are what it computes with, `run` renders it, `chat` puts a template and a chat
//! together, and `turns` finds what of a rendering is trained on. Each takes from those before it.

mod chat;
mod run;
mod syntax;
mod turns;
mod values;

pub use chat::plain;
pub use chat::template::{Chat, ContentFormat, MessageForm, Rendering, Sent, Span, Template};
pub use run::clock::Clock;
pub use run::state::Turn;
pub use syntax::failure::{Failure, Kind, Result};
pub use syntax::names;
pub(crate) use syntax::strings::is_space;
pub use turns::{Ranges, TrainedReasoning, trained};
pub use values::budget::Before;
pub(crate) use values::number::write_float;

#[cfg(test)]
mod tests;
