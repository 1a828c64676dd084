//! The decoder of a tokenizer.

use super::chain::Chain;
use super::sentencepiece::SentencePiece;
use super::{Decoder, Join, LoadId, SequenceIds, chain, sentencepiece};
use crate::config::DecoderStage;
use crate::error::Result;

/// A decoder of any kind. The kind is asked for once for many ids.
#[derive(Debug)]
pub enum AnyDecoder {
    /// The bytes of all tokens, joined.
    Join(Join),
    /// Stages over the texts of tokens.
    Chain(Chain),
    /// As SentencePiece does.
    SentencePiece(Box<SentencePiece>),
}

/// The state of whichever it is.
#[derive(Debug, Clone, Default)]
pub struct AnyState {
    chain: chain::ChainState,
    sentencepiece: sentencepiece::SentencePieceState,
}

impl AnyDecoder {
    /// The decoder of these stages.
    ///
    /// # Errors
    /// `invalid_option`, `invalid_pattern`, with the place in `decoder`.
    pub fn new(stages: &[DecoderStage]) -> Result<Self> {
        Ok(match stages {
            [] => Self::Join(Join),
            [DecoderStage::SentencePiece(settings)] => Self::SentencePiece(Box::new(SentencePiece::new(settings))),
            _ => Self::Chain(Chain::new(stages)?),
        })
    }
}

impl Decoder for AnyDecoder {
    type State = AnyState;

    #[inline]
    fn push(&self, ids: SequenceIds<'_, impl LoadId>, state: &mut AnyState, bytes: &mut Vec<u8>) -> Result<()> {
        match self {
            Self::Join(join) => join.push(ids, &mut (), bytes),
            Self::Chain(chain) => chain.push(ids, &mut state.chain, bytes),
            Self::SentencePiece(decoder) => decoder.push(ids, &mut state.sentencepiece, bytes),
        }
    }

    fn finish(&self, state: &mut AnyState, bytes: &mut Vec<u8>) -> Result<()> {
        match self {
            Self::Join(join) => join.finish(&mut (), bytes),
            Self::Chain(chain) => chain.finish(&mut state.chain, bytes),
            Self::SentencePiece(decoder) => decoder.finish(&mut state.sentencepiece, bytes),
        }
    }
}
