//! BERT's normalizer and pretokenizer in one pass: words go to the model as they are written, and the way back is
//! made only where somebody asks for it.

use super::Pipeline;
use crate::config::{Config, NormalizerStage, PretokenizerStage};
use crate::error::Result;
use crate::normalize::Alignment;
use crate::normalize::bert::Bert;
use crate::normalize::written::Written;
use crate::output::{Sink, Stretch};
use crate::scratch::Scratch;

/// Text that is rewritten at a time, in bytes: few enough that it is still near when its pieces are looked up.
const SHARE: usize = 32 * 1024;

/// The pass, if these are all stages.
pub(super) fn words_of(config: &Config) -> Option<Box<Bert<true>>> {
    let is_plain = !config.prefix_space && config.added_tokens.iter().all(|token| !token.normalized);
    match (config.normalizer.as_slice(), config.pretokenizer.as_slice()) {
        ([NormalizerStage::Bert(rules)], [PretokenizerStage::Bert]) if is_plain => Some(Box::new(Bert::new(*rules))),
        _ => None,
    }
}

impl Pipeline {
    /// Encode text without added tokens that begins at `start` of the caller's.
    pub(super) fn encode_words<S: Sink>(
        &self,
        words: &Bert<true>,
        text: &str,
        start: usize,
        scratch: &mut Scratch,
        sink: &mut S,
    ) -> Result<()> {
        if S::SPANS {
            return self.encode_aligned_words(words, text, start, scratch, sink);
        }
        let mut written = std::mem::take(&mut scratch.written);
        let mut at = 0;
        while at < text.len() {
            // White space ends a word, whatever comes before and after.
            let later = text.as_bytes().get(at + SHARE..).and_then(|rest| memchr::memchr(b' ', rest));
            let end = later.map_or(text.len(), |space| at + SHARE + space);
            written.text.clear();
            written.ends.clear();
            words.run(&text[at..end], 0, &mut written);
            if self.encode_all(&written.text, &written.ends, scratch, sink).is_err() {
                // Now somebody asks for the place.
                return self.encode_aligned_words(words, text, start, scratch, sink);
            }
            at = end;
        }
        scratch.written = written;
        Ok(())
    }

    fn encode_aligned_words(
        &self,
        words: &Bert<true>,
        text: &str,
        start: usize,
        scratch: &mut Scratch,
        sink: &mut impl Sink,
    ) -> Result<()> {
        let mut written = Written::<Alignment>::default();
        words.run(text, 0, &mut written);
        let stretch = Stretch { start, alignment: Some(&written.trace), inner: 0, spaced: None };
        sink.stretch_begins(&stretch);
        self.encode_all(&written.text, &written.ends, scratch, sink)
            .map_err(|error| error.moved(|range| stretch.source(range)))?;
        sink.stretch_ended(&stretch, written.text.len());
        Ok(())
    }
}
