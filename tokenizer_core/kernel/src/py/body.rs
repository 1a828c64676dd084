//! Request bodies to answers: bytes in, bytes out, and no Python object between.

use numpy::PyArray1;
use pyo3::IntoPyObjectExt;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyString};

use super::raise::{invalid_option, run, run_on};
use crate::body::{Answer, IdsLimits, IdsRequest, Route, TextRequest};
use crate::encode::Pipeline;
use crate::error::Result;

/// Answers up to this size are copied into `bytes`; a larger one is handed over as the array that it lies in.
const COPIED: usize = 64 * 1024;

/// The outcome of a body.
pub enum Outcome {
    /// The service's models have to handle it.
    Unhandled,
    /// It names another tokenizer.
    OtherTokenizer(String),
    /// It is answered.
    Answered(Answer),
}

/// Answers bodies with one tokenizer: `head` is how each answer begins, `reference` the name that the body may use.
pub struct Responder<'a> {
    pub pipeline: &'a Pipeline,
    pub head: &'a [u8],
    pub reference: Option<&'a str>,
}

impl Responder<'_> {
    fn other_tokenizer(&self, tokenizer: Option<&str>) -> Option<Outcome> {
        tokenizer.filter(|name| Some(*name) != self.reference).map(|name| Outcome::OtherTokenizer(name.to_owned()))
    }

    /// Answer a request with texts.
    pub fn texts(
        &self,
        py: Python<'_>,
        route: &str,
        body: &[u8],
        max_items: usize,
        threads: usize,
    ) -> PyResult<Outcome> {
        let route = match route {
            "encode" => Route::Encode,
            "count" => Route::Count,
            "offsets" => Route::Offsets,
            other => {
                let message = format!("route is \"encode\", \"count\" or \"offsets\", not {other:?}");
                return Err(invalid_option(py, message, "route"));
            }
        };
        Ok(outcome(run_on(py, self.pipeline, body.len(), || {
            let Some(request) = TextRequest::read(body, route, max_items) else { return Ok(Outcome::Unhandled) };
            if let Some(other_tokenizer) = self.other_tokenizer(request.tokenizer()) {
                return Ok(other_tokenizer);
            }
            Ok(request.answer(self.pipeline, self.head, threads)?.map_or(Outcome::Unhandled, Outcome::Answered))
        })))
    }

    /// Answer a request with ids.
    pub fn ids(&self, py: Python<'_>, body: &[u8], limits: IdsLimits) -> Outcome {
        outcome(run(py, body.len(), || {
            let Some(request) = IdsRequest::read(body, limits) else { return Ok(Outcome::Unhandled) };
            if let Some(other_tokenizer) = self.other_tokenizer(request.tokenizer()) {
                return Ok(other_tokenizer);
            }
            request.answer(self.pipeline, self.head).map(Outcome::Answered)
        }))
    }
}

/// Leave errors to the models, which know the place in the request.
fn outcome(result: Result<Outcome>) -> Outcome {
    result.unwrap_or(Outcome::Unhandled)
}

impl<'py> IntoPyObject<'py> for Outcome {
    type Target = PyAny;
    type Output = Bound<'py, PyAny>;
    type Error = PyErr;

    fn into_pyobject(self, py: Python<'py>) -> PyResult<Self::Output> {
        match self {
            Self::Unhandled => Ok(py.None().into_bound(py)),
            Self::OtherTokenizer(name) => Ok(PyString::new(py, &name).into_any()),
            Self::Answered(Answer { json, tokens }) if json.len() <= COPIED => {
                (PyBytes::new(py, &json), tokens).into_bound_py_any(py)
            }
            Self::Answered(Answer { json, tokens }) => (PyArray1::from_vec(py, json), tokens).into_bound_py_any(py),
        }
    }
}
