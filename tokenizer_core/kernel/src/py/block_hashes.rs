//! Hashes of blocks of ids for Python.

use numpy::{PyArray1, PyReadonlyArray1};
use pyo3::prelude::*;

use super::raise::{Raise, run};
use crate::block_hashes::{HashOptions, block_hashes as hash_blocks};
use crate::error::{Code, Error};
use crate::requests;

/// Values, digests and sequence.
type HashArrays<'py> = (Bound<'py, PyArray1<u64>>, Bound<'py, PyArray1<u8>>, Bound<'py, PyArray1<u64>>);

/// See `_kernel.pyi`.
#[pyfunction]
pub fn block_hashes<'py>(
    ids: PyReadonlyArray1<'py, u32>,
    scheme: &str,
    block_size: usize,
    options: &str,
    py: Python<'py>,
) -> PyResult<HashArrays<'py>> {
    // A copy: another thread may write to the array while the GIL is free.
    let ids = ids.as_array().to_vec();
    let found = run(py, ids.len() * 4, || {
        let options: HashOptions = serde_json::from_str(options)
            .map_err(|error| Error::new(Code::InvalidOption, error.to_string()).at_field("options"))?;
        hash_blocks(scheme, &ids, block_size, &options)
    })
    .raise(py)?;
    Ok((
        PyArray1::from_vec(py, found.values),
        PyArray1::from_vec(py, found.digests),
        PyArray1::from_vec(py, found.sequence),
    ))
}

/// See `_kernel.pyi`.
#[pyfunction]
pub fn prefix_hash(ids: PyReadonlyArray1<'_, u32>, py: Python<'_>) -> PyResult<String> {
    let ids = ids.as_array().to_vec();
    run(py, ids.len() * 4, || Ok(requests::prefix_hash(&ids))).raise(py)
}
