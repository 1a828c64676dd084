//! Calls whose segmentations are drawn, or listed: their pieces pass by the caches.

use std::ops::Range;

use super::{EncodeOptions, Pipeline};
use crate::error::{Code, Error, Result};
use crate::model::bpe::dropout::Dropout;
use crate::model::sampling::{Sampler, Sampling, Scaled, Stream, check_listed};
use crate::model::unigram::sample::drawn;
use crate::model::unigram::{Unigram, Ways};
use crate::model::{AnyModel, Token};
use crate::output::Sink;
use crate::scratch::Scratch;

/// A segmentation of a text, and the sum of the scores of its tokens.
#[derive(Debug, Clone, PartialEq)]
pub struct Segmentation {
    /// Its ids, with those of added tokens.
    pub ids: Vec<u32>,
    /// The logarithm of its probability, which is not normalized.
    pub score: f64,
}

/// The way of drawing, and the seed of all that is random in it.
#[derive(Debug, Clone, Copy)]
pub struct Seeded {
    /// The way of drawing.
    pub sampling: Sampling,
    /// The seed.
    pub seed: u64,
}

impl Pipeline {
    /// Encode `text` into a segmentation that is drawn, the same as of the only text of a batch.
    ///
    /// # Errors
    /// As [`Pipeline::encode`], and `invalid_option` if the model cannot draw so.
    pub fn sample(&self, text: &str, options: EncodeOptions, seeded: Seeded, sink: &mut impl Sink) -> Result<()> {
        self.check_sampling(seeded.sampling)?;
        self.scratch.with(|scratch| self.sample_with(scratch, text, 0, options, seeded, sink))
    }

    /// Check that the model can draw so.
    ///
    /// # Errors
    /// `invalid_option`.
    pub(crate) fn check_sampling(&self, sampling: Sampling) -> Result<()> {
        sampling.check(&self.model)
    }

    /// The best segmentations of a text, at most `count`, the best first.
    ///
    /// # Errors
    /// As [`Pipeline::encode`], and `invalid_option` if the model has no scores.
    pub fn nbest(&self, text: &str, options: EncodeOptions, count: i64) -> Result<Vec<Segmentation>> {
        let count = check_listed(&self.model, count)?;
        self.scratch.with(|scratch| {
            let found = self.best(scratch, text, options, count, |scores| 0..scores.len())?;
            let listed = found.into_iter().map(|(score, tokens)| {
                let mut ids = Vec::new();
                self.run(scratch, text, options, Sampler::Given(tokens.into_iter()), &mut ids)?;
                Ok(Segmentation { ids, score })
            });
            listed.collect()
        })
    }

    /// As [`Self::sample`] of the text that is number `row` of a call, once that is checked.
    pub(crate) fn sample_with(
        &self,
        scratch: &mut Scratch,
        text: &str,
        row: usize,
        options: EncodeOptions,
        Seeded { sampling, seed }: Seeded,
        sink: &mut impl Sink,
    ) -> Result<()> {
        let mut stream = Stream::new(seed, row as u64);
        let sampler = match sampling {
            // What is left out of no merge is what the caches have.
            Sampling::Dropout(0.0) => return self.encode_with(scratch, text, options, sink),
            Sampling::Dropout(probability) => Sampler::Dropout(Box::new(Dropout::new(probability)), stream),
            Sampling::Alpha(alpha) => Sampler::Alpha(alpha, stream),
            Sampling::AmongBest { alpha, count } => {
                let one = |scores: &[f64]| {
                    let share = |score: &f64| Scaled::exp(alpha * (score - scores[0])).share(Scaled::ONE);
                    let choices: Vec<_> = scores.iter().map(share).enumerate().collect();
                    let at = drawn(&choices, &mut stream);
                    at..at + 1
                };
                let found = self.best(scratch, text, options, count, one)?;
                Sampler::Given(found.into_iter().flat_map(|(_, tokens)| tokens).collect::<Vec<_>>().into_iter())
            }
        };
        self.run(scratch, text, options, sampler, sink).map(drop)
    }

    /// The best segmentations: their scores, and the tokens of those that `wanted` says by the scores of all.
    fn best(
        &self,
        scratch: &mut Scratch,
        text: &str,
        options: EncodeOptions,
        count: usize,
        wanted: impl FnOnce(&[f64]) -> Range<usize>,
    ) -> Result<Vec<(f64, Vec<Token>)>> {
        let model = self.unigram()?;
        let collected = self.run(scratch, text, options, Sampler::Collect(Default::default()), &mut Vec::new())?;
        let Sampler::Collect(pieces) = collected else { return Ok(Vec::new()) };
        Ok(Ways::new(model, pieces).best(count, wanted)?)
    }

    fn unigram(&self) -> Result<&Unigram> {
        match &self.model {
            AnyModel::Unigram(model) => Ok(model),
            _ => Err(Error::new(Code::InvalidOption, "this model has no scores").at_field("nbest")),
        }
    }

    /// Encode a text with a sampler in place of the caches, and return it.
    fn run(
        &self,
        scratch: &mut Scratch,
        text: &str,
        options: EncodeOptions,
        sampler: Sampler,
        sink: &mut impl Sink,
    ) -> Result<Sampler> {
        scratch.sampler = Some(sampler);
        // On one thread: the pieces come in order.
        let encoded = self.encode_as(text, &mut self.call(options, scratch), sink);
        let sampler = scratch.sampler.take();
        encoded.map(|()| sampler.unwrap_or(Sampler::Given(Vec::new().into_iter())))
    }

    /// As [`Self::encode_pieces`], where there is a sampler.
    pub(super) fn sample_pieces(
        &self,
        text: &str,
        mut start: usize,
        places: Range<usize>,
        scratch: &mut Scratch,
        sink: &mut impl Sink,
    ) -> Result<usize> {
        let Scratch { sampler, work, ends, .. } = scratch;
        let Some(sampler) = sampler else { return Ok(start) };
        for end in ends[places].iter().map(|end| *end as usize) {
            self.model.sample(text.as_bytes(), start..end, sampler, work)?;
            if self.model.tiles() {
                let ids: Vec<u32> = work.tokens.iter().map(|token| token.id).collect();
                sink.pieces(&ids);
            } else {
                sink.tokens(&work.tokens);
            }
            start = end;
        }
        Ok(start)
    }
}
