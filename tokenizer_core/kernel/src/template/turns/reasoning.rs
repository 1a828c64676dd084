//! The place of the reasoning in a turn: between two marks at the beginning of the text that the model has to write.

use std::ops::Range;

use super::{Ranges, find, leading_space, within};
use crate::template::chat::template::{Rendering, Span};
use crate::template::syntax::strings::is_space;

/// The trained reasoning, with its marks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TrainedReasoning {
    /// All of it.
    All,
    /// The reasoning of which a caller wrote a character: no empty marks of the template.
    Written,
    /// None of it.
    None,
}

/// The marks round reasoning, of the models that have it. The opening mark may be a part of the prompt.
const MARKS: [(&str, &str); 7] = [
    ("<think>", "</think>"),
    ("<seed:think>", "</seed:think>"),
    ("<mm:think>", "</mm:think>"),
    ("[THINK]", "[/THINK]"),
    ("<|START_THINKING|>", "<|END_THINKING|>"),
    ("<|channel>thought", "<channel|>"),
    ("<|channel|>analysis<|message|>", "<|end|>"),
];

/// Turns without the reasoning at their beginning, and without the white space behind it.
pub fn without_reasoning(rendering: &Rendering, turns: Ranges, kept: TrainedReasoning) -> Ranges {
    let (text, spans) = (rendering.text.as_str(), rendering.spans.as_slice());
    let mut left = Vec::with_capacity(turns.len());
    for Range { mut start, end } in turns {
        if let Some((begin, inside, behind)) = reasoning(text, start, end, spans) {
            let is_written = is_written(spans, inside.start, inside.end)
                && text.get(inside).is_some_and(|text| leading_space(text) < text.len());
            if kept == TrainedReasoning::None || !is_written {
                left.push(start..begin);
                start = behind;
            }
        }
        left.push(start..end);
    }
    left.retain(|turn| turn.start < turn.end);
    left
}

/// Tell whether the caller wrote any character between two places.
fn is_written(spans: &[Span], start: usize, end: usize) -> bool {
    !within(spans, start, end).is_empty()
}

/// The beginning of reasoning with its mark, what stands between the marks, and the place where the turn goes on.
///
/// Before it stands nothing but the template's text, or it is no reasoning but a word of the answer.
fn reasoning(text: &str, start: usize, end: usize, spans: &[Span]) -> Option<(usize, Range<usize>, usize)> {
    for (opening, closing) in MARKS {
        let opened = find(text, opening, start, end);
        let closed = find(text, closing, (start + 1).saturating_sub(closing.len()), end);
        let (begin, inside) = if ends_with_mark(&text[..start], opening) {
            (start, start)
        } else if let Some(opened) =
            opened.filter(|&opened| !is_written(spans, start, opened) && closed.is_none_or(|closed| closed >= opened))
        {
            let is_space_before = start < opened && leading_space(&text[start..opened]) == opened - start;
            (if is_space_before { start } else { opened }, opened + opening.len())
        } else if let Some(closed) = closed.filter(|&closed| !is_written(spans, start, closed)) {
            // The prompt has the opening mark, and may have the beginning of the closing one.
            (start.max(closed), start.max(closed))
        } else {
            continue;
        };
        let from = if inside > start { Some(inside) } else { closed };
        let Some(close) = from.and_then(|from| find(text, closing, from, end)) else {
            return Some((begin, inside..end, end));
        };
        let behind = close + closing.len();
        return Some((begin, inside..close, behind + leading_space(&text[behind..end])));
    }
    None
}

/// Tell whether a text ends with a mark, with two characters of white space behind it at most.
fn ends_with_mark(text: &str, mark: &str) -> bool {
    let most = mark.len() + 2;
    let from = text.char_indices().rev().take(most).last().map_or(0, |(at, _)| at);
    text[from..].trim_end_matches(is_space).ends_with(mark)
}
