//! The scanners of every path over any text, which stands alone on the heap so that a sanitizer sees a byte read too
//! far.

use tokd_kernel::config::{Behavior, Pattern, PretokenizerStage};
use tokd_kernel::pretokenize::Pretokenizer;
use tokd_kernel::regex::StepBudget;
use tokd_kernel::simd::level::SimdLevel;

use super::{PATTERNS, Reader};

/// Cut the input's text by the pattern and in the batches that its first bytes choose, on every path.
pub fn paths(data: &[u8]) {
    let mut reader = Reader::new(data);
    let (pattern, batch) = (PATTERNS[reader.below(PATTERNS.len())], 1 + reader.below(200));
    let text = reader.text().into_boxed_str();
    let stage = PretokenizerStage::Split {
        pattern: Pattern::Name(pattern.to_owned()),
        behavior: Behavior::Isolated,
        invert: false,
    };
    let ends = |path, batch| {
        let pretokenizer = Pretokenizer::on_level(std::slice::from_ref(&stage), path).unwrap();
        pretokenizer.pieces(&text, &mut StepBudget::default()).unwrap().ends(batch).unwrap()
    };
    let truth = ends(SimdLevel::Portable, 1);
    for path in SimdLevel::available() {
        assert_eq!(ends(path, batch), truth, "{pattern} on {} by {batch}", path.name());
    }
}
