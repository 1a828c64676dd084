//! Compare added tokens with the vocabulary: contradictions, and entries that are only literals of added tokens.
//!
//! A file of Hugging Face may or may not have the literals of special tokens among its entries. An entry that no merge
//! makes and that is the literal of an added token is left out here. So a tokenizer has the same vocabulary whichever
//! way its file was written, and `ignore_merges` can never take a piece of ordinary text for such a literal. Where it
//! may do so, as for a token that is not special, the entry stays.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};

use super::json::quote;
use crate::added_tokens::{MAX_LITERAL, too_long};
use crate::error::{Code, Error, Result};
use crate::vocabulary::{MAX_IDS, Vocabulary};

/// The most for all literals together, in bytes: the search for them takes about 60 times their size.
const MAX_LITERALS: usize = 1 << 23;

/// Check `(id, literal)` of every added token, and leave out the entries that are nothing but these literals, save
/// those of the ids in `kept` that text can become.
///
/// # Errors
/// `duplicate_id`, `duplicate_token`, `id_conflict`, `id_out_of_range`, `invalid_file` (a literal that is empty or too
/// long), at
/// `added_tokens[i]`.
pub fn reconcile_added_tokens<'a>(
    vocabulary: &'a Vocabulary,
    added: &[(u32, &str)],
    kept: &HashSet<u32>,
) -> Result<Cow<'a, Vocabulary>> {
    let (mut by_id, mut by_entry) = (HashMap::new(), HashMap::new());
    let mut total = 0;
    for (index, (id, literal)) in added.iter().enumerate() {
        let at = |code, field: &str, message: String| {
            Err(Error::new(code, message).at_field(format!("added_tokens[{index}].{field}")))
        };
        if literal.is_empty() {
            return at(Code::InvalidFile, "content", "the literal is empty".to_owned());
        }
        if literal.len() > MAX_LITERAL {
            return at(Code::InvalidFile, "content", too_long(literal.len()));
        }
        total += literal.len();
        if total > MAX_LITERALS {
            let message = format!("the literals up to this one have {total} bytes, at most {MAX_LITERALS} may be");
            return at(Code::InvalidFile, "content", message);
        }
        if *id >= MAX_IDS {
            return at(Code::IdOutOfRange, "id", format!("id {id} is not below {MAX_IDS}"));
        }
        if by_id.insert(*id, index).is_some() {
            return at(Code::DuplicateId, "id", format!("another added token has the id {id}"));
        }
        let bytes = vocabulary.spelling().bytes(literal);
        let entry = (bytes.is_none(), bytes.unwrap_or_else(|| literal.as_bytes().to_vec()));
        if by_entry.insert(entry, index).is_some() {
            return at(
                Code::DuplicateToken,
                "content",
                format!("another added token has the literal {}", quote(literal)),
            );
        }
    }
    // Nearly all literals begin with `<` and have the highest ids, or the lowest: most entries need no look-up.
    let lowest = by_id.keys().min().copied().unwrap_or(MAX_IDS);
    let highest = by_id.keys().max().copied().unwrap_or(0);
    let may_be_added = |id: &u32| (lowest..=highest).contains(id);
    let merged: HashSet<u32> = vocabulary
        .merges()
        .iter()
        .flat_map(|merge| [merge.left, merge.right, merge.product])
        .filter(|id| may_be_added(id) && by_id.contains_key(id))
        .collect();
    let mut left_out = HashSet::new();
    let mut key = (false, Vec::new());
    let mut begins = [false; 256];
    by_entry.keys().for_each(|(_, bytes): &(bool, Vec<u8>)| begins[bytes[0] as usize] = true);
    for (id, bytes) in vocabulary.tokens().filter(|(id, bytes)| begins[bytes[0] as usize] || may_be_added(id)) {
        key.0 = vocabulary.is_opaque(id);
        key.1.clear();
        key.1.extend_from_slice(bytes);
        let (same_entry, same_id) = (by_entry.get(&key), by_id.get(&id));
        let Some(index) = same_entry.or(same_id) else { continue };
        let (added_id, literal) = added[*index];
        let conflict =
            |message: String| Err(Error::new(Code::IdConflict, message).at_field(format!("added_tokens[{index}].id")));
        if same_entry != same_id {
            return conflict(format!(
                "{} has the id {added_id}, but the vocabulary gives {}",
                quote(literal),
                if same_entry.is_some() { format!("it the id {id}") } else { "that id to another entry".to_owned() },
            ));
        }
        let is_byte = !key.0 && bytes.len() == 1;
        let is_text = !key.0 && str::from_utf8(bytes).is_ok();
        let stays = is_byte || merged.contains(&id) || is_text && kept.contains(&id);
        if !stays {
            left_out.insert(id);
        } else if bytes != literal.as_bytes() {
            return conflict(format!("the entry {} stands for other bytes than those of the literal", quote(literal)));
        }
    }
    Ok(if left_out.is_empty() { Cow::Borrowed(vocabulary) } else { Cow::Owned(vocabulary.without(&left_out)) })
}

#[cfg(test)]
#[path = "../../tests/unit/reconcile_added_tokens.rs"]
mod tests;
