//! `learn_unigram` as Python sees it.

use std::num::NonZero;
use std::thread;

use pyo3::prelude::*;
use pyo3::types::PyBytes;

use super::counting::PyPieceCounts;
use super::raise::{exception, run};
use super::train::report;
use crate::train::progress::{Progress, Reporter};
use crate::train::unigram::{Options, Pieces, learn};

type Scored<'py> = Vec<(Bound<'py, PyBytes>, f64)>;

/// See `_kernel.pyi`.
#[pyfunction]
#[pyo3(signature = (
    counts, sizes, *, seed_size=1_000_000, shrinking_factor=0.75, n_sub_iterations=2, max_token_length=16,
    limit_alphabet=None, required_characters=String::new(), threads=0, progress=None
))]
#[expect(clippy::too_many_arguments, reason = "the options of a run, each by its name")]
pub fn learn_unigram<'py>(
    py: Python<'py>,
    counts: &PyPieceCounts,
    sizes: Vec<usize>,
    seed_size: usize,
    shrinking_factor: f64,
    n_sub_iterations: usize,
    max_token_length: usize,
    limit_alphabet: Option<usize>,
    required_characters: String,
    #[pyo3(from_py_with = super::arguments::threads)] threads: usize,
    progress: Option<Py<PyAny>>,
) -> PyResult<(Vec<Scored<'py>>, usize)> {
    let cores = thread::available_parallelism().map_or(1, NonZero::get);
    let options = Options {
        sizes,
        seed_size,
        shrinking_factor,
        sub_iterations: n_sub_iterations,
        max_length: max_token_length,
        limit_alphabet,
        required: required_characters,
        threads: if threads == 0 { cores } else { threads.min(cores * 4) },
    };
    let (mut raised, mut told) = (None, 0);
    let learned = run(py, usize::MAX, || {
        let mut callback = |now: Progress<'_>| report(now, &mut told, progress.as_ref(), &mut raised);
        learn(&counts.counts, &options, &mut Reporter::new(&mut callback))
    });
    let (found, alphabet) = learned.map_err(|error| raised.unwrap_or_else(|| exception(py, &error, None)))?;
    let scored = |pieces: Pieces| pieces.into_iter().map(|(piece, score)| (PyBytes::new(py, &piece), score)).collect();
    Ok((found.into_iter().map(scored).collect(), alphabet))
}
