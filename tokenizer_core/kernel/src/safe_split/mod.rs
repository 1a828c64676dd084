//! Cuts inside a piece that no merge can cross.
//!
//! Where no token of the vocabulary spans two neighbouring characters, no merge can ever join them, so the piece may be
//! cut there. That is exact by construction, and in scripts without spaces it makes parts short enough for the piece
//! cache. Leaving out such a cut changes no id, so the pairs that must stay together can be a small set that misses
//! none of them and contains a few others by mistake.

mod crossings;
mod script;
#[cfg(test)]
#[path = "../../tests/unit/safe_split.rs"]
mod tests;
mod windows;

use self::crossings::Crossings;
use crate::machine::level::SimdLevel;
use crate::vocabulary::Vocabulary;

/// Which pairs of neighbouring characters some token spans.
#[derive(Debug)]
pub struct SafeSplit {
    crossings: Crossings,
    level: SimdLevel,
}

/// Pieces cut into parts. The buffers are as long as was ever needed; only the first `count` entries are meaningful.
#[derive(Debug, Default)]
pub struct Cuts {
    ends: Vec<u32>,
    parts: Vec<bool>,
    /// A byte for each byte of the text, all zero except while pieces are cut.
    marks: Vec<u8>,
    count: usize,
    /// Whether `parts` is meaningful.
    told: bool,
}

impl Cuts {
    /// Where each part or uncut piece ends.
    #[inline]
    pub fn ends(&self) -> &[u32] {
        &self.ends[..self.count]
    }

    /// Which of them are parts; empty where that was not asked for.
    #[inline]
    pub fn parts(&self) -> &[bool] {
        if self.told { &self.parts[..self.count] } else { &[] }
    }

    /// A buffer that grows with the text.
    #[cfg(test)]
    pub(crate) fn room(&mut self) -> &mut Vec<u32> {
        &mut self.ends
    }

    /// Make room for `most` ends, and to tell which of them are parts.
    fn reserve(&mut self, most: usize, tell: bool) {
        if self.ends.len() < most {
            self.ends.resize(most, 0);
        }
        if tell && self.parts.len() < most {
            self.parts.resize(most, false);
        }
        self.told = tell;
    }

    /// Give back the memory of long pieces, down to `entries` entries a buffer.
    pub fn shrink(&mut self, entries: usize) {
        self.count = 0;
        self.ends.truncate(entries);
        self.ends.shrink_to(entries);
        self.parts.truncate(entries);
        self.parts.shrink_to(entries);
        self.marks.truncate(entries);
        self.marks.shrink_to(entries);
    }
}

impl SafeSplit {
    /// Collect the crossings of a vocabulary; `None` if there are too many of them.
    pub fn new(vocabulary: &Vocabulary, level: SimdLevel) -> Option<Self> {
        Crossings::new(vocabulary).map(|crossings| Self { crossings, level })
    }

    /// Whether parts of pieces are more likely to be in a cache than whole pieces: if there are characters from U+3000
    /// on, whose scripts have no spaces between words, or a quarter of the bytes is beyond ASCII. Words with a few
    /// accents come again as they are.
    #[inline]
    pub fn is_worth_cutting(&self, text: &[u8]) -> bool {
        self.level.run(script::IsWorthCutting(text))
    }

    /// Cut the pieces of `text` from `start` on, which end at `ends`, and if `tell_parts` say which are parts. Between
    /// two ASCII characters nothing is cut: such pieces repeat often enough as they are.
    pub fn cut(&self, text: &str, start: usize, ends: &[u32], tell_parts: bool, cuts: &mut Cuts) {
        self.level.run(windows::Cut { crossings: &self.crossings, text, start, ends, tell_parts, cuts });
    }
}
