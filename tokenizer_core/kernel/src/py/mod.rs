//! All of PyO3: arguments in, arrays and exceptions out. Documentation stands in `_kernel.pyi`.

mod arguments;
mod array;
mod block_hashes;
mod chat;
mod chat_responder;
mod codec;
mod counting;
mod decode;
mod ids;
mod json;
mod packing;
mod pipeline;
mod raise;
mod rendering;
mod responder;
mod responses;
mod sampling;
mod shards;
mod template;
mod text;
mod train;
mod unigram;
mod vocabulary;

use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyString, PyTuple};

use self::raise::Raise;
use crate::regex;

/// See `_kernel.pyi`.
#[pyfunction]
fn portable_pattern(pattern: &Bound<'_, PyString>) -> PyResult<String> {
    let py = pattern.py();
    let text = text::kept(pattern, None)?;
    raise::run(py, text.len(), || regex::from_tiktoken(text)).raise(py)
}

/// See `_kernel.pyi`.
#[pyfunction]
fn canonical_stage(py: Python<'_>, part: &str, stage: &str) -> PyResult<String> {
    raise::run(py, stage.len(), || crate::config::canonical(part, stage))
        .map_err(|error| raise::exception(py, &error, None))
}

/// See `_kernel.pyi`.
#[pyfunction]
fn charsmap<'py>(py: Python<'py>, config: &str) -> PyResult<Bound<'py, PyBytes>> {
    let write = || crate::normalize::charsmap_write::charsmap(&crate::config::Config::from_json(config)?.normalizer);
    let table = raise::run(py, usize::MAX, write).map_err(|error| raise::exception(py, &error, None))?;
    Ok(PyBytes::new(py, &table))
}

/// See `_kernel.pyi`.
#[pyfunction]
fn core_count() -> usize {
    crate::parallel::core_count()
}

/// The module `tokenizer_core._kernel`.
#[pymodule]
fn _kernel(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("CACHE_BYTES", crate::scratch::CACHE_BYTES)?;
    module.add("EXPRESSION_STEPS", crate::regex::BASE_STEPS)?;
    module.add("COUNT_SECTIONS", crate::train::sections::SECTIONS)?;
    module.add("MAX_NBEST", crate::model::sampling::MAX_NBEST)?;
    module.add("MAX_CACHE_BYTES", crate::scratch::MAX_CACHE_BYTES)?;
    module.add("UNICODE_VERSION", crate::unicode::UNICODE_VERSION)?;
    module.add("VERSION", env!("CARGO_PKG_VERSION"))?;
    let order = crate::train::alphabet::byte_order();
    module.add("BYTE_ORDER", PyTuple::new(module.py(), order.map(|byte| PyBytes::new(module.py(), &[byte])))?)?;
    module.add_class::<vocabulary::PyVocabulary>()?;
    module.add_class::<pipeline::PyPipeline>()?;
    module.add_class::<codec::PyCodec>()?;
    module.add_class::<responder::PyResponder>()?;
    module.add_class::<chat_responder::PyChatResponder>()?;
    module.add_class::<chat_responder::PySegmentCache>()?;
    module.add_class::<pipeline::PyStreamDecoder>()?;
    module.add_class::<template::PyTemplate>()?;
    module.add_class::<rendering::PyRendering>()?;
    module.add_class::<responses::PyResponseTemplate>()?;
    module.add_class::<responses::PyResponseParser>()?;
    module.add_class::<shards::PyDocumentEncoder>()?;
    module.add_class::<counting::PyCounter>()?;
    module.add_class::<counting::PyPieceCounts>()?;
    module.add_class::<counting::PyReduced>()?;
    module.add_function(wrap_pyfunction!(block_hashes::block_hashes, module)?)?;
    module.add_function(wrap_pyfunction!(block_hashes::prefix_hash, module)?)?;
    module.add_function(wrap_pyfunction!(packing::best_fit, module)?)?;
    module.add_function(wrap_pyfunction!(train::learn_merges, module)?)?;
    module.add_function(wrap_pyfunction!(train::learn_merges_for_languages, module)?)?;
    module.add_function(wrap_pyfunction!(counting::merge_sections, module)?)?;
    module.add_function(wrap_pyfunction!(unigram::learn_unigram, module)?)?;
    module.add_function(wrap_pyfunction!(array::numbers_json, module)?)?;
    module.add_function(wrap_pyfunction!(array::overlapping, module)?)?;
    module.add_function(wrap_pyfunction!(json::chat_json, module)?)?;
    module.add_function(wrap_pyfunction!(json::count_json, module)?)?;
    module.add_function(wrap_pyfunction!(json::cut_out_lists, module)?)?;
    module.add_function(wrap_pyfunction!(json::ends_of_objects, module)?)?;
    module.add("MEDIA", PyTuple::new(module.py(), crate::template::plain::MEDIA)?)?;
    module.add("MEDIA_BESIDE", PyTuple::new(module.py(), crate::template::plain::BESIDE)?)?;
    module.add_function(wrap_pyfunction!(portable_pattern, module)?)?;
    module.add_function(wrap_pyfunction!(canonical_stage, module)?)?;
    module.add_function(wrap_pyfunction!(charsmap, module)?)?;
    module.add_function(wrap_pyfunction!(core_count, module)?)?;
    Ok(())
}
