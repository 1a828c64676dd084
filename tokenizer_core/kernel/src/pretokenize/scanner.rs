//! The hand-written scanners: their names, and the level that each runs on.

use super::rules::{Cl100k, Gpt2, O200k, PatternRules};
use super::vector;
use crate::simd::level::SimdLevel;

/// A pattern that has a scanner.
#[derive(Debug, Clone, Copy)]
enum ScannerName {
    /// GPT-2.
    Gpt2,
    /// cl100k_base, and Llama 3, whose pattern cuts the same.
    Cl100k,
    /// o200k_base.
    O200k,
    /// Qwen2: cl100k_base with single digits.
    Qwen2,
}

impl ScannerName {
    fn of(name: &str) -> Option<Self> {
        match name {
            "gpt2" => Some(Self::Gpt2),
            "cl100k_base" | "llama3" => Some(Self::Cl100k),
            "o200k_base" => Some(Self::O200k),
            "qwen2" => Some(Self::Qwen2),
            _ => None,
        }
    }
}

/// A scanner and the instructions it uses.
#[derive(Debug, Clone, Copy)]
pub(super) struct Scanner {
    name: ScannerName,
    level: SimdLevel,
}

impl Scanner {
    /// The scanner of a pattern's name.
    pub(super) fn new(name: &str, level: SimdLevel) -> Option<Self> {
        ScannerName::of(name).map(|name| Self { name, level })
    }

    /// Write the ends of the next matches from `at` on into `ends`, and return how many: 0 only at the end of the text.
    #[inline]
    pub(super) fn fill(self, text: &str, at: usize, ends: &mut [u32]) -> usize {
        match self.name {
            ScannerName::Gpt2 => self.fill_by::<Gpt2>(text, at, ends),
            ScannerName::Cl100k => self.fill_by::<Cl100k<3>>(text, at, ends),
            ScannerName::O200k => self.fill_by::<O200k>(text, at, ends),
            ScannerName::Qwen2 => self.fill_by::<Cl100k<1>>(text, at, ends),
        }
    }

    fn fill_by<R: PatternRules>(self, text: &str, at: usize, ends: &mut [u32]) -> usize {
        self.level.run(vector::Fill::<R>::new(text, at, ends))
    }

    /// The end of the match that begins at `at`, which is before the end of the text.
    pub(super) fn match_end(self, text: &str, at: usize) -> usize {
        let mut end = [0];
        self.fill(text, at, &mut end);
        end[0] as usize
    }
}
