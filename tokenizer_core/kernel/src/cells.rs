//! The bytes of every token, by its id: what decoding copies and what a piece is compared with.

use crate::config::AddedToken;
use crate::pages::{Table, Zeroed};
use crate::piece_cache::{KEY_LIMIT, Key};
use crate::prefetch::prefetch;
use crate::vocabulary::Vocabulary;

/// What a cell takes, all of which is copied at once whatever the token's length is.
pub(crate) const CELL: usize = 16;

/// The longest token that a cell holds.
pub(crate) const SHORT: usize = CELL - 1;

/// A token as decoding wants it, in one load: its bytes, or where they are, then a byte of its length and kind.
///
/// Behind a short token are zeros. Of a long one there are the start and the length in the arena. A hole is all zeros.
#[derive(Debug, Clone, Copy)]
#[repr(C, align(16))]
pub(crate) struct Cell([u8; CELL]);

// SAFETY: integers alone.
unsafe impl Zeroed for Cell {}

const _: () = assert!(size_of::<Cell>() == CELL && SHORT == KEY_LIMIT);

/// The bytes are in the arena.
const LONG: u8 = 0x10;

/// `skip_special_tokens` leaves the token out.
const SPECIAL: u8 = 0x20;

/// The highest bit of each byte of a token.
const WIDE: u128 = u128::from_le_bytes([0x80; CELL]) & !(0xFF << (8 * SHORT));

impl Cell {
    /// The length of a token that is neither long nor special, and whether it is all ASCII.
    #[inline(always)]
    pub(crate) fn plain(&self) -> Option<(u8, bool)> {
        let is_ascii = u128::from_le_bytes(self.0) & WIDE == 0;
        (1..=SHORT as u8).contains(&self.meta()).then_some((self.meta(), is_ascii))
    }

    /// Of a plain token its length, which is never 0; else [`LONG`] and [`SPECIAL`] stand above the length.
    #[inline(always)]
    pub(crate) fn meta(&self) -> u8 {
        self.0[SHORT]
    }
}

/// The bytes of every id, added tokens included.
#[derive(Debug)]
pub struct Cells {
    cells: Table<Cell>,
    arena: Vec<u8>,
    /// Entries of the vocabulary that are written as added tokens are, but are other bytes.
    renamed: Vec<u32>,
}

impl Cells {
    /// Lay out the vocabulary and the added tokens, whose bytes are their literals. Ids are below `MAX_IDS`.
    pub fn new(vocabulary: &Vocabulary, added_tokens: &[AddedToken]) -> Self {
        let added_limit = added_tokens.iter().map(|token| token.id + 1).max().unwrap_or(0);
        let limit = vocabulary.id_limit().max(added_limit) as usize;
        let mut cells = Self { cells: Table::new(limit), arena: Vec::new(), renamed: Vec::new() };
        for (id, bytes) in vocabulary.tokens() {
            cells.put(id, bytes, 0);
        }
        for token in added_tokens {
            if vocabulary.bytes(token.id).is_some_and(|bytes| bytes != token.content.as_bytes()) {
                cells.renamed.push(token.id);
            }
            cells.put(token.id, token.content.as_bytes(), if token.special { SPECIAL } else { 0 });
        }
        cells.renamed.sort_unstable();
        cells
    }

    fn put(&mut self, id: u32, bytes: &[u8], kind: u8) {
        let mut cell = [0; CELL];
        if bytes.len() <= SHORT {
            cell[..bytes.len()].copy_from_slice(bytes);
            cell[SHORT] = kind | bytes.len() as u8;
        } else {
            cell[..4].copy_from_slice(&(self.arena.len() as u32).to_le_bytes());
            cell[4..8].copy_from_slice(&(bytes.len() as u32).to_le_bytes());
            cell[SHORT] = kind | LONG;
            self.arena.extend_from_slice(bytes);
        }
        self.cells[id as usize] = Cell(cell);
    }

    /// By id.
    #[inline(always)]
    pub(crate) fn all(&self) -> &[Cell] {
        &self.cells
    }

    /// Whether the vocabulary's bytes of an id have made room for the literal of an added token.
    pub fn is_renamed(&self, id: u32) -> bool {
        self.renamed.binary_search(&id).is_ok()
    }

    /// One more than the highest id.
    pub fn id_limit(&self) -> u32 {
        self.cells.len() as u32
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
        if cell.meta() & LONG != 0 {
            let [start, length] = [0, 4].map(|at| {
                let word = [cell.0[at], cell.0[at + 1], cell.0[at + 2], cell.0[at + 3]];
                u32::from_le_bytes(word) as usize
            });
            return self.arena.get(start..start + length);
        }
        cell.0.get(..usize::from(cell.meta() & !SPECIAL)).filter(|bytes| !bytes.is_empty())
    }

    /// The key of a short token as a whole piece; that of a long one or a hole is no piece's.
    #[inline(always)]
    pub fn key(&self, id: u32) -> Key {
        self.cells.get(id as usize).map_or(Key::EMPTY, |cell| {
            let word = u128::from_le_bytes(cell.0) & !(u128::from(SPECIAL) << (8 * SHORT));
            Key::of_word(word)
        })
    }

    /// Whether `skip_special_tokens` leaves the token out.
    pub fn is_special(&self, id: u32) -> bool {
        self.cells.get(id as usize).is_some_and(|cell| cell.meta() & SPECIAL != 0)
    }
}
