//! Places at which a text can be cut in two without changing a piece, so that a long document need not be held whole.
//!
//! Between a letter and a character that is neither letter nor mark nor apostrophe, every pattern that has a name ends a
//! piece, whatever stands before and behind: a run of letters ends there in all of them, only an apostrophe can carry it
//! on (`'s`), and no piece looks back at the one before. The normalization forms leave such a border alone too:
//! what composes with the character before it is a letter or a mark.

use crate::config::{Behavior, Config, NormalizerStage, Pattern, PretokenizerStage};
use crate::unicode::{LETTER, MARK, class};

/// The patterns for which the rule above was proved.
const NAMES: [&str; 5] = ["gpt2", "cl100k_base", "llama3", "o200k_base", "qwen2"];

/// Whether the pipeline lets its texts be cut.
pub fn may_cut(config: &Config) -> bool {
    let local = |stage: &NormalizerStage| {
        matches!(
            stage,
            NormalizerStage::Nfc
                | NormalizerStage::Nfd
                | NormalizerStage::Nfkc
                | NormalizerStage::Nfkd
                | NormalizerStage::Lowercase
                | NormalizerStage::StripAccents
        )
    };
    let first = config.pretokenizer.first();
    let named = matches!(first, Some(PretokenizerStage::Split { pattern: Pattern::Name(name), behavior: Behavior::Isolated, invert: false }) if NAMES.contains(&name.as_str()));
    named && !config.prefix_space && config.normalizer.iter().all(local)
}

/// The last place in `text[from..to]` at which it can be cut, as a position in `text`.
pub fn last_cut(text: &str, from: usize, to: usize) -> Option<usize> {
    let mut next: Option<(usize, char)> = None;
    let mut end = to.min(text.len());
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    for (at, character) in text.get(from..end)?.char_indices().rev() {
        if let Some((cut, behind)) = next
            && class(character) & LETTER != 0
            && behind != '\''
            && class(behind) & (LETTER | MARK) == 0
        {
            return Some(from + cut);
        }
        next = Some((at, character));
    }
    None
}
