//! Subword regularization: a segmentation is drawn in place of the one that a model prefers.
//!
//! Sampling is a property of a call. Pieces of such a call pass by all caches and go to [`AnyModel::sample`], one by
//! one and in order.

mod options;
pub(super) mod ordered;
pub(super) mod scaled;
pub(super) mod stream;

use std::ops::Range;

pub use self::options::{MAX_NBEST, Sampling, check_listed};
pub use self::scaled::Scaled;
pub use self::stream::Stream;
use super::bpe::dropout::Dropout;
use super::unigram::{self, CollectedPieces};
use super::{AnyModel, Covered, Token, Uncovered};

/// The treatment of the pieces of a call.
#[derive(Debug)]
pub enum Sampler {
    /// Their merges are made with some left out.
    Dropout(Box<Dropout>, Stream),
    /// A segmentation of each is drawn, with probabilities to this power.
    Alpha(f64, Stream),
    /// They are collected, because segmentations of the whole text are looked for; each is one token that is none.
    Collect(CollectedPieces),
    /// These are the tokens of the next pieces, which have been collected before.
    Given(std::vec::IntoIter<Token>),
}

/// The buffers of sampling.
#[derive(Debug, Default)]
pub struct SamplingBuffers {
    pub(super) dropout: super::bpe::dropout::DropoutBuffers,
    pub(super) unigram: unigram::sample::SampleBuffers,
}

impl SamplingBuffers {
    /// Give back the memory of long pieces, down to `entries` entries a buffer.
    pub fn shrink(&mut self, entries: usize) {
        self.dropout.shrink(entries);
        self.unigram.shrink(entries);
    }
}

impl AnyModel {
    /// Leave in `work.tokens` the tokens of a piece of `text`, at least one, whose bytes add up to those of the piece.
    ///
    /// # Errors
    /// The bytes of `text` that no token stands for.
    pub fn sample(
        &self,
        text: &[u8],
        piece: Range<usize>,
        sampler: &mut Sampler,
        work: &mut super::ModelBuffers,
    ) -> Covered {
        work.tokens.clear();
        match (self, sampler) {
            (Self::Bpe(model), Sampler::Dropout(dropout, stream)) => {
                model.sample(&text[piece], dropout, stream, work);
                Ok(())
            }
            (Self::CharBpe(model), Sampler::Dropout(dropout, stream)) => {
                model.sample(text, piece, dropout, stream, work)
            }
            (Self::WordBpe(model), Sampler::Dropout(dropout, stream)) => {
                model.sample(text, piece, dropout, stream, work)
            }
            (Self::Unigram(model), Sampler::Alpha(alpha, stream)) => model.sample(text, piece, *alpha, stream, work),
            (Self::Unigram(model), Sampler::Collect(pieces)) => {
                work.tokens.push(Token { id: unigram::UNDECIDED, bytes: piece.len() as u32 });
                model.collect(text, piece, pieces)
            }
            (_, Sampler::Given(tokens)) => {
                let mut bytes = 0;
                while bytes < piece.len()
                    && let Some(token) = tokens.next()
                {
                    bytes += token.bytes as usize;
                    work.tokens.push(token);
                }
                Ok(())
            }
            // `Sampling::check` has refused the call.
            _ => Err(Uncovered(piece)),
        }
    }
}
