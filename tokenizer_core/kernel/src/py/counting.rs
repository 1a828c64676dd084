//! `Counter`, `PieceCounts`, `merge_sections` and `Reduced` as Python sees them.

use std::sync::{Arc, Mutex, PoisonError};

use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::types::{PyBytes, PySequence};

use super::raise::{Raise, run};
use super::text::kept;
use crate::config::Config;
use crate::error::{Code, Error, Result};
use crate::pretokenize::Pretokenizer;
use crate::train::counter::Counter;
use crate::train::counts::Counts;
use crate::train::cut::{CutPlaces, places};
use crate::train::label::{bare, is_measured};
use crate::train::reduced::{Dropped, Reduced};
use crate::train::sections;
use crate::train::skipped::OnError;
use crate::train::stream::InvalidUtf8;
use crate::train::worker::Shared;

/// See `_kernel.pyi`.
#[pyclass(name = "Counter", module = "tokenizer_core._kernel", frozen)]
pub struct PyCounter {
    counter: Mutex<Option<Counter>>,
    /// Within reach also while another thread waits in a call.
    shared: Arc<Shared>,
    cut_places: Option<CutPlaces>,
}

impl PyCounter {
    /// Work without the GIL, also if there is little of it: another thread's may have to be waited for.
    fn with<T: Send>(&self, py: Python<'_>, work: impl FnOnce(&mut Counter) -> Result<T> + Send) -> PyResult<T> {
        run(py, usize::MAX, || match self.counter.lock().unwrap_or_else(PoisonError::into_inner).as_mut() {
            Some(counter) => work(counter),
            None => Err(finished()),
        })
        .raise(py)
    }
}

fn finished() -> Error {
    Error::new(Code::InvalidOption, "the counter is finished; make another one")
}

#[pymethods]
impl PyCounter {
    #[new]
    #[pyo3(signature = (config, special_tokens=Vec::new(), replace_invalid=false, threads=0, has_languages=false))]
    fn new(
        py: Python<'_>,
        config: &str,
        special_tokens: Vec<String>,
        replace_invalid: bool,
        #[pyo3(from_py_with = super::arguments::threads)] threads: usize,
        has_languages: bool,
    ) -> PyResult<Self> {
        let invalid_utf8 = if replace_invalid { InvalidUtf8::Replace } else { InvalidUtf8::Refuse };
        let level = super::arguments::level(py)?;
        let build = || {
            let config = Config::from_json(config)?;
            let counter = Counter::on_level(&config, &special_tokens, invalid_utf8, threads, level)?;
            Ok((if has_languages { counter.with_labels() } else { counter }, places(&config)))
        };
        let (counter, cut_places) = run(py, usize::MAX, build).raise(py)?;
        Ok(Self { cut_places, shared: Arc::clone(counter.shared()), counter: Mutex::new(Some(counter)) })
    }

    #[pyo3(signature = (source, bytes=0, lines=0))]
    fn begin_source(&self, py: Python<'_>, source: usize, bytes: u64, lines: u64) -> PyResult<()> {
        self.with(py, |counter| {
            counter.begin_source(source, bytes, lines);
            Ok(())
        })
    }

    #[pyo3(signature = (name, is_measured=false))]
    fn begin_language(&self, py: Python<'_>, name: &str, is_measured: bool) -> PyResult<()> {
        self.with(py, |counter| counter.begin_language(name, is_measured))
    }

    fn feed(&self, py: Python<'_>, data: &[u8]) -> PyResult<()> {
        self.with(py, |counter| counter.feed(data))
    }

    fn end_document(&self, py: Python<'_>) -> PyResult<()> {
        self.with(py, Counter::end_document)
    }

    fn feed_documents(&self, documents: &Bound<'_, PySequence>) -> PyResult<()> {
        let py = documents.py();
        let rows = super::text::documents(documents, "corpus")?;
        let texts: Vec<&str> =
            rows.iter().enumerate().map(|(row, text)| kept(text, Some(row))).collect::<PyResult<_>>()?;
        self.with(py, |counter| {
            texts.iter().try_for_each(|text| {
                counter.feed(text.as_bytes())?;
                counter.end_document()
            })
        })
    }

    #[pyo3(signature = (data, field, skip_invalid=false, language=""))]
    fn feed_lines(&self, py: Python<'_>, data: &[u8], field: &str, skip_invalid: bool, language: &str) -> PyResult<()> {
        let on_error = if skip_invalid { OnError::Skip } else { OnError::Stop };
        self.with(py, |counter| {
            counter.feed_lines(data, field, language, on_error);
            Ok(())
        })
    }

    fn end_lines(&self, py: Python<'_>) -> PyResult<()> {
        self.with(py, |counter| {
            counter.end_lines();
            Ok(())
        })
    }

    fn add_counts(&self, py: Python<'_>, lines: &[u8], first_line: u64) -> PyResult<()> {
        self.with(py, |counter| counter.add_counts(lines, first_line))
    }

    #[getter]
    fn bytes_counted(&self) -> u64 {
        self.shared.bytes_counted()
    }

    #[getter]
    fn bytes_held(&self) -> u64 {
        self.shared.bytes_held()
    }

    fn take(&self, py: Python<'_>) -> PyResult<PyPieceCounts> {
        self.with(py, Counter::take).map(|counts| PyPieceCounts { counts: Arc::new(counts), left_out: 0 })
    }

    #[getter]
    fn has_failed(&self) -> bool {
        self.shared.has_failed()
    }

    #[getter]
    fn cut_places(&self) -> Option<&'static str> {
        self.cut_places.map(CutPlaces::name)
    }

    fn cancel(&self) {
        self.shared.cancel();
    }

    #[pyo3(signature = (max_piece_length=None))]
    fn finish(&self, py: Python<'_>, max_piece_length: Option<usize>) -> PyResult<PyPieceCounts> {
        let finish = || {
            let Some(counter) = self.counter.lock().unwrap_or_else(PoisonError::into_inner).take() else {
                return Err(finished());
            };
            let mut counts = counter.finish()?;
            let limit = max_piece_length.unwrap_or(usize::MAX);
            let has_labels = counts.has_labels;
            let left_out =
                counts.retain(|piece, _| has_labels && is_measured(piece) || bare(piece, has_labels).len() <= limit);
            Ok(PyPieceCounts { counts: Arc::new(counts), left_out })
        };
        run(py, usize::MAX, finish).raise(py)
    }
}

/// See `_kernel.pyi`.
#[pyclass(name = "PieceCounts", module = "tokenizer_core._kernel", frozen)]
pub struct PyPieceCounts {
    pub(super) counts: Arc<Counts>,
    left_out: usize,
}

#[pymethods]
impl PyPieceCounts {
    fn __len__(&self) -> usize {
        self.counts.len()
    }

    #[getter]
    fn documents(&self) -> u64 {
        self.counts.documents
    }

    #[getter]
    fn bytes(&self) -> u64 {
        self.counts.bytes
    }

    #[getter]
    fn piece_bytes(&self) -> u128 {
        self.counts.counted_bytes()
    }

    #[getter]
    fn skipped(&self) -> u64 {
        self.counts.skipped.lines
    }

    #[getter]
    fn first_skipped(&self) -> Vec<(usize, u64, String)> {
        self.counts.skipped.first.clone()
    }

    #[getter]
    fn total(&self) -> u64 {
        self.counts.total()
    }

    #[getter]
    fn left_out(&self) -> usize {
        self.left_out
    }

    #[getter]
    fn longest<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, self.counts.longest().unwrap_or_default())
    }

    fn items<'py>(&self, py: Python<'py>, start: usize, stop: usize) -> Vec<(Bound<'py, PyBytes>, u64)> {
        let found = (start..stop.min(self.counts.len())).filter_map(|index| self.counts.get(index));
        found.map(|(piece, count)| (PyBytes::new(py, piece), count)).collect()
    }

    fn cut(&self, py: Python<'_>, config: &str) -> PyResult<Self> {
        let level = super::arguments::level(py)?;
        let cut = || self.counts.cut(&Pretokenizer::on_level(&Config::from_json(config)?.pretokenizer, level)?);
        run(py, usize::MAX, cut).map(|counts| Self { counts: Arc::new(counts), left_out: 0 }).raise(py)
    }

    fn sections<'py>(&self, py: Python<'py>) -> PyResult<Vec<Bound<'py, PyBytes>>> {
        let sections = run(py, usize::MAX, || Ok(sections::write(&self.counts)));
        let sections = sections.raise(py)?;
        Ok(sections.iter().map(|section| PyBytes::new(py, section)).collect())
    }

    fn lines<'py>(&self, py: Python<'py>, start: usize, stop: usize) -> PyResult<Bound<'py, PyBytes>> {
        let lines = run(py, usize::MAX, || {
            let mut lines = Vec::new();
            self.counts.write_lines(start..stop, &mut lines);
            Ok(lines)
        });
        lines.map(|lines| PyBytes::new(py, &lines)).raise(py)
    }
}

/// See `_kernel.pyi`.
#[pyfunction]
pub fn merge_sections<'py>(
    py: Python<'py>,
    number: usize,
    sections: Vec<PyBackedBytes>,
) -> PyResult<Bound<'py, PyBytes>> {
    let sections: Vec<&[u8]> = sections.iter().map(|section| &**section).collect();
    let merged = run(py, usize::MAX, || sections::merge(number, &sections));
    merged.map(|merged| PyBytes::new(py, &merged)).raise(py)
}

/// See `_kernel.pyi`.
#[pyclass(name = "Reduced", module = "tokenizer_core._kernel", frozen)]
pub struct PyReduced(Mutex<Reduced>);

/// The name of a script, and the pieces, occurrences and bytes that were too rare, then all that there were.
type OfScript = (&'static str, (u64, u64, u128), (u64, u64, u128));

#[pymethods]
impl PyReduced {
    #[new]
    #[pyo3(signature = (max_piece_length=None, min_count=1, has_languages=false))]
    fn new(max_piece_length: Option<usize>, min_count: u64, has_languages: bool) -> Self {
        Self(Mutex::new(Reduced::new(max_piece_length.unwrap_or(usize::MAX), min_count, has_languages)))
    }

    fn add(&self, py: Python<'_>, number: usize, sections: Vec<PyBackedBytes>) -> PyResult<()> {
        let sections: Vec<&[u8]> = sections.iter().map(|section| &**section).collect();
        let add = || self.0.lock().unwrap_or_else(PoisonError::into_inner).add(number, &sections);
        run(py, usize::MAX, add).raise(py)
    }

    #[getter]
    fn dropped(&self) -> Vec<OfScript> {
        let parts = |dropped: Dropped| (dropped.pieces, dropped.occurrences, dropped.bytes);
        let reduced = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        reduced.dropped().map(|(script, rare, all)| (script, parts(rare), parts(all))).collect()
    }

    fn finish(&self, py: Python<'_>) -> PyResult<PyPieceCounts> {
        let finish = || {
            let empty = Reduced::new(usize::MAX, 1, false);
            let reduced = std::mem::replace(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner), empty);
            let left_out = reduced.too_long as usize;
            Ok(PyPieceCounts { counts: Arc::new(reduced.finish()), left_out })
        };
        run(py, usize::MAX, finish).raise(py)
    }
}
