//! Ids back to bytes and text, whole or as they come.

use crate::config::AddedToken;
use crate::error::{Code, Error, Result};
use crate::vocabulary::Vocabulary;

/// So many bytes of a token are copied at once, whether it has them or not.
const OVERCOPY: usize = 16;

/// The bytes of every id, added tokens included, in one arena: decoding is a slice copy a token.
#[derive(Debug)]
pub struct TokenBytes {
    /// With [`OVERCOPY`] bytes behind the last token.
    arena: Vec<u8>,
    /// `(start, length)` in the arena; length 0 is a hole.
    places: Vec<(u32, u32)>,
    special: Vec<bool>,
}

impl TokenBytes {
    /// Lay out the vocabulary and the added tokens, whose bytes are their literals. Ids are below `MAX_IDS`.
    pub fn new(vocabulary: &Vocabulary, added_tokens: &[AddedToken]) -> Self {
        let added_limit = added_tokens.iter().map(|token| token.id + 1).max().unwrap_or(0);
        let limit = vocabulary.id_limit().max(added_limit) as usize;
        let arena = Vec::with_capacity(8 * limit);
        let mut tokens = Self { arena, places: vec![(0, 0); limit], special: vec![false; limit] };
        for (id, bytes) in vocabulary.tokens() {
            tokens.put(id, bytes);
        }
        for token in added_tokens {
            tokens.put(token.id, token.content.as_bytes());
            tokens.special[token.id as usize] = token.special;
        }
        tokens.arena.resize(tokens.arena.len() + OVERCOPY, 0);
        tokens
    }

    fn put(&mut self, id: u32, bytes: &[u8]) {
        if self.get(id) != Some(bytes) {
            self.places[id as usize] = (self.arena.len() as u32, bytes.len() as u32);
            self.arena.extend_from_slice(bytes);
        }
    }

    /// One more than the highest id.
    pub fn id_limit(&self) -> u32 {
        self.places.len() as u32
    }

    /// The bytes of a token, or `None` for a hole.
    #[inline]
    pub fn get(&self, id: u32) -> Option<&[u8]> {
        let (start, length) = *self.places.get(id as usize)?;
        (length > 0).then(|| &self.arena[start as usize..start as usize + length as usize])
    }

    /// Whether `skip_special_tokens` leaves this id out.
    #[inline]
    pub fn is_special(&self, id: u32) -> bool {
        self.special.get(id as usize).copied().unwrap_or(false)
    }

    /// Join the bytes of all ids.
    ///
    /// # Errors
    /// `unknown_token_id` with the index of the first that is no token.
    pub fn decode(&self, ids: &[u32], skip_special_tokens: bool) -> Result<Vec<u8>> {
        let mut total = 0;
        for (index, id) in ids.iter().enumerate() {
            match self.places.get(*id as usize) {
                Some((_, length)) if *length > 0 => total += *length as usize,
                _ => return Err(self.unknown(*id, index)),
            }
        }
        let mut bytes: Vec<u8> = Vec::with_capacity(total + OVERCOPY);
        if skip_special_tokens {
            let kept = ids.iter().filter(|id| !self.is_special(**id));
            kept.filter_map(|id| self.get(*id)).for_each(|token| bytes.extend_from_slice(token));
            return Ok(bytes);
        }
        let mut to = bytes.as_mut_ptr();
        for id in ids {
            let (start, length) = self.places[*id as usize];
            let (start, length) = (start as usize, length as usize);
            let from = self.arena[start..start + length.max(OVERCOPY)].as_ptr();
            // SAFETY: `from` begins a slice of at least `OVERCOPY` bytes and of at least the token's. The lengths of all
            // tokens together are `total`, so what stands before `to` and this token fit into `total`, and the surplus into
            // the `OVERCOPY` bytes behind it. The two vectors do not overlap.
            unsafe {
                std::ptr::copy_nonoverlapping(from, to, OVERCOPY);
                if length > OVERCOPY {
                    std::ptr::copy_nonoverlapping(from.add(OVERCOPY), to.add(OVERCOPY), length - OVERCOPY);
                }
                to = to.add(length);
            }
        }
        // SAFETY: the loop wrote the bytes of every token, which are `total`, from the start on.
        unsafe { bytes.set_len(total) };
        Ok(bytes)
    }

    /// How many bytes a token that is no hole has, and 0 for a hole.
    #[inline]
    pub fn length(&self, id: u32) -> u32 {
        self.places.get(id as usize).map_or(0, |(_, length)| *length)
    }

    fn unknown(&self, id: u32, index: usize) -> Error {
        let message = format!("no token has the id {id}; ids are below {}", self.id_limit());
        Error::new(Code::UnknownTokenId, message).at_index(index)
    }
}

/// UTF-8 decoder for bytes that come bit by bit: what it gave and what it gives at the end are the whole text.
#[derive(Debug, Clone, Default)]
pub struct StreamDecoder {
    /// The beginning of a character: at most three bytes.
    pending: Vec<u8>,
}

impl StreamDecoder {
    /// Take bytes; return all text that is certain by now. Invalid UTF-8 becomes U+FFFD by maximal subparts.
    pub fn push(&mut self, bytes: &[u8]) -> String {
        self.pending.extend_from_slice(bytes);
        let held = incomplete_tail(&self.pending);
        let certain = self.pending.len() - held;
        let text = String::from_utf8_lossy(&self.pending[..certain]).into_owned();
        self.pending.drain(..certain);
        text
    }

    /// End: what was held back was half a character.
    pub fn finish(&mut self) -> String {
        let text = String::from_utf8_lossy(&self.pending).into_owned();
        self.pending.clear();
        text
    }

    /// The bytes held back.
    pub fn pending(&self) -> &[u8] {
        &self.pending
    }
}

/// How many bytes at the end are the beginning of a character that more bytes could complete.
fn incomplete_tail(bytes: &[u8]) -> usize {
    let longest = bytes.len().min(3);
    (1..=longest)
        .rev()
        .find(|tail| {
            let tail = &bytes[bytes.len() - tail..];
            matches!(std::str::from_utf8(tail), Err(error) if error.valid_up_to() == 0 && error.error_len().is_none())
        })
        .unwrap_or(0)
}
