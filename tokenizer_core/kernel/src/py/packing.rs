//! Packs of rows for Python.

use numpy::{PyArray1, PyReadonlyArray1};
use pyo3::prelude::*;

use super::raise::{Raise, run};
use crate::packing::best_fit as pack;

/// Rows and offsets.
type PackedArrays<'py> = (Bound<'py, PyArray1<u32>>, Bound<'py, PyArray1<u64>>);

/// See `_kernel.pyi`.
#[pyfunction]
pub fn best_fit<'py>(sizes: PyReadonlyArray1<'py, u32>, room: u32, py: Python<'py>) -> PyResult<PackedArrays<'py>> {
    // A copy: another thread may write to the array while the GIL is free.
    let sizes = sizes.as_array().to_vec();
    let packs = run(py, sizes.len() * 4, || pack(&sizes, room)).raise(py)?;
    Ok((PyArray1::from_vec(py, packs.rows), PyArray1::from_vec(py, packs.offsets)))
}
