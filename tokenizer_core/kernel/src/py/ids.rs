//! Ids from Python: arrays of integers or sequences of ints, and nothing that merely looks like one.

use numpy::{PyArray1, PyArrayMethods};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyByteArray, PyBytes, PyString};

use super::raise::exception;
use crate::error::{Code, Error};

/// Take ids, checking each for what it is.
pub fn extract(ids: &Bound<'_, PyAny>) -> PyResult<Vec<u32>> {
    // A strided array has no slice; it is read item by item below.
    if let Ok(array) = ids.cast::<PyArray1<u32>>()
        && let Ok(ids) = array.to_vec()
    {
        return Ok(ids);
    }
    let py = ids.py();
    let wrong =
        |message: String, index: usize| exception(py, &Error::new(Code::InvalidOption, message).at_index(index), None);
    if ids.is_instance_of::<PyBytes>() || ids.is_instance_of::<PyByteArray>() || ids.is_instance_of::<PyString>() {
        return Err(wrong(format!("ids are a sequence of integers, not {}", ids.get_type().name()?), 0));
    }
    let items = ids.try_iter().map_err(|_| {
        let name = ids.get_type().name().map_or_else(|_| String::from("this"), |name| name.to_string());
        exception(py, &Error::new(Code::InvalidOption, format!("ids are a sequence of integers, not {name}")), None)
    })?;
    let mut taken = Vec::new();
    for (index, item) in items.enumerate() {
        let item = item?;
        if item.is_instance_of::<PyBool>() || !item.hasattr("__index__")? {
            return Err(wrong(format!("an id is an integer, not {}", item.get_type().name()?), index));
        }
        let id = item.extract::<u32>().map_err(|_| {
            let message = format!("no token has the id {item}");
            exception(py, &Error::new(Code::UnknownTokenId, message).at_index(index), None)
        })?;
        taken.push(id);
    }
    Ok(taken)
}
