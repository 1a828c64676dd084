//! From entries as text and merges as text to a vocabulary; what `tokenizer.json` and `vocab.json` have in common.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};

use super::byte_alphabet::text_to_bytes;
use super::json::quote;
use crate::error::{Code, Error, Result};
use crate::vocabulary::{MAX_IDS, Merge, Vocabulary};

/// The two parts of a merge, as the file has them.
pub type Parts<'de> = (Cow<'de, str>, Cow<'de, str>);

/// Entries and merges as they stand in a file, and how that file names its places.
pub struct Entries<'de, 'a> {
    /// `(entry, id)` in the order of the file.
    pub vocab: &'a [(Cow<'de, str>, u32)],
    /// Lowest rank first.
    pub merges: &'a [Parts<'de>],
    /// The path of the object that holds the entries.
    pub vocab_path: &'a str,
    /// The place of a merge by its index.
    pub merge_place: &'a dyn Fn(usize) -> String,
}

impl Entries<'_, '_> {
    /// Look up every part and product, and build the vocabulary.
    ///
    /// # Errors
    /// `duplicate_id`, `duplicate_token`, `id_out_of_range`, `invalid_file`, `merge_out_of_vocab`, `missing_byte`.
    pub fn build(&self) -> Result<Vocabulary> {
        let ids = self.index()?;
        self.check_ids()?;
        let merges = self.resolve(&ids)?;
        drop(ids);
        let mut opaque = Vec::new();
        let tokens = self.vocab.iter().map(|(entry, id)| {
            let bytes = text_to_bytes(entry).unwrap_or_else(|| {
                opaque.push(*id);
                entry.as_bytes().to_vec()
            });
            (*id, bytes)
        });
        let tokens = tokens.collect();
        let vocabulary = Vocabulary::new(tokens, merges, opaque)?;
        vocabulary.byte_ids().map_err(|error| error.at_field(self.vocab_path))?;
        Ok(vocabulary)
    }

    fn index(&self) -> Result<HashMap<&str, u32>> {
        let mut ids = HashMap::with_capacity(self.vocab.len());
        for (entry, id) in self.vocab {
            if entry.is_empty() {
                return Err(Error::new(Code::InvalidFile, "an entry is empty").at_field(self.entry_place(entry)));
            }
            if ids.insert(entry.as_ref(), *id).is_some() {
                return Err(Error::new(Code::DuplicateToken, format!("the entry {} stands twice", quote(entry)))
                    .at_field(self.entry_place(entry)));
            }
        }
        Ok(ids)
    }

    fn check_ids(&self) -> Result<()> {
        let limit = self.vocab.iter().map(|(_, id)| *id as usize + 1).max().unwrap_or(0);
        let mut seen = vec![false; limit.min(MAX_IDS as usize)];
        for (entry, id) in self.vocab {
            let Some(seen) = seen.get_mut(*id as usize) else {
                return Err(Error::new(Code::IdOutOfRange, format!("id {id} is not below {MAX_IDS}"))
                    .at_field(self.entry_place(entry)));
            };
            if std::mem::replace(seen, true) {
                return Err(Error::new(Code::DuplicateId, format!("another entry has the id {id}"))
                    .at_field(self.entry_place(entry)));
            }
        }
        Ok(())
    }

    fn resolve(&self, ids: &HashMap<&str, u32>) -> Result<Vec<Merge>> {
        let mut product = String::new();
        let mut pairs = HashSet::with_capacity(self.merges.len());
        let mut merges = Vec::with_capacity(self.merges.len());
        for (rank, (left, right)) in self.merges.iter().enumerate() {
            product.clear();
            product.push_str(left);
            product.push_str(right);
            let id = |part: &str| {
                ids.get(part).copied().ok_or_else(|| {
                    let message = format!("{} is not in the vocabulary", quote(part));
                    Error::new(Code::MergeOutOfVocab, message).at_field((self.merge_place)(rank))
                })
            };
            let merge = Merge { left: id(left)?, right: id(right)?, product: id(&product)? };
            if !pairs.insert((merge.left, merge.right)) {
                return Err(Error::new(Code::InvalidFile, "the merge stands twice").at_field((self.merge_place)(rank)));
            }
            merges.push(merge);
        }
        Ok(merges)
    }

    fn entry_place(&self, entry: &str) -> String {
        format!("{}[{}]", self.vocab_path, quote(entry))
    }
}
