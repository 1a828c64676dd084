//! The bytes of every token by its id, one cell of 16 bytes each: decoding copies them, and pieces are compared with
//! them.

use std::hint::select_unpredictable;
use std::mem::MaybeUninit;

use bytemuck::{Pod, Zeroable};

use crate::config::AddedToken;
use crate::error::Result;
use crate::simd::pages::Table;
use crate::simd::prefetch::prefetch;
use crate::vocabulary::{Vocabulary, arena_offset};

/// The size of a cell, which is copied whole whatever the length of its token.
const CELL: usize = 16;

/// The longest token that a cell holds.
pub(crate) const SHORT: usize = CELL - 1;

/// The longest token whose length is in its cell: in English and Chinese one token in 20 to 30 is longer than
/// [`SHORT`].
pub(crate) const MIDDLE: usize = 2 * CELL - 1;

/// Bytes written at once for a token of up to [`MIDDLE`].
pub(crate) const ROOM: usize = 2 * CELL;

/// A token that one load gets: its bytes, or where they are, then a byte with its length and kind.
///
/// A short token is followed by zeros. For any other one the cell has its start and length in the arena. A hole is all
/// zeros.
#[derive(Debug, Clone, Copy, Zeroable, Pod)]
#[repr(C, align(16))]
pub(crate) struct Cell([u8; CELL]);

const _: () = assert!(size_of::<Cell>() == CELL);

/// The token is longer than [`MIDDLE`].
const LONG: u8 = 0x20;

/// `skip_special_tokens` leaves the token out.
const SPECIAL: u8 = 0x40;

/// There is such a token.
const TOKEN: u8 = 0x80;

impl Cell {
    /// The length of a token that is neither long nor special.
    #[inline(always)]
    pub(crate) fn plain(&self) -> Option<u8> {
        (1..=SHORT as u8).contains(&self.common()).then_some(self.common())
    }

    /// The length up to [`MIDDLE`], else [`LONG`]; above it [`TOKEN`] and [`SPECIAL`].
    #[inline(always)]
    fn meta(&self) -> u8 {
        self.0[SHORT]
    }

    /// The length of a token of up to [`MIDDLE`] bytes that is not special; at least [`LONG`] for anything else.
    #[inline(always)]
    fn common(&self) -> u8 {
        self.meta() ^ TOKEN
    }

    /// The start and the length in the arena of a token that is not short.
    #[inline(always)]
    fn in_arena(&self) -> [usize; 2] {
        [0, 4].map(|at| u32::from_le_bytes([self.0[at], self.0[at + 1], self.0[at + 2], self.0[at + 3]]) as usize)
    }
}

/// The bytes of every id, added tokens included.
#[derive(Debug)]
pub struct TokenTable {
    /// Two more than there are ids: a hole for all unknown ids, and another that may be copied with it.
    cells: Table<Cell>,
    /// The last token is followed by as much as is copied with it.
    arena: Vec<u8>,
}

impl TokenTable {
    /// Lay out the vocabulary and the added tokens. The bytes of an added token are its literal, also where the
    /// vocabulary has an entry with its id. Ids are below `MAX_IDS`.
    ///
    /// # Errors
    /// `invalid_file` for more than 4 GiB of tokens.
    pub fn new(vocabulary: &Vocabulary, added_tokens: &[AddedToken]) -> Result<Self> {
        let added_limit = added_tokens.iter().map(|token| token.id + 1).max().unwrap_or(0);
        let limit = vocabulary.id_limit().max(added_limit) as usize;
        let mut cells = Self { cells: Table::new(limit + 2), arena: Vec::new() };
        for (id, bytes) in vocabulary.tokens().chain(vocabulary.empty().map(|id| (id, &[][..]))) {
            cells.put(id, bytes, 0)?;
        }
        for token in added_tokens {
            cells.put(token.id, token.content.as_bytes(), if token.special { SPECIAL } else { 0 })?;
        }
        cells.arena.extend([0; ROOM]);
        Ok(cells)
    }

    fn put(&mut self, id: u32, bytes: &[u8], kind: u8) -> Result<()> {
        let mut cell = [0; CELL];
        cell[SHORT] = TOKEN | kind | if bytes.len() <= MIDDLE { bytes.len() as u8 } else { LONG };
        if bytes.len() <= SHORT {
            cell[..bytes.len()].copy_from_slice(bytes);
        } else {
            cell[..4].copy_from_slice(&arena_offset(self.arena.len())?.to_le_bytes());
            cell[4..8].copy_from_slice(&arena_offset(bytes.len())?.to_le_bytes());
            self.arena.extend_from_slice(bytes);
        }
        self.cells[id as usize] = Cell(cell);
        Ok(())
    }

    /// The cells by id, then two holes.
    #[inline(always)]
    pub(crate) fn all(&self) -> &[Cell] {
        &self.cells
    }

    /// One more than the highest id.
    pub fn id_limit(&self) -> u32 {
        self.cells.len() as u32 - 2
    }

    /// Prefetch a token.
    #[inline(always)]
    pub fn prefetch(&self, id: u32) {
        prefetch(&self.cells, id as usize);
    }

    /// The bytes of a token, or `None` for a hole.
    #[inline]
    pub fn get(&self, id: u32) -> Option<&[u8]> {
        let cell = self.cells.get(id as usize)?;
        let length = usize::from(cell.meta() & !(TOKEN | SPECIAL));
        if length > SHORT {
            let [start, length] = cell.in_arena();
            return self.arena.get(start..start + length);
        }
        cell.0.get(..length).filter(|_| cell.meta() != 0)
    }

    /// Write the tokens of `ids` if each has up to [`MIDDLE`] bytes and none is special, and return how many bytes they
    /// have; `None` if there is any other token, or a hole.
    ///
    /// # Safety
    /// There is room for [`MIDDLE`] bytes each, and for [`ROOM`] more. No id is above the limit.
    #[inline(always)]
    pub(crate) unsafe fn write<const COUNT: usize>(
        &self,
        ids: [u32; COUNT],
        out: *mut MaybeUninit<u8>,
    ) -> Option<usize> {
        let cells = self.all();
        let all = ids.iter().fold(0, |all, id| all | cells[*id as usize].common());
        let mut end = 0;
        if usize::from(all) <= SHORT {
            for id in ids {
                // SAFETY: indexing above has checked the id, and a cell has `CELL` bytes; the caller's promise gives
                // the room. Bytes written after a token are overwritten by the next one, or are not counted in what is
                // returned.
                unsafe { copy::<CELL>(cells.as_ptr().add(id as usize).cast(), out.add(end)) };
                end += usize::from(cells[id as usize].common());
            }
        } else if all < LONG {
            for id in ids {
                let cell = &cells[id as usize];
                let is_in_arena = usize::from(cell.common()) > SHORT;
                let start = if is_in_arena { cell.in_arena()[0] } else { 0 };
                // SAFETY: `start` is where a token begins in the arena, or 0, and the arena has `ROOM` bytes after its
                // last token; the cell of any id up to the limit is followed by another cell, so `ROOM` bytes can be
                // read from either. The caller's promise gives the room.
                unsafe {
                    let in_arena = self.arena.as_ptr().add(start);
                    // Which tokens are longer is unpredictable.
                    let from = select_unpredictable(is_in_arena, in_arena, cells.as_ptr().add(id as usize).cast());
                    copy::<ROOM>(from, out.add(end));
                }
                end += usize::from(cell.common());
            }
        } else {
            return None;
        }
        Some(end)
    }

    /// A short token as one word: its bytes, zeros, and its length in the highest byte, where a long token or a hole
    /// has a number that is no length.
    #[inline(always)]
    pub(crate) fn word(&self, id: u32) -> u128 {
        let word = |cell: &Cell| u128::from_le_bytes(cell.0) & !(u128::from(TOKEN | SPECIAL) << (8 * SHORT));
        self.cells.get(id as usize).map_or(0, word)
    }

    /// Tell whether `skip_special_tokens` leaves the token out.
    pub fn is_special(&self, id: u32) -> bool {
        self.cells.get(id as usize).is_some_and(|cell| cell.meta() & SPECIAL != 0)
    }
}

/// Copy `BYTES` bytes: a load and a store.
///
/// # Safety
/// So many bytes can be read at `from` and written at `to`, and they do not overlap.
#[inline(always)]
unsafe fn copy<const BYTES: usize>(from: *const u8, to: *mut MaybeUninit<u8>) {
    // SAFETY: the caller's promise.
    unsafe { std::ptr::copy_nonoverlapping(from.cast(), to, BYTES) };
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Code;

    /// The arena is reserved and never touched, so it takes no memory.
    #[cfg(target_pointer_width = "64")]
    #[test]
    fn a_token_beyond_4_gib_is_refused() {
        let mut cells = TokenTable { cells: Table::new(3), arena: vec![0; 1 << 32] };
        assert_eq!(cells.put(0, &[b'a'; SHORT], 0), Ok(()));
        let refused = cells.put(0, &[b'a'; SHORT + 1], 0).map_err(|error| error.code);
        assert_eq!(refused, Err(Code::InvalidFile));
    }
}
