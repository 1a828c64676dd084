//! `Vocabulary` as Python sees it.

use std::borrow::Cow;
use std::collections::HashSet;
use std::sync::Arc;

use pyo3::prelude::*;
use pyo3::types::PyBytes;

use super::raise::{Raise, run};
use crate::error::Result;
use crate::formats;
use crate::vocabulary::{Merge, Spelling, Vocabulary};

/// See `_kernel.pyi`.
#[pyclass(name = "Vocabulary", module = "tokenizer_core._kernel", frozen)]
pub struct PyVocabulary(pub Arc<Vocabulary>);

fn load<T: Send>(py: Python<'_>, size: usize, work: impl FnOnce() -> Result<T> + Send) -> PyResult<T> {
    run(py, size, work).raise(py)
}

fn wrap(vocabulary: Vocabulary) -> PyVocabulary {
    PyVocabulary(Arc::new(vocabulary))
}

#[pymethods]
impl PyVocabulary {
    #[staticmethod]
    fn from_tiktoken(py: Python<'_>, data: &[u8]) -> PyResult<Self> {
        load(py, data.len(), || formats::from_tiktoken(data)).map(wrap)
    }

    #[staticmethod]
    fn from_tokenizer_json(py: Python<'_>, data: &[u8]) -> PyResult<(Self, String)> {
        let (vocabulary, rest) = load(py, data.len(), || formats::from_tokenizer_json(data))?;
        Ok((wrap(vocabulary), rest))
    }

    #[staticmethod]
    fn from_sentencepiece(py: Python<'_>, data: &[u8]) -> PyResult<(Self, String)> {
        let (vocabulary, rest) = load(py, data.len(), || formats::from_sentencepiece(data))?;
        Ok((wrap(vocabulary), rest))
    }

    #[staticmethod]
    fn from_vocab_merges(py: Python<'_>, vocab: &[u8], merges: &[u8]) -> PyResult<Self> {
        load(py, vocab.len(), || formats::from_vocab_merges(vocab, merges)).map(wrap)
    }

    #[staticmethod]
    fn from_tokens(py: Python<'_>, tokens: Vec<(u32, Vec<u8>)>, merges: Vec<(u32, u32, u32)>) -> PyResult<Self> {
        let merges = merges.into_iter().map(|(left, right, product)| Merge { left, right, product }).collect();
        load(py, 0, || Vocabulary::new(tokens, merges, Vec::new())).map(wrap)
    }

    #[staticmethod]
    fn from_texts(
        py: Python<'_>,
        tokens: Vec<(u32, String)>,
        merges: Vec<(u32, u32, u32)>,
        scores: Vec<f64>,
    ) -> PyResult<Self> {
        let merges = merges.into_iter().map(|(left, right, product)| Merge { left, right, product }).collect();
        load(py, 0, || Vocabulary::of_texts(tokens, merges, scores)).map(wrap)
    }

    #[getter]
    fn is_text(&self) -> bool {
        self.0.spelling() == Spelling::Text
    }

    fn scores(&self) -> Vec<f64> {
        self.0.scores().to_vec()
    }

    #[pyo3(signature = (added, kept = HashSet::new()))]
    fn reserve(&self, py: Python<'_>, added: Vec<(u32, String)>, kept: HashSet<u32>) -> PyResult<Self> {
        let added: Vec<(u32, &str)> = added.iter().map(|(id, literal)| (*id, literal.as_str())).collect();
        let reserved = load(py, 0, || formats::reconcile_added_tokens(&self.0, &added, &kept))?;
        Ok(match reserved {
            Cow::Borrowed(_) => Self(Arc::clone(&self.0)),
            Cow::Owned(vocabulary) => wrap(vocabulary),
        })
    }

    fn __len__(&self) -> usize {
        self.0.tokens().count() + usize::from(self.0.empty().is_some())
    }

    #[getter]
    fn id_limit(&self) -> u32 {
        self.0.id_limit()
    }

    #[getter]
    fn digest<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, &self.0.digest())
    }

    #[getter]
    fn missing_bytes<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, &self.0.missing_bytes().bytes().collect::<Vec<u8>>())
    }

    fn token_bytes<'py>(&self, py: Python<'py>, id: u32) -> Option<Bound<'py, PyBytes>> {
        self.0.bytes(id).map(|bytes| PyBytes::new(py, bytes))
    }

    fn token_texts(&self) -> Vec<(String, u32)> {
        (0..self.0.id_limit()).filter_map(|id| Some((self.0.entry(id)?, id))).collect()
    }

    fn is_opaque(&self, id: u32) -> bool {
        self.0.is_opaque(id)
    }

    fn merges<'py>(&self, py: Python<'py>) -> Vec<(Bound<'py, PyBytes>, Bound<'py, PyBytes>)> {
        let part = |id| PyBytes::new(py, self.0.bytes(id).unwrap_or_default());
        self.0.merges().iter().map(|merge| (part(merge.left), part(merge.right))).collect()
    }

    fn merge_ids(&self) -> Vec<(u32, u32, u32)> {
        self.0.merges().iter().map(|merge| (merge.left, merge.right, merge.product)).collect()
    }
}
