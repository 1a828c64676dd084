//! The agreement of added tokens and a vocabulary.

use std::collections::HashMap;

use crate::config::{AddedToken, Config, ModelConfig};
use crate::error::{Code, Error, Result};
use crate::normalize::Normalizer;
use crate::regex::StepBudget;
use crate::vocabulary::{MAX_IDS, Vocabulary};

/// Check that added tokens have valid ids and agree with the vocabulary about literals that both have.
pub(super) fn check(config: &Config, vocabulary: &Vocabulary) -> Result<()> {
    // As in Hugging Face, a literal is compared with an entry as it is written.
    let bytes = |token: &AddedToken| vocabulary.spelling().bytes(&token.content);
    let written: Vec<Option<Vec<u8>>> = config.added_tokens.iter().map(bytes).collect();
    let mut others: HashMap<&[u8], Option<u32>> = written.iter().flatten().map(|bytes| (&bytes[..], None)).collect();
    // Nearly all literals begin with the same byte, and few entries do.
    let mut begins = [false; 256];
    others.keys().filter_map(|bytes| bytes.first()).for_each(|byte| begins[usize::from(*byte)] = true);
    for (id, bytes) in vocabulary.tokens().filter(|(_, bytes)| begins[usize::from(bytes[0])]) {
        if let Some(other) = others.get_mut(bytes).filter(|_| !vocabulary.is_opaque(id)) {
            other.get_or_insert(id);
        }
    }
    for (at, (token, written)) in config.added_tokens.iter().zip(&written).enumerate() {
        let AddedToken { id, content, .. } = token;
        if *id >= MAX_IDS {
            let message = format!("the id {id} of {content:?} is not below {MAX_IDS}");
            return Err(Error::new(Code::IdOutOfRange, message).at_field(format!("added_tokens[{at}].id")));
        }
        let other = written.as_deref().and_then(|bytes| *others.get(bytes)?);
        if let Some(other) = other.filter(|other| other != id) {
            let message = format!("the vocabulary has {content:?} with the id {other}, the added token has {id}");
            return Err(Error::new(Code::IdConflict, message).at_field(format!("added_tokens[{at}].id")));
        }
        // A literal that is spelled like the entry of other bytes, as `é` is like the byte 0xE9, would be decoded to
        // something else than was encoded.
        let is_other = |entry: String| entry != *content || vocabulary.bytes(*id) != Some(content.as_bytes());
        if vocabulary.entry(*id).is_some_and(is_other) {
            let message = format!("the id {id} of {content:?} is another token of the vocabulary");
            return Err(Error::new(Code::IdConflict, message).at_field(format!("added_tokens[{at}].id")));
        }
    }
    Ok(())
}

/// The added tokens as decoders see them: as in Hugging Face, one that is looked for in the normalized text is its
/// normalized literal, unless tokens are bytes.
///
/// # Errors
/// The error of the normalizer, where a literal is too much for it.
pub(super) fn decoded_literals(config: &Config, normalizer: &Normalizer) -> Result<Vec<AddedToken>> {
    let mut added = config.added_tokens.clone();
    let is_text = config.model != ModelConfig::ByteBpe;
    for token in added.iter_mut().filter(|token| is_text && token.normalized) {
        if let Some(normalized) = normalizer.normalize(&token.content, &mut StepBudget::default())? {
            token.content = normalized.text;
        }
    }
    Ok(added)
}
