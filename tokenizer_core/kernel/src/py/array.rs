//! Ids and spans as NumPy arrays over the memory that they were written to.

use numpy::{PyArray1, PyArray2, PyArrayMethods};
use pyo3::prelude::*;

use crate::capacity::trim;

/// Ids as Python sees them.
pub type Array<'py> = Bound<'py, PyArray1<u32>>;

/// Up to this many numbers are copied: a copy costs less than an object that owns them.
const COPIED: usize = 4096;

/// Do what numpy does for the first array, which takes a fifth of a millisecond, if the program has loaded it already.
pub fn prepare(py: Python<'_>) -> PyResult<()> {
    let loaded = py.import("sys")?.getattr("modules")?.contains("numpy")?;
    if loaded {
        drop(PyArray1::<u32>::from_slice(py, &[]));
    }
    Ok(())
}

/// Hand over ids.
pub fn of_ids(py: Python<'_>, mut ids: Vec<u32>) -> Array<'_> {
    if ids.len() <= COPIED {
        return PyArray1::from_slice(py, &ids);
    }
    trim(&mut ids);
    PyArray1::from_vec(py, ids)
}

/// Hand over spans, a row each.
pub fn of_spans(py: Python<'_>, spans: Vec<[u32; 2]>) -> PyResult<Bound<'_, PyArray2<u32>>> {
    let rows = spans.len();
    of_ids(py, spans.into_flattened()).reshape([rows, 2])
}
