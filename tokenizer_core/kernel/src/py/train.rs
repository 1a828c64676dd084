//! `learn_merges` as Python sees it.

use pyo3::prelude::*;
use pyo3::types::PyBytes;
use rustc_hash::FxHashSet;

use super::arguments::choice;
use super::counting::PyPieceCounts;
use super::raise::{Raise, exception, invalid_option, run};
use super::vocabulary::PyVocabulary;
use crate::byte_level::text_to_bytes;
use crate::error::{Code, Error, Result};
use crate::train::Learned;
use crate::train::alphabet::Characters;
use crate::train::borders::Borders;
use crate::train::learn::{Alphabet, learn, learn_for_languages};
use crate::train::merge_loop::{Goal, Score};
use crate::train::parity::Choice;
use crate::train::progress::{Progress, Reporter};
use crate::train::tie_break::TieBreak;
use crate::train::word_pieces::WordPieces;

/// Calls Python now and then, with the merges since the last call; an exception, also one from a signal, ends the run.
pub(super) fn report(
    progress: Progress<'_>,
    told: &mut usize,
    callback: Option<&Py<PyAny>>,
    raised: &mut Option<PyErr>,
) -> Result<()> {
    report_as(merge, progress, told, callback, raised)
}

/// As [`report`], with merges as `row` has them.
fn report_as<Row: for<'py> IntoPyObject<'py>>(
    row: impl Fn(&Learned) -> Row,
    progress: Progress<'_>,
    told: &mut usize,
    callback: Option<&Py<PyAny>>,
    raised: &mut Option<PyErr>,
) -> Result<()> {
    let new: Vec<Row> = progress.merges.get(*told..).unwrap_or_default().iter().map(row).collect();
    *told = progress.merges.len();
    Python::attach(|py| {
        py.check_signals()?;
        callback.map_or(Ok(()), |callback| {
            callback.call1(py, (progress.done, progress.total, new, progress.tokens)).map(|_| ())
        })
    })
    .map_err(|error| {
        *raised = Some(error);
        Error::new(Code::Cancelled, "the run was cancelled")
    })
}

fn merge(learned: &Learned) -> (u32, u32, u32, u64) {
    (learned.left, learned.right, learned.product, learned.count)
}

/// Read the names of borders.
pub(super) fn borders_of(py: Python<'_>, names: &[String]) -> PyResult<Borders> {
    let mut borders = Borders::default();
    for name in names {
        let message = || format!("no border is called {name:?}");
        borders.set(name).ok_or_else(|| invalid_option(py, message(), "borders"))?;
    }
    Ok(borders)
}

/// The products that literals forbid.
fn products(literals: &[String], is_bytes: bool) -> FxHashSet<Box<[u8]>> {
    // The entry of a token of bytes in tokenizer.json must not be that of a special token either.
    let entries = literals.iter().filter(|_| is_bytes).filter_map(|literal| text_to_bytes(literal));
    let all = entries.chain(literals.iter().map(|literal| literal.clone().into_bytes()));
    all.map(Vec::into_boxed_slice).collect()
}

type MergeRows = Vec<(u32, u32, u32, u64)>;

/// See `_kernel.pyi`.
#[pyfunction]
#[pyo3(signature = (
    counts, tokens, *, level="bytes", min_frequency=1, max_token_length=None, tie_break="lexicographic_low",
    forbidden=Vec::new(), end_of_word=String::new(), limit_alphabet=None, vocabulary=None, ignore_merges=false,
    prefix=String::new(), score="count", character_coverage=None, required_characters=String::new(),
    borders=Vec::new(), known=Vec::new(), progress=None
))]
#[expect(clippy::too_many_arguments, reason = "the options of a run, each by its name")]
pub fn learn_merges<'py>(
    py: Python<'py>,
    counts: &PyPieceCounts,
    tokens: usize,
    level: &str,
    min_frequency: u64,
    max_token_length: Option<u32>,
    tie_break: &str,
    forbidden: Vec<String>,
    end_of_word: String,
    limit_alphabet: Option<usize>,
    vocabulary: Option<&PyVocabulary>,
    ignore_merges: bool,
    prefix: String,
    score: &str,
    character_coverage: Option<f64>,
    required_characters: String,
    borders: Vec<String>,
    known: MergeRows,
    progress: Option<Py<PyAny>>,
) -> PyResult<(Vec<Bound<'py, PyBytes>>, usize, MergeRows)> {
    let tie_break = TieBreak::from_name(tie_break).raise(py)?;
    let borders = borders_of(py, &borders)?;
    let alphabet = match (level, vocabulary) {
        ("bytes", None) => Alphabet::Bytes,
        ("bytes", Some(vocabulary)) => Alphabet::Tokens(&vocabulary.0, ignore_merges),
        ("characters", None) => Alphabet::Characters(Characters {
            end_of_word,
            limit: limit_alphabet,
            coverage: character_coverage,
            required: required_characters,
            borders,
        }),
        ("word_pieces", None) if !prefix.is_empty() => {
            Alphabet::WordPieces(WordPieces { prefix, limit: limit_alphabet })
        }
        ("word_pieces", None) => {
            return Err(invalid_option(py, String::from("the prefix of WordPiece is not empty"), "prefix"));
        }
        ("characters" | "word_pieces", Some(_)) => {
            return Err(invalid_option(py, String::from("an older vocabulary is one of bytes"), "level"));
        }
        (other, _) => {
            let message = format!("level is \"bytes\", \"characters\" or \"word_pieces\", not {other:?}");
            return Err(invalid_option(py, message, "level"));
        }
    };
    let score = choice(py, "score", score, &[("count", Score::Count), ("likelihood", Score::Likelihood)])?;
    let forbidden = products(&forbidden, level == "bytes");
    let goal = Goal { tokens, min_frequency, max_token_length, tie_break, score, forbidden, borders };
    let learned = |(left, right, product, count)| Learned { left, right, product, count, language: 0 };
    let known: Vec<Learned> = known.into_iter().map(learned).collect();
    let (mut raised, mut told) = (None, 0);
    let outcome = run(py, usize::MAX, || {
        let mut callback = |now: Progress<'_>| report(now, &mut told, progress.as_ref(), &mut raised);
        learn(&counts.counts, &alphabet, goal, &known, &mut Reporter::new(&mut callback))
    });
    let outcome = outcome.map_err(|error| raised.unwrap_or_else(|| exception(py, &error, None)))?;
    let symbols = (0..outcome.symbols.len() as u32).map(|id| PyBytes::new(py, outcome.symbols.bytes(id))).collect();
    let merges = outcome.merges.iter().map(merge).collect();
    Ok((symbols, outcome.alphabet, merges))
}

/// A merge, and the number of the language that it was made for.
type ChosenRows = Vec<(u32, u32, u32, u64, u32)>;

fn chosen(learned: &Learned) -> (u32, u32, u32, u64, u32) {
    (learned.left, learned.right, learned.product, learned.count, learned.language)
}

type Measures = Vec<(String, u64, bool, u64)>;

/// See `_kernel.pyi`.
#[pyfunction]
#[pyo3(signature = (
    counts, tokens, *, global_merges=0, window=0, min_frequency=1, max_token_length=None,
    tie_break="lexicographic_low", forbidden=Vec::new(), vocabulary=None, ignore_merges=false, known=Vec::new(),
    progress=None
))]
#[expect(clippy::too_many_arguments, reason = "the options of a run, each by its name")]
pub fn learn_merges_for_languages<'py>(
    py: Python<'py>,
    counts: &PyPieceCounts,
    tokens: usize,
    global_merges: usize,
    window: usize,
    min_frequency: u64,
    max_token_length: Option<u32>,
    tie_break: &str,
    forbidden: Vec<String>,
    vocabulary: Option<&PyVocabulary>,
    ignore_merges: bool,
    known: ChosenRows,
    progress: Option<Py<PyAny>>,
) -> PyResult<(Vec<Bound<'py, PyBytes>>, ChosenRows, Measures)> {
    let tie_break = TieBreak::from_name(tie_break).raise(py)?;
    let alphabet = vocabulary.map_or(Alphabet::Bytes, |known| Alphabet::Tokens(&known.0, ignore_merges));
    let forbidden = products(&forbidden, true);
    let goal = Goal {
        tokens,
        min_frequency,
        max_token_length,
        tie_break,
        score: Score::Count,
        forbidden,
        borders: Borders::default(),
    };
    let learned = |(left, right, product, count, language)| Learned { left, right, product, count, language };
    let known: Vec<Learned> = known.into_iter().map(learned).collect();
    let (mut raised, mut told) = (None, 0);
    let outcome = run(py, usize::MAX, || {
        let mut callback = |now: Progress<'_>| report_as(chosen, now, &mut told, progress.as_ref(), &mut raised);
        let choice = Choice { global_merges, window };
        learn_for_languages(&counts.counts, &alphabet, goal, choice, &known, &mut Reporter::new(&mut callback))
    });
    let (outcome, measured) = outcome.map_err(|error| raised.unwrap_or_else(|| exception(py, &error, None)))?;
    let symbols = (0..outcome.symbols.len() as u32).map(|id| PyBytes::new(py, outcome.symbols.bytes(id))).collect();
    let measures =
        measured.into_iter().map(|(language, tokens)| (language.name, language.bytes, language.is_parallel, tokens));
    Ok((symbols, outcome.merges.iter().map(chosen).collect(), measures.collect()))
}
