//! Arguments from Python: a wrong one is an error that names it.

use pyo3::exceptions::{PyOverflowError, PyTypeError};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyList, PyString, PyTuple};

use super::raise::{Raise, invalid_option};
use crate::scratch::MAX_CACHE_BYTES;
use crate::simd::level::SimdLevel;

/// Characters of a value that an error repeats.
const REPEATED: usize = 80;

pub fn text<'a, 'py>(value: &'a Bound<'py, PyAny>) -> PyResult<&'a Bound<'py, PyString>> {
    value.cast::<PyString>().map_err(|_| {
        let is_many = value.is_instance_of::<PyList>() || value.is_instance_of::<PyTuple>();
        let way = if is_many { "; encode_batch takes many texts" } else { "" };
        invalid_option(value.py(), format!("text is a string, not {}{way}", type_name(value)), "text")
    })
}

/// The advice in place of an option that other libraries have.
const ELSEWHERE: [(&str, &[&str]); 5] = [
    (
        "use encode_pair(text, None, max_length=...), or cut and pad the rows of encode_batch with shape_rows",
        &["max_length", "pad_to_multiple_of", "padding", "stride", "truncation", "truncation_side"],
    ),
    ("use encode_pair", &["text_pair"]),
    ("use offsets", &["return_offsets_mapping"]),
    ("the ids are a NumPy array, which torch.from_numpy and others take", &["return_tensors"]),
    ("use special_tokens", &["allowed_special", "disallowed_special", "parse_special", "split_special_tokens"]),
];

/// Refuse arguments of other names, as Python does, and name the way.
pub fn no_others(method: &str, others: Option<&Bound<'_, PyDict>>) -> PyResult<()> {
    let Some((name, _)) = others.and_then(|others| others.iter().next()) else { return Ok(()) };
    let name = name.to_string();
    let way = ELSEWHERE.iter().find(|(_, names)| names.contains(&name.as_str()));
    let way = way.map_or_else(String::new, |(way, _)| format!("; {way}"));
    Err(PyTypeError::new_err(format!("{method}() got an unexpected keyword argument '{}'{way}", beginning(&name))))
}

pub fn special_tokens<'a>(value: &'a Bound<'_, PyAny>) -> PyResult<&'a str> {
    word(value, "special_tokens")
}

pub fn unit<'a>(value: &'a Bound<'_, PyAny>) -> PyResult<&'a str> {
    word(value, "unit")
}

pub fn add_special_tokens(value: &Bound<'_, PyAny>) -> PyResult<bool> {
    flag(value, "add_special_tokens")
}

pub fn skip_special_tokens(value: &Bound<'_, PyAny>) -> PyResult<bool> {
    flag(value, "skip_special_tokens")
}

pub fn threads(value: &Bound<'_, PyAny>) -> PyResult<usize> {
    size(value, "threads")
}

pub fn cache_bytes(value: &Bound<'_, PyAny>) -> PyResult<usize> {
    let bytes = size(value, "cache_bytes")?;
    if bytes > MAX_CACHE_BYTES {
        let message = format!("cache_bytes is at most {MAX_CACHE_BYTES}, not {}", shown(value));
        return Err(invalid_option(value.py(), message, "cache_bytes"));
    }
    Ok(bytes)
}

/// The level of `TOKD_KERNEL`, read while nobody can change `os.environ`.
pub fn level(py: Python<'_>) -> PyResult<SimdLevel> {
    SimdLevel::chosen().raise(py)
}

/// The choice of a name.
pub fn choice<T: Copy>(py: Python<'_>, field: &str, name: &str, choices: &[(&str, T)]) -> PyResult<T> {
    if let Some((_, chosen)) = choices.iter().find(|(known, _)| *known == name) {
        return Ok(*chosen);
    }
    let mut names: Vec<_> = choices.iter().map(|(known, _)| format!("{known:?}")).collect();
    let last = names.pop().unwrap_or_default();
    let message = format!("{field} is {} or {last}, not {:?}", names.join(", "), beginning(name));
    Err(invalid_option(py, message, field))
}

/// Python's `repr` of a value, cut short.
pub fn shown(value: &Bound<'_, PyAny>) -> String {
    value.repr().map_or_else(|_| type_name(value), |text| beginning(&text.to_string_lossy()))
}

/// The part of a text that an error repeats.
pub fn beginning(text: &str) -> String {
    text.chars().take(REPEATED).collect()
}

pub fn type_name(value: &Bound<'_, PyAny>) -> String {
    value.get_type().name().map_or_else(|_| String::from("this"), |name| name.to_string())
}

#[inline]
fn string<'a, 'py>(value: &'a Bound<'py, PyAny>, field: &str) -> PyResult<&'a Bound<'py, PyString>> {
    value
        .cast::<PyString>()
        .map_err(|_| invalid_option(value.py(), format!("{field} is a string, not {}", type_name(value)), field))
}

/// One of a few words, none of which holds a lone surrogate.
#[inline]
fn word<'a>(value: &'a Bound<'_, PyAny>, field: &str) -> PyResult<&'a str> {
    let wrong = |_| invalid_option(value.py(), format!("{field} cannot be {}", shown(value)), field);
    string(value, field)?.to_str().map_err(wrong)
}

#[inline]
fn flag(value: &Bound<'_, PyAny>, field: &str) -> PyResult<bool> {
    value.extract().map_err(|_: PyErr| {
        invalid_option(value.py(), format!("{field} is True or False, not {}", shown(value)), field)
    })
}

fn size(value: &Bound<'_, PyAny>, field: &str) -> PyResult<usize> {
    let py = value.py();
    let wrong = |range: String| Err(invalid_option(py, format!("{field} is {range}, not {}", shown(value)), field));
    if value.is_instance_of::<PyBool>() {
        return wrong(String::from("a whole number"));
    }
    value.extract().or_else(|error: PyErr| {
        if error.is_instance_of::<PyOverflowError>(py) {
            wrong(format!("0 or more and below 2 ** {}", usize::BITS))
        } else {
            wrong(String::from("a whole number"))
        }
    })
}
