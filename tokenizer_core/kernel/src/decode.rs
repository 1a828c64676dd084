//! Ids back to bytes and text, whole or as they come.

use std::mem::MaybeUninit;
use std::sync::Arc;

use crate::cells::{CELL, Cell, Cells, SHORT};
use crate::config::AddedToken;
use crate::error::{Code, Error, Result};
use crate::offsets::Unit;
use crate::steps::{StepTables, Steps};
use crate::vocabulary::Vocabulary;

/// In the table of lengths: the token has a byte that is not ASCII.
const WIDE: u8 = 0x80;

/// In the table of lengths: those up to this one stand there; for all others, for holes and for special tokens 0 does.
const COUNTED: usize = 0x7F;

/// The bytes of every id, added tokens included: decoding is one copy of fixed size a token.
#[derive(Debug)]
pub struct TokenBytes {
    cells: Arc<Cells>,
    /// Small enough to stay in the second cache: the first of two passes needs no more.
    lengths: Vec<u8>,
    steps: StepTables,
}

/// What ids decode to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Measure {
    /// How many bytes.
    pub bytes: usize,
    /// How many tokens are not all ASCII.
    pub wide: usize,
}

impl TokenBytes {
    /// Lay out the vocabulary and the added tokens, whose bytes are their literals. Ids are below `MAX_IDS`.
    pub fn new(vocabulary: &Vocabulary, added_tokens: &[AddedToken]) -> Self {
        let cells = Cells::new(vocabulary, added_tokens);
        let length = |(id, cell): (u32, &Cell)| {
            let plain = cell.plain().or_else(|| {
                let bytes = cells.get(id).filter(|bytes| bytes.len() <= COUNTED && !cells.is_special(id))?;
                Some((bytes.len() as u8, bytes.is_ascii()))
            });
            plain.map_or(0, |(length, is_ascii)| if is_ascii { length } else { length | WIDE })
        };
        let lengths = (0..).zip(cells.all()).map(length).collect();
        Self { cells: Arc::new(cells), lengths, steps: StepTables::default() }
    }

    /// The bytes alone.
    pub(crate) fn cells(&self) -> &Arc<Cells> {
        &self.cells
    }

    /// One more than the highest id.
    pub fn id_limit(&self) -> u32 {
        self.lengths.len() as u32
    }

    /// The bytes of a token, or `None` for a hole.
    #[inline]
    pub fn get(&self, id: u32) -> Option<&[u8]> {
        self.cells.get(id)
    }

    /// How many bytes a token that is no hole has, and 0 for a hole.
    #[inline]
    pub fn length(&self, id: u32) -> u32 {
        match self.lengths.get(id as usize).map_or(0, |length| length & !WIDE) {
            0 => self.get(id).map_or(0, <[u8]>::len) as u32,
            length => u32::from(length),
        }
    }

    /// How far each token leads in a text.
    pub(crate) fn steps(&self, unit: Unit) -> Steps<'_> {
        self.steps.of(self, unit)
    }

    /// What [`Self::write`] needs to know before.
    ///
    /// # Errors
    /// `unknown_token_id` with the index of the first that is no token.
    pub fn measure(&self, ids: impl Iterator<Item = u32>, skip_special_tokens: bool) -> Result<Measure> {
        let (mut bytes, mut wide) = (0, 0);
        for (index, id) in ids.enumerate() {
            let length = self.lengths.get(id as usize).copied().unwrap_or(0);
            if length & !WIDE == 0 {
                let token = self.get(id).ok_or_else(|| self.unknown(id, index))?;
                if !(skip_special_tokens && self.cells.is_special(id)) {
                    bytes += token.len();
                    wide += usize::from(!token.is_ascii());
                }
                continue;
            }
            bytes += usize::from(length & !WIDE);
            wide += usize::from(length >= WIDE);
        }
        Ok(Measure { bytes, wide })
    }

    /// Write the bytes of the ids to the beginning of `out`, as far as there is room, and return how many they are; so
    /// many bytes of `out` are written. Ids that are no tokens give nothing.
    pub fn write(
        &self,
        ids: impl Iterator<Item = u32>,
        skip_special_tokens: bool,
        out: &mut [MaybeUninit<u8>],
    ) -> usize {
        let (cells, mut at) = (self.cells.all(), 0);
        // Up to here there is room for a whole cell.
        let roomy = (out.len() + 1).saturating_sub(CELL);
        for id in ids {
            if let Some(cell) = cells.get(id as usize)
                && usize::from(cell.meta()) <= SHORT
                && at < roomy
            {
                // SAFETY: the cell has `CELL` bytes, and so has `out` from `at` on, since `at + CELL <= out.len()`. What is
                // written beyond the token is overwritten by the next, or is beyond what is returned.
                unsafe {
                    let to = out.as_mut_ptr().add(at).cast::<u8>();
                    std::ptr::copy_nonoverlapping(std::ptr::from_ref(cell).cast::<u8>(), to, CELL);
                }
                at += usize::from(cell.meta());
            } else if !(skip_special_tokens && self.cells.is_special(id)) {
                at += copy(self.get(id).unwrap_or_default(), &mut out[at..]);
            }
        }
        at
    }

    /// Join the bytes of all ids.
    ///
    /// # Errors
    /// As [`Self::measure`].
    pub fn decode(&self, ids: &[u32], skip_special_tokens: bool) -> Result<Vec<u8>> {
        let ids = ids.iter().copied();
        let size = self.measure(ids.clone(), skip_special_tokens)?.bytes;
        let mut bytes = Vec::with_capacity(size);
        let written = self.write(ids, skip_special_tokens, &mut bytes.spare_capacity_mut()[..size]);
        // SAFETY: so many bytes are written, within the capacity.
        unsafe { bytes.set_len(written) };
        Ok(bytes)
    }

    #[cold]
    fn unknown(&self, id: u32, index: usize) -> Error {
        let message = format!("no token has the id {id}; ids are below {}", self.id_limit());
        Error::new(Code::UnknownTokenId, message).at_index(index)
    }
}

/// Copy what there is room for, and return how much it was.
#[inline(never)]
fn copy(bytes: &[u8], out: &mut [MaybeUninit<u8>]) -> usize {
    out.iter_mut().zip(bytes).for_each(|(to, byte)| {
        to.write(*byte);
    });
    bytes.len().min(out.len())
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
pub(crate) fn incomplete_tail(bytes: &[u8]) -> usize {
    let longest = bytes.len().min(3);
    (1..=longest)
        .rev()
        .find(|tail| {
            let tail = &bytes[bytes.len() - tail..];
            matches!(std::str::from_utf8(tail), Err(error) if error.valid_up_to() == 0 && error.error_len().is_none())
        })
        .unwrap_or(0)
}
