//! The text of messages that is trained on.

use std::ops::Range;

use super::model::Turns;
use super::reasoning::{TrainedReasoning, without_reasoning};
use super::{Again, Ranges};
use crate::template::chat::template::Rendering;

/// The text of messages that is trained on, in their order; without messages it is that of `{% generation %}` blocks.
///
/// Of the assistant's messages it is what stands in such blocks where the template has any; else what the model has to
/// write. A turn of another role reaches from its first character to its last, and on through the first special token
/// if only the template's text stands before that.
pub fn trained<E>(
    rendering: &Rendering,
    special: &[Range<usize>],
    messages: Option<&[u32]>,
    reasoning: TrainedReasoning,
    again: &mut Again<'_, E>,
) -> Result<Ranges, E> {
    let turns = match messages {
        None => rendering.generated.clone(),
        Some(messages) => turns_of(rendering, special, messages, again)?,
    };
    Ok(match reasoning {
        TrainedReasoning::All => turns,
        kept => without_reasoning(rendering, turns, kept),
    })
}

fn turns_of<E>(
    rendering: &Rendering,
    special: &[Range<usize>],
    messages: &[u32],
    again: &mut Again<'_, E>,
) -> Result<Ranges, E> {
    let mut said: Vec<Option<Range<usize>>> = vec![None; rendering.roles.len()];
    for span in rendering.spans.iter().filter(|span| &*span.field != "role") {
        if let Some(said) = span.message.and_then(|message| said.get_mut(message as usize)) {
            said.get_or_insert(span.bytes.clone()).end = span.bytes.end;
        }
    }
    let neighbours = if rendering.generated.is_empty() { Ranges::new() } else { neighbours(rendering) };
    let mut model = Turns::new(rendering, special, again);
    let mut turns = Vec::with_capacity(messages.len());
    for &message in messages {
        let said = said.get(message as usize).cloned().flatten();
        if rendering.roles.get(message as usize).is_none_or(|role| &**role != "assistant") {
            turns.extend(said.map(|said| said.start..closed(rendering, special, said.end)));
        } else if rendering.generated.is_empty() {
            turns.extend(model.of(message)?);
        } else {
            turns.extend_from_slice(blocks(&rendering.generated, said, &neighbours[message as usize]));
        }
    }
    Ok(turns)
}

/// The end of the special token behind a turn, or of the turn if another's text comes first.
fn closed(rendering: &Rendering, special: &[Range<usize>], end: usize) -> usize {
    let spans = &rendering.spans;
    let foreign = spans.get(spans.partition_point(|span| span.bytes.start < end));
    let foreign = foreign.map_or(rendering.text.len(), |span| span.bytes.start);
    let token = special.get(special.partition_point(|token| token.start < end));
    token.filter(|token| token.start < foreign).map_or(end, |token| token.end)
}

/// For every message, the end of those before it and the beginning of those behind it.
fn neighbours(rendering: &Rendering) -> Ranges {
    let count = rendering.roles.len();
    let (mut ends, mut starts) = (vec![0; count + 1], vec![rendering.text.len(); count + 1]);
    for span in &rendering.spans {
        if let Some(message) = span.message.map(|message| message as usize).filter(|message| *message < count) {
            ends[message + 1] = span.bytes.end;
            starts[message] = span.bytes.start.min(starts[message]);
        }
    }
    for at in 0..count {
        ends[at + 1] = ends[at + 1].max(ends[at]);
        starts[count - at - 1] = starts[count - at - 1].min(starts[count - at]);
    }
    (0..count).map(|at| ends[at]..starts[at + 1]).collect()
}

/// The `{% generation %}` blocks of a message; one without its text is between its neighbours.
fn blocks<'b>(blocks: &'b [Range<usize>], said: Option<Range<usize>>, between: &Range<usize>) -> &'b [Range<usize>] {
    if let Some(Range { start, end }) = said {
        let own = blocks.partition_point(|block| block.end <= start);
        let behind = blocks.partition_point(|block| block.start < end);
        if own < behind {
            return &blocks[own..behind];
        }
    }
    let first = blocks.partition_point(|block| block.start < between.start);
    let behind = blocks.partition_point(|block| block.end <= between.end);
    blocks.get(first..behind).unwrap_or_default()
}
