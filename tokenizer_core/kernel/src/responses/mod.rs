//! From what a model wrote back to a message, by a `response_template` in the form of transformers 5.24.
//!
//! `template` reads it, `parser` finds the regions of a text that comes in parts, `content` makes values of them with
//! the help of `json` and `calls`, `transform` gives them the form of a message, and `coerce` the types of the tools.

mod calls;
mod coerce;
mod content;
mod json;
mod outcome;
mod parser;
mod template;
mod transform;
mod value;

pub use self::coerce::Tools;
pub use self::parser::ResponseParser;
pub use self::template::ResponseTemplate;

/// The reason why a region is not what its field says.
type Malformed = &'static str;
