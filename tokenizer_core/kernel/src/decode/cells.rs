//! The bytes of every token by its id, which decoding copies and pieces are compared with.

use std::hint::select_unpredictable;
use std::mem::MaybeUninit;

use crate::config::AddedToken;
use crate::machine::pages::{Table, Zeroed};
use crate::machine::prefetch::prefetch;
use crate::piece_cache::{KEY_LIMIT, Key};
use crate::vocabulary::Vocabulary;

/// What a cell takes, all of which is copied at once whatever the token's length is.
const CELL: usize = 16;

/// The longest token that a cell holds.
const SHORT: usize = CELL - 1;

/// The longest token of which a cell has the length: one in 20 to 30 is longer than [`SHORT`] in English and Chinese.
pub(crate) const MIDDLE: usize = 2 * CELL - 1;

/// What is written at once with a token of up to [`MIDDLE`] bytes.
pub(crate) const ROOM: usize = 2 * CELL;

/// A token as decoding wants it, in one load: its bytes, or where they are, then a byte of its length and kind.
///
/// Behind a short token are zeros. Of a long one there are the start and the length in the arena. A hole is all zeros.
#[derive(Debug, Clone, Copy)]
#[repr(C, align(16))]
pub(crate) struct Cell([u8; CELL]);

// SAFETY: integers alone.
unsafe impl Zeroed for Cell {}

const _: () = assert!(size_of::<Cell>() == CELL && SHORT == KEY_LIMIT);

/// The token is longer than [`MIDDLE`].
const LONG: u8 = 0x20;

/// `skip_special_tokens` leaves the token out.
const SPECIAL: u8 = 0x40;

/// There is such a token.
const TOKEN: u8 = 0x80;

/// The highest bit of each byte of a token.
const WIDE: u128 = u128::from_le_bytes([0x80; CELL]) & !(0xFF << (8 * SHORT));

impl Cell {
    /// The length of a token that is neither long nor special, and whether it is all ASCII.
    #[inline(always)]
    pub(crate) fn plain(&self) -> Option<(u8, bool)> {
        let is_ascii = u128::from_le_bytes(self.0) & WIDE == 0;
        (1..=SHORT as u8).contains(&self.common()).then_some((self.common(), is_ascii))
    }

    /// The length up to [`MIDDLE`], else [`LONG`]; above it [`TOKEN`] and [`SPECIAL`].
    #[inline(always)]
    fn meta(&self) -> u8 {
        self.0[SHORT]
    }

    /// Of a token of up to [`MIDDLE`] bytes that is not special its length; of all else at least [`LONG`].
    #[inline(always)]
    fn common(&self) -> u8 {
        self.meta() ^ TOKEN
    }

    /// Where a token that is not short begins in the arena, and how long it is.
    #[inline(always)]
    fn elsewhere(&self) -> [usize; 2] {
        [0, 4].map(|at| u32::from_le_bytes([self.0[at], self.0[at + 1], self.0[at + 2], self.0[at + 3]]) as usize)
    }
}

/// The bytes of every id, added tokens included.
#[derive(Debug)]
pub struct Cells {
    /// Two more than there are ids: a hole that stands for all others, and one that it may be copied with.
    cells: Table<Cell>,
    /// Behind the last token stands as much as is copied with it.
    arena: Vec<u8>,
}

impl Cells {
    /// Lay out the vocabulary and the added tokens, whose bytes are their literals; so are those of an entry with the
    /// same id. Ids are below `MAX_IDS`.
    pub fn new(vocabulary: &Vocabulary, added_tokens: &[AddedToken]) -> Self {
        let added_limit = added_tokens.iter().map(|token| token.id + 1).max().unwrap_or(0);
        let limit = vocabulary.id_limit().max(added_limit) as usize;
        let mut cells = Self { cells: Table::new(limit + 2), arena: Vec::new() };
        for (id, bytes) in vocabulary.tokens() {
            cells.put(id, bytes, 0);
        }
        for token in added_tokens {
            cells.put(token.id, token.content.as_bytes(), if token.special { SPECIAL } else { 0 });
        }
        cells.arena.extend([0; ROOM]);
        cells
    }

    fn put(&mut self, id: u32, bytes: &[u8], kind: u8) {
        if bytes.is_empty() {
            return;
        }
        let mut cell = [0; CELL];
        cell[SHORT] = TOKEN | kind | if bytes.len() <= MIDDLE { bytes.len() as u8 } else { LONG };
        if bytes.len() <= SHORT {
            cell[..bytes.len()].copy_from_slice(bytes);
        } else {
            cell[..4].copy_from_slice(&(self.arena.len() as u32).to_le_bytes());
            cell[4..8].copy_from_slice(&(bytes.len() as u32).to_le_bytes());
            self.arena.extend_from_slice(bytes);
        }
        self.cells[id as usize] = Cell(cell);
    }

    /// By id, and two holes.
    #[inline(always)]
    pub(crate) fn all(&self) -> &[Cell] {
        &self.cells
    }

    /// One more than the highest id.
    pub fn id_limit(&self) -> u32 {
        self.cells.len() as u32 - 2
    }

    /// Begin to load a token.
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
            let [start, length] = cell.elsewhere();
            return self.arena.get(start..start + length);
        }
        cell.0.get(..length).filter(|bytes| !bytes.is_empty())
    }

    /// Write the tokens of `ids`, each of up to [`MIDDLE`] bytes and none special, and return how many bytes they are;
    /// `None` if there is another one, or a hole.
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
                // the room. Bytes written behind a token are overwritten by the next one, or are behind what is
                // returned.
                unsafe { copy::<CELL>(cells.as_ptr().add(id as usize).cast(), out.add(end)) };
                end += usize::from(cells[id as usize].common());
            }
        } else if all < LONG {
            for id in ids {
                let cell = &cells[id as usize];
                let is_elsewhere = usize::from(cell.common()) > SHORT;
                let start = if is_elsewhere { cell.elsewhere()[0] } else { 0 };
                // SAFETY: `start` is where a token begins in the arena, or 0, and the arena has `ROOM` bytes behind its
                // last token; behind the cell of any id up to the limit there is another cell, so `ROOM` bytes can be
                // read from either. The caller's promise gives the room.
                unsafe {
                    let elsewhere = self.arena.as_ptr().add(start);
                    // Which of them is longer cannot be foreseen.
                    let from = select_unpredictable(is_elsewhere, elsewhere, cells.as_ptr().add(id as usize).cast());
                    copy::<ROOM>(from, out.add(end));
                }
                end += usize::from(cell.common());
            }
        } else {
            return None;
        }
        Some(end)
    }

    /// The key of a short token as a whole piece; that of a long one or a hole is not a piece's.
    #[inline(always)]
    pub fn key(&self, id: u32) -> Key {
        self.cells.get(id as usize).map_or(Key::EMPTY, |cell| {
            let word = u128::from_le_bytes(cell.0) & !(u128::from(TOKEN | SPECIAL) << (8 * SHORT));
            Key::of_word(word)
        })
    }

    /// Whether `skip_special_tokens` leaves the token out.
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
