//! `Rendering` as Python sees it: a rendered chat that stays in the kernel, told in characters.

use std::ops::Range;
use std::sync::Arc;

use numpy::{PyArray1, PyReadonlyArray2};
use pyo3::prelude::*;
use pyo3::types::PyString;

use super::arguments::choice;
use super::raise::{Raise, run};
use crate::output::unit_index::UnitIndex;
use crate::template::{Rendering, TrainedReasoning, trained};

/// See `_kernel.pyi`.
#[pyclass(name = "Rendering", module = "tokenizer_core._kernel", frozen)]
pub struct PyRendering(pub(super) Arc<Rendering>);

/// `(message, field, start, end)` in characters.
type Spans<'py> = Vec<(Option<u32>, Bound<'py, PyString>, usize, usize)>;

#[pymethods]
impl PyRendering {
    #[getter]
    fn text(&self) -> &str {
        &self.0.text
    }

    #[getter]
    fn spans<'py>(&self, py: Python<'py>) -> Spans<'py> {
        let places = self.places();
        let mut last: Option<(&Arc<str>, Bound<'py, PyString>)> = None;
        let mut spans = Vec::with_capacity(self.0.spans.len());
        for span in &self.0.spans {
            let (start, end) = places.characters(&span.bytes);
            // Fields that are the same share their text.
            let field = match &last {
                Some((known, field)) if Arc::ptr_eq(known, &span.field) => field.clone(),
                _ => PyString::new(py, &span.field),
            };
            last = Some((&span.field, field.clone()));
            spans.push((span.message, field, start, end));
        }
        spans
    }

    #[getter]
    fn generated(&self) -> Vec<(usize, usize)> {
        let places = self.places();
        self.0.generated.iter().map(|block| places.characters(block)).collect()
    }

    #[getter]
    fn turns(&self) -> Vec<(u32, usize, usize)> {
        let places = self.places();
        let turns = self.0.turns.iter().map(|turn| (turn.message, places.characters(&turn.bytes)));
        turns.map(|(message, (start, end))| (message, start, end)).collect()
    }

    #[getter]
    fn roles(&self) -> Vec<&str> {
        self.0.roles.iter().map(|role| &**role).collect()
    }

    /// See `_kernel.pyi`.
    fn trained(
        &self,
        py: Python<'_>,
        special: PyReadonlyArray2<'_, u32>,
        messages: Option<Vec<u32>>,
        reasoning: &str,
        again: Py<PyAny>,
    ) -> PyResult<Vec<(usize, usize)>> {
        let choices =
            [("all", TrainedReasoning::All), ("written", TrainedReasoning::Written), ("none", TrainedReasoning::None)];
        let reasoning = choice(py, "reasoning", reasoning, &choices)?;
        let special: Vec<_> = special.as_array().outer_iter().map(|span| (span[0], span[1])).collect();
        let work = || {
            let places = self.places();
            let special: Vec<_> = special.iter().map(|(start, end)| places.byte(*start)..places.byte(*end)).collect();
            let mut again = |count: Option<u32>, begins: bool| {
                Python::attach(|py| -> PyResult<_> {
                    let rendering: Option<Py<Self>> = again.call1(py, (count, begins))?.extract(py)?;
                    Ok(rendering.map(|rendering| Arc::clone(&rendering.get().0)))
                })
            };
            Ok(trained(&self.0, &special, messages.as_deref(), reasoning, &mut again)
                .map(|ranges| ranges.iter().map(|range| places.characters(range)).collect()))
        };
        run(py, self.0.text.len(), work).raise(py)?
    }

    /// See `_kernel.pyi`.
    fn message_index<'py>(
        &self,
        py: Python<'py>,
        spans: PyReadonlyArray2<'py, u32>,
    ) -> PyResult<Bound<'py, PyArray1<i64>>> {
        let places = self.places();
        let written: Vec<(usize, usize, u32)> = (self.0.spans.iter())
            .filter_map(|span| {
                let (start, end) = places.characters(&span.bytes);
                Some((start, end, span.message?))
            })
            .collect();
        // Tokens and spans are in order, but the characters of two tokens may be the same.
        let mut at = 0;
        let (tokens, _) = spans.as_slice()?.as_chunks::<2>();
        let index = tokens.iter().map(|token| {
            let [start, end] = token.map(|place| place as usize);
            if at > 0 && written[at - 1].1 > start {
                at = written.partition_point(|span| span.1 <= start);
            }
            while written.get(at).is_some_and(|span| span.1 <= start) {
                at += 1;
            }
            written.get(at).filter(|span| start < end && span.0 < end).map_or(-1, |span| i64::from(span.2))
        });
        Ok(PyArray1::from_vec(py, index.collect()))
    }

    #[getter]
    fn writes_all(&self) -> bool {
        self.0.writes_all
    }

    #[getter]
    fn after(&self) -> (u32, u64) {
        (self.0.after.chats, self.0.after.left)
    }

    #[getter]
    fn size(&self) -> usize {
        let text = &self.0.text;
        if text.is_ascii() {
            return 2 * text.len();
        }
        // The first byte of a character tells how far it is.
        let in_python = match text.bytes().max().unwrap_or_default() {
            ..0xC4 => text.chars().count(),
            0xC4..0xF0 => 2 * text.chars().count(),
            _ => 4 * text.chars().count(),
        };
        text.len() + in_python
    }

    #[getter]
    fn span_count(&self) -> usize {
        self.0.spans.len()
    }
}

impl PyRendering {
    fn places(&self) -> UnitPlaces<'_> {
        UnitPlaces { text: &self.0.text, index: UnitIndex::new(self.0.text.as_bytes(), false) }
    }

    /// The bytes that a caller wrote, in order and disjoint.
    pub(super) fn caller(&self) -> Vec<Range<usize>> {
        self.0.spans.iter().map(|span| span.bytes.clone()).collect()
    }
}

/// The places of a text in bytes and in characters.
struct UnitPlaces<'t> {
    text: &'t str,
    index: UnitIndex<'t>,
}

impl UnitPlaces<'_> {
    fn characters(&self, bytes: &Range<usize>) -> (usize, usize) {
        (self.index.around(bytes.start)[0] as usize, self.index.around(bytes.end)[0] as usize)
    }

    /// The byte at which a character begins, or the end of the text.
    fn byte(&self, character: u32) -> usize {
        let (mut start, mut end) = (0, self.text.len());
        while start < end {
            let middle = start.midpoint(end);
            if self.index.around(middle)[0] < character {
                start = middle + 1;
            } else {
                end = middle;
            }
        }
        self.text.ceil_char_boundary(start)
    }
}
