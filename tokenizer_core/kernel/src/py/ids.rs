//! Ids from Python: arrays of integers or sequences of ints, and nothing that merely looks like them.

use std::sync::atomic::AtomicU32;

use numpy::{PyArray1, PyArrayDescrMethods, PyArrayMethods, PyUntypedArray, PyUntypedArrayMethods};
use pyo3::exceptions::PyOverflowError;
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::{
    PyBool, PyByteArray, PyBytes, PyDict, PyFrozenSet, PyInt, PyList, PyMemoryView, PySet, PyString, PyTuple,
};

use super::arguments::{shown, type_name};
use super::raise::{exception, invalid_option};
use crate::decode::TokenBytes;
use crate::error::{Code, Error};

/// Room for at most this many ids is made before they are seen; an iterator checks for signals after as many.
const EXPECTED: usize = 1 << 16;

/// The most ids that are converted at once: a gigabyte. An iterator need not have an end.
const MOST: usize = 1 << 28;

/// The ids of a caller.
pub enum Ids<'py> {
    /// The caller's array, whose items are contiguous and aligned.
    Borrowed(Bound<'py, PyArray1<u32>>),
    /// A converted copy.
    Owned(Vec<u32>),
}

impl<'py> Ids<'py> {
    /// Take ids, and check each unless they are an array of uint32.
    pub fn extract(ids: &Bound<'py, PyAny>, tokens: &TokenBytes) -> PyResult<Self> {
        match ids.cast::<PyArray1<u32>>() {
            // A strided array is read item by item.
            Ok(array) if array.is_contiguous() && array.data().is_aligned() => Ok(Self::Borrowed(array.clone())),
            _ => extract(ids, tokens).map(Self::Owned),
        }
    }

    /// The ids. They need not be the same when they are read again: other threads may write to a borrowed array.
    pub fn shared(&mut self) -> &[AtomicU32] {
        let (data, length) = match self {
            Self::Borrowed(array) => (array.data(), array.len()),
            Self::Owned(ids) => (ids.as_mut_ptr(), ids.len()),
        };
        if length == 0 {
            return &[];
        }
        // SAFETY: `extract` made sure that the items of a borrowed array are contiguous and aligned. The array lives as
        // long as `self`, and NumPy resizes no array that others refer to. All access here is atomic; another thread's
        // need not be, but can only change which ids are read, and no reader relies on reading the same id twice.
        unsafe { std::slice::from_raw_parts(data.cast::<AtomicU32>(), length) }
    }
}

fn extract(ids: &Bound<'_, PyAny>, tokens: &TokenBytes) -> PyResult<Vec<u32>> {
    let py = ids.py();
    let is_text =
        ids.is_instance_of::<PyBytes>() || ids.is_instance_of::<PyByteArray>() || ids.is_instance_of::<PyString>();
    // What has no order, or a key and a value for each item.
    let is_no_row =
        ids.is_instance_of::<PySet>() || ids.is_instance_of::<PyFrozenSet>() || ids.is_instance_of::<PyDict>();
    let not_ids = |message: String| invalid_option(py, message, "ids");
    let no_row = || not_ids(format!("ids are a sequence of integers, not {}", type_name(ids)));
    if is_text || is_no_row || is_bytes_or_table(ids) {
        return Err(no_row());
    }
    let too_many = || not_ids(format!("more than {MOST} ids come at once; decode them in parts"));
    let length = ids.len().unwrap_or(0);
    if length > MOST {
        return Err(too_many());
    }
    let limit = tokens.id_limit();
    if let Some(array) = wide(ids)? {
        let id = |(index, id): (usize, &i64)| {
            let known = u32::try_from(*id).ok().filter(|id| *id < limit);
            known.ok_or_else(|| match ids.get_item(index) {
                Ok(item) => exception(py, &tokens.unknown(&item.to_string(), index), None),
                Err(failure) => failure,
            })
        };
        return array.readonly().as_array().iter().enumerate().map(id).collect();
    }
    let mut taken = Vec::with_capacity(length.min(EXPECTED));
    if let Some(row) = row(ids) {
        for (index, item) in row.iter_borrowed().enumerate() {
            taken.push(number(&item, index, limit, tokens)?);
        }
        return Ok(taken);
    }
    let items = ids.try_iter().map_err(|_| no_row())?;
    for (index, item) in items.enumerate() {
        // An iterator without an end mostly gives ids without a bound, and is found out before it fills the memory.
        taken.push(number(&item?, index, limit, tokens)?);
        if taken.len() % EXPECTED == 0 {
            py.check_signals()?;
            if taken.len() > MOST {
                return Err(too_many());
            }
        }
    }
    Ok(taken)
}

/// The items of a list or tuple: going through an iterator took 3 ns more an id, of 13.
fn row<'py>(ids: &Bound<'py, PyAny>) -> Option<Bound<'py, PyTuple>> {
    let list = ids.cast_exact::<PyList>().ok().map(|list| list.to_tuple());
    list.or_else(|| ids.cast_exact::<PyTuple>().ok().cloned())
}

#[inline(always)]
fn number(item: &Bound<'_, PyAny>, index: usize, limit: u32, tokens: &TokenBytes) -> PyResult<u32> {
    if !item.is_exact_instance_of::<PyInt>() {
        return unusual(item, index, tokens);
    }
    // SAFETY: it is an integer and the GIL is held; -1 says that there may be an exception, which is cleared.
    let id = unsafe { ffi::PyLong_AsLong(item.as_ptr()) };
    if id == -1 {
        PyErr::take(item.py());
    }
    match u32::try_from(id) {
        Ok(id) if id < limit => Ok(id),
        _ => unusual(item, index, tokens),
    }
}

/// An id that is not a plain integer of the vocabulary: an integer of NumPy, or an error.
#[cold]
#[inline(never)]
fn unusual(item: &Bound<'_, PyAny>, index: usize, tokens: &TokenBytes) -> PyResult<u32> {
    let py = item.py();
    let unknown = |id: &str| exception(py, &tokens.unknown(id, index), None);
    let wrong = || {
        let message = format!("an id is an integer, not {}", type_name(item));
        exception(py, &Error::new(Code::InvalidOption, message).at_index(index), None)
    };
    if item.is_instance_of::<PyBool>() || !item.hasattr("__index__")? {
        return Err(wrong());
    }
    // An array has `__index__` whatever its shape.
    let read =
        |failure: PyErr| if failure.is_instance_of::<PyOverflowError>(py) { unknown(&shown(item)) } else { wrong() };
    let id = item.extract::<u32>().map_err(read)?;
    if id < tokens.id_limit() { Ok(id) } else { Err(unknown(&id.to_string())) }
}

/// Tell whether it is a memory view of bytes, which are not ids though each is an integer, or one with more dimensions.
fn is_bytes_or_table(ids: &Bound<'_, PyAny>) -> bool {
    // A view that was released has neither.
    let has = |name: &str| ids.getattr(name).and_then(|size| size.extract::<usize>()).ok();
    ids.is_instance_of::<PyMemoryView>() && (has("itemsize").is_none_or(|bytes| bytes == 1) || has("ndim") != Some(1))
}

/// A copy of an array of NumPy's other integers, each of which would cost 200 ns as an object; those beyond 2 ** 63
/// become negative.
fn wide<'py>(ids: &Bound<'py, PyAny>) -> PyResult<Option<Bound<'py, PyArray1<i64>>>> {
    // A subclass may give other items than those that lie there, such as one with a mask.
    match ids.cast_exact::<PyUntypedArray>() {
        Ok(array) if array.ndim() == 1 && matches!(array.dtype().kind(), b'i' | b'u') => {
            Ok(Some(array.call_method1("astype", ("i8",))?.cast_into()?))
        }
        _ => Ok(None),
    }
}
