//! `DocumentEncoder` as Python sees it.

use std::sync::Arc;

use numpy::PyArray1;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PySequence};

use super::codec::PyCodec;
use super::pipeline::options;
use super::raise::{Raise, invalid_option, run};
use super::{arguments, text};
use crate::error::Result;
use crate::shards::encoder::{DocumentEncoder, EndOfText};
use crate::shards::ids::{Documents, Width};
use crate::train::jsonl::Lines;
use crate::train::skipped::{OnError, Skipped};

/// The bytes of ids, the lengths of documents, the number of those left out, and the first of these with reasons.
type EncodedShard<'py> = (Bound<'py, PyBytes>, Bound<'py, PyArray1<i64>>, u64, Vec<(u64, String)>);

/// See `_kernel.pyi`.
#[pyclass(name = "DocumentEncoder", module = "tokenizer_core._kernel", frozen)]
pub struct PyDocumentEncoder(DocumentEncoder);

#[pymethods]
impl PyDocumentEncoder {
    #[new]
    #[pyo3(signature = (
        tokenizer, special_tokens="reject", *, before=None, after=None, id_bytes=4, skip_invalid=false
    ))]
    fn new(
        py: Python<'_>,
        tokenizer: &PyCodec,
        #[pyo3(from_py_with = arguments::special_tokens)] special_tokens: &str,
        before: Option<u32>,
        after: Option<u32>,
        id_bytes: usize,
        skip_invalid: bool,
    ) -> PyResult<Self> {
        let end_of_text = match (before, after) {
            (None, None) => EndOfText::None,
            (Some(id), None) => EndOfText::Before(id),
            (None, Some(id)) => EndOfText::After(id),
            _ => return Err(invalid_option(py, String::from("a document has one end-of-text token"), "after")),
        };
        let Some(width) = Width::of_bytes(id_bytes) else {
            return Err(invalid_option(py, format!("id_bytes is 2, 4 or 8, not {id_bytes}"), "id_bytes"));
        };
        Ok(Self(DocumentEncoder {
            pipeline: Arc::clone(tokenizer.pipeline()?),
            options: options(py, special_tokens, false)?,
            end_of_text,
            width,
            on_error: if skip_invalid { OnError::Skip } else { OnError::Stop },
        }))
    }

    #[pyo3(signature = (data, field, *, first_line=1, first_byte=0))]
    fn encode_lines<'py>(
        &self,
        py: Python<'py>,
        data: &[u8],
        field: &str,
        first_line: u64,
        first_byte: u64,
    ) -> PyResult<EncodedShard<'py>> {
        let lines = Lines { bytes: data, first_line, first_byte, field, language: "" };
        let encoded = run(py, usize::MAX, || self.0.encode_lines(lines));
        given(py, encoded)
    }

    fn encode_texts<'py>(&self, py: Python<'py>, texts: &Bound<'py, PySequence>) -> PyResult<EncodedShard<'py>> {
        let rows = text::documents(texts, "texts")?;
        let texts = text::all(&rows, self.0.pipeline.level())?;
        let texts = texts.rows();
        let encoded = run(py, usize::MAX, || self.0.encode_texts(&texts));
        given(py, encoded)
    }
}

fn given(py: Python<'_>, encoded: Result<(Documents, Skipped)>) -> PyResult<EncodedShard<'_>> {
    let (documents, skipped) = encoded.raise(py)?;
    let first = skipped.first.into_iter().map(|(_, number, reason)| (number, reason)).collect();
    let bytes = PyBytes::new(py, &documents.bytes);
    Ok((bytes, PyArray1::from_vec(py, documents.lengths), skipped.lines, first))
}
