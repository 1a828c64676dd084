//! All of PyO3: arguments in, arrays and exceptions out. Documentation stands in `_kernel.pyi`.

mod ids;
mod pipeline;
mod raise;
mod vocabulary;

use pyo3::prelude::*;

/// The module `tokenizer_core._kernel`.
#[pymodule]
fn _kernel(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("UNICODE_VERSION", crate::unicode::UNICODE_VERSION)?;
    module.add_class::<vocabulary::PyVocabulary>()?;
    module.add_class::<pipeline::PyPipeline>()?;
    module.add_class::<pipeline::PyStreamDecoder>()?;
    Ok(())
}
