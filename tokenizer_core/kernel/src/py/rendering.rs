//! `Rendering` as Python sees it: a rendered chat that stays in the kernel, told in characters.

use std::ops::Range;
use std::sync::Arc;

use pyo3::prelude::*;
use pyo3::types::PyString;

use crate::template::Rendering;

/// See `_kernel.pyi`.
#[pyclass(name = "Rendering", module = "tokenizer_core._kernel", frozen)]
pub struct PyRendering(pub(super) Rendering);

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
        let mut characters = self.characters();
        let mut last: Option<(&Arc<str>, Bound<'py, PyString>)> = None;
        let mut spans = Vec::with_capacity(self.0.spans.len());
        for span in &self.0.spans {
            let (start, end) = characters.of(&span.bytes);
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
        let mut characters = self.characters();
        self.0.generated.iter().map(|block| characters.of(block)).collect()
    }

    #[getter]
    fn turns(&self) -> Vec<(u32, usize, usize)> {
        let mut characters = self.characters();
        let turns = self.0.turns.iter().map(|turn| (turn.message, characters.of(&turn.bytes)));
        turns.map(|(message, (start, end))| (message, start, end)).collect()
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
    fn characters(&self) -> Characters<'_> {
        Characters { text: &self.0.text, ascii: self.0.text.is_ascii(), byte: 0, character: 0 }
    }

    /// The bytes that a caller wrote, in order and disjoint.
    pub(super) fn caller(&self) -> Vec<Range<usize>> {
        self.0.spans.iter().map(|span| span.bytes.clone()).collect()
    }
}

/// Turns ranges in order from bytes to characters.
struct Characters<'t> {
    text: &'t str,
    ascii: bool,
    byte: usize,
    character: usize,
}

impl Characters<'_> {
    fn of(&mut self, bytes: &Range<usize>) -> (usize, usize) {
        (self.at(bytes.start), self.at(bytes.end))
    }

    fn at(&mut self, byte: usize) -> usize {
        if self.ascii {
            return byte;
        }
        self.character += self.text[self.byte..byte].chars().count();
        self.byte = byte;
        self.character
    }
}
