//! Ids from Python: arrays of integers or sequences of ints, and nothing that merely looks like one.

use std::sync::atomic::AtomicU32;

use numpy::{PyArray1, PyArrayMethods, PyUntypedArrayMethods};
use pyo3::exceptions::PyOverflowError;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyByteArray, PyBytes, PyDict, PyFrozenSet, PyInt, PySet, PyString};

use super::arguments::{shown, type_name};
use super::raise::exception;
use crate::decode::TokenBytes;
use crate::error::{Code, Error};

/// Room for so many ids is made before they are seen, and so many are read before signals are looked for.
const EXPECTED: usize = 1 << 16;

/// The most ids that are converted at once: a gigabyte. An iterator need not have an end.
const MOST: usize = 1 << 28;

/// Ids that a caller lent, or a copy of them.
pub enum Ids<'py> {
    /// An array whose items lie one after the other, each where the processor wants it.
    Lent(Bound<'py, PyArray1<u32>>),
    /// What had to be converted.
    Taken(Vec<u32>),
}

impl<'py> Ids<'py> {
    /// Take ids, checking each for what it is.
    pub fn extract(ids: &Bound<'py, PyAny>, tokens: &TokenBytes) -> PyResult<Self> {
        match ids.cast::<PyArray1<u32>>() {
            // A strided array is read item by item.
            Ok(array) if array.is_contiguous() && array.data().is_aligned() => Ok(Self::Lent(array.clone())),
            _ => extract(ids, tokens).map(Self::Taken),
        }
    }

    /// The ids, which need not be the same when they are read again: other threads may write into an array that is lent.
    pub fn shared(&mut self) -> &[AtomicU32] {
        let (data, length) = match self {
            Self::Lent(array) => (array.data(), array.len()),
            Self::Taken(ids) => (ids.as_mut_ptr(), ids.len()),
        };
        if length == 0 {
            return &[];
        }
        // SAFETY: the array has `length` items one after the other, aligned, and lives as long as it is borrowed here; it
        // cannot be resized while it is referred to. All access here is atomic; another thread's need not be, but can only
        // change which ids are read, and no reader relies on them.
        unsafe { std::slice::from_raw_parts(data.cast::<AtomicU32>(), length) }
    }
}

fn extract(ids: &Bound<'_, PyAny>, tokens: &TokenBytes) -> PyResult<Vec<u32>> {
    let py = ids.py();
    let error = |message: String| Error::new(Code::InvalidOption, message);
    let wrong = |message: String, index: usize| exception(py, &error(message).at_index(index), None);
    let is_text =
        ids.is_instance_of::<PyBytes>() || ids.is_instance_of::<PyByteArray>() || ids.is_instance_of::<PyString>();
    // What has no order, or two things an item.
    let is_no_row =
        ids.is_instance_of::<PySet>() || ids.is_instance_of::<PyFrozenSet>() || ids.is_instance_of::<PyDict>();
    let no_row = || format!("ids are a sequence of integers, not {}", type_name(ids));
    if is_text || is_no_row {
        return Err(wrong(no_row(), 0));
    }
    let too_many = || format!("more than {MOST} ids come at once; decode them in parts");
    let length = ids.len().unwrap_or(0);
    if length > MOST {
        return Err(exception(py, &error(too_many()), None));
    }
    let items = ids.try_iter().map_err(|_| exception(py, &error(no_row()), None))?;
    let limit = tokens.id_limit();
    let mut taken = Vec::with_capacity(length.min(EXPECTED));
    for (index, item) in items.enumerate() {
        let item = item?;
        if !item.is_exact_instance_of::<PyInt>() && (item.is_instance_of::<PyBool>() || !item.hasattr("__index__")?) {
            return Err(wrong(format!("an id is an integer, not {}", type_name(&item)), index));
        }
        let id = item.extract::<u32>().map_err(|failure| {
            if failure.is_instance_of::<PyOverflowError>(py) {
                return exception(py, &tokens.unknown(&shown(&item), index), None);
            }
            // An array has `__index__` whatever its shape.
            wrong(format!("an id is an integer, not {}", type_name(&item)), index)
        })?;
        // What has no end has mostly no bound either, and is told before it has filled the memory.
        if id >= limit {
            return Err(exception(py, &tokens.unknown(&id.to_string(), index), None));
        }
        taken.push(id);
        if taken.len() % EXPECTED == 0 {
            py.check_signals()?;
            if taken.len() > MOST {
                return Err(wrong(too_many(), MOST));
            }
        }
    }
    Ok(taken)
}
