//! The vocabulary as the source has it: bytes by id, with holes, and the merges in rank order.

pub mod byte_entry;
pub mod token_table;

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use sha2::{Digest, Sha256};

use crate::byte_level::{bytes_to_text, text_to_bytes};
use crate::error::{Code, Error, Result};

/// No id, no matter what a file says, may reach this: tables are sized by the highest id.
/// 16 times the largest public vocabulary (o200k_base has about 200,000 entries; 262,144 is the largest in use).
pub const MAX_IDS: u32 = 1 << 22;

/// Numbers that are hashed at once.
const HASHED: usize = 1024;

/// One merge in rank order: the ids of the two parts and of their product.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Merge {
    /// Left part.
    pub left: u32,
    /// Right part.
    pub right: u32,
    /// The token they become.
    pub product: u32,
}

/// The spelling of the entries in a file.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Spelling {
    /// As characters of the byte alphabet, each of which is a byte.
    #[default]
    ByteLevel,
    /// As they are: the bytes of an entry are its UTF-8, also where it stands for other text, as `##ing` and `<0x0A>`.
    Text,
}

impl Spelling {
    /// The bytes of an entry or a literal that is written so; `None` for text outside the byte alphabet.
    pub fn bytes(self, text: &str) -> Option<Vec<u8>> {
        match self {
            Self::ByteLevel => text_to_bytes(text),
            Self::Text => Some(text.as_bytes().to_vec()),
        }
    }
}

/// Bytes by id, the merges, and the scores.
#[derive(Debug, Clone)]
pub struct Vocabulary {
    arena: Vec<u8>,
    /// `offsets[id]..offsets[id + 1]` is the token in the arena; an empty range is a hole.
    offsets: Vec<u32>,
    /// Shared, since leaving entries out changes no merge.
    merges: Arc<Vec<Merge>>,
    /// Ids whose entry is not a string of the byte alphabet: kept for the way back, never produced by merges.
    opaque: Vec<u32>,
    spelling: Spelling,
    /// By id, 0 for a hole; empty where entries have none. Shared as merges are.
    scores: Arc<Vec<f64>>,
    /// The id of the token without bytes, which no text becomes.
    empty: Option<u32>,
}

impl Vocabulary {
    /// Build from `(id, bytes)` in any order.
    ///
    /// `opaque` lists the ids whose bytes are a literal outside the byte alphabet.
    ///
    /// # Errors
    /// `duplicate_id`, `id_out_of_range`, `invalid_file` (an empty token), `merge_out_of_vocab`.
    pub fn new<B: AsRef<[u8]>>(mut tokens: Vec<(u32, B)>, merges: Vec<Merge>, mut opaque: Vec<u32>) -> Result<Self> {
        tokens.sort_unstable_by_key(|(id, _)| *id);
        let mut arena = Vec::with_capacity(tokens.iter().map(|(_, bytes)| bytes.as_ref().len()).sum());
        let mut offsets = Vec::with_capacity(tokens.len() + 1);
        offsets.push(0_u32);
        for (id, bytes) in &tokens {
            let bytes = bytes.as_ref();
            if *id >= MAX_IDS {
                return Err(Error::new(Code::IdOutOfRange, format!("id {id} is not below {MAX_IDS}")));
            }
            if bytes.is_empty() {
                return Err(Error::new(Code::InvalidFile, format!("the token with id {id} is empty")));
            }
            if offsets.len() > *id as usize + 1 {
                return Err(Error::new(Code::DuplicateId, format!("two tokens have the id {id}")));
            }
            let start = arena_offset(arena.len())?;
            offsets.resize(*id as usize + 1, start);
            arena.extend_from_slice(bytes);
            offsets.push(arena_offset(arena.len())?);
        }
        opaque.sort_unstable();
        let (spelling, scores) = (Spelling::ByteLevel, Arc::default());
        let vocabulary = Self { arena, offsets, merges: Arc::new(merges), opaque, spelling, scores, empty: None };
        for (rank, merge) in vocabulary.merges.iter().enumerate() {
            if [merge.left, merge.right, merge.product].iter().any(|id| vocabulary.bytes(*id).is_none()) {
                return Err(Error::new(Code::MergeOutOfVocab, "a merge names an id that is not in the vocabulary")
                    .at_field(format!("merges[{rank}]")));
            }
        }
        Ok(vocabulary)
    }

    /// Build from `(id, entry)` whose bytes are the entries as they are.
    ///
    /// `scores` are those of all ids below the limit, or none.
    ///
    /// # Errors
    /// As [`Self::new`]; `invalid_file` for a score that is not a number.
    pub fn of_texts<T: AsRef<[u8]>>(tokens: Vec<(u32, T)>, merges: Vec<Merge>, scores: Vec<f64>) -> Result<Self> {
        let vocabulary = Self::new(tokens, merges, Vec::new())?;
        if let Some(id) = scores.iter().position(|score| !score.is_finite()) {
            return Err(Error::new(Code::InvalidFile, format!("the score of the id {id} is not a number")));
        }
        if !scores.is_empty() && scores.len() != vocabulary.id_limit() as usize {
            return Err(Error::new(Code::InvalidFile, "there are not as many scores as ids"));
        }
        Ok(Self { spelling: Spelling::Text, scores: Arc::new(scores), ..vocabulary })
    }

    /// The same tokens with other merges, each of which names tokens that are there.
    #[must_use]
    pub fn with_merges(self, merges: Vec<Merge>) -> Self {
        Self { merges: Arc::new(merges), ..self }
    }

    /// The same tokens with one without bytes, whose id no other has and is below `MAX_IDS`; unchanged for `None`.
    #[must_use]
    pub fn with_empty(mut self, empty: Option<u32>) -> Self {
        let limit = empty.map_or(0, |id| id as usize + 2).max(self.offsets.len());
        self.offsets.resize(limit, self.arena.len() as u32);
        Self { empty, ..self }
    }

    /// The id of the token without bytes, which is not among [`Self::tokens`].
    pub fn empty(&self) -> Option<u32> {
        self.empty
    }

    /// The token's bytes, or `None` for a hole.
    #[inline]
    pub fn bytes(&self, id: u32) -> Option<&[u8]> {
        let at = id as usize;
        let (start, end) = (*self.offsets.get(at)?, *self.offsets.get(at + 1)?);
        (start < end || self.empty == Some(id)).then(|| &self.arena[start as usize..end as usize])
    }

    /// Tell whether the entry is a literal outside the byte alphabet.
    pub fn is_opaque(&self, id: u32) -> bool {
        self.opaque.binary_search(&id).is_ok()
    }

    /// Return the spelling of the entries in the file.
    pub fn spelling(&self) -> Spelling {
        self.spelling
    }

    /// The entry as `tokenizer.json` writes it: in the byte alphabet, or as it is if it is opaque.
    pub fn entry(&self, id: u32) -> Option<String> {
        let bytes = self.bytes(id)?;
        let as_it_is = self.spelling == Spelling::Text || self.is_opaque(id);
        Some(if as_it_is { String::from_utf8_lossy(bytes).into_owned() } else { bytes_to_text(bytes) })
    }

    /// The score of each id, or none at all.
    pub fn scores(&self) -> &[f64] {
        &self.scores
    }

    /// One more than the highest id; holes count.
    pub fn id_limit(&self) -> u32 {
        (self.offsets.len() - 1) as u32
    }

    /// The merges, lowest rank first.
    pub fn merges(&self) -> &[Merge] {
        &self.merges
    }

    /// Every `(id, bytes)` in the order of ids, without the holes and the token without bytes.
    pub fn tokens(&self) -> impl Iterator<Item = (u32, &[u8])> {
        (0..self.id_limit()).filter_map(|id| Some((id, self.bytes(id).filter(|bytes| !bytes.is_empty())?)))
    }

    /// The id of each of the 256 bytes.
    ///
    /// # Errors
    /// `missing_byte`, naming the first that has none.
    pub fn byte_ids(&self) -> Result<[u32; 256]> {
        let singles = self.single_bytes();
        let mut ids = [0; 256];
        for byte in 0..=255_u8 {
            ids[byte as usize] = *singles.get(&byte).ok_or_else(|| {
                Error::new(Code::MissingByte, format!("the vocabulary has no token for the byte 0x{byte:02X}"))
            })?;
        }
        Ok(ids)
    }

    fn single_bytes(&self) -> HashMap<u8, u32> {
        let singles = self.tokens().filter(|(id, bytes)| bytes.len() == 1 && !self.is_opaque(*id));
        singles.map(|(id, bytes)| (bytes[0], id)).collect()
    }

    /// The bytes that have no token of their own: text that holds one cannot be encoded. Where entries are text, the
    /// model knows what it cannot encode.
    pub fn missing_bytes(&self) -> MissingBytes {
        let mut missing = MissingBytes { is_missing: [false; 256] };
        if self.spelling == Spelling::Text {
            return missing;
        }
        let singles = self.single_bytes();
        (0..=255_u8).for_each(|byte| missing.is_missing[usize::from(byte)] = !singles.contains_key(&byte));
        missing
    }

    /// The same vocabulary with a token for every byte, so that merging needs no case for bytes that have none. The ids
    /// of the added ones are nobody's: text that would become one is refused before.
    ///
    /// # Errors
    /// `id_out_of_range`: there is no room for them.
    pub fn completed(&self, missing: &MissingBytes) -> Result<Self> {
        let bytes: Vec<u8> = missing.bytes().collect();
        let stand_ins = (self.id_limit()..).zip(bytes.chunks(1));
        let merges = self.merges.to_vec();
        let completed = Self::new(self.tokens().chain(stand_ins).collect(), merges, self.opaque.clone())?;
        Ok(completed.with_empty(self.empty))
    }

    /// The same vocabulary with holes in the place of `ids`, which no merge may name.
    #[must_use]
    pub fn without(&self, ids: &HashSet<u32>) -> Self {
        let mut kept = Self {
            arena: Vec::with_capacity(self.arena.len()),
            offsets: Vec::with_capacity(self.offsets.len()),
            merges: Arc::clone(&self.merges),
            opaque: Vec::new(),
            spelling: self.spelling,
            scores: Arc::clone(&self.scores),
            empty: None,
        };
        kept.offsets.push(0);
        for (id, bytes) in self.tokens().filter(|(id, _)| !ids.contains(id)) {
            kept.offsets.resize(id as usize + 1, kept.arena.len() as u32);
            kept.arena.extend_from_slice(bytes);
            kept.offsets.push(kept.arena.len() as u32);
        }
        kept.opaque.extend(self.opaque.iter().filter(|id| !ids.contains(id)));
        kept.with_empty(self.empty.filter(|id| !ids.contains(id)))
    }

    /// SHA-256 over every id, its bytes and every merge: equal digests mean equal vocabularies, whatever file they came
    /// from.
    pub fn digest(&self) -> [u8; 32] {
        let mut hasher = Sha256::new();
        hasher.update(b"tokd vocabulary 1\n");
        for table in [&self.offsets, &self.opaque] {
            hasher.update((table.len() as u64).to_le_bytes());
            hash_words(&mut hasher, table.iter().copied());
        }
        hasher.update(&self.arena);
        hash_words(&mut hasher, self.merges.iter().flat_map(|merge| [merge.left, merge.right, merge.product]));
        if self.spelling == Spelling::Text {
            hasher.update(b"text");
            let words = |score: &f64| [score.to_bits() as u32, (score.to_bits() >> 32) as u32];
            hash_words(&mut hasher, self.scores.iter().flat_map(words));
        }
        if let Some(id) = self.empty {
            hasher.update(b"empty");
            hasher.update(id.to_le_bytes());
        }
        hasher.finalize().into()
    }
}

/// The bytes that no token of a vocabulary stands for alone.
#[derive(Debug, Clone)]
pub struct MissingBytes {
    is_missing: [bool; 256],
}

impl MissingBytes {
    /// Tell whether every byte has a token.
    pub fn is_empty(&self) -> bool {
        !self.is_missing.contains(&true)
    }

    /// The bytes, in order.
    pub fn bytes(&self) -> impl Iterator<Item = u8> + '_ {
        (0..=255_u8).filter(|byte| self.is_missing[usize::from(*byte)])
    }

    /// Check that a text needs none of them.
    ///
    /// # Errors
    /// `uncovered_text`, at the first character that needs one.
    pub fn check(&self, text: &str) -> Result<()> {
        let Some(at) = text.bytes().position(|byte| self.is_missing[usize::from(byte)]) else { return Ok(()) };
        let start = text.floor_char_boundary(at);
        let end = text.ceil_char_boundary(at + 1);
        let message = format!("the vocabulary has no token for the byte 0x{:02X} of this text", text.as_bytes()[at]);
        Err(Error::new(Code::UncoveredText, message).at_bytes(start..end))
    }
}

/// A few together: the hasher takes longer to begin than to hash four bytes.
fn hash_words(hasher: &mut Sha256, words: impl Iterator<Item = u32>) {
    let mut bytes = Vec::with_capacity(4 * HASHED);
    for word in words {
        bytes.extend_from_slice(&word.to_le_bytes());
        if bytes.len() == 4 * HASHED {
            hasher.update(&bytes);
            bytes.clear();
        }
    }
    hasher.update(&bytes);
}

/// A place in an arena of the bytes of tokens, or the length of one, in four bytes.
///
/// # Errors
/// `invalid_file` from 4 GiB on.
pub(crate) fn arena_offset(bytes: usize) -> Result<u32> {
    u32::try_from(bytes).map_err(|_| Error::new(Code::InvalidFile, "the tokens are longer than 4 GiB together"))
}
