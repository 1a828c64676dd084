//! Cuts inside a piece that no merge can cross.
//!
//! If no token of the vocabulary spans two neighbouring characters, no merge can ever join them, so the piece may be
//! cut there. That is exact by construction, and in scripts without spaces it makes parts short enough for the piece
//! cache. Leaving out such a cut changes no id, so the pairs that must stay together can be a small set that misses
//! none of them and contains a few others by mistake.

mod crossings;
mod cuts;
mod script;
#[cfg(test)]
#[path = "../../../../tests/unit/safe_split.rs"]
mod tests;
mod windows;

use self::crossings::Crossings;
pub use self::cuts::Cuts;
use crate::simd::level::SimdLevel;
use crate::vocabulary::Vocabulary;

/// The pairs of neighbouring characters that some token spans.
#[derive(Debug)]
pub struct SafeSplit {
    crossings: Crossings,
    level: SimdLevel,
}

impl SafeSplit {
    /// Collect the crossings of a vocabulary; `None` if there are too many of them.
    pub fn new(vocabulary: &Vocabulary, level: SimdLevel) -> Option<Self> {
        Crossings::new(vocabulary).map(|crossings| Self { crossings, level })
    }

    /// Tell whether parts of pieces are more likely to be in a cache than whole pieces: if there are characters from
    /// U+3000 on, whose scripts have no spaces between words, or a quarter of the bytes is beyond ASCII. Words with a
    /// few accents come again as they are.
    #[inline]
    pub fn is_worth_cutting(&self, text: &[u8]) -> bool {
        self.level.run(script::IsWorthCutting(text))
    }

    /// Cut the pieces of `text` from `start` on, which end at `ends`, and if `tell_parts` say which are parts. Between
    /// two ASCII characters nothing is cut but before spaces: such pieces repeat often enough as they are.
    pub fn cut(&self, text: &str, start: usize, ends: &[u32], tell_parts: bool, cuts: &mut Cuts) {
        self.level.run(windows::Cut { crossings: &self.crossings, text, start, ends, tell_parts, cuts });
    }
}
