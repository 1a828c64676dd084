//! Ids to `bytes` and `str`.

use std::mem::MaybeUninit;
use std::sync::atomic::AtomicU32;

use pyo3::exceptions::PyUnicodeDecodeError;
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyString};

use super::ids::Ids;
use super::raise::{exception, run};
use crate::decode::{TokenBytes, incomplete_tail};
use crate::encode::Pipeline;
use crate::machine::path::Path;
use crate::machine::room::with_room;
use crate::transcode::utf16::Units;

/// Ids that are decoded at once on the way to UTF-16.
const PORTION: usize = 2048;

/// Where fewer than one token in `WIDE_SHARE` is not ASCII, Python's UTF-8 decoder is as fast and takes less memory.
const WIDE_SHARE: usize = 16;

/// Bytes that an id becomes: on average, and at most, for memory that is only reserved.
const EXPECTED: usize = 5;
const MOST: usize = 16;

/// What is to be decoded.
struct Row<'a> {
    tokens: &'a TokenBytes,
    /// Another thread may write to them.
    ids: &'a [AtomicU32],
    skip_special_tokens: bool,
}

impl Row<'_> {
    fn run<T: Send>(&self, py: Python<'_>, work: impl FnOnce(&Self) -> crate::error::Result<T> + Send) -> PyResult<T> {
        run(py, self.ids.len() * 4, || work(self)).map_err(|error| exception(py, &error, None))
    }

    fn bytes(&self) -> crate::error::Result<Vec<u8>> {
        let expected = (self.ids.len() * EXPECTED).max(TokenBytes::room_for(self.ids.len()));
        let mut bytes = with_room(expected, self.ids.len() * MOST);
        self.tokens.append(self.ids, self.skip_special_tokens, &mut bytes)?;
        Ok(bytes)
    }

    /// The text in UTF-16, or `None` where there is no fast way to it, or it is not all tokens and UTF-8.
    ///
    /// A few ids at a time: bytes that never leave the L1 cache cost no memory.
    fn units(&self, path: Path) -> Option<Units> {
        let mut units = Units::with_room(self.ids.len() * EXPECTED, path)?;
        let mut bytes = Vec::new();
        for ids in self.ids.chunks(PORTION) {
            self.tokens.append(ids, self.skip_special_tokens, &mut bytes).ok()?;
            let whole = bytes.len() - incomplete_tail(&bytes);
            units.push(&bytes[..whole])?;
            bytes.drain(..whole);
        }
        bytes.is_empty().then_some(units)
    }
}

/// The bytes of all ids.
pub fn to_bytes<'py>(
    ids: &Bound<'py, PyAny>,
    pipeline: &Pipeline,
    skip_special_tokens: bool,
) -> PyResult<Bound<'py, PyBytes>> {
    let py = ids.py();
    let mut ids = Ids::extract(ids, pipeline.tokens())?;
    let row = Row { tokens: pipeline.tokens(), ids: ids.shared(), skip_special_tokens };
    let from = row.run(py, Row::bytes)?;
    // SAFETY: the GIL is held. Without a source Python makes a new object with uninitialized bytes; nobody else has it.
    let bytes = unsafe {
        let bytes = ffi::PyBytes_FromStringAndSize(std::ptr::null(), from.len() as ffi::Py_ssize_t);
        Bound::from_owned_ptr_or_err(py, bytes)?.cast_into_unchecked::<PyBytes>()
    };
    // SAFETY: the object has `from.len()` bytes there, nobody else has it, and it lives longer than the slice.
    let to: &mut [MaybeUninit<u8>] =
        unsafe { std::slice::from_raw_parts_mut(ffi::PyBytes_AsString(bytes.as_ptr()).cast(), from.len()) };
    row.run(py, |_| {
        // SAFETY: both have the same length, and the new object does not overlap the buffer.
        unsafe { std::ptr::copy_nonoverlapping(from.as_ptr(), to.as_mut_ptr().cast(), to.len()) };
        Ok(())
    })?;
    Ok(bytes)
}

/// The bytes of all ids, for those who go on with them here.
pub fn to_vec(ids: &Bound<'_, PyAny>, pipeline: &Pipeline, skip_special_tokens: bool) -> PyResult<Vec<u8>> {
    let py = ids.py();
    let mut ids = Ids::extract(ids, pipeline.tokens())?;
    let row = Row { tokens: pipeline.tokens(), ids: ids.shared(), skip_special_tokens };
    row.run(py, |row| row.tokens.decode(row.ids, row.skip_special_tokens))
}

/// The text of all ids.
pub fn to_text<'py>(
    ids: &Bound<'py, PyAny>,
    pipeline: &Pipeline,
    skip_special_tokens: bool,
) -> PyResult<Bound<'py, PyString>> {
    let py = ids.py();
    let mut ids = Ids::extract(ids, pipeline.tokens())?;
    let row = Row { tokens: pipeline.tokens(), ids: ids.shared(), skip_special_tokens };
    if row.tokens.wide_in(row.ids) * WIDE_SHARE > row.ids.len()
        && let Some(units) = row.run(py, |row| Ok(row.units(pipeline.path())))?
    {
        return from_utf16(py, units.as_slice());
    }
    let bytes = row.run(py, Row::bytes)?;
    // Python checks the bytes itself: checking them before would read them twice.
    PyString::from_bytes(py, &bytes).or_else(|error| {
        if error.is_instance_of::<PyUnicodeDecodeError>(py) {
            return PyString::from_bytes(py, String::from_utf8_lossy(&bytes).as_bytes());
        }
        Err(error)
    })
}

/// Python's own decoder of UTF-16 takes a quarter of the time of that of UTF-8 on Japanese, and a twentieth on Russian.
fn from_utf16<'py>(py: Python<'py>, units: &[u16]) -> PyResult<Bound<'py, PyString>> {
    let mut order = if cfg!(target_endian = "little") { -1 } else { 1 };
    // SAFETY: the GIL is held; `units` has `length` bytes, and a null error handler means the strict one.
    unsafe {
        let (data, length) = (units.as_ptr().cast(), size_of_val(units) as ffi::Py_ssize_t);
        let text = ffi::PyUnicode_DecodeUTF16(data, length, std::ptr::null(), &raw mut order);
        Ok(Bound::from_owned_ptr_or_err(py, text)?.cast_into_unchecked())
    }
}
