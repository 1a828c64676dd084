//! Ids to `bytes` and `str`.

use std::mem::MaybeUninit;
use std::sync::atomic::AtomicU32;
use std::sync::{Mutex, PoisonError};

use pyo3::exceptions::PyUnicodeDecodeError;
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyString};

use super::ids::Ids;
use super::raise::{Raise, run};
use crate::capacity::with_room;
use crate::decode::{Decoder, SequenceIds, TokenBytes};
use crate::encode::{Pipeline, PipelineStream};

/// Bytes that an id becomes: on average, and at most, for memory that is only reserved.
const EXPECTED: usize = 5;
const MOST: usize = 16;

/// Work with ids, which another thread may write to.
fn with<T: Send>(
    ids: &Bound<'_, PyAny>,
    pipeline: &Pipeline,
    skip_special_tokens: bool,
    work: impl FnOnce(SequenceIds<'_, AtomicU32>) -> crate::error::Result<T> + Send,
) -> PyResult<T> {
    let (py, tokens) = (ids.py(), pipeline.tokens());
    let mut ids = Ids::extract(ids, tokens)?;
    let ids = SequenceIds { tokens, ids: ids.shared(), skip_special_tokens };
    run(py, ids.ids.len() * 4, || work(ids)).raise(py)
}

fn bytes_of(ids: &Bound<'_, PyAny>, pipeline: &Pipeline, skip_special_tokens: bool) -> PyResult<Vec<u8>> {
    with(ids, pipeline, skip_special_tokens, |ids| {
        let count = ids.ids.len();
        let mut bytes = with_room((count * EXPECTED).max(TokenBytes::room_for(count)), count * MOST);
        pipeline.decoder().append(ids, &mut bytes)?;
        Ok(bytes)
    })
}

/// The bytes of all ids.
pub fn to_bytes<'py>(
    ids: &Bound<'py, PyAny>,
    pipeline: &Pipeline,
    skip_special_tokens: bool,
) -> PyResult<Bound<'py, PyBytes>> {
    let py = ids.py();
    let from = bytes_of(ids, pipeline, skip_special_tokens)?;
    // SAFETY: the GIL is held. Without a source Python makes a new object with uninitialized bytes; nobody else has it.
    let bytes = unsafe {
        let bytes = ffi::PyBytes_FromStringAndSize(std::ptr::null(), from.len() as ffi::Py_ssize_t);
        Bound::from_owned_ptr_or_err(py, bytes)?.cast_into_unchecked::<PyBytes>()
    };
    // SAFETY: the object has `from.len()` bytes there, nobody else has it, and it lives longer than the slice.
    let to: &mut [MaybeUninit<u8>] =
        unsafe { std::slice::from_raw_parts_mut(ffi::PyBytes_AsString(bytes.as_ptr()).cast(), from.len()) };
    run(py, to.len(), || {
        // SAFETY: both have the same length, and the new object does not overlap the buffer.
        unsafe { std::ptr::copy_nonoverlapping(from.as_ptr(), to.as_mut_ptr().cast(), to.len()) };
        Ok(())
    })
    .raise(py)?;
    Ok(bytes)
}

/// Ids of a stream: the text that is complete by now.
pub fn to_stream(
    ids: &Bound<'_, PyAny>,
    pipeline: &Pipeline,
    skip_special_tokens: bool,
    stream: &Mutex<PipelineStream>,
) -> PyResult<String> {
    with(ids, pipeline, skip_special_tokens, |ids| {
        stream.lock().unwrap_or_else(PoisonError::into_inner).push(pipeline.decoder(), ids)
    })
}

/// The text of all ids.
pub fn to_text<'py>(
    ids: &Bound<'py, PyAny>,
    pipeline: &Pipeline,
    skip_special_tokens: bool,
) -> PyResult<Bound<'py, PyString>> {
    let py = ids.py();
    let bytes = bytes_of(ids, pipeline, skip_special_tokens)?;
    // Python checks the bytes itself: checking them before would read them twice.
    PyString::from_bytes(py, &bytes).or_else(|error| {
        if error.is_instance_of::<PyUnicodeDecodeError>(py) {
            return PyString::from_bytes(py, String::from_utf8_lossy(&bytes).as_bytes());
        }
        Err(error)
    })
}
