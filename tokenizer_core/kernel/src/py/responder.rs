//! Request bodies to answers: bytes in, bytes out, and no Python object between.

use std::sync::Arc;

use numpy::PyArray1;
use pyo3::IntoPyObjectExt;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyString};

use super::arguments::choice;
use super::codec::PyCodec;
use super::raise::{exception, run, run_on};
use crate::encode::Pipeline;
use crate::error::{Code, Error, Result};
use crate::requests::{Answer, IdsLimits, IdsRequest, Route, TextRequest};

/// Answers up to this size are copied into `bytes`; a larger one is handed over as the array that it lies in.
const COPIED: usize = 64 * 1024;

/// The outcome of a body.
pub enum Outcome {
    /// The service's models have to handle it.
    Unhandled,
    /// It names another tokenizer.
    OtherTokenizer(String),
    /// The template of a chat needs more steps than it may take.
    TakesLong,
    /// It is answered.
    Answered(Answer),
    /// There is a bug in the kernel.
    Failed(Error),
}

/// See `_kernel.pyi`.
#[pyclass(name = "Responder", module = "tokenizer_core._kernel", frozen)]
pub struct PyResponder {
    pipeline: Arc<Pipeline>,
    head: Vec<u8>,
}

#[pymethods]
impl PyResponder {
    #[new]
    fn new(tokenizer: &PyCodec, head: &[u8]) -> PyResult<Self> {
        Ok(Self { pipeline: Arc::clone(tokenizer.pipeline()?), head: head.to_vec() })
    }

    #[pyo3(signature = (route, body, reference, *, max_items, threads))]
    fn answer_texts(
        &self,
        route: &str,
        body: &Bound<'_, PyBytes>,
        reference: Option<&str>,
        max_items: usize,
        threads: usize,
    ) -> PyResult<Outcome> {
        let (py, body) = (body.py(), body.as_bytes());
        let routes = [("encode", Route::Encode), ("count", Route::Count), ("offsets", Route::Offsets)];
        let route = choice(py, "route", route, &routes)?;
        Ok(outcome(run_on(py, &self.pipeline, body.len(), || {
            let Some(request) = TextRequest::read(body, route, max_items) else { return Ok(Outcome::Unhandled) };
            if let Some(other) = other_tokenizer(request.tokenizer(), reference) {
                return Ok(other);
            }
            Ok(request.answer(&self.pipeline, &self.head, threads)?.map_or(Outcome::Unhandled, Outcome::Answered))
        })))
    }

    #[pyo3(signature = (body, reference, *, max_ids, max_rows, max_values))]
    fn answer_ids(
        &self,
        body: &Bound<'_, PyBytes>,
        reference: Option<&str>,
        max_ids: usize,
        max_rows: usize,
        max_values: usize,
    ) -> Outcome {
        let (py, body) = (body.py(), body.as_bytes());
        let limits = IdsLimits { ids: max_ids, rows: max_rows, values: max_values };
        outcome(run(py, body.len(), || {
            let Some(request) = IdsRequest::read(body, limits) else { return Ok(Outcome::Unhandled) };
            if let Some(other) = other_tokenizer(request.tokenizer(), reference) {
                return Ok(other);
            }
            request.answer(&self.pipeline, &self.head).map(Outcome::Answered)
        }))
    }
}

/// Return the outcome of a body that names a tokenizer by another name than `reference`.
pub fn other_tokenizer(tokenizer: Option<&str>, reference: Option<&str>) -> Option<Outcome> {
    tokenizer.filter(|name| Some(*name) != reference).map(|name| Outcome::OtherTokenizer(name.to_owned()))
}

/// Leave errors to the models, which know the place in the request, and raise those that are bugs.
pub fn outcome(result: Result<Outcome>) -> Outcome {
    result.unwrap_or_else(|error| match error.code {
        Code::Internal => Outcome::Failed(error),
        _ => Outcome::Unhandled,
    })
}

impl<'py> IntoPyObject<'py> for Outcome {
    type Target = PyAny;
    type Output = Bound<'py, PyAny>;
    type Error = PyErr;

    fn into_pyobject(self, py: Python<'py>) -> PyResult<Self::Output> {
        match self {
            Self::Unhandled => Ok(py.None().into_bound(py)),
            Self::TakesLong => false.into_bound_py_any(py),
            Self::Failed(error) => Err(exception(py, &error, None)),
            Self::OtherTokenizer(name) => Ok(PyString::new(py, &name).into_any()),
            Self::Answered(Answer { json, tokens, .. }) => (written(py, json), tokens).into_bound_py_any(py),
        }
    }
}

/// Bytes that were written, as Python gets them.
pub fn written(py: Python<'_>, json: Vec<u8>) -> Bound<'_, PyAny> {
    if json.len() <= COPIED { PyBytes::new(py, &json).into_any() } else { PyArray1::from_vec(py, json).into_any() }
}
