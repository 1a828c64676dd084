//! `Codec` as Python sees it: `Tokenizer` inherits from it, so that calls enter the kernel without a Python frame. On a
//! text of 200 characters such a frame, with its keywords, took a sixth of a call.

use std::sync::{Arc, OnceLock};

use numpy::PyArray1;
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyString, PyTuple};

use super::array::Array;
use super::pipeline::{PyPipeline, options};
use super::raise::{Raise, exception, run_on};
use super::text::utf8;
use super::{arguments, array, decode, sampling};
use crate::capacity::for_ids;
use crate::encode::Pipeline;
use crate::output::count::Count;
use crate::output::stack_ids::StackIds;

/// Bytes of a text whose ids need no memory but the array's.
const SHORT: usize = 2048;

/// Encode and decode over a pipeline that other objects may have too.
#[pyclass(name = "Codec", module = "tokenizer_core._kernel", frozen, subclass)]
pub struct PyCodec(OnceLock<Arc<Pipeline>>);

impl PyCodec {
    pub(super) fn pipeline(&self) -> PyResult<&Arc<Pipeline>> {
        self.0.get().ok_or_else(|| PyRuntimeError::new_err("Tokenizer.__init__ has not been called"))
    }
}

#[pymethods]
impl PyCodec {
    #[new]
    #[pyo3(signature = (*_arguments, **_options))]
    fn new(_arguments: &Bound<'_, PyTuple>, _options: Option<&Bound<'_, PyDict>>) -> Self {
        Self(OnceLock::new())
    }

    fn __init__(&self, pipeline: &PyPipeline) -> PyResult<()> {
        let again = |_| PyRuntimeError::new_err("a tokenizer is immutable: __init__ has been called before");
        self.0.set(Arc::clone(&pipeline.0)).map_err(again)
    }

    /// Encode a text.
    ///
    /// Args:
    ///     special_tokens: what the literal of a special token in the text means.
    ///     add_special_tokens: put what the post-processor puts around a text, such as a beginning-of-text token.
    ///         Routes and ``encode_pair`` do it by default: "Special tokens around a text" in ``docs/exactness.md``.
    ///     threads: how many may share a text of over half a megabyte, 0 being one a core; ids do not depend on it.
    ///     dropout: of a BPE model: the probability that a merge is left out each time it could be made.
    ///     alpha: of a Unigram model: draw a segmentation by its probability to this power; 0 makes all equal.
    ///     nbest: draw only among so many best segmentations, at most ``MAX_NBEST``; -1 is all, the default.
    ///     seed: from 0 to 2 ** 64 - 1; the same gives the same ids everywhere. What is drawn needs one.
    ///
    /// Returns:
    ///     uint32, shape (n,).
    ///
    /// Raises:
    ///     ReservedLiteral, InvalidUnicode, InvalidOption, StepLimit, UncoveredText
    #[pyo3(signature = (
        text, *, special_tokens="reject", add_special_tokens=false, threads=1, dropout=None, alpha=None, nbest=None,
        seed=None, **others
    ), text_signature = "($self, text, *, special_tokens='reject', add_special_tokens=False, threads=1, dropout=None, \
        alpha=None, nbest=None, seed=None)")]
    #[expect(clippy::too_many_arguments, reason = "they are named")]
    fn encode<'py>(
        &self,
        #[pyo3(from_py_with = arguments::text)] text: &Bound<'py, PyString>,
        #[pyo3(from_py_with = arguments::special_tokens)] special_tokens: &str,
        #[pyo3(from_py_with = arguments::add_special_tokens)] add_special_tokens: bool,
        #[pyo3(from_py_with = arguments::threads)] threads: usize,
        dropout: Option<&Bound<'py, PyAny>>,
        alpha: Option<&Bound<'py, PyAny>>,
        nbest: Option<&Bound<'py, PyAny>>,
        seed: Option<&Bound<'py, PyAny>>,
        others: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Array<'py>> {
        let py = text.py();
        arguments::no_others("encode", others)?;
        let options = options(py, special_tokens, add_special_tokens)?;
        let pipeline = self.pipeline()?;
        let text = &utf8(text, pipeline.level())?;
        if let Some(seeded) = sampling::read(py, [dropout, alpha, nbest, seed])? {
            let ids = run_on(py, pipeline, usize::MAX, || {
                let mut ids = for_ids(text.len());
                pipeline.sample(text, options, seeded, &mut ids)?;
                Ok(ids)
            });
            return Ok(array::of_ids(py, ids.raise_in(py, text)?));
        }
        if text.len() > SHORT {
            let ids = run_on(py, pipeline, text.len(), || {
                let mut ids = for_ids(text.len());
                pipeline.encode_with_threads(text, options, threads, &mut ids)?;
                Ok(ids)
            });
            return Ok(array::of_ids(py, ids.raise_in(py, text)?));
        }
        let mut ids = StackIds::new();
        match run_on(py, pipeline, text.len(), || pipeline.encode(text, options, &mut ids)) {
            Ok(()) => Ok(PyArray1::from_slice(py, ids.as_slice())),
            Err(error) => Err(exception(py, &error, Some(text))),
        }
    }

    /// Count the ids of a text without building them; arguments and errors are those of ``encode``.
    #[pyo3(
        signature = (text, *, special_tokens="reject", add_special_tokens=false, **others),
        text_signature = "($self, text, *, special_tokens='reject', add_special_tokens=False)"
    )]
    fn count(
        &self,
        #[pyo3(from_py_with = arguments::text)] text: &Bound<'_, PyString>,
        #[pyo3(from_py_with = arguments::special_tokens)] special_tokens: &str,
        #[pyo3(from_py_with = arguments::add_special_tokens)] add_special_tokens: bool,
        others: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<usize> {
        let py = text.py();
        arguments::no_others("count", others)?;
        let options = options(py, special_tokens, add_special_tokens)?;
        let pipeline = self.pipeline()?;
        let text = &utf8(text, pipeline.level())?;
        let count = run_on(py, pipeline, text.len(), || {
            let mut count = Count::default();
            pipeline.encode(text, options, &mut count)?;
            Ok(count.0)
        });
        count.raise_in(py, text)
    }

    /// Decode ids; invalid UTF-8 becomes U+FFFD by maximal subparts.
    ///
    /// Args:
    ///     ids: an array of uint32, shape (n,), or at most 2 ** 28 other integers in any iterable that has an order.
    ///     skip_special_tokens: leave out special tokens.
    ///
    /// Raises:
    ///     UnknownTokenId, InvalidOption: with the index of the first id that is none
    #[pyo3(signature = (ids, *, skip_special_tokens=false))]
    fn decode<'py>(
        &self,
        ids: &Bound<'py, PyAny>,
        #[pyo3(from_py_with = arguments::skip_special_tokens)] skip_special_tokens: bool,
    ) -> PyResult<Bound<'py, PyString>> {
        decode::to_text(ids, self.pipeline()?, skip_special_tokens)
    }

    /// Join the bytes of all ids: nothing is lost; arguments and errors are those of ``decode``.
    #[pyo3(signature = (ids, *, skip_special_tokens=false))]
    fn decode_bytes<'py>(
        &self,
        ids: &Bound<'py, PyAny>,
        #[pyo3(from_py_with = arguments::skip_special_tokens)] skip_special_tokens: bool,
    ) -> PyResult<Bound<'py, PyBytes>> {
        decode::to_bytes(ids, self.pipeline()?, skip_special_tokens)
    }
}
