//! SentencePiece's way: the text is rewritten and not cut, and of Unigram words may depend on the sum of all before.

use std::ops::Range;

use super::{Call, Pipeline};
use crate::config::{Config, NormalizerStage};
use crate::error::Result;
use crate::model::unigram::{Sums, Unigram};
use crate::model::{AnyModel, Token};
use crate::normalize::sentencepiece::SentencePiece;
use crate::output::Sink;

/// A sink between the words of a text and another, which gets those that depend on the words before them decided.
struct SummedWords<'a>(Sums<'a>);

impl Sink for SummedWords<'_> {
    fn added(&mut self, _id: u32, _source: Range<usize>) {}

    fn pieces(&mut self, _ids: &[u32]) {}

    fn tokens(&mut self, tokens: &[Token]) {
        self.0.take(tokens);
    }
}

/// The only rewrite, if there is nothing else before the model.
pub(super) fn rules_of(config: &Config) -> Result<Option<Box<SentencePiece>>> {
    let is_plain = !config.prefix_space && config.added_tokens.iter().all(|token| !token.normalized);
    match (config.normalizer.as_slice(), config.pretokenizer.as_slice()) {
        ([NormalizerStage::SentencePiece(rules)], []) if is_plain => SentencePiece::new(rules).map(Box::new).map(Some),
        _ => Ok(None),
    }
}

impl Pipeline {
    /// Encode text without added tokens, and without the way back; return whether no place is asked for.
    pub(super) fn encode_rewritten<S: Sink>(
        &self,
        rules: &SentencePiece,
        text: &str,
        call: &mut Call<'_>,
        sink: &mut S,
    ) -> bool {
        if S::SPANS {
            return false;
        }
        let mut written = std::mem::take(&mut call.scratch.written);
        written.text.clear();
        rules.run(text, &mut written);
        let encoded = self.encode_whole(&written.text, call, sink);
        call.scratch.written = written;
        encoded.is_ok()
    }

    /// Encode what is not cut before the model.
    pub(super) fn encode_whole(&self, text: &str, call: &mut Call<'_>, sink: &mut impl Sink) -> Result<()> {
        match &self.model {
            AnyModel::Unigram(model) if model.sums_over_text() && call.scratch.sampler.is_none() => {
                self.encode_summed(model, text, call, sink)
            }
            _ => match self.encode_in_shares(text, call, sink)? {
                true => Ok(()),
                false => self.encode_cut(text, call, sink),
            },
        }
    }

    /// Encode a text, on one thread.
    fn encode_summed<S: Sink>(&self, model: &Unigram, text: &str, call: &mut Call<'_>, sink: &mut S) -> Result<()> {
        let mut give = |tokens: &[Token]| if S::COUNTS { sink.counted(tokens.len()) } else { sink.tokens(tokens) };
        let mut words = SummedWords(Sums::new(model, text, &mut give));
        self.encode_cut(text, call, &mut words)?;
        Ok(words.0.uncovered()?)
    }
}
