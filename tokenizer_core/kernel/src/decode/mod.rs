//! Decode ids to bytes and text, at once or as a stream.

mod any;
mod chain;
mod decoder;
mod sentencepiece;
mod stages;
mod stream;
pub mod token_widths;
mod word_piece;

use std::mem::MaybeUninit;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use crate::capacity::reserve;
use crate::config::AddedToken;
pub use crate::decode::any::AnyDecoder;
use crate::decode::decoder::Join;
pub use crate::decode::decoder::{Decoder, SequenceIds};
pub use crate::decode::stream::{StreamDecoder, TextStream};
use crate::decode::token_widths::{TokenWidths, Unit, WidthTables};
use crate::error::{Code, Error, Result};
use crate::simd::prefetch::prefetch_at;
use crate::vocabulary::Vocabulary;
use crate::vocabulary::token_table::{Cell, MIDDLE, ROOM, TokenTable};

/// The longest length in the table of lengths, which has 0 for longer tokens, for holes and for special tokens.
const COUNTED: usize = 0x7F;

/// Ids for which room is made at once: a token may need far more room than most do.
const BLOCK: usize = 512;

/// Cells that are copied together.
const COPIED: usize = 4;

/// Ids so far ahead are prefetched.
const AHEAD: usize = 512;

/// An id in memory that other threads may write to.
pub trait LoadId {
    /// The id at this moment.
    fn load_id(&self) -> u32;
}

impl LoadId for u32 {
    #[inline(always)]
    fn load_id(&self) -> u32 {
        *self
    }
}

/// Loading it twice may give two ids.
impl LoadId for AtomicU32 {
    #[inline(always)]
    fn load_id(&self) -> u32 {
        self.load(Ordering::Relaxed)
    }
}

/// The bytes of every id, added tokens included: decoding is one copy of fixed size a token.
#[derive(Debug)]
pub struct TokenBytes {
    table: Arc<TokenTable>,
    lengths: Vec<u8>,
    widths: WidthTables,
}

impl TokenBytes {
    /// Lay out the vocabulary and the added tokens, whose bytes are their literals. Ids are below `MAX_IDS`.
    ///
    /// # Errors
    /// `invalid_file` for more than 4 GiB of tokens.
    pub fn new(vocabulary: &Vocabulary, added_tokens: &[AddedToken]) -> Result<Self> {
        let table = TokenTable::new(vocabulary, added_tokens)?;
        let length = |(id, cell): (u32, &Cell)| {
            let counted = || {
                let bytes = table.get(id).filter(|bytes| bytes.len() <= COUNTED && !table.is_special(id))?;
                Some(bytes.len() as u8)
            };
            cell.plain().or_else(counted).unwrap_or(0)
        };
        let lengths = (0..).zip(table.all()).map(length).collect();
        Ok(Self { table: Arc::new(table), lengths, widths: WidthTables::default() })
    }

    /// The bytes alone.
    pub(crate) fn table(&self) -> &Arc<TokenTable> {
        &self.table
    }

    /// One more than the highest id.
    pub fn id_limit(&self) -> u32 {
        self.table.id_limit()
    }

    /// The bytes of a token, or `None` for a hole.
    #[inline]
    pub fn get(&self, id: u32) -> Option<&[u8]> {
        self.table.get(id)
    }

    /// The length of a token in bytes, and 0 for a hole.
    #[inline]
    pub fn length(&self, id: u32) -> u32 {
        match self.lengths.get(id as usize).copied().unwrap_or(0) {
            0 => self.get(id).map_or(0, <[u8]>::len) as u32,
            length => u32::from(length),
        }
    }

    /// The length of each token in units of a text.
    pub(crate) fn widths(&self, unit: Unit) -> TokenWidths<'_> {
        self.widths.of(self, unit)
    }

    /// The room in bytes that [`Self::append`] reserves before it writes `ids` ids, or the first block of them.
    pub fn room_for(ids: usize) -> usize {
        ids.min(BLOCK) * MIDDLE + ROOM
    }

    /// Append the bytes of the ids, each of which is loaded once.
    ///
    /// # Errors
    /// `unknown_token_id` with the index of the first that is not a token.
    pub fn append(&self, ids: &[impl LoadId], skip_special_tokens: bool, bytes: &mut Vec<u8>) -> Result<()> {
        for (block, ids) in ids.chunks(BLOCK).enumerate() {
            let mut at = 0;
            while at < ids.len() {
                // The last token is copied with the bytes after it.
                reserve(bytes, Self::room_for(ids.len() - at));
                let (common, written) = self.write_common(&ids[at..], bytes.spare_capacity_mut());
                // SAFETY: `write_common` has written so many bytes.
                unsafe { bytes.set_len(bytes.len() + written) };
                at += common;
                let Some(rare) = ids[at..].chunks(COPIED).next() else { break };
                for id in rare.iter().map(LoadId::load_id) {
                    let token = self.get(id).ok_or_else(|| self.unknown(&id.to_string(), block * BLOCK + at))?;
                    if !(skip_special_tokens && self.table.is_special(id)) {
                        reserve(bytes, token.len());
                        bytes.extend_from_slice(token);
                    }
                    at += 1;
                }
            }
        }
        Ok(())
    }

    /// Write the bytes of the ids up to the first few among which one is long, special or unknown, and return how many
    /// ids and bytes these were. There is room for `MIDDLE` bytes an id, and for two cells more.
    #[inline]
    fn write_common(&self, ids: &[impl LoadId], out: &mut [MaybeUninit<u8>]) -> (usize, usize) {
        assert!(out.len() >= ids.len() * MIDDLE + ROOM);
        let hole = self.table.id_limit();
        let place = |id: &_| LoadId::load_id(id).min(hole);
        let (mut at, mut end) = (0, 0);
        let (together, rest) = ids.as_chunks::<COPIED>();
        for ids in together {
            prefetch_at(ids.as_ptr().wrapping_add(AHEAD));
            // SAFETY: the assertion above: each id before took at most `MIDDLE` bytes, so there is room for those of
            // the next ones and for `ROOM` more. `place` clips each id to the limit.
            let Some(written) = (unsafe { self.table.write(ids.each_ref().map(place), out.as_mut_ptr().add(end)) })
            else {
                return (at, end);
            };
            at += COPIED;
            end += written;
        }
        for id in rest {
            // SAFETY: as above.
            let Some(written) = (unsafe { self.table.write([place(id)], out.as_mut_ptr().add(end)) }) else { break };
            at += 1;
            end += written;
        }
        (at, end)
    }

    /// Join the bytes of all ids.
    ///
    /// # Errors
    /// As [`Self::append`].
    pub fn decode(&self, ids: &[impl LoadId], skip_special_tokens: bool) -> Result<Vec<u8>> {
        let mut bytes = Vec::new();
        self.append(ids, skip_special_tokens, &mut bytes)?;
        Ok(bytes)
    }

    /// The error for an id that no token has, as the caller wrote it.
    #[cold]
    pub fn unknown(&self, id: &str, index: usize) -> Error {
        let message = format!("no token has the id {id}; ids are below {}", self.id_limit());
        Error::new(Code::UnknownTokenId, message).at_index(index)
    }
}
