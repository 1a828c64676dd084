//! The parts of a rendered chat that are trained on: `model` finds those that its model has to write, `trained` those
//! of all messages, and `reasoning` the reasoning in them, which may be left out.

mod model;
mod reasoning;
mod trained;

use std::ops::Range;
use std::sync::Arc;

use super::chat::template::{Rendering, Span};
use super::syntax::strings::is_space;

pub use reasoning::TrainedReasoning;
pub use trained::trained;

/// Ranges of bytes of a rendered text.
pub type Ranges = Vec<Range<usize>>;

/// Renders the first messages of a chat again, or a plain one if there is no number: with a generation prompt or
/// without. `None` if the template fails on them.
pub type Again<'a, E> = dyn FnMut(Option<u32>, bool) -> Result<Option<Arc<Rendering>>, E> + 'a;

/// The spans that have bytes between two places.
fn within(spans: &[Span], start: usize, end: usize) -> &[Span] {
    let spans = &spans[spans.partition_point(|span| span.bytes.end <= start)..];
    &spans[..spans.partition_point(|span| span.bytes.start < end)]
}

/// The first place of a literal that lies between two places.
fn find(text: &str, literal: &str, start: usize, end: usize) -> Option<usize> {
    let start = text.ceil_char_boundary(start);
    text.get(start..end)?.find(literal).map(|at| start + at)
}

/// The bytes of white space that a text begins with.
fn leading_space(text: &str) -> usize {
    text.len() - text.trim_start_matches(is_space).len()
}
