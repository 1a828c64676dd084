//! Response templates and parsers as Python sees them: JSON in, JSON out.

use std::sync::{Arc, Mutex, PoisonError};

use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyString};

use super::raise::{exception, run};
use super::text::kept;
use crate::responses::{ResponseParser, ResponseTemplate, Tools};

/// See `_kernel.pyi`.
#[pyclass(name = "ResponseTemplate", module = "tokenizer_core._kernel", frozen)]
pub struct PyResponseTemplate(Arc<ResponseTemplate>);

#[pymethods]
impl PyResponseTemplate {
    #[new]
    fn new(py: Python<'_>, json: &str) -> PyResult<Self> {
        let read = run(py, usize::MAX, || ResponseTemplate::read(json));
        read.map(|template| Self(Arc::new(template))).map_err(|error| exception(py, &error, None))
    }
}

/// See `_kernel.pyi`.
#[pyclass(name = "ResponseParser", module = "tokenizer_core._kernel", frozen)]
pub struct PyResponseParser(Mutex<ResponseParser>);

impl PyResponseParser {
    fn with<'py>(
        &self,
        py: Python<'py>,
        size: usize,
        work: impl FnOnce(&mut ResponseParser) -> Vec<u8> + Send,
    ) -> PyResult<Bound<'py, PyBytes>> {
        let json = run(py, size, || Ok(work(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))));
        json.map(|json| PyBytes::new(py, &json)).map_err(|error| exception(py, &error, None))
    }
}

#[pymethods]
impl PyResponseParser {
    #[new]
    #[pyo3(signature = (template, prompt, tools=None))]
    fn new(
        py: Python<'_>,
        template: &PyResponseTemplate,
        prompt: &Bound<'_, PyString>,
        tools: Option<&str>,
    ) -> PyResult<Self> {
        let (template, prompt) = (Arc::clone(&template.0), kept(prompt, None)?);
        let begin = || {
            let tools = tools.map(Tools::read).transpose()?.unwrap_or_default();
            Ok(Self(Mutex::new(ResponseParser::new(template, prompt, tools))))
        };
        run(py, prompt.len(), begin).map_err(|error| exception(py, &error, None))
    }

    fn feed<'py>(&self, text: &Bound<'py, PyString>) -> PyResult<Bound<'py, PyBytes>> {
        let (py, text) = (text.py(), kept(text, None)?);
        self.with(py, text.len(), |parser| {
            parser.feed(text);
            parser.events()
        })
    }

    fn events<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        self.with(py, 0, ResponseParser::events)
    }

    fn finish<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        self.with(py, usize::MAX, ResponseParser::finish)
    }
}
