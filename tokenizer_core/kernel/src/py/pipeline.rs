//! `Pipeline` and `StreamDecoder` as Python sees them.

use std::sync::{Arc, Mutex, PoisonError};

use numpy::{PyArray1, PyArray2};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PySequence, PyString};

use super::arguments::choice;
use super::array::{self, Array};
use super::chat_responder::PySegmentCache;
use super::raise::{Raise, exception, invalid_option, run, run_on};
use super::rendering::PyRendering;
use super::text::{self, utf8};
use super::{arguments, chat, decode, sampling, vocabulary::PyVocabulary};
use crate::added_tokens::SpecialPolicy;
use crate::config::Config;
use crate::decode::token_widths::Unit;
use crate::encode::{EncodeOptions, Pipeline, PipelineStream};
use crate::output::offsets::Offsets;
use crate::piece_cache::CacheStatistics;
use crate::regex::BASE_STEPS;
use crate::scratch::CACHE_BYTES;
use crate::segment_cache::Owner;

/// See `_kernel.pyi`.
#[pyclass(name = "Pipeline", module = "tokenizer_core._kernel", frozen)]
pub struct PyPipeline(pub(super) Arc<Pipeline>);

pub(super) fn options(py: Python<'_>, special_tokens: &str, add_special_tokens: bool) -> PyResult<EncodeOptions> {
    let policies = [
        ("reject", SpecialPolicy::Reject),
        ("text", SpecialPolicy::Text),
        ("parse", SpecialPolicy::Parse),
        ("ordinary", SpecialPolicy::Ordinary),
    ];
    Ok(EncodeOptions { policy: choice(py, "special_tokens", special_tokens, &policies)?, add_special_tokens })
}

fn unit(py: Python<'_>, unit: &str) -> PyResult<Unit> {
    choice(py, "unit", unit, &[("byte", Unit::Byte), ("char", Unit::Char), ("utf16", Unit::Utf16)])
}

#[pymethods]
impl PyPipeline {
    #[new]
    #[pyo3(signature = (vocabulary, config, cache_bytes=CACHE_BYTES, expression_steps=BASE_STEPS))]
    fn new(
        py: Python<'_>,
        vocabulary: &PyVocabulary,
        config: &str,
        #[pyo3(from_py_with = arguments::cache_bytes)] cache_bytes: usize,
        expression_steps: u64,
    ) -> PyResult<Self> {
        let vocabulary = Arc::clone(&vocabulary.0);
        let level = arguments::level(py)?;
        let build = || Pipeline::on_level(vocabulary, &Config::from_json(config)?, cache_bytes, level);
        let pipeline = run(py, usize::MAX, build).raise(py)?;
        array::prepare(py)?;
        Ok(Self(Arc::new(pipeline.with_expression_steps(expression_steps))))
    }

    #[getter]
    fn id_limit(&self) -> u32 {
        self.0.tokens().id_limit()
    }

    #[getter]
    fn cache_statistics(&self) -> (u64, u64, u64, u64) {
        let CacheStatistics { bytes, pieces, misses, evictions } = self.0.cache_statistics();
        (bytes, pieces, misses, evictions)
    }

    #[pyo3(signature = (
        texts, special_tokens="reject", add_special_tokens=false, threads=0, dropout=None, alpha=None, nbest=None,
        seed=None, **others
    ), text_signature = "($self, texts, special_tokens='reject', add_special_tokens=False, threads=0, dropout=None, \
        alpha=None, nbest=None, seed=None)")]
    #[expect(clippy::too_many_arguments, reason = "they are named")]
    fn encode_batch<'py>(
        &self,
        texts: &Bound<'py, PyAny>,
        #[pyo3(from_py_with = arguments::special_tokens)] special_tokens: &str,
        #[pyo3(from_py_with = arguments::add_special_tokens)] add_special_tokens: bool,
        #[pyo3(from_py_with = arguments::threads)] threads: usize,
        dropout: Option<&Bound<'py, PyAny>>,
        alpha: Option<&Bound<'py, PyAny>>,
        nbest: Option<&Bound<'py, PyAny>>,
        seed: Option<&Bound<'py, PyAny>>,
        others: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<(Array<'py>, Bound<'py, PyArray1<i64>>)> {
        let py = texts.py();
        arguments::no_others("encode_batch", others)?;
        let options = options(py, special_tokens, add_special_tokens)?;
        let seeded = sampling::read(py, [dropout, alpha, nbest, seed])?;
        let rows = strings(texts)?;
        let texts = text::all(&rows, self.0.level())?;
        let texts = texts.rows();
        let size = texts.iter().map(|text| text.len()).sum();
        let encode = || match seeded {
            None => self.0.encode_batch(&texts, options, threads),
            Some(seeded) => self.0.sample_batch(&texts, options, seeded, threads),
        };
        let batch = run_on(py, &self.0, if seeded.is_some() { usize::MAX } else { size }, encode)
            .map_err(|error| exception(py, &error, error.row.and_then(|row| texts.get(row).copied())))?;
        Ok((array::of_ids(py, batch.ids), PyArray1::from_vec(py, batch.row_offsets)))
    }

    #[pyo3(signature = (text, unit="char", special_tokens="reject", add_special_tokens=false))]
    fn offsets<'py>(
        &self,
        #[pyo3(from_py_with = arguments::text)] text: &Bound<'py, PyString>,
        #[pyo3(from_py_with = arguments::unit)] unit: &str,
        #[pyo3(from_py_with = arguments::special_tokens)] special_tokens: &str,
        #[pyo3(from_py_with = arguments::add_special_tokens)] add_special_tokens: bool,
    ) -> PyResult<(Array<'py>, Bound<'py, PyArray2<u32>>)> {
        let py = text.py();
        let options = options(py, special_tokens, add_special_tokens)?;
        let unit = self::unit(py, unit)?;
        let text = &utf8(text, self.0.level())?;
        let (ids, spans) = run_on(py, &self.0, text.len(), || {
            let mut offsets = Offsets::new(self.0.stands_for(), text, unit);
            self.0.encode(text, options, &mut offsets)?;
            Ok((offsets.ids, offsets.spans))
        })
        .raise_in(py, text)?;
        Ok((array::of_ids(py, ids), array::of_spans(py, spans)?))
    }

    #[pyo3(signature = (text, special_tokens="reject"))]
    fn word_ids<'py>(
        &self,
        #[pyo3(from_py_with = arguments::text)] text: &Bound<'py, PyString>,
        #[pyo3(from_py_with = arguments::special_tokens)] special_tokens: &str,
    ) -> PyResult<(Array<'py>, Array<'py>)> {
        let py = text.py();
        let EncodeOptions { policy, .. } = options(py, special_tokens, false)?;
        let text = &utf8(text, self.0.level())?;
        let found = run_on(py, &self.0, text.len(), || self.0.word_ids(text, policy))
            .map_err(|error| exception(py, &error, Some(text)))?;
        Ok((array::of_ids(py, found.ids), array::of_ids(py, found.words)))
    }

    #[pyo3(signature = (text, caller, unit="char", add_special_tokens=false))]
    fn encode_chat<'py>(
        &self,
        #[pyo3(from_py_with = arguments::text)] text: &Bound<'py, PyString>,
        caller: Vec<(usize, usize)>,
        #[pyo3(from_py_with = arguments::unit)] unit: &str,
        #[pyo3(from_py_with = arguments::add_special_tokens)] add_special_tokens: bool,
    ) -> PyResult<chat::Encoded<'py>> {
        chat::encode(&self.0, text, &caller, self::unit(text.py(), unit)?, add_special_tokens)
    }

    #[pyo3(signature = (rendering, unit="char", segments=None))]
    fn encode_rendering<'py>(
        &self,
        py: Python<'py>,
        rendering: &PyRendering,
        #[pyo3(from_py_with = arguments::unit)] unit: &str,
        segments: Option<&PySegmentCache>,
    ) -> PyResult<chat::Encoded<'py>> {
        let unit = self::unit(py, unit)?;
        let segments = segments.map(|segments| segments.0.of(Owner::new("", "")));
        chat::encode_bytes(py, &self.0, &rendering.0.text, &rendering.caller(), unit, false, segments)
    }

    #[pyo3(signature = (text, n, special_tokens="reject", add_special_tokens=false))]
    fn nbest<'py>(
        &self,
        #[pyo3(from_py_with = arguments::text)] text: &Bound<'py, PyString>,
        n: &Bound<'py, PyAny>,
        #[pyo3(from_py_with = arguments::special_tokens)] special_tokens: &str,
        #[pyo3(from_py_with = arguments::add_special_tokens)] add_special_tokens: bool,
    ) -> PyResult<Vec<(Array<'py>, f64)>> {
        let py = text.py();
        let options = options(py, special_tokens, add_special_tokens)?;
        let count = sampling::whole(n, "n", "a whole number")?;
        let text = &utf8(text, self.0.level())?;
        let found = run_on(py, &self.0, usize::MAX, || self.0.nbest(text, options, count)).raise_in(py, text)?;
        Ok(found.into_iter().map(|each| (array::of_ids(py, each.ids), each.score)).collect())
    }

    fn pieces(&self, #[pyo3(from_py_with = arguments::text)] text: &Bound<'_, PyString>) -> PyResult<Vec<String>> {
        let py = text.py();
        let text = &utf8(text, self.0.level())?;
        run_on(py, &self.0, text.len(), || self.0.pieces(text)).raise_in(py, text)
    }

    #[pyo3(signature = (skip_special_tokens=false))]
    fn stream_decoder(
        &self,
        #[pyo3(from_py_with = arguments::skip_special_tokens)] skip_special_tokens: bool,
    ) -> PyStreamDecoder {
        let state = Mutex::default();
        PyStreamDecoder { pipeline: Arc::clone(&self.0), skip_special_tokens, state }
    }
}

/// The texts of a batch, or an error for the first that is not a string.
fn strings<'py>(texts: &Bound<'py, PyAny>) -> PyResult<Vec<Bound<'py, PyString>>> {
    let wrong = |message: String| invalid_option(texts.py(), message, "texts");
    if texts.is_instance_of::<PyString>() {
        return Err(wrong(String::from("texts is a sequence of strings, not one string")));
    }
    if texts.cast::<PySequence>().is_err() {
        let name = arguments::type_name(texts);
        return Err(wrong(format!("texts is a sequence of strings, not {name}; make a list of it")));
    }
    let row = |(row, text): (usize, PyResult<Bound<'py, PyAny>>)| {
        text?.cast_into::<PyString>().map_err(|_| wrong(format!("texts[{row}] is not a string")))
    };
    texts.try_iter()?.enumerate().map(row).collect()
}

/// See `_kernel.pyi`.
#[pyclass(name = "StreamDecoder", module = "tokenizer_core._kernel", frozen)]
pub struct PyStreamDecoder {
    pipeline: Arc<Pipeline>,
    skip_special_tokens: bool,
    state: Mutex<PipelineStream>,
}

#[pymethods]
impl PyStreamDecoder {
    fn push(&self, ids: &Bound<'_, PyAny>) -> PyResult<String> {
        decode::to_stream(ids, &self.pipeline, self.skip_special_tokens, &self.state)
    }

    fn finish(&self, py: Python<'_>) -> PyResult<String> {
        let finished = self.state.lock().unwrap_or_else(PoisonError::into_inner).finish(self.pipeline.decoder());
        finished.raise(py)
    }

    #[getter]
    fn pending<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, self.state.lock().unwrap_or_else(PoisonError::into_inner).pending())
    }
}
