//! `ChatTemplate` as Python sees it: JSON in, a rendering out.

use std::sync::Arc;

use pyo3::prelude::*;

use super::arguments::choice;
use super::raise::{Raise, invalid_option, run};
use super::rendering::PyRendering;
use crate::error::{Code, Error};
use crate::template::{Before, Chat, Clock, ContentFormat, Failure, Kind, MessageForm, Sent, Template};

/// See `_kernel.pyi`.
#[pyclass(name = "ChatTemplate", module = "tokenizer_core._kernel", frozen)]
pub struct PyTemplate(Template);

/// Year, month, day, hour, minute, second, microsecond, day of the week and day of the year.
pub type Now = (i32, u32, u32, u32, u32, u32, u32, u32, u32);

/// The clock that shows this time; which it is does not matter to a template that does not tell it.
pub fn clock_of(now: Option<Now>) -> Clock {
    let Some(now) = now else { return Clock::default() };
    let (year, month, day, hour, minute, second, microsecond, weekday, day_of_year) = now;
    Clock { year, month, day, hour, minute, second, microsecond, weekday, day_of_year }
}

impl PyTemplate {
    /// The compiled template.
    pub fn template(&self) -> &Template {
        &self.0
    }
}

#[pymethods]
impl PyTemplate {
    #[new]
    fn new(py: Python<'_>, source: &str) -> PyResult<Self> {
        let compile = || Template::compile(source).map_err(|failure| error(*failure, true));
        run(py, usize::MAX, compile).map(Self).raise(py)
    }

    #[getter]
    fn loops_over_parts(&self) -> bool {
        self.0.part_loops.any
    }

    #[getter]
    fn tells_time(&self) -> bool {
        self.0.tells_time
    }

    #[getter]
    fn written(&self) -> Vec<&str> {
        self.0.written.iter().map(String::as_str).collect()
    }

    #[getter]
    fn needs(&self) -> Vec<&str> {
        self.0.needs.iter().map(String::as_str).collect()
    }

    fn reads_strings(&self, role: &str) -> bool {
        self.0.reads_strings(role)
    }

    fn reads_string_parts(&self, role: &str) -> bool {
        self.0.reads_string_parts(role)
    }

    fn takes_parts(&self, role: &str) -> bool {
        self.0.takes_parts(role)
    }

    /// See `_kernel.pyi`.
    #[pyo3(signature = (
        messages, *, now=None, specials=Vec::new(), tools=None, documents=None, arguments=None,
        add_generation_prompt=false, continue_final_message=None, content_format="sent", form="sent",
        before=(0, 0), most=None, only_plain=false
    ))]
    #[expect(clippy::too_many_arguments, reason = "they are named")]
    fn render(
        &self,
        py: Python<'_>,
        messages: &[u8],
        now: Option<Now>,
        specials: Vec<(String, String)>,
        tools: Option<&[u8]>,
        documents: Option<&[u8]>,
        arguments: Option<&[u8]>,
        add_generation_prompt: bool,
        continue_final_message: Option<&str>,
        content_format: &str,
        form: &str,
        before: (u32, u64),
        most: Option<u64>,
        only_plain: bool,
    ) -> PyResult<Option<PyRendering>> {
        let clock = clock_of(now);
        let specials = specials.iter().map(|(name, literal)| (name.as_str(), literal.as_str())).collect();
        let text = |json| simdutf8::basic::from_utf8(json).map_err(|_| not_utf8(py));
        let option = |json: Option<_>| json.map(text).transpose();
        let chat = Chat {
            messages: text(messages)?,
            tools: option(tools)?,
            documents: option(documents)?,
            arguments: option(arguments)?,
            specials,
            add_generation_prompt,
            continue_final_message,
            content_format: content_format_of(py, content_format)?,
            form: form_of(py, form)?,
            most,
            before: Before { chats: before.0, left: before.1 },
            sent: if only_plain { Sent::Raw } else { Sent::Checked },
            ..Chat::default()
        };
        let render = || match self.0.render(&chat, &clock) {
            Ok(rendering) => Ok(Some(PyRendering(Arc::new(rendering)))),
            Err(failure) if only_plain && failure.kind == Kind::NotPlain => Ok(None),
            Err(failure) => Err(error(*failure, false)),
        };
        // A small chat may take as long as a large one, if its template is a bomb.
        run(py, usize::MAX, render).raise(py)
    }
}

/// The form of content of a name.
pub fn content_format_of(py: Python<'_>, name: &str) -> PyResult<ContentFormat> {
    let formats = [
        ("sent", ContentFormat::Sent),
        ("auto", ContentFormat::Auto),
        ("string", ContentFormat::String),
        ("parts", ContentFormat::Parts),
    ];
    choice(py, "content_format", name, &formats)
}

fn form_of(py: Python<'_>, name: &str) -> PyResult<MessageForm> {
    let forms = [
        ("sent", MessageForm::Sent),
        ("tokenize", MessageForm::Tokenize),
        ("render", MessageForm::Render),
        ("responses", MessageForm::Responses),
    ];
    choice(py, "form", name, &forms)
}

fn not_utf8(py: Python<'_>) -> PyErr {
    invalid_option(py, "the JSON of a chat is UTF-8".to_owned(), "messages")
}

/// A failure in the words of this package's errors.
fn error(failure: Failure, compiling: bool) -> Error {
    let line = if failure.line > 0 { format!(" in line {}", failure.line) } else { String::new() };
    let aside = if failure.line > 0 { format!(",{line},") } else { String::new() };
    let message = &failure.message;
    let (code, message) = match failure.kind {
        Kind::Syntax => (Code::TemplateFailed, format!("the chat template does not compile{line}: {message}")),
        Kind::Unsupported => {
            let column = failure.column;
            (Code::TemplateUnsupported, format!("the chat template is not supported{line}, column {column}: {message}"))
        }
        Kind::Raised => (Code::TemplateFailed, format!("the chat template refuses these messages{line}: {message}")),
        Kind::Failed => (Code::TemplateFailed, format!("the chat template fails on these messages{line}: {message}")),
        Kind::Limit if compiling => (Code::TemplateFailed, format!("the chat template does not compile: {message}")),
        Kind::Limit => (Code::TemplateLimit, format!("the chat template{aside} {message}")),
        Kind::Untrackable => (Code::TemplateUntrackable, format!("the chat template{aside} {message}")),
        Kind::Input | Kind::NotPlain => (Code::InvalidOption, message.clone()),
    };
    let message = message.chars().take(600).collect::<String>();
    let error = Error::new(code, message);
    match failure.field {
        Some(field) => error.at_field(field),
        None => error,
    }
}
