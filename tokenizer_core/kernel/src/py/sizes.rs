//! Sizes from Python: an integer that cannot be one is an error that names the argument.

use pyo3::exceptions::PyOverflowError;
use pyo3::prelude::*;

use super::raise::invalid_option;

pub fn threads(value: &Bound<'_, PyAny>) -> PyResult<usize> {
    size(value, "threads")
}

pub fn cache_bytes(value: &Bound<'_, PyAny>) -> PyResult<usize> {
    size(value, "cache_bytes")
}

pub fn bytes(value: &Bound<'_, PyAny>) -> PyResult<usize> {
    size(value, "bytes")
}

fn size(value: &Bound<'_, PyAny>, field: &str) -> PyResult<usize> {
    let py = value.py();
    value.extract().map_err(|error: PyErr| {
        if error.is_instance_of::<PyOverflowError>(py) {
            invalid_option(py, format!("{field} is 0 or more and below 2 ** {}, not {value}", usize::BITS), field)
        } else {
            error
        }
    })
}
