//! Request bodies with a chat to answers: bytes in, bytes out, and no Python object between.

use std::sync::Arc;

use pyo3::IntoPyObjectExt;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use super::codec::PyCodec;
use super::raise::{invalid_option, run, run_on};
use super::responder::{Outcome, other_tokenizer, outcome};
use super::template::{Now, PyTemplate, clock_of, content_format_of};
use crate::encode::Pipeline;
use crate::requests::{Answer, ChatOutcome, ChatRequest, ChatRoute, ChatSettings, Renderer};
use crate::template::{Clock, ContentFormat};

/// A template and the beginning of its answers.
type Source = Option<(Py<PyTemplate>, Vec<u8>)>;

/// See `_kernel.pyi`.
#[pyclass(name = "ChatResponder", module = "tokenizer_core._kernel", frozen)]
pub struct PyChatResponder {
    pipeline: Arc<Pipeline>,
    without_tools: Source,
    with_tools: Source,
    settings: ChatSettings,
}

#[pymethods]
impl PyChatResponder {
    #[new]
    #[pyo3(signature = (tokenizer, without_tools, with_tools, *, specials, reserved, max_model_len))]
    fn new(
        tokenizer: &PyCodec,
        without_tools: Source,
        with_tools: Source,
        specials: Vec<(String, String)>,
        reserved: Vec<String>,
        max_model_len: usize,
    ) -> PyResult<Self> {
        let settings = ChatSettings { specials, reserved, max_model_len };
        Ok(Self { pipeline: Arc::clone(tokenizer.pipeline()?), without_tools, with_tools, settings })
    }

    #[pyo3(signature = (route, body, reference, *, now=None, content_format, max_items, most))]
    #[expect(clippy::too_many_arguments, reason = "they are named")]
    fn answer(
        &self,
        route: &str,
        body: &Bound<'_, PyBytes>,
        reference: Option<&str>,
        now: Option<Now>,
        content_format: &str,
        max_items: usize,
        most: Option<u64>,
    ) -> PyResult<Outcome> {
        let py = body.py();
        let route = match route {
            "encode" => ChatRoute::Encode,
            "count" => ChatRoute::Count,
            "tokenize" => ChatRoute::Tokenize,
            other => {
                let message = format!("route is \"encode\", \"count\" or \"tokenize\", not {other:?}");
                return Err(invalid_option(py, message, "route"));
            }
        };
        let format = content_format_of(py, content_format)?;
        Ok(self.ask(route, body, reference, &clock_of(now), format, max_items, most))
    }

    #[pyo3(signature = (body, reference, *, now=None, content_format, max_items, most))]
    fn render<'py>(
        &self,
        body: &Bound<'py, PyBytes>,
        reference: Option<&str>,
        now: Option<Now>,
        content_format: &str,
        max_items: usize,
        most: Option<u64>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let py = body.py();
        let format = content_format_of(py, content_format)?;
        match self.ask(ChatRoute::Render, body, reference, &clock_of(now), format, max_items, most) {
            Outcome::Answered(Answer { json, tokens, rest }) => {
                (PyBytes::new(py, &json), tokens, PyBytes::new(py, rest.as_bytes())).into_bound_py_any(py)
            }
            outcome => outcome.into_pyobject(py),
        }
    }
}

impl PyChatResponder {
    #[expect(clippy::too_many_arguments, reason = "those of both methods")]
    fn ask(
        &self,
        route: ChatRoute,
        body: &Bound<'_, PyBytes>,
        reference: Option<&str>,
        clock: &Clock,
        format: ContentFormat,
        max_items: usize,
        most: Option<u64>,
    ) -> Outcome {
        let (py, body) = (body.py(), body.as_bytes());
        let work = || {
            let Some(request) = ChatRequest::read(body, route, format, max_items) else {
                return Ok(Outcome::Unhandled);
            };
            if let Some(other) = other_tokenizer(request.tokenizer(), reference) {
                return Ok(other);
            }
            let source = if request.has_tools() { &self.with_tools } else { &self.without_tools };
            let Some((template, head)) = source else { return Ok(Outcome::Unhandled) };
            let renderer = Renderer { template: template.get().template(), head };
            Ok(match request.answer(&self.pipeline, renderer, &self.settings, clock, most) {
                ChatOutcome::Answered(answer) => Outcome::Answered(answer),
                ChatOutcome::TakesLong => Outcome::TakesLong,
                ChatOutcome::Unhandled => Outcome::Unhandled,
            })
        };
        // Without a bound a small chat may take as long as a large one, if its template is a bomb.
        outcome(if most.is_none() { run(py, usize::MAX, work) } else { run_on(py, &self.pipeline, body.len(), work) })
    }
}
