//! Chat templates: Jinja2 as transformers sets it up, with the author of every byte, within bounds.
//!
//! `lexer`, `parser` and `expressions` make the tree in `ast`; `symbols` and `resolve` lay out its variables as Jinja's
//! compiler does. `run` and `eval` walk the tree over values (`value`, `text`, `dict`, `number`) that carry origins;
//! `budget` is what all of it costs. `json_in` reads a request, `messages`, `content_format` and `continuing` prepare
//! it, and `render` puts a template and a chat together. `plain` takes a chat from the bytes of a request, `vllm_form`
//! gives it the form of vLLM's. `reading` tells what a template reads and writes, and `needs` what
//! it takes for granted.

pub mod assignment;
mod ast;
mod attributes;
mod blocks;
pub mod budget;
mod calls;
mod cases;
pub mod clock;
mod compare;
pub mod content_format;
mod continuing;
mod developer;
mod dict;
mod eval;
mod expressions;
pub mod failure;
mod filters;
mod format;
mod generators;
mod iter;
mod json_in;
mod json_out;
mod lexer;
mod messages;
mod methods;
pub mod names;
mod needs;
mod number;
mod number_filters;
mod objects;
mod operands;
mod parser;
mod part_loops;
mod places;
pub mod plain;
pub mod reading;
pub mod render;
mod repr;
mod resolve;
pub mod run;
mod sequences;
mod size;
mod spec;
mod strings;
mod symbols;
mod taken;
mod targets;
mod tests_of_values;
mod text;
mod value;
mod vllm_form;
mod walk;

pub use budget::Before;
pub use clock::Clock;
pub use content_format::ContentFormat;
pub use failure::{Failure, Kind, Result};
pub use plain::Sent;
pub use render::{Chat, Rendering, Span, Template};
pub use run::Turn;
pub use vllm_form::MessageForm;

#[cfg(test)]
mod tests;
