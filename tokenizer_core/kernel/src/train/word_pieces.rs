//! The alphabet of WordPiece: characters, and a second symbol for each that stands inside a word.

use rustc_hash::FxHashMap;

use super::alphabet::{most_frequent, texts};
use super::counts::Counts;
use super::symbols::TrainedTokens;
use super::words::Words;
use crate::error::Result;

/// The options of the alphabet.
#[derive(Debug, Clone)]
pub struct WordPieces {
    /// Before a character that does not begin a word; not empty.
    pub prefix: String,
    /// The most characters in the alphabet, which has the most frequent ones. Any other is taken out of its word, as in
    /// Hugging Face's trainer.
    pub limit: Option<usize>,
}

/// The characters in the order of their code points, then in the same order those that stand inside a word.
///
/// # Errors
/// `corpus_too_large`.
pub fn alphabet(counts: &Counts, options: &WordPieces) -> Result<(TrainedTokens, Words)> {
    let mut occurrences: FxHashMap<char, u64> = FxHashMap::default();
    let mut inside: FxHashMap<char, u32> = FxHashMap::default();
    for (piece, count) in texts(counts, "") {
        for (at, character) in piece.char_indices() {
            *occurrences.entry(character).or_default() += count;
            if at > 0 {
                inside.insert(character, 0);
            }
        }
    }
    let kept = most_frequent(occurrences, options.limit, None);
    let mut symbols = TrainedTokens::with_mark(options.prefix.len());
    let first: FxHashMap<char, u32> = kept
        .iter()
        .map(|character| Ok((*character, symbols.push(character.encode_utf8(&mut [0; 4]).as_bytes(), 1)?)))
        .collect::<Result<_>>()?;
    inside = kept
        .iter()
        .filter(|character| inside.contains_key(character))
        .map(|character| Ok((*character, symbols.push(format!("{}{character}", options.prefix).as_bytes(), 1)?)))
        .collect::<Result<_>>()?;
    let mut words = Words::default();
    for (piece, count) in texts(counts, "") {
        let symbol = |(at, character): (usize, char)| {
            let known = if at == 0 { &first } else { &inside };
            known.get(&character).copied()
        };
        words.push_word(piece.char_indices().filter_map(symbol), count, &symbols);
    }
    words.finish();
    Ok((symbols, words))
}
