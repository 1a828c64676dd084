//! White space that no merge joins: each of its bytes is a token of its own, so no cache is needed.

use std::mem::MaybeUninit;

use crate::merging::ranks::MergeTable;

/// The ids of spaces and newlines, in a vocabulary whose merges join no space with either.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct WhiteSpace {
    pub(crate) space: u32,
    pub(crate) newline: u32,
    /// Whether merges join newlines.
    pub(crate) newlines_join: bool,
}

impl WhiteSpace {
    /// The ids, or `None` if merges join a space with a space or a newline.
    pub(crate) fn new(merges: &MergeTable) -> Option<Self> {
        let join = |pair: &[u8; 2]| merges.precedence_of_bytes(u16::from_le_bytes(*pair)) != 0;
        let apart = ![b"  ", b" \n", b"\n "].into_iter().any(join);
        apart.then(|| Self {
            space: merges.byte_id(b' '),
            newline: merges.byte_id(b'\n'),
            newlines_join: join(b"\n\n"),
        })
    }

    /// Whether each byte of a piece has an id of its own, by spaces and newlines alone.
    #[inline(always)]
    pub(crate) fn is_run(self, piece: &[u8]) -> bool {
        // Without an early exit, so that all bytes are compared at once.
        let white = piece.iter().fold(true, |white, byte| white & matches!(byte, b' ' | b'\n'));
        let pairs = piece.iter().zip(piece.get(1..).unwrap_or_default());
        let joined = pairs.fold(false, |joined, pair| joined | (pair == (&b'\n', &b'\n')));
        white & !(joined & self.newlines_join)
    }

    /// Write the ids of such a piece to the beginning of `ids`.
    #[inline(always)]
    pub(crate) fn write(self, piece: &[u8], ids: &mut [MaybeUninit<u32>]) {
        for (id, byte) in ids.iter_mut().zip(piece) {
            id.write(if *byte == b' ' { self.space } else { self.newline });
        }
    }
}
