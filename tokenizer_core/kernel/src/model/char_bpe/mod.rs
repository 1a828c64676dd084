//! BPE over characters, as Hugging Face has it for files without a byte alphabet: SentencePiece's models (Llama 2,
//! Gemma) with a token for each byte, and models over words with affixes (CLIP).

mod boundaries;
mod merges;
mod resegment;
mod symbols;
#[cfg(test)]
#[path = "../../../tests/unit/char_bpe.rs"]
mod tests;

use std::collections::{HashMap, HashSet};

use rustc_hash::FxBuildHasher;

use self::boundaries::Boundaries;
use self::merges::{CharMerges, by_score, merge_few};
use self::resegment::Resegment;
pub use self::symbols::{Affixes, Unknown};
use self::symbols::{CharSymbols, Sequence};
use super::bpe::dropout::Dropout;
use super::bpe::heap::Merger;
use super::sampling::stream::Stream;
use super::{Covered, Cuts, Model, Piece, PieceIds, Token};
use crate::error::Result;
use crate::model::byte_pieces::byte_of;
use crate::vocabulary::{Merge, Vocabulary};

/// Up to this many symbols a loop over all of them is faster than the queue.
const FEW: usize = 40;

/// Tokens and merges, ready to be looked up.
///
/// If it tiles, the bytes of all tokens, of which `<0xNN>` is one byte, are those of the piece.
#[derive(Debug)]
pub struct CharBpe<const TILES: bool> {
    symbols: CharSymbols,
    merges: CharMerges,
    /// Entries that a whole piece becomes although merges do not make them of it.
    whole: HashMap<Box<[u8]>, u32, FxBuildHasher>,
    /// Absent where a piece may not be cut.
    boundaries: Option<Boundaries>,
    /// Absent where all that merges make is kept.
    resegment: Option<Resegment>,
}

/// The buffers of [`CharBpe`].
#[derive(Debug, Default)]
pub struct CharBpeBuffers {
    sequence: Sequence,
    waiting: Vec<u64>,
    queue: Merger,
    starts: Vec<u32>,
    tokens: Vec<Token>,
}

impl CharBpeBuffers {
    /// Give back the memory of long pieces, down to `entries` entries a buffer.
    pub(super) fn shrink(&mut self, entries: usize) {
        self.sequence.shrink(entries);
        self.queue.shrink(entries);
        self.tokens.clear();
        self.tokens.shrink_to(entries);
    }
}

/// A model of which it is known whether it tiles.
#[derive(Debug)]
pub enum AnyCharBpe {
    /// It does.
    Tiling(CharBpe<true>),
    /// It does not.
    Other(CharBpe<false>),
}

/// The options of a model, beside its vocabulary.
#[derive(Debug, Clone, Copy, Default)]
pub struct CharBpeOptions<'a> {
    /// The affixes of characters in the entries.
    pub affixes: Affixes<'a>,
    /// The settings for writing unknown characters.
    pub unknown: Unknown,
    /// The merges are those of [scores](by_score), and not those of the vocabulary.
    pub by_score: bool,
    /// A piece that is an entry is that token.
    pub ignore_merges: bool,
    /// Entries that are found before characters, and are never joined to others.
    pub user_defined: &'a [u32],
    /// Entries that merges by scores make, and that are taken apart again.
    pub unused: &'a [u32],
}

impl AnyCharBpe {
    /// The model of a vocabulary of texts, of which no text becomes a token of `never`.
    ///
    /// # Errors
    /// `invalid_file` for more merges than a rank can tell.
    pub fn new(vocabulary: &Vocabulary, never: &HashSet<u32>, options: CharBpeOptions<'_>) -> Result<Self> {
        let unused: HashSet<u32> = options.unused.iter().copied().collect();
        let mut symbols = CharSymbols::new(vocabulary, &(never | &unused), options.affixes, options.unknown);
        symbols.find_first(vocabulary, options.user_defined)?;
        let makeshift = symbols.makeshift();
        let alone = options.user_defined.iter().copied().collect();
        let none = never | &makeshift;
        let mut scored = options.by_score.then(|| by_score(vocabulary, &none, &alone, &unused));
        let resegment = scored.as_ref().and_then(|scored| Resegment::new(vocabulary, scored, &unused));
        let characters = scored.as_mut().map(|scored| std::mem::take(&mut scored.characters)).unwrap_or_default();
        symbols.stand_in(vocabulary.id_limit(), &characters);
        let id_limit = vocabulary.id_limit() + characters.len() as u32;
        let (found, orders) = scored.map(|scored| (scored.merges, scored.orders)).unzip();
        let merges = found.as_deref().unwrap_or_else(|| vocabulary.merges());
        let table = CharMerges::new(merges, orders.unwrap_or_default(), id_limit, never)?;
        // What an unused piece becomes is decided by all of the text.
        let is_plain = resegment.is_none() && options.affixes.are_none() && joins_texts(vocabulary, merges, &makeshift);
        let mut model =
            CharBpe::<false> { symbols, merges: table, whole: HashMap::default(), boundaries: None, resegment };
        if options.ignore_merges {
            model.whole = model.made_otherwise(vocabulary, never);
        }
        if is_plain && model.whole.is_empty() {
            model.boundaries = Some(Boundaries::new(vocabulary, merges, &model.symbols, options.user_defined));
        }
        // A piece that is written `<0x41>` may be that entry, which otherwise stands for one byte.
        let tiles = is_plain && model.symbols.cover_all() && model.whole.is_empty();
        if !tiles {
            return Ok(Self::Other(model));
        }
        let CharBpe { symbols, merges, whole, boundaries, resegment } = model;
        Ok(Self::Tiling(CharBpe { symbols, merges, whole, boundaries, resegment }))
    }
}

/// Tell whether each merge makes the text of both parts joined, and none is of tokens of bytes or of unknown text.
fn joins_texts(vocabulary: &Vocabulary, merges: &[Merge], makeshift: &HashSet<u32>) -> bool {
    merges.iter().all(|merge| {
        let [left, right, product] =
            [merge.left, merge.right, merge.product].map(|id| vocabulary.bytes(id).unwrap_or_default());
        let joined = product.len() == left.len() + right.len() && product.starts_with(left) && product.ends_with(right);
        joined && ![merge.left, merge.right, merge.product].iter().any(|id| makeshift.contains(id))
    })
}

/// Make tokens of what merges have left of symbols of so many bytes: ids, each with the number of its first symbol.
fn tokens_of(ids: &[u32], starts: &[u32], bytes: &[u32]) -> impl Iterator<Item = Token> {
    let ends = starts.iter().skip(1).map(|end| *end as usize).chain([bytes.len()]);
    let bytes = starts.iter().zip(ends).map(|(start, end)| bytes[*start as usize..end].iter().sum());
    ids.iter().zip(bytes).map(|(id, bytes)| Token { id: *id, bytes })
}

/// The vocabulary as tokens of a model with byte fallback stand in a text: `<0xNN>` is that byte.
///
/// # Errors
/// None that the vocabulary itself did not have.
pub fn with_bytes(vocabulary: &Vocabulary) -> Result<Vocabulary> {
    let entry = |(id, entry): (u32, &[u8])| (id, byte_of(entry).map_or_else(|| entry.to_vec(), |byte| vec![byte]));
    Vocabulary::new(vocabulary.tokens().map(entry).collect(), Vec::new(), Vec::new())
}

impl<const TILES: bool> CharBpe<TILES> {
    /// Tell whether cutting a piece changes no id, in a text of its own; for tests.
    pub fn is_cut(&self) -> bool {
        self.boundaries.is_some()
    }

    /// The entries that merges make something else of.
    fn made_otherwise(&self, vocabulary: &Vocabulary, never: &HashSet<u32>) -> HashMap<Box<[u8]>, u32, FxBuildHasher> {
        let mut work = CharBpeBuffers::default();
        let entries = vocabulary.tokens().filter(|(id, _)| !never.contains(id));
        let other = entries.filter(|(id, entry)| {
            std::str::from_utf8(entry).is_ok()
                && (self.merge(entry, 0..entry.len(), &mut work).is_err() || work.sequence.ids != [*id])
        });
        other.map(|(id, entry)| (entry.into(), id)).collect()
    }

    /// Leave in `work` the ids of a piece, and the bytes that each stands for.
    #[inline]
    fn merge(&self, text: &[u8], range: std::ops::Range<usize>, work: &mut CharBpeBuffers) -> Covered {
        let CharBpeBuffers { sequence, waiting, queue, starts, tokens } = work;
        let start = range.start;
        self.symbols.read(text, range, sequence)?;
        if let Some(resegment) = &self.resegment {
            let noted = resegment.noted(&self.merges);
            let (ids, starts) = queue.merge_symbols(&noted, sequence.ids.iter().copied());
            tokens.clear();
            tokens.extend(tokens_of(ids, starts, &sequence.bytes));
            return resegment.apart(&noted, &self.symbols, tokens, start, sequence);
        }
        if sequence.ids.len() <= FEW {
            merge_few(&self.merges, sequence, waiting);
            return Ok(());
        }
        let (ids, found) = queue.merge_symbols(&self.merges, sequence.ids.iter().copied());
        starts.clear();
        starts.extend(found.iter().copied().chain([sequence.ids.len() as u32]));
        sequence.ids.clear();
        sequence.ids.extend_from_slice(ids);
        for (at, symbols) in starts.windows(2).enumerate() {
            let bytes = sequence.bytes[symbols[0] as usize..symbols[1] as usize].iter().sum();
            sequence.bytes[at] = bytes;
        }
        sequence.bytes.truncate(sequence.ids.len());
        Ok(())
    }

    /// Append the tokens of a piece, of whose merges some are left out.
    ///
    /// A piece may be a whole text. Of thousands of pairs nearly always one is not left out, and then nothing would be
    /// left out in the end. So a piece is parted wherever merges never join what stands on both sides.
    pub(super) fn sample(
        &self,
        text: &[u8],
        piece: std::ops::Range<usize>,
        dropout: &Dropout,
        stream: &mut Stream,
        work: &mut super::ModelBuffers,
    ) -> Covered {
        let (mut at, end) = (piece.start, piece.end);
        self.symbols.read(text, piece, &mut work.char_bpe.sequence)?;
        if let Some(resegment) = &self.resegment {
            let CharBpeBuffers { sequence, tokens, .. } = &mut work.char_bpe;
            let noted = resegment.noted(&self.merges);
            let (ids, starts) = work.sampling.dropout.merge(&noted, sequence.ids.iter().copied(), dropout, stream);
            tokens.clear();
            tokens.extend(tokens_of(ids, starts, &sequence.bytes));
            resegment.apart(&noted, &self.symbols, tokens, at, sequence)?;
            work.tokens.extend(sequence.tokens());
            return Ok(());
        }
        let Sequence { ids, bytes } = &work.char_bpe.sequence;
        let mut first = 0;
        for (next, length) in (1..).zip(bytes) {
            at += *length as usize;
            let parts = || self.boundaries.as_ref().is_some_and(|boundaries| boundaries.parts(text, at));
            if next < ids.len() && (at == end || !parts()) {
                continue;
            }
            let (ids, bytes) = (&ids[first..next], &bytes[first..next]);
            let (merged, starts) = work.sampling.dropout.merge(&self.merges, ids.iter().copied(), dropout, stream);
            work.tokens.extend(tokens_of(merged, starts, bytes));
            first = next;
        }
        Ok(())
    }
}

impl<const TILES: bool> Model for CharBpe<TILES> {
    const TILES: bool = TILES;

    fn encode(&self, text: &[u8], pieces: &[Piece], work: &mut super::ModelBuffers, out: &mut PieceIds) -> Covered {
        let work = &mut work.char_bpe;
        for (at, piece) in pieces.iter().enumerate() {
            let whole = (!self.whole.is_empty()).then(|| self.whole.get(&text[piece.range()])).flatten();
            match whole {
                Some(id) => {
                    work.sequence.ids.clear();
                    work.sequence.ids.push(*id);
                    work.sequence.bytes.clear();
                    work.sequence.bytes.push(piece.length() as u32);
                }
                None => self.merge(text, piece.range(), work)?,
            }
            let CharBpeBuffers { sequence, tokens, .. } = &mut *work;
            if TILES {
                out.give(at, &sequence.ids);
            } else {
                tokens.clear();
                tokens.extend(sequence.tokens());
                out.give_tokens(at, tokens);
            }
        }
        Ok(())
    }

    fn cut(&self, text: &str, start: usize, ends: &[u32], cuts: &mut Cuts) -> bool {
        let Some(boundaries) = &self.boundaries else { return false };
        boundaries.cut(&self.symbols, text.as_bytes(), start, ends, cuts);
        true
    }
}
