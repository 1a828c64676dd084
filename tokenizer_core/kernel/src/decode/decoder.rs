//! The stage that makes bytes of ids: the way back from a model.

use std::fmt::Debug;

use super::{LoadId, TokenBytes};
use crate::error::Result;

/// The next ids of a sequence.
#[derive(Debug, Clone, Copy)]
pub struct SequenceIds<'i, I> {
    /// The tokens of all ids.
    pub tokens: &'i TokenBytes,
    /// Each is loaded once.
    pub ids: &'i [I],
    /// True if special tokens are left out.
    pub skip_special_tokens: bool,
}

impl<'i, I: LoadId> SequenceIds<'i, I> {
    /// The ids that are decoded, with the bytes of each.
    ///
    /// # Errors
    /// `unknown_token_id` with the index of the first that is not a token.
    pub(super) fn decoded(&self) -> Result<Vec<(u32, &'i [u8])>> {
        let Self { tokens, ids, skip_special_tokens } = *self;
        let mut found = Vec::with_capacity(ids.len());
        for (index, id) in ids.iter().map(LoadId::load_id).enumerate() {
            let bytes = tokens.get(id).ok_or_else(|| tokens.unknown(&id.to_string(), index))?;
            if !(skip_special_tokens && tokens.table.is_special(id)) {
                found.push((id, bytes));
            }
        }
        Ok(found)
    }
}

/// A decoder, which turns the tokens of a sequence into its bytes. The sequence may come in parts: however it is cut,
/// the bytes are the same.
pub trait Decoder: Debug + Send + Sync {
    /// The necessary information about the ids before, and the bytes that later ones may change.
    type State: Debug + Default + Send;

    /// Append the bytes of the next ids, each of which is loaded once, as far as no later id changes them.
    ///
    /// # Errors
    /// `unknown_token_id` with the index of the first that is not a token; then the state is as before.
    fn push(&self, ids: SequenceIds<'_, impl LoadId>, state: &mut Self::State, bytes: &mut Vec<u8>) -> Result<()>;

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
    fn append(&self, ids: SequenceIds<'_, impl LoadId>, bytes: &mut Vec<u8>) -> Result<()> {
        let mut state = Self::State::default();
        self.push(ids, &mut state, bytes)?;
        self.finish(&mut state, bytes)
    }
}

/// The bytes of all tokens, joined: what byte-level models need.
#[derive(Debug, Clone, Copy, Default)]
pub struct Join;

impl Decoder for Join {
    type State = ();

    #[inline]
    fn push(&self, ids: SequenceIds<'_, impl LoadId>, _state: &mut (), bytes: &mut Vec<u8>) -> Result<()> {
        ids.tokens.append(ids.ids, ids.skip_special_tokens, bytes)
    }
}
