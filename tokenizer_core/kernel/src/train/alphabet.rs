//! The symbols before the first merge: bytes, characters, or the tokens of an older vocabulary.

use std::collections::HashSet;

use rustc_hash::{FxHashMap, FxHashSet};

use super::borders::Borders;
use super::counts::Counts;
use super::symbols::TrainedTokens;
use super::words::{BORDER, Words};
use crate::byte_level::bytes_to_text;
use crate::error::{Code, Error, Result};
use crate::model::bpe::heap::Merger;
use crate::model::bpe::ranks::MergeTable;
use crate::model::bpe::token_index::TokenIndex;
use crate::unicode::is_whitespace;
use crate::vocabulary::Vocabulary;

/// Characters as symbols.
#[derive(Debug, Clone, Default)]
pub struct Characters {
    /// Appended to the last character of every piece, if it is not empty. White space is then not a piece: the mark
    /// stands for it.
    pub end_of_word: String,
    /// The most characters in the alphabet, which has the most frequent ones. No merge crosses any other.
    pub limit: Option<usize>,
    /// The alphabet has only the most frequent characters that are together so great a share of all.
    pub coverage: Option<f64>,
    /// Characters of the alphabet whether they occur or not.
    pub required: String,
    /// Borders that no merge crosses.
    pub borders: Borders,
}

/// The 256 bytes in the order of their characters in GPT-2's byte alphabet, which is the order of their ids.
pub fn byte_order() -> [u8; 256] {
    let mut order = std::array::from_fn(|byte| byte as u8);
    order.sort_unstable_by_key(|byte| bytes_to_text(&[*byte]));
    order
}

/// The 256 bytes.
///
/// # Errors
/// `corpus_too_large`, as for all alphabets.
pub fn bytes(counts: &Counts) -> Result<(TrainedTokens, Words)> {
    let (mut symbols, mut ids) = (TrainedTokens::default(), [0; 256]);
    for byte in byte_order() {
        ids[usize::from(byte)] = symbols.push(&[byte], 1)?;
    }
    let mut words = Words::with_capacity(positions(counts));
    for (piece, count) in counts.iter() {
        words.push_word(piece.iter().map(|byte| ids[usize::from(*byte)]), count, &symbols);
    }
    words.finish();
    Ok((symbols, words))
}

/// The tokens of a vocabulary in the order of their ids, with its merges made in every piece.
///
/// # Errors
/// `missing_byte`, `corpus_too_large`.
pub fn tokens(counts: &Counts, vocabulary: &Vocabulary, ignore_merges: bool) -> Result<(TrainedTokens, Words)> {
    let (mut symbols, mut symbol_of_id) = (TrainedTokens::default(), vec![BORDER; vocabulary.id_limit() as usize]);
    for (id, bytes) in vocabulary.tokens().filter(|(id, _)| !vocabulary.is_opaque(*id)) {
        symbol_of_id[id as usize] = symbols.push(bytes, bytes.len() as u32)?;
    }
    let (table, mut merger) = (MergeTable::new(vocabulary, &HashSet::new())?, Merger::default());
    let whole_pieces = ignore_merges.then(|| TokenIndex::of_all(vocabulary)).transpose()?;
    let mut words = Words::with_capacity(positions(counts));
    for (piece, count) in counts.iter() {
        let whole = whole_pieces.as_ref().and_then(|index| index.find_whole(piece));
        let ids = match &whole {
            Some(id) => std::slice::from_ref(id),
            None => merger.merge(&table, piece),
        };
        words.push_word(ids.iter().map(|id| symbol_of_id[*id as usize]), count, &symbols);
    }
    words.finish();
    Ok((symbols, words))
}

/// The characters of the pieces in the order of their code points, then those that end a word; `without` are in no
/// alphabet.
///
/// # Errors
/// `invalid_option` at `end_of_word` when a piece holds it; `corpus_too_large`.
pub fn characters(
    counts: &Counts,
    options: &Characters,
    without: &FxHashSet<Box<[u8]>>,
) -> Result<(TrainedTokens, Words)> {
    let mark = options.end_of_word.as_str();
    let mut occurrences: FxHashMap<char, u64> = FxHashMap::default();
    let mut ends: FxHashMap<char, u64> = FxHashMap::default();
    for (piece, count) in texts(counts, mark).filter(|(piece, _)| options.borders.is_word(piece)) {
        if !mark.is_empty() && piece.contains(mark) {
            let message = format!("the corpus holds {mark:?}, the mark for the end of a word; choose another mark");
            return Err(Error::new(Code::InvalidOption, message).at_field("end_of_word"));
        }
        for character in piece.chars() {
            *occurrences.entry(character).or_default() += count;
        }
        if let Some(last) = piece.chars().last() {
            ends.insert(last, 0);
        }
    }
    let mut kept = most_frequent(occurrences, options.limit, options.coverage);
    kept.extend(options.required.chars());
    kept.retain(|character| !without.contains(character.encode_utf8(&mut [0; 4]).as_bytes()));
    kept.sort_unstable();
    kept.dedup();
    let mut symbols = TrainedTokens::default();
    let plain: FxHashMap<char, u32> = kept
        .iter()
        .map(|character| Ok((*character, symbols.push(character.encode_utf8(&mut [0; 4]).as_bytes(), 1)?)))
        .collect::<Result<_>>()?;
    let marked: FxHashMap<char, u32> = kept
        .iter()
        .filter(|character| !mark.is_empty() && ends.contains_key(character))
        .map(|character| Ok((*character, symbols.push(format!("{character}{mark}").as_bytes(), 1)?)))
        .collect::<Result<_>>()?;
    let (mut words, mut ids) = (Words::default(), Vec::new());
    for (piece, count) in texts(counts, mark) {
        let last = if mark.is_empty() { piece.len() } else { piece.char_indices().last().map_or(0, |(at, _)| at) };
        let symbol = |(at, character): (usize, char)| {
            let known = if at < last { &plain } else { &marked };
            known.get(&character).copied().unwrap_or(BORDER)
        };
        ids.clear();
        let mut start = 0;
        for stretch in options.borders.stretches(piece) {
            if start > 0 {
                ids.push(BORDER);
            }
            ids.extend(stretch.char_indices().map(|(at, character)| symbol((start + at, character))));
            start += stretch.len();
        }
        words.push_word(ids.iter().copied(), count, &symbols);
    }
    words.finish();
    Ok((symbols, words))
}

/// The most frequent characters in the order of their code points; of equals the smallest.
///
/// They are at most `limit`, and no more than are together a `coverage` of all.
pub(super) fn most_frequent(
    occurrences: FxHashMap<char, u64>,
    limit: Option<usize>,
    coverage: Option<f64>,
) -> Vec<char> {
    let covering = coverage.map_or(usize::MAX, |share| covering(&occurrences, share));
    let mut kept: Vec<(char, u64)> = occurrences.into_iter().collect();
    kept.sort_unstable_by_key(|(character, count)| (std::cmp::Reverse(*count), *character));
    kept.truncate(limit.unwrap_or(usize::MAX).min(covering));
    let mut kept: Vec<char> = kept.into_iter().map(|(character, _)| character).collect();
    kept.sort_unstable();
    kept
}

/// Count the most frequent characters that are together at least so great a share of all.
fn covering(occurrences: &FxHashMap<char, u64>, share: f64) -> usize {
    let mut counts: Vec<u64> = occurrences.values().copied().collect();
    counts.sort_unstable_by(|one, other| other.cmp(one));
    let (mut covered, total) = (0, counts.iter().sum::<u64>() as f64);
    let is_needed = |count: &&u64| {
        let is_enough = (covered as f64) / total >= share;
        covered += **count;
        !is_enough
    };
    counts.iter().take_while(is_needed).count()
}

/// The pieces as text; with a mark, only those that are words.
pub(super) fn texts<'a>(counts: &'a Counts, mark: &str) -> impl Iterator<Item = (&'a str, u64)> {
    let keep_space = mark.is_empty();
    let texts = counts.iter().filter_map(|(piece, count)| Some((std::str::from_utf8(piece).ok()?, count)));
    texts.filter(move |(piece, _)| keep_space || !piece.chars().all(is_space))
}

/// Tell whether Python's `str.split` takes the character for white space: also four separators that Unicode does not
/// count as such.
fn is_space(character: char) -> bool {
    is_whitespace(character) || ('\x1c'..='\x1f').contains(&character)
}

fn positions(counts: &Counts) -> usize {
    counts.distinct_bytes() as usize + counts.len() + 1
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::train::table::PieceTable;

    #[test]
    fn with_a_mark_no_white_space_is_a_word() {
        let mut table = PieceTable::default();
        for piece in ["low", " ", "\n", "\x1c", "\x1f", "\u{3000}"] {
            table.add(piece.as_bytes(), 2);
        }
        let options = Characters { end_of_word: String::from("_"), ..Characters::default() };
        let (symbols, _) = characters(&Counts::new(table, 1, 0), &options, &FxHashSet::default()).expect("few symbols");
        let all: Vec<_> = (0..symbols.len() as u32).map(|id| symbols.bytes(id)).collect();
        assert_eq!(all, [&b"l"[..], b"o", b"w", b"w_"]);
    }
}
