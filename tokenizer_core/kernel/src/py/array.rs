//! Ids and spans as NumPy arrays over the memory that they were written to.

use numpy::ndarray::{ArrayView1, ArrayView2};
use numpy::{PyArray1, PyArray2, PyArrayMethods};
use pyo3::prelude::*;

use super::pipeline::Array;
use crate::machine::buffer::Buffer;

/// Up to this many ids or spans are copied into an array of their own.
const COPIED: usize = 4096;

/// Ids that an array borrows; the array keeps this object alive.
#[pyclass(module = "tokenizer_core._kernel", frozen)]
struct Ids {
    _ids: Buffer<u32>,
}

/// As [`Ids`].
#[pyclass(module = "tokenizer_core._kernel", frozen)]
struct Spans {
    _spans: Buffer<[u32; 2]>,
}

/// Do what numpy does for the first array, which takes a fifth of a millisecond, if the program has loaded it already.
pub fn prepare(py: Python<'_>) -> PyResult<()> {
    let loaded = py.import("sys")?.getattr("modules")?.contains("numpy")?;
    if loaded {
        drop(PyArray1::<u32>::from_slice(py, &[]));
    }
    Ok(())
}

/// Hand over ids.
pub fn of_ids(py: Python<'_>, ids: Buffer<u32>) -> PyResult<Array<'_>> {
    let mut ids = match ids.into_vec() {
        // A copy costs less than an object that owns them.
        Ok(ids) if ids.len() <= COPIED => return Ok(PyArray1::from_slice(py, &ids)),
        Ok(ids) => return Ok(PyArray1::from_vec(py, ids)),
        Err(ids) => ids,
    };
    ids.trim();
    let (data, length) = (ids.as_ptr(), ids.len());
    let owner = Bound::new(py, Ids { _ids: ids })?.into_any();
    // SAFETY: `data` points to `length` items in mapped memory, which stay there as long as the owner lives. The owner
    // never reads or moves them, so Python code may write to the array.
    unsafe { Ok(PyArray1::borrow_from_array(&ArrayView1::from_shape_ptr(length, data), owner)) }
}

/// Hand over spans, a row each.
pub fn of_spans(py: Python<'_>, spans: Buffer<[u32; 2]>) -> PyResult<Bound<'_, PyArray2<u32>>> {
    let rows = spans.len();
    let mut spans = match spans.into_vec() {
        Ok(spans) if rows <= COPIED => {
            // SAFETY: nobody else has the new array yet, and all of its `2 * rows` items are written here.
            return unsafe {
                let array = PyArray2::new(py, [rows, 2], false);
                let flat = spans.as_flattened();
                std::ptr::copy_nonoverlapping(flat.as_ptr(), array.data(), flat.len());
                Ok(array)
            };
        }
        Ok(spans) => return PyArray1::from_vec(py, spans.into_flattened()).reshape([rows, 2]),
        Err(spans) => spans,
    };
    spans.trim();
    let data = spans.as_flattened().as_ptr();
    let owner = Bound::new(py, Spans { _spans: spans })?.into_any();
    // SAFETY: as above, with two numbers a span.
    unsafe { Ok(PyArray2::borrow_from_array(&ArrayView2::from_shape_ptr([rows, 2], data), owner)) }
}
