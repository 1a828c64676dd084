//! A chain of stages from the texts of tokens to text, one token at a time.

use super::word_piece;
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
            let mut text = String::from_utf8_lossy(token).into_owned();
            for stage in &self.stages {
                text = match stage {
                    DecoderStage::Spaced if state.begun => format!(" {text}"),
                    DecoderStage::Spaced => text,
                    DecoderStage::WordPiece { prefix, cleanup } => {
                        word_piece::decode(prefix, *cleanup, text, !state.begun)
                    }
                    // Stands alone.
                    DecoderStage::SentencePiece(_) => text,
                };
            }
            state.begun = true;
            reserve(bytes, text.len());
            bytes.extend_from_slice(text.as_bytes());
        }
        Ok(())
    }
}
