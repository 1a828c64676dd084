//! The hand-written scanners: their names, and the path that each runs on.

use super::rules::{Cl100k, Gpt2, O200k, Rules};
use super::vector;
use crate::machine::path::Path;

/// A pattern that has a scanner.
#[derive(Debug, Clone, Copy)]
enum Name {
    /// GPT-2.
    Gpt2,
    /// cl100k_base, and Llama 3, whose pattern cuts the same.
    Cl100k,
    /// o200k_base.
    O200k,
    /// Qwen2: cl100k_base with single digits.
    Qwen2,
}

impl Name {
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
pub(crate) struct Scanner {
    name: Name,
    /// One that the machine has.
    path: Path,
}

impl Scanner {
    /// The scanner of a pattern's name, on the portable path if the machine lacks `path`.
    pub(super) fn new(name: &str, path: Path) -> Option<Self> {
        let path = if path.is_available() { path } else { Path::Portable };
        Name::of(name).map(|name| Self { name, path })
    }

    /// Write the ends of the next matches from `at` on into `ends`, and return how many: 0 only at the end of the text.
    #[inline]
    pub(crate) fn fill(self, text: &str, at: usize, ends: &mut [u32]) -> usize {
        match self.name {
            Name::Gpt2 => self.fill_by::<Gpt2>(text, at, ends),
            Name::Cl100k => self.fill_by::<Cl100k<3>>(text, at, ends),
            Name::O200k => self.fill_by::<O200k>(text, at, ends),
            Name::Qwen2 => self.fill_by::<Cl100k<1>>(text, at, ends),
        }
    }

    fn fill_by<R: Rules>(self, text: &str, at: usize, ends: &mut [u32]) -> usize {
        match self.path {
            Path::Portable => vector::fill_portable::<R>(text, at, ends),
            #[cfg(target_arch = "x86_64")]
            // SAFETY: `new` made sure that the machine has the path.
            Path::Avx2 => unsafe { vector::fill_avx2::<R>(text, at, ends) },
            #[cfg(not(target_arch = "x86_64"))]
            Path::Avx2 => vector::fill_portable::<R>(text, at, ends),
        }
    }

    /// How many of the pieces that [`Self::fill`] found stay as they are if the text ends at the last of them, or
    /// anywhere after it: all up to the last that does not end in white space.
    ///
    /// The patterns say what a match is made of, and not what follows it; so where a text ends sooner, the matches
    /// before are the same. A cased word gives back the capitals that no small letter follows, however many there are.
    /// Only white space is cut before its last character if something else follows (`(?!\S)`).
    pub(crate) fn settled(self, text: &str, ends: &[u32]) -> usize {
        let is_settled = |end: &u32| !text[..*end as usize].ends_with(char::is_whitespace);
        ends.iter().rposition(is_settled).map_or(0, |at| at + 1)
    }

    /// The end of the match that begins at `at`, which is before the end of the text.
    pub(super) fn match_end(self, text: &str, at: usize) -> usize {
        let mut end = [0];
        self.fill(text, at, &mut end);
        end[0] as usize
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use proptest::sample::select;

    use super::*;

    /// One character of each kind that the patterns tell apart, and runs of them.
    fn text() -> impl Strategy<Value = String> {
        let characters: Vec<char> = "aslrevdSLRAÉǅʰ中あ\u{301}1²٠'’ſ/!😀 \n\r\t\u{3000}".chars().collect();
        let single = select(characters.clone()).prop_map(String::from);
        let run = (select(characters), 1..40_usize).prop_map(|(character, count)| character.to_string().repeat(count));
        prop::collection::vec(prop_oneof![4 => single, 1 => run], 1..120).prop_map(|parts| parts.concat())
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(1000))]

        #[test]
        fn settled_pieces_stay_wherever_the_text_ends(text in text(), room in 1..100_usize) {
            for name in ["gpt2", "cl100k_base", "o200k_base", "qwen2"] {
                let scanner = Scanner::new(name, Path::Portable).unwrap();
                let mut ends = vec![0; room];
                let count = scanner.fill(&text, 0, &mut ends);
                let settled = &ends[..scanner.settled(&text, &ends[..count])];
                let last = ends[count - 1] as usize;
                for end in (last..=text.len()).filter(|end| text.is_char_boundary(*end)) {
                    let mut start = 0;
                    for settled in settled {
                        start = scanner.match_end(&text[..end], start);
                        prop_assert_eq!(start, *settled as usize, "{} up to {}", name, end);
                    }
                }
            }
        }
    }

    #[test]
    fn nearly_all_pieces_of_a_text_are_settled() {
        for text in ["The cat's whiskers, 1234 of them. ", "Кошка и мышка. ", "猫が好きです。", "x\n        "]
        {
            let text = text.repeat(50);
            let scanner = Scanner::new("o200k_base", Path::Portable).unwrap();
            let mut ends = [0; 60];
            let count = scanner.fill(&text, 0, &mut ends);
            assert!(count > 40 && scanner.settled(&text, &ends[..count]) + 10 > count, "{text}");
        }
    }
}
