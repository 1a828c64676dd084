//! Ids and spans as NumPy arrays over the memory that they were written to.

use numpy::{PyArray1, PyArray2, PyArrayMethods, PyReadonlyArray1, PyReadonlyArray2, PyUntypedArrayMethods};
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use super::raise::{Raise, run};
use crate::capacity::trim;
use crate::json::numbers::{write_ids, write_integers, write_spans};
use crate::output;

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

/// See `_kernel.pyi`.
#[pyfunction]
pub fn overlapping<'py>(
    py: Python<'py>,
    spans: PyReadonlyArray2<'py, i64>,
    targets: PyReadonlyArray2<'py, i64>,
) -> PyResult<Bound<'py, PyArray1<bool>>> {
    let (spans, targets) = (spans.as_slice()?.as_chunks::<2>().0, targets.as_slice()?.as_chunks::<2>().0);
    let overlaps = run(py, size_of_val(spans), || Ok(output::overlapping::overlapping(spans, targets.to_vec())));
    Ok(PyArray1::from_vec(py, overlaps.raise(py)?))
}

/// See `_kernel.pyi`.
#[pyfunction]
pub fn numbers_json<'py>(py: Python<'py>, numbers: &Bound<'py, PyAny>) -> PyResult<Option<Bound<'py, PyBytes>>> {
    let written = if let Ok(ids) = numbers.extract::<PyReadonlyArray1<'_, u32>>() {
        let ids = ids.as_slice()?;
        run(py, size_of_val(ids), || Ok(written(|json| write_ids(ids, json))))
    } else if let Ok(spans) = numbers.extract::<PyReadonlyArray2<'_, u32>>() {
        if spans.shape()[1] != 2 {
            return Ok(None);
        }
        let (spans, _) = spans.as_slice()?.as_chunks::<2>();
        run(py, size_of_val(spans), || Ok(written(|json| write_spans(spans, json))))
    } else if let Ok(numbers) = numbers.extract::<PyReadonlyArray1<'_, i64>>() {
        let numbers = numbers.as_slice()?;
        run(py, size_of_val(numbers), || Ok(written(|json| write_integers(numbers, json))))
    } else {
        return Ok(None);
    };
    Ok(Some(PyBytes::new(py, &written.raise(py)?)))
}

fn written(write: impl FnOnce(&mut Vec<u8>)) -> Vec<u8> {
    let mut json = Vec::new();
    write(&mut json);
    json
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
