//! The kernel's errors and panics as exceptions of `tokenizer_core.errors`.

use std::panic::{AssertUnwindSafe, catch_unwind};

use pyo3::exceptions::PyMemoryError;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::encode::Pipeline;
use crate::error::{Code, Error, Place, Result};

/// Below this many bytes of input the work takes less time than giving the GIL back could cost.
const SMALL: usize = 4096;

/// Run kernel work on `size` bytes of input: without the GIL unless it is small, and with panics as errors.
pub fn run<T: Send>(py: Python<'_>, size: usize, work: impl FnOnce() -> Result<T> + Send) -> Result<T> {
    let guarded = || catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|panic| Err(Error::of_panic(&*panic)));
    if size < SMALL { guarded() } else { py.detach(guarded) }
}

/// A result of the kernel for Python.
pub trait Raise<T> {
    /// Raise the exception for an error.
    fn raise(self, py: Python<'_>) -> PyResult<T>;

    /// The same, with places in characters of the text that was given.
    fn raise_in(self, py: Python<'_>, text: &str) -> PyResult<T>;
}

impl<T> Raise<T> for Result<T> {
    fn raise(self, py: Python<'_>) -> PyResult<T> {
        self.map_err(|error| exception(py, &error, None))
    }

    fn raise_in(self, py: Python<'_>, text: &str) -> PyResult<T> {
        self.map_err(|error| exception(py, &error, Some(text)))
    }
}

/// The exception for `error`; `text` is what its byte range points into.
pub fn exception(py: Python<'_>, error: &Error, text: Option<&str>) -> PyErr {
    build(py, error, text).unwrap_or_else(|failure| failure)
}

/// As [`run`], for texts that `pipeline` reads: an expression can take a second for 2 KB, so the GIL is given back for
/// any size.
pub fn run_on<T: Send>(
    py: Python<'_>,
    pipeline: &Pipeline,
    size: usize,
    work: impl FnOnce() -> Result<T> + Send,
) -> Result<T> {
    run(py, if pipeline.has_expressions() { usize::MAX } else { size }, work)
}

fn build(py: Python<'_>, error: &Error, text: Option<&str>) -> PyResult<PyErr> {
    if error.code == Code::OutOfMemory {
        return Ok(PyMemoryError::new_err(error.message.clone()));
    }
    let place = PyDict::new(py);
    place.set_item("code", error.code.as_str())?;
    match &error.place {
        Place::Whole => {}
        Place::Field(field) => place.set_item("field", field)?,
        Place::Index(index) => place.set_item("index", index)?,
        Place::Bytes(bytes) => {
            let chars = |end: usize| text.and_then(|text| text.get(..end)).map(|text| text.chars().count());
            match (chars(bytes.start), chars(bytes.end)) {
                (Some(start), Some(end)) => {
                    place.set_item("span", [start, end])?;
                    place.set_item("unit", "char")?;
                }
                _ => {
                    place.set_item("span", [bytes.start, bytes.end])?;
                    place.set_item("unit", "byte")?;
                }
            }
        }
    }
    if let Some(row) = error.row {
        place.set_item("row", row)?;
    }
    let classes = py.import("tokenizer_core.errors")?.getattr("CLASS_OF_CODE")?;
    let class = classes.get_item(error.code.as_str())?;
    Ok(PyErr::from_value(class.call((error.message.as_str(),), Some(&place))?))
}

/// An `InvalidOption` with one place.
pub fn invalid_option(py: Python<'_>, message: String, field: &str) -> PyErr {
    exception(py, &Error::new(Code::InvalidOption, message).at_field(field), None)
}
