//! A chain of stages from the texts of tokens to text, one token at a time.

use super::{Decoder, LoadId, TokenBytes};
use crate::capacity::reserve;
use crate::config::DecoderStage;
use crate::error::Result;

/// Stages in their order.
#[derive(Debug)]
pub struct Chain {
    stages: Vec<DecoderStage>,
}

/// What stages know of the tokens before.
#[derive(Debug, Clone, Default)]
pub struct State {
    /// A token came before.
    begun: bool,
}

impl Chain {
    /// These stages.
    pub(super) fn new(stages: &[DecoderStage]) -> Self {
        Self { stages: stages.to_vec() }
    }
}

impl Decoder for Chain {
    type State = State;

    fn push(
        &self,
        tokens: &TokenBytes,
        ids: &[impl LoadId],
        skip_special_tokens: bool,
        state: &mut State,
        bytes: &mut Vec<u8>,
    ) -> Result<()> {
        let (before, start) = (state.clone(), bytes.len());
        for (index, id) in ids.iter().map(LoadId::load_id).enumerate() {
            let Some(token) = tokens.get(id) else {
                *state = before;
                bytes.truncate(start);
                return Err(tokens.unknown(&id.to_string(), index));
            };
            if skip_special_tokens && tokens.is_special(id) {
                continue;
            }
            reserve(bytes, token.len() + 1);
            for stage in &self.stages {
                match stage {
                    DecoderStage::Spaced if state.begun => bytes.push(b' '),
                    DecoderStage::Spaced => state.begun = true,
                }
            }
            bytes.extend_from_slice(token);
        }
        Ok(())
    }
}
