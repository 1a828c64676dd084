//! Text of a model whose words may depend on the sum of all before.

use std::ops::Range;

use super::Pipeline;
use crate::error::Result;
use crate::model::Token;
use crate::model::unigram::{Sums, Unigram};
use crate::output::Sink;
use crate::regex::StepBudget;
use crate::scratch::Scratch;

/// A sink between the words of a text and another, which gets those that depend on the words before them decided.
struct Words<'a>(Sums<'a>);

impl Sink for Words<'_> {
    fn added(&mut self, _id: u32, _source: Range<usize>) {}

    fn pieces(&mut self, _ids: &[u32]) {}

    fn tokens(&mut self, tokens: &[Token]) {
        self.0.take(tokens);
    }
}

impl Pipeline {
    /// Encode a text, on one thread.
    pub(super) fn encode_summed<S: Sink>(
        &self,
        model: &Unigram,
        text: &str,
        steps: &mut StepBudget,
        scratch: &mut Scratch,
        sink: &mut S,
    ) -> Result<()> {
        let mut give = |tokens: &[Token]| if S::COUNTS { sink.counted(tokens.len()) } else { sink.tokens(tokens) };
        let mut words = Words(Sums::new(model, text, &mut give));
        self.encode_cut(text, steps, scratch, &mut words)?;
        Ok(words.0.uncovered()?)
    }
}
