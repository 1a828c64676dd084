//! Request bodies with a chat to answers: bytes in, bytes out, and no Python object between.

use std::sync::Arc;

use pyo3::IntoPyObjectExt;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use super::arguments::choice;
use super::codec::PyCodec;
use super::raise::{run, run_on};
use super::responder::{Outcome, other_tokenizer, outcome, written};
use super::template::{Now, PyTemplate, clock_of, content_format_of};
use crate::encode::Pipeline;
use crate::requests::{Answer, ChatOptions, ChatOutcome, ChatRequest, ChatRoute, ChatSettings, Renderer};
use crate::segment_cache::{SHORTEST, SegmentCache, SegmentStatistics};

/// A template and the beginning of its answers.
type ParserSource = Option<(Py<PyTemplate>, Vec<u8>)>;

/// See `_kernel.pyi`.
#[pyclass(name = "ChatResponder", module = "tokenizer_core._kernel", frozen)]
pub struct PyChatResponder {
    pipeline: Arc<Pipeline>,
    without_tools: ParserSource,
    with_tools: ParserSource,
    settings: ChatSettings,
    segments: Option<Py<PySegmentCache>>,
}

/// See `_kernel.pyi`.
#[pyclass(name = "SegmentCache", module = "tokenizer_core._kernel", frozen)]
pub struct PySegmentCache(pub(super) SegmentCache);

#[pymethods]
impl PySegmentCache {
    #[new]
    #[pyo3(signature = (bytes, *, shortest=SHORTEST))]
    fn new(bytes: usize, shortest: usize) -> Self {
        Self(SegmentCache::new(bytes, shortest))
    }

    #[getter]
    fn statistics(&self) -> (u64, u64, u64) {
        let SegmentStatistics { bytes, hits, misses } = self.0.statistics();
        (bytes, hits, misses)
    }
}

/// See `tokenizer_core.chat.responding.ChatAnswerOptions`.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
struct ResponderOptions {
    content_format: String,
    key: String,
    literals: String,
    max_items: usize,
    max_model_len: usize,
    may_parse: bool,
    most: Option<u64>,
}

#[pymethods]
impl PyChatResponder {
    #[new]
    #[pyo3(signature = (tokenizer, without_tools, with_tools, *, specials, reserved, segments=None))]
    fn new(
        tokenizer: &PyCodec,
        without_tools: ParserSource,
        with_tools: ParserSource,
        specials: Vec<(String, String)>,
        reserved: Vec<String>,
        segments: Option<Py<PySegmentCache>>,
    ) -> PyResult<Self> {
        let settings = ChatSettings { specials, reserved };
        Ok(Self { pipeline: Arc::clone(tokenizer.pipeline()?), without_tools, with_tools, settings, segments })
    }

    fn answer(
        &self,
        route: &str,
        body: &Bound<'_, PyBytes>,
        reference: Option<&str>,
        now: Option<Now>,
        options: ResponderOptions,
    ) -> PyResult<Outcome> {
        let routes = [("encode", ChatRoute::Encode), ("count", ChatRoute::Count), ("tokenize", ChatRoute::Tokenize)];
        self.ask(choice(body.py(), "route", route, &routes)?, body, reference, now, options)
    }

    fn ids<'py>(
        &self,
        route: &str,
        body: &Bound<'py, PyBytes>,
        reference: Option<&str>,
        now: Option<Now>,
        options: ResponderOptions,
    ) -> PyResult<Bound<'py, PyAny>> {
        let py = body.py();
        let routes = [("render", ChatRoute::Render), ("bytes", ChatRoute::Bytes)];
        match self.ask(choice(py, "route", route, &routes)?, body, reference, now, options)? {
            Outcome::Answered(Answer { json, tokens, rest }) => {
                (written(py, json), tokens, PyBytes::new(py, rest.as_bytes())).into_bound_py_any(py)
            }
            outcome => outcome.into_pyobject(py),
        }
    }
}

impl PyChatResponder {
    fn ask(
        &self,
        route: ChatRoute,
        body: &Bound<'_, PyBytes>,
        reference: Option<&str>,
        now: Option<Now>,
        given: ResponderOptions,
    ) -> PyResult<Outcome> {
        let (py, body, clock) = (body.py(), body.as_bytes(), clock_of(now));
        let options = ChatOptions {
            content_format: content_format_of(py, &given.content_format)?,
            parses: given.literals == "parse",
            may_parse: given.may_parse,
            max_items: given.max_items,
            most: given.most,
            max_model_len: given.max_model_len,
            key: &given.key,
            segments: self.segments.as_ref().map(|segments| &segments.get().0),
        };
        let work = || {
            let Some(request) = ChatRequest::read(body, route, &options) else {
                return Ok(Outcome::Unhandled);
            };
            if let Some(other) = other_tokenizer(request.tokenizer(), reference) {
                return Ok(other);
            }
            let source = if request.has_tools() { &self.with_tools } else { &self.without_tools };
            let Some((template, head)) = source else { return Ok(Outcome::Unhandled) };
            let renderer = Renderer { template: template.get().template(), head };
            Ok(match request.answer(&self.pipeline, renderer, &self.settings, &options, &clock) {
                ChatOutcome::Answered(answer) => Outcome::Answered(answer),
                ChatOutcome::TakesLong => Outcome::TakesLong,
                ChatOutcome::Unhandled => Outcome::Unhandled,
            })
        };
        // Without a bound a small chat may take as long as a large one, if its template is a bomb.
        let done = if options.most.is_none() {
            run(py, usize::MAX, work)
        } else {
            run_on(py, &self.pipeline, body.len(), work)
        };
        Ok(outcome(done))
    }
}
