//! Bodies of the service's hot requests, from JSON bytes to the answer's bytes.
//!
//! Only what callers commonly send is taken, and strictly. Whatever is unusual, such as an escape in a key, a key that
//! comes twice, an unknown field or a wrong type, is `None`: not ours, and the service's models, which know everything,
//! say what it is. So nothing here words an error. `text` and `ids` are the two kinds of request.

mod answer;
mod ids;
mod text;

pub use ids::{IdsLimits, IdsRequest};
pub use text::{ReturnField, Route, TextRequest};

/// An answer, and how many ids went in or out.
#[derive(Debug, PartialEq, Eq)]
pub struct Answer {
    /// The body.
    pub json: Vec<u8>,
    /// What the service counts.
    pub tokens: usize,
}
