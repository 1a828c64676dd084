//! `learn_unigram` as Python sees it.

use pyo3::prelude::*;
use pyo3::types::PyBytes;

use super::counting::PyPieceCounts;
use super::raise::{exception, run};
use super::train::{borders_of, report};
use crate::error::{Code, Error, Result};
use crate::parallel::core_count;
use crate::train::alphabet::Characters;
use crate::train::progress::{Progress, Reporter};
use crate::train::unigram::{ScoredPieces, UnigramOptions, learn};

type Scored<'py> = Vec<(Bound<'py, PyBytes>, f64)>;

/// Give Python what a run is to go on from; an exception ends the run.
fn give(rounds: &[u8], keep: Option<&Py<PyAny>>, raised: &mut Option<PyErr>) -> Result<()> {
    let Some(keep) = keep else { return Ok(()) };
    Python::attach(|py| keep.call1(py, (PyBytes::new(py, rounds),)).map(|_| ())).map_err(|error| {
        *raised = Some(error);
        Error::new(Code::Cancelled, "the run was cancelled")
    })
}

/// See `_kernel.pyi`.
#[pyfunction]
#[pyo3(signature = (
    counts, sizes, *, seed_size=1_000_000, shrinking_factor=0.75, n_sub_iterations=2, max_token_length=16,
    limit_alphabet=None, character_coverage=None, required_characters=String::new(), borders=Vec::new(), threads=0,
    kept=Vec::new(), keep=None, progress=None
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
    };
    let (mut raised, mut unkept, mut told) = (None, None, 0);
    let learned = run(py, usize::MAX, || {
        let mut callback = |now: Progress<'_>| report(now, &mut told, progress.as_ref(), &mut raised);
        let mut keep = |rounds: Vec<u8>| give(&rounds, keep.as_ref(), &mut unkept);
        learn(&counts.counts, &options, &kept, &mut keep, &mut Reporter::new(&mut callback))
    });
    let (found, alphabet) =
        learned.map_err(|error| raised.or(unkept).unwrap_or_else(|| exception(py, &error, None)))?;
    let scored =
        |pieces: ScoredPieces| pieces.into_iter().map(|(piece, score)| (PyBytes::new(py, &piece), score)).collect();
    Ok((found.into_iter().map(scored).collect(), alphabet))
}
