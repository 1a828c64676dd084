//! WordPiece: the longest entry that a word begins with, then the longest that goes on, marked by a prefix.
//!
//! A word of which any part is no entry becomes the unknown token as a whole, and so does one that is too long.

use std::collections::HashSet;

use rustc_hash::FxHashMap;

use super::{Model, Piece, PieceIds, Token, Uncovered, Work};
use crate::error::{Code, Error, Result};
use crate::vocabulary::Vocabulary;

/// Where entries begin that begin a word, and where those begin that go on.
const ROOTS: [u32; 2] = [0, 1];

/// An entry longer than this could be walked at every byte of a word, for nothing.
const MAX_ENTRY: usize = 4096;

const NO_ENTRY: u32 = u32::MAX;

/// The compiled model.
#[derive(Debug)]
pub struct WordPiece {
    /// By node and next byte.
    edges: FxHashMap<(u32, u8), u32>,
    /// By node: the entry that ends there, or [`NO_ENTRY`].
    entries: Vec<u32>,
    unk: Option<u32>,
    max_chars: usize,
}

impl WordPiece {
    /// The model of all entries but those of `never`. `prefix` marks the entries that do not begin a word. A word of
    /// more than `max_chars` characters is unknown, as `unk` if there is one.
    ///
    /// # Errors
    /// `unsupported` for an entry that is too long.
    pub fn new(
        vocabulary: &Vocabulary,
        never: &HashSet<u32>,
        unk: Option<u32>,
        prefix: &str,
        max_chars: usize,
    ) -> Result<Self> {
        let (edges, entries) = (FxHashMap::default(), vec![NO_ENTRY; ROOTS.len()]);
        let mut model = Self { edges, entries, unk, max_chars };
        for (id, bytes) in vocabulary.tokens().filter(|(id, _)| !never.contains(id)) {
            if bytes.len().min(max_chars.saturating_mul(4)) > MAX_ENTRY {
                let message = format!("the entry with the id {id} has {} bytes; at most {MAX_ENTRY} are", bytes.len());
                return Err(Error::new(Code::Unsupported, message).at_field("model.vocab"));
            }
            model.put(ROOTS[0], bytes, id);
            if let Some(rest) = bytes.strip_prefix(prefix.as_bytes()) {
                model.put(ROOTS[1], rest, id);
            }
        }
        Ok(model)
    }

    fn put(&mut self, mut node: u32, bytes: &[u8], id: u32) {
        for byte in bytes {
            let fresh = self.entries.len() as u32;
            node = *self.edges.entry((node, *byte)).or_insert(fresh);
            if node == fresh {
                self.entries.push(NO_ENTRY);
            }
        }
        // Of two with the same bytes the first counts, and no entry is empty.
        let entry = &mut self.entries[node as usize];
        if *entry == NO_ENTRY && !bytes.is_empty() {
            *entry = id;
        }
    }

    /// Append the tokens of a word; `None` if it has a part that is no entry.
    fn append(&self, word: &[u8], tokens: &mut Vec<Token>) -> Option<()> {
        let mut at = 0;
        while at < word.len() {
            let mut node = ROOTS[usize::from(at > 0)];
            let mut longest = None;
            for (length, byte) in (1..).zip(&word[at..]) {
                let Some(next) = self.edges.get(&(node, *byte)) else { break };
                node = *next;
                let id = self.entries[node as usize];
                if id != NO_ENTRY {
                    longest = Some(Token { id, bytes: length });
                }
            }
            let token = longest?;
            at += token.bytes as usize;
            tokens.push(token);
        }
        Some(())
    }
}

impl Model for WordPiece {
    const TILES: bool = false;

    fn encode(
        &self,
        text: &[u8],
        pieces: &[Piece],
        work: &mut Work,
        out: &mut PieceIds,
    ) -> std::result::Result<(), Uncovered> {
        let tokens = &mut work.tokens;
        for (at, piece) in pieces.iter().enumerate() {
            let word = &text[piece.range()];
            tokens.clear();
            // Every character has a byte that does not continue one.
            let is_long = word.len() > self.max_chars
                && word.iter().filter(|byte| **byte & 0xC0 != 0x80).count() > self.max_chars;
            if is_long || self.append(word, tokens).is_none() {
                tokens.clear();
                let id = self.unk.ok_or(Uncovered(piece.range()))?;
                tokens.push(Token { id, bytes: word.len() as u32 });
            }
            out.give_tokens(at, tokens);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::piece_cache::Key;

    const ENTRIES: [&str; 9] = ["[UNK]", "un", "##aff", "##able", "##a", "é", "##é", "unaff", "##"];

    fn model(never: &[u32], max_chars: usize) -> WordPiece {
        let entries = (0..).zip(ENTRIES.map(str::as_bytes)).collect();
        let vocabulary = Vocabulary::new(entries, Vec::new(), Vec::new()).unwrap();
        WordPiece::new(&vocabulary, &never.iter().copied().collect(), Some(0), "##", max_chars).unwrap()
    }

    fn tokens(model: &WordPiece, word: &str) -> Vec<(&'static str, u32)> {
        let piece = Piece { key: Key::EMPTY, start: 0, end: word.len() as u32, part: false };
        let (mut work, mut out) = (Work::default(), PieceIds::default());
        out.begin(1);
        model.encode(word.as_bytes(), &[piece], &mut work, &mut out).unwrap();
        let tokens: &[Token] = bytemuck::cast_slice(out.ids(0));
        tokens.iter().map(|token| (ENTRIES[token.id as usize], token.bytes)).collect()
    }

    #[test]
    fn the_longest_entry_comes_first_and_the_next_goes_on() {
        let model = model(&[], 100);
        assert_eq!(tokens(&model, "unaffable"), [("unaff", 5), ("##able", 4)]);
        assert_eq!(tokens(&model, "unaa"), [("un", 2), ("##a", 1), ("##a", 1)]);
        assert_eq!(tokens(&model, "éé"), [("é", 2), ("##é", 2)]);
    }

    #[test]
    fn a_part_that_is_no_entry_makes_the_word_unknown() {
        let model = model(&[], 100);
        assert_eq!(tokens(&model, "unaffx"), [("[UNK]", 6)]);
        // What begins with the prefix begins a word only as it is written.
        assert_eq!(tokens(&model, "aff"), [("[UNK]", 3)]);
        assert_eq!(tokens(&model, "##aff"), [("##aff", 5)]);
        // Longest match does not go back: `un` and `##aff` would be there.
        assert_eq!(tokens(&model, "unaffa"), [("unaff", 5), ("##a", 1)]);
    }

    #[test]
    fn the_length_of_a_word_is_counted_in_characters() {
        let model = model(&[], 4);
        assert_eq!(tokens(&model, "éééé").len(), 4);
        assert_eq!(tokens(&model, "ééééé"), [("[UNK]", 10)]);
    }

    #[test]
    fn no_word_becomes_an_entry_that_text_may_not_become() {
        assert_eq!(tokens(&model(&[7], 100), "unaff"), [("un", 2), ("##aff", 3)]);
    }
}
