//! Sampling's options as Python gives them.

use pyo3::prelude::*;
use pyo3::types::{PyBool, PyString};

use super::arguments;
use super::raise::{Raise, invalid_option};
use crate::encode::sampled::Seeded;
use crate::model::sampling::Sampling;

/// `dropout`, `alpha`, `nbest` and `seed`.
pub type Options<'a, 'py> = [Option<&'a Bound<'py, PyAny>>; 4];

/// Read the sampling that is asked for, if any is.
#[inline]
pub fn read(py: Python<'_>, options: Options<'_, '_>) -> PyResult<Option<Seeded>> {
    if options.iter().all(Option::is_none) { Ok(None) } else { read_given(py, options) }
}

#[cold]
fn read_given(py: Python<'_>, [dropout, alpha, nbest, seed]: Options<'_, '_>) -> PyResult<Option<Seeded>> {
    let dropout = dropout.map(|value| number(value, "dropout")).transpose()?;
    let alpha = alpha.map(|value| number(value, "alpha")).transpose()?;
    let nbest = nbest.map(|value| whole(value, "nbest", "a whole number")).transpose()?;
    let seed = seed.map(|value| whole(value, "seed", "a whole number from 0 to 2 ** 64 - 1")).transpose()?;
    let sampling = Sampling::new(dropout, alpha, nbest).raise(py)?;
    match (sampling, seed) {
        (Some(sampling), Some(seed)) => Ok(Some(Seeded { sampling, seed })),
        (Some(_), None) => Err(invalid_option(
            py,
            String::from("what is drawn at random needs a seed; the same gives the same"),
            "seed",
        )),
        (None, _) => Err(invalid_option(py, String::from("a seed goes with dropout or alpha"), "seed")),
    }
}

fn number(value: &Bound<'_, PyAny>, field: &str) -> PyResult<f64> {
    let wrong = || invalid_option(value.py(), format!("{field} is a number, not {}", arguments::shown(value)), field);
    if value.is_instance_of::<PyBool>() || value.is_instance_of::<PyString>() {
        return Err(wrong());
    }
    value.extract().map_err(|_: PyErr| wrong())
}

/// A whole number of a type.
pub fn whole<'a, 'py, T: FromPyObject<'a, 'py>>(value: &'a Bound<'py, PyAny>, field: &str, range: &str) -> PyResult<T> {
    let wrong = || invalid_option(value.py(), format!("{field} is {range}, not {}", arguments::shown(value)), field);
    if value.is_instance_of::<PyBool>() {
        return Err(wrong());
    }
    value.extract().map_err(|_| wrong())
}
