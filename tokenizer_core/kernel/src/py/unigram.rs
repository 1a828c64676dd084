//! `learn_unigram` as Python sees it.

use std::sync::OnceLock;

use pyo3::prelude::*;
use pyo3::types::PyBytes;

use super::counting::PyPieceCounts;
use super::raise::{exception, run};
use super::train::borders_of;
use crate::error::{Code, Error, Result};
use crate::parallel::core_count;
use crate::train::alphabet::Characters;
use crate::train::progress::ReportTimer;
use crate::train::unigram::{Phase, ScoredPieces, UnigramOptions, learn};

type Scored<'py> = Vec<(Bound<'py, PyBytes>, f64)>;

/// Call Python; an exception, also one from a signal, ends the run.
fn call(
    callback: Option<&Py<PyAny>>,
    arguments: impl for<'py> pyo3::call::PyCallArgs<'py>,
    raised: &OnceLock<PyErr>,
) -> Result<()> {
    Python::attach(|py| {
        py.check_signals()?;
        callback.map_or(Ok(()), |callback| callback.call1(py, arguments).map(|_| ()))
    })
    .map_err(|error| {
        raised.get_or_init(|| error);
        Error::new(Code::Cancelled, "the run was cancelled")
    })
}

/// See `_kernel.pyi`.
#[pyfunction]
#[pyo3(signature = (
    counts, sizes, *, seed_size=1_000_000, shrinking_factor=0.75, n_sub_iterations=2, max_token_length=16,
    limit_alphabet=None, character_coverage=None, required_characters=String::new(), borders=Vec::new(), threads=0,
    memory=None, kept=Vec::new(), keep=None, progress=None
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
    character_coverage: Option<f64>,
    required_characters: String,
    borders: Vec<String>,
    #[pyo3(from_py_with = super::arguments::threads)] threads: usize,
    memory: Option<u64>,
    kept: Vec<u8>,
    keep: Option<Py<PyAny>>,
    progress: Option<Py<PyAny>>,
) -> PyResult<(Vec<Scored<'py>>, usize)> {
    let cores = core_count();
    let options = UnigramOptions {
        sizes,
        seed_size,
        shrinking_factor,
        sub_iterations: n_sub_iterations,
        max_length: max_token_length,
        characters: Characters {
            limit: limit_alphabet,
            coverage: character_coverage,
            required: required_characters,
            borders: borders_of(py, &borders)?,
            ..Characters::default()
        },
        threads: if threads == 0 { cores } else { threads.min(cores * 4) },
        memory,
    };
    let (raised, mut timer, mut told) = (OnceLock::new(), ReportTimer::default(), None);
    let learned = run(py, usize::MAX, || {
        let mut tick = |phase, done: usize, total: usize| {
            let (unit, round) = match phase {
                Phase::Seeds => ("characters", None),
                Phase::Pruning => ("rounds", Some((done, total))),
            };
            // Every round is told, however short.
            let is_new = told != round;
            told = round;
            if timer.is_due() || is_new { call(progress.as_ref(), (unit, done, total), &raised) } else { Ok(()) }
        };
        let mut keep = |rounds: Vec<u8>| keep.as_ref().map_or(Ok(()), |keep| call(Some(keep), (rounds,), &raised));
        learn(&counts.counts, &options, &kept, &mut keep, &mut tick)
    });
    let (found, alphabet) =
        learned.map_err(|error| raised.into_inner().unwrap_or_else(|| exception(py, &error, None)))?;
    let scored =
        |pieces: ScoredPieces| pieces.into_iter().map(|(piece, score)| (PyBytes::new(py, &piece), score)).collect();
    Ok((found.into_iter().map(scored).collect(), alphabet))
}
