//! A chain of stages from the texts of tokens to text, one token at a time.

use super::stages::{DecodeStage, Held, Next, compile};
use super::{Decoder, LoadId, SequenceIds};
use crate::config::DecoderStage;
use crate::error::Result;

/// Stages in their order.
#[derive(Debug)]
pub struct Chain {
    stages: Vec<DecodeStage>,
}

/// The data that each stage holds back; empty before the first token.
pub type ChainState = Vec<Held>;

impl Chain {
    /// Compile these stages.
    ///
    /// # Errors
    /// `invalid_option`, `invalid_pattern`, with the place in `decoder`.
    pub(super) fn new(stages: &[DecoderStage]) -> Result<Self> {
        compile(stages).map(|stages| Self { stages })
    }

    fn give(&self, texts: &[(u32, &[u8])], state: &mut ChainState, bytes: &mut Vec<u8>) -> Result<()> {
        for (_, text) in texts {
            let mut next = Next::new(&self.stages, state, bytes);
            match std::str::from_utf8(text) {
                Ok(text) => next.text(text)?,
                Err(_) => next.text(&String::from_utf8_lossy(text))?,
            }
            next.end()?;
        }
        Ok(())
    }
}

impl Decoder for Chain {
    type State = ChainState;

    fn push(&self, ids: SequenceIds<'_, impl LoadId>, state: &mut ChainState, bytes: &mut Vec<u8>) -> Result<()> {
        let texts = ids.decoded()?;
        state.resize_with(self.stages.len(), Held::default);
        let before = self.stages.iter().any(DecodeStage::can_fail).then(|| (state.clone(), bytes.len()));
        let given = self.give(&texts, state, bytes);
        if let (Err(_), Some((held, length))) = (&given, before) {
            *state = held;
            bytes.truncate(length);
        }
        given
    }

    fn finish(&self, state: &mut ChainState, bytes: &mut Vec<u8>) -> Result<()> {
        state.resize_with(self.stages.len(), Held::default);
        Next::new(&self.stages, state, bytes).finish()
    }
}
