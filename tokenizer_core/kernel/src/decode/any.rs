//! The decoder of a tokenizer.

use super::chain::Chain;
use super::{Decoder, Join, LoadId, TokenBytes, chain};
use crate::config::DecoderStage;
use crate::error::Result;

/// Which it is, is asked once for many ids.
#[derive(Debug)]
pub enum AnyDecoder {
    /// The bytes of all tokens, joined.
    Join(Join),
    /// Stages over the texts of tokens.
    Chain(Chain),
}

impl AnyDecoder {
    /// The decoder of these stages.
    pub fn new(stages: &[DecoderStage]) -> Self {
        if stages.is_empty() { Self::Join(Join) } else { Self::Chain(Chain::new(stages)) }
    }
}

impl Decoder for AnyDecoder {
    type State = chain::State;

    #[inline]
    fn push(
        &self,
        tokens: &TokenBytes,
        ids: &[impl LoadId],
        skip_special_tokens: bool,
        state: &mut chain::State,
        bytes: &mut Vec<u8>,
    ) -> Result<()> {
        match self {
            Self::Join(join) => join.push(tokens, ids, skip_special_tokens, &mut (), bytes),
            Self::Chain(chain) => chain.push(tokens, ids, skip_special_tokens, state, bytes),
        }
    }

    fn finish(&self, state: &mut chain::State, bytes: &mut Vec<u8>) {
        match self {
            Self::Join(join) => join.finish(&mut (), bytes),
            Self::Chain(chain) => chain.finish(state, bytes),
        }
    }
}
