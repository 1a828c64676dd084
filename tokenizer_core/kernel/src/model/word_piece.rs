//! WordPiece: the longest entry that a word begins with, then the longest that goes on, marked by a prefix.
//!
//! A word of which any part is no entry becomes the unknown token as a whole, and so does one that is too long.

use std::collections::HashSet;

use super::trie::Trie;
use super::{Covered, Model, ModelBuffers, Piece, PieceIds, Token, Uncovered};
use crate::error::{Code, Error, Result};
use crate::vocabulary::Vocabulary;

/// An entry longer than this could be walked at every byte of a word, for nothing.
const MAX_ENTRY: usize = 4096;

/// The compiled model.
#[derive(Debug)]
pub struct WordPiece {
    /// The entries that a word may begin with.
    first: Trie,
    /// The entries that may follow, without the prefix.
    later: Trie,
    unk: Option<u32>,
    max_chars: usize,
}

impl WordPiece {
    /// The model of all entries but those of `never`. `prefix` marks the entries that do not begin a word. A word of
    /// more than `max_chars` characters is unknown, as `unk` if there is one.
    ///
    /// # Errors
    /// `unsupported` for an entry that is too long, `duplicate_token`.
    pub fn new(
        vocabulary: &Vocabulary,
        never: &HashSet<u32>,
        unk: Option<u32>,
        prefix: &str,
        max_chars: usize,
    ) -> Result<Self> {
        let (mut first, mut later) = (Vec::new(), Vec::new());
        for (id, bytes) in vocabulary.tokens().filter(|(id, _)| !never.contains(id)) {
            if bytes.len().min(max_chars.saturating_mul(4)) > MAX_ENTRY {
                let message = format!("the entry with the id {id} has {} bytes; at most {MAX_ENTRY} are", bytes.len());
                return Err(Error::new(Code::Unsupported, message).at_field("model.vocab"));
            }
            first.push((bytes, id));
            later.extend(bytes.strip_prefix(prefix.as_bytes()).filter(|rest| !rest.is_empty()).map(|rest| (rest, id)));
        }
        Ok(Self { first: Trie::new(first)?, later: Trie::new(later)?, unk, max_chars })
    }

    /// Append the tokens of a word; `None` if it has a part that is no entry.
    fn append(&self, word: &[u8], tokens: &mut Vec<Token>) -> Option<()> {
        let mut at = 0;
        while at < word.len() {
            let mut longest = None;
            let trie = if at == 0 { &self.first } else { &self.later };
            trie.entries(&word[at..], |length, id| longest = Some(Token { id, bytes: length as u32 }));
            let token = longest?;
            at += token.bytes as usize;
            tokens.push(token);
        }
        Some(())
    }
}

impl Model for WordPiece {
    const TILES: bool = false;

    fn encode(&self, text: &[u8], pieces: &[Piece], work: &mut ModelBuffers, out: &mut PieceIds) -> Covered {
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
        let (mut work, mut out) = (ModelBuffers::default(), PieceIds::default());
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
