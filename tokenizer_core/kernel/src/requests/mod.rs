//! Bodies of hot requests: request bytes to answer bytes.
//!
//! Only what callers commonly send is read, and strictly. Anything unusual, such as an escape in a key, a key that
//! comes twice, an unknown field or a wrong type, gives `None`: the service's models, which know all fields, then
//! answer the request or say what is wrong. So no error is worded here. `text`, `chat` and
//! `ids` are the kinds of request that are answered, and `lists` cuts long lists out of those that are not.

mod answer;
mod chat;
mod ids;
mod lists;
mod since;
mod text;
mod vllm_variables;

pub use chat::{ChatOptions, ChatOutcome, ChatRequest, ChatRoute, ChatSettings, Renderer};
pub use ids::{IdsLimits, IdsRequest};
pub use lists::{CutOut, Parts};
pub use since::prefix_hash;
pub use text::{ReturnField, Route, TextRequest};

/// An answer, and how many ids went in or out.
#[derive(Debug, PartialEq, Eq)]
pub struct Answer {
    /// The body.
    pub json: Vec<u8>,
    /// Counts for the service's metrics.
    pub tokens: usize,
    /// Members of the request that were not read, each with a comma behind it.
    pub rest: String,
}
