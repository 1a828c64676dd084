//! Ids to `bytes` and `str`, written where Python reads them.

use std::mem::MaybeUninit;

use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyString};

use super::ids::{Ids, SharedIds};
use super::raise::{exception, run};
use crate::decode::{Measure, TokenBytes, incomplete_tail};
use crate::encode::Pipeline;
use crate::error::{Code, Error};
use crate::path::Path;
use crate::utf16::Units;

/// Ids that are decoded at once on the way to UTF-16.
const PORTION: usize = 2048;

/// Where fewer tokens than one in so many are not ASCII, Python's decoder of UTF-8 is as fast and takes less memory.
const WIDE_SHARE: usize = 16;

/// What is to be decoded.
struct Row<'a> {
    tokens: &'a TokenBytes,
    ids: SharedIds<'a>,
    skip_special_tokens: bool,
}

impl Row<'_> {
    fn run<T: Send>(&self, py: Python<'_>, work: impl FnOnce(&Self) -> crate::error::Result<T> + Send) -> PyResult<T> {
        run(py, self.ids.len() * 4, || work(self)).map_err(|error| exception(py, &error, None))
    }

    fn measure(&self, py: Python<'_>) -> PyResult<Measure> {
        self.run(py, |row| row.tokens.measure(row.ids.iter(), row.skip_special_tokens))
    }

    /// Fill all of `out`, which has the size that was measured.
    fn write(&self, out: &mut [MaybeUninit<u8>]) -> crate::error::Result<()> {
        if self.tokens.write(self.ids.iter(), self.skip_special_tokens, out) == out.len() {
            return Ok(());
        }
        Err(Error::new(Code::InvalidOption, "another thread wrote into the ids while they were decoded"))
    }

    fn bytes(&self, size: usize) -> crate::error::Result<Vec<u8>> {
        let mut bytes = Vec::new();
        self.append(size, &mut bytes)?;
        Ok(bytes)
    }

    fn append(&self, size: usize, bytes: &mut Vec<u8>) -> crate::error::Result<()> {
        bytes.reserve_exact(size);
        self.write(&mut bytes.spare_capacity_mut()[..size])?;
        // SAFETY: all of them are written.
        unsafe { bytes.set_len(bytes.len() + size) };
        Ok(())
    }

    /// The text in UTF-16, or `None` where there is no fast way to it, or it is not all UTF-8.
    ///
    /// A few ids at a time: bytes that never leave the first cache cost no memory.
    fn units(&self, size: usize, path: Path) -> crate::error::Result<Option<Units>> {
        let Some(mut units) = Units::with_room(size, path) else { return Ok(None) };
        let mut bytes = Vec::new();
        for ids in self.ids.chunks(PORTION) {
            let portion = Row { ids, ..*self };
            let more = self.tokens.measure(ids.iter(), self.skip_special_tokens)?.bytes;
            portion.append(more, &mut bytes)?;
            let whole = bytes.len() - incomplete_tail(&bytes);
            if units.push(&bytes[..whole]).is_none() {
                return Ok(None);
            }
            bytes.drain(..whole);
        }
        Ok(bytes.is_empty().then_some(units))
    }
}

/// The bytes of all ids.
pub fn to_bytes<'py>(
    ids: &Bound<'py, PyAny>,
    pipeline: &Pipeline,
    skip_special_tokens: bool,
) -> PyResult<Bound<'py, PyBytes>> {
    let py = ids.py();
    let mut ids = Ids::extract(ids)?;
    let row = Row { tokens: pipeline.tokens(), ids: ids.shared(), skip_special_tokens };
    let size = row.measure(py)?.bytes;
    // SAFETY: without a source Python makes an object whose bytes are whatever was there; nobody else has it yet.
    let bytes = unsafe {
        let bytes = ffi::PyBytes_FromStringAndSize(std::ptr::null(), size as ffi::Py_ssize_t);
        Bound::from_owned_ptr_or_err(py, bytes)?.cast_into_unchecked::<PyBytes>()
    };
    // SAFETY: the object has `size` bytes at this place, and lives longer than the slice.
    let out = unsafe { std::slice::from_raw_parts_mut(ffi::PyBytes_AsString(bytes.as_ptr()).cast(), size) };
    row.run(py, |row| row.write(out))?;
    Ok(bytes)
}

/// The bytes of all ids, for those who go on with them here.
pub fn to_vec(ids: &Bound<'_, PyAny>, pipeline: &Pipeline, skip_special_tokens: bool) -> PyResult<Vec<u8>> {
    let py = ids.py();
    let mut ids = Ids::extract(ids)?;
    let row = Row { tokens: pipeline.tokens(), ids: ids.shared(), skip_special_tokens };
    row.run(py, |row| row.bytes(row.tokens.measure(row.ids.iter(), row.skip_special_tokens)?.bytes))
}

/// The text of all ids.
pub fn to_text<'py>(
    ids: &Bound<'py, PyAny>,
    pipeline: &Pipeline,
    skip_special_tokens: bool,
) -> PyResult<Bound<'py, PyString>> {
    let py = ids.py();
    let mut ids = Ids::extract(ids)?;
    let row = Row { tokens: pipeline.tokens(), ids: ids.shared(), skip_special_tokens };
    let measure = row.measure(py)?;
    if measure.wide * WIDE_SHARE > row.ids.len()
        && let Some(units) = row.run(py, |row| row.units(measure.bytes, pipeline.path()))?
    {
        return from_utf16(py, units.as_slice());
    }
    let bytes = row.run(py, |row| row.bytes(measure.bytes))?;
    // Python checks the bytes itself: checking them before would read them twice.
    PyString::from_bytes(py, &bytes).or_else(|_| Ok(PyString::new(py, &String::from_utf8_lossy(&bytes))))
}

/// Python's own decoder of UTF-16 takes a quarter of the time of that of UTF-8 on Japanese, and a twentieth on Russian.
fn from_utf16<'py>(py: Python<'py>, units: &[u16]) -> PyResult<Bound<'py, PyString>> {
    let mut order = if cfg!(target_endian = "little") { -1 } else { 1 };
    // SAFETY: there are so many bytes at this place; no name of an error handler means the strict one.
    unsafe {
        let (data, length) = (units.as_ptr().cast(), size_of_val(units) as ffi::Py_ssize_t);
        let text = ffi::PyUnicode_DecodeUTF16(data, length, std::ptr::null(), &raw mut order);
        Ok(Bound::from_owned_ptr_or_err(py, text)?.cast_into_unchecked())
    }
}
