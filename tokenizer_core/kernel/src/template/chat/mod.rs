//! A template and a chat put together: `json_in` reads a request, `messages`, `content_format` and `continuing` prepare
//! it, and `render` renders it. `plain` takes a chat from the bytes of a request, `vllm_form` gives it the form of
//! vLLM's. `reading` tells what a template reads and writes, and `needs` what it takes for granted.

mod content_format;
mod continuing;
mod developer;
mod json_in;
mod messages;
mod needs;
mod part_loops;
mod places;
pub mod plain;
mod prompt;
mod reading;
mod render;
pub mod template;
pub mod vllm_form;
