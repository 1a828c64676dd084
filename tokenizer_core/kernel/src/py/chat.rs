//! `Pipeline.encode_chat`: a text and what of it a caller wrote in, ids and what was refused out.

use std::ops::Range;

use numpy::PyArray2;
use pyo3::prelude::*;
use pyo3::types::PyString;

use super::array;
use super::array::Array;
use super::raise::{Raise, invalid_option, run_on};
use super::text::utf8;
use crate::decode::token_widths::Unit;
use crate::encode::Pipeline;
use crate::output::offsets::Offsets;
use crate::segment_cache::Segments;

/// `(start, end, literal)` in characters.
type Refused = Vec<(usize, usize, String)>;

/// The ids, their spans, and what was refused.
pub type Encoded<'py> = (Array<'py>, Bound<'py, PyArray2<u32>>, Refused);

/// See `_kernel.pyi`.
pub fn encode<'py>(
    pipeline: &Pipeline,
    text: &Bound<'py, PyString>,
    caller: &[(usize, usize)],
    unit: Unit,
    add_special_tokens: bool,
) -> PyResult<Encoded<'py>> {
    let py = text.py();
    let text = &utf8(text, pipeline.level())?;
    let Some(caller) = to_bytes(text, caller) else {
        let message = "caller holds half-open spans in characters of the text, in order and disjoint".to_owned();
        return Err(invalid_option(py, message, "caller"));
    };
    encode_bytes(py, pipeline, text, &caller, unit, add_special_tokens, None)
}

/// Encode a text of which the caller wrote these bytes.
pub fn encode_bytes<'py>(
    py: Python<'py>,
    pipeline: &Pipeline,
    text: &str,
    caller: &[Range<usize>],
    unit: Unit,
    add_special_tokens: bool,
    segments: Option<Segments<'_>>,
) -> PyResult<Encoded<'py>> {
    let (ids, spans, refused) = run_on(py, pipeline, text.len(), || {
        let mut offsets = Offsets::new(pipeline.stands_for(), text, unit);
        let refused = pipeline.encode_chat(text, caller, add_special_tokens, segments, &mut offsets)?;
        Ok((offsets.ids, offsets.spans, to_characters(text, pipeline, refused)))
    })
    .raise_in(py, text)?;
    Ok((array::of_ids(py, ids), array::of_spans(py, spans)?, refused))
}

/// Spans in characters as ranges of bytes; `None` if they are not in order, overlap or leave the text.
fn to_bytes(text: &str, spans: &[(usize, usize)]) -> Option<Vec<Range<usize>>> {
    let mut positions = text.char_indices().map(|(at, _)| at).chain(std::iter::once(text.len())).enumerate();
    let (mut character, mut byte) = positions.next()?;
    let mut ranges = Vec::with_capacity(spans.len());
    let mut seek = |target: usize| {
        if target < character {
            return None;
        }
        while character < target {
            (character, byte) = positions.next()?;
        }
        Some(byte)
    };
    for (start, end) in spans {
        ranges.push(seek(*start)?..seek(*end)?);
    }
    Some(ranges)
}

/// Refused literals with their places in characters and their text; they may overlap, but their starts are in order.
fn to_characters(text: &str, pipeline: &Pipeline, refused: Vec<(Range<usize>, u32)>) -> Refused {
    let (mut byte, mut character) = (0, 0);
    let place = |(bytes, id): (Range<usize>, u32)| {
        character += text[byte..bytes.start].chars().count();
        byte = bytes.start;
        let literal = pipeline.tokens().get(id).unwrap_or_default();
        (character, character + text[bytes].chars().count(), String::from_utf8_lossy(literal).into_owned())
    };
    refused.into_iter().map(place).collect()
}
