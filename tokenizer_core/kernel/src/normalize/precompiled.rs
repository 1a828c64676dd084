//! A charsmap as Hugging Face applies it: to grapheme clusters of a few bytes, else to characters.

use unicode_segmentation::UnicodeSegmentation;

use super::Normalized;
use super::charsmap::Charsmap;
use super::rewriter::Rewriter;
use crate::error::Result;

/// A longer cluster is rewritten character by character.
const LONGEST: usize = 5;

/// A compiled map.
#[derive(Debug)]
pub(super) struct Precompiled {
    map: Charsmap,
    /// By character of ASCII: true if it is left as it is when it stands alone.
    keeps: [bool; 128],
}

impl Precompiled {
    /// Read the map.
    ///
    /// # Errors
    /// `invalid_file` for a broken one.
    pub(super) fn new(charsmap: &[u8]) -> Result<Self> {
        let map = Charsmap::new(charsmap)?;
        let mut keeps = [false; 128];
        for (byte, keeps) in (0_u8..).zip(&mut keeps) {
            *keeps = map.shortest(char::from(byte).encode_utf8(&mut [0; 4])).is_none();
        }
        Ok(Self { map, keeps })
    }

    /// Rewrite a text; `None` when nothing changes.
    ///
    /// The shortest key that a cluster or a character begins with stands for all of it.
    pub(super) fn rewrite(&self, text: &str) -> Option<Normalized> {
        let mut rewriter = Rewriter::new(text);
        let mut at = 0;
        while at < text.len() {
            let plain = self.plain_run(&text.as_bytes()[at..]);
            at += plain;
            let Some(cluster) = text[at..].graphemes(true).next() else { break };
            let start = at;
            at += cluster.len();
            if cluster.len() <= LONGEST
                && let Some(with) = self.map.shortest(cluster)
            {
                rewriter.put(start..at, with);
                continue;
            }
            for (place, character) in cluster.char_indices() {
                let end = place + character.len_utf8();
                if let Some(with) = self.map.shortest(&cluster[place..end]) {
                    rewriter.put(start + place..start + end, with);
                }
            }
        }
        rewriter.finish()
    }

    /// Count the characters of ASCII that are clusters by themselves and left as they are.
    fn plain_run(&self, bytes: &[u8]) -> usize {
        let keeps = |byte: &u8| *byte != b'\r' && self.keeps.get(usize::from(*byte)).is_some_and(|keeps| *keeps);
        let run = bytes.iter().position(|byte| !keeps(byte)).unwrap_or(bytes.len());
        if bytes.get(run).is_some_and(|byte| !byte.is_ascii()) { run.saturating_sub(1) } else { run }
    }
}
