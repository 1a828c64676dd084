//! The stage that makes bytes of ids: the way back from a model.

use std::fmt::Debug;

use super::{LoadId, TokenBytes};
use crate::error::Result;

/// A decoder, which turns the tokens of a sequence into its bytes. The sequence may come in parts: however it is cut,
/// the bytes are the same.
pub trait Decoder: Debug + Send + Sync {
    /// The necessary information about the ids before, and the bytes that later ones may change.
    type State: Debug + Default + Send;

    /// Append the bytes of the next ids, each of which is loaded once, as far as no later id changes them.
    ///
    /// # Errors
    /// `unknown_token_id` with the index of the first that is not a token; then the state is as before.
    fn push(
        &self,
        tokens: &TokenBytes,
        ids: &[impl LoadId],
        skip_special_tokens: bool,
        state: &mut Self::State,
        bytes: &mut Vec<u8>,
    ) -> Result<()>;

    /// Append what was held back: no id follows.
    ///
    /// # Errors
    /// The error of a stage for which a text is too much.
    fn finish(&self, _state: &mut Self::State, _bytes: &mut Vec<u8>) -> Result<()> {
        Ok(())
    }

    /// Append the bytes of a whole sequence.
    ///
    /// # Errors
    /// As [`Self::push`].
    fn append(
        &self,
        tokens: &TokenBytes,
        ids: &[impl LoadId],
        skip_special_tokens: bool,
        bytes: &mut Vec<u8>,
    ) -> Result<()> {
        let mut state = Self::State::default();
        self.push(tokens, ids, skip_special_tokens, &mut state, bytes)?;
        self.finish(&mut state, bytes)
    }
}

/// The bytes of all tokens, joined: what byte-level models need.
#[derive(Debug, Clone, Copy, Default)]
pub struct Join;

impl Decoder for Join {
    type State = ();

    #[inline]
    fn push(
        &self,
        tokens: &TokenBytes,
        ids: &[impl LoadId],
        skip_special_tokens: bool,
        _state: &mut (),
        bytes: &mut Vec<u8>,
    ) -> Result<()> {
        tokens.append(ids, skip_special_tokens, bytes)
    }
}
