//! Byte-level BPE: a piece that is a token is looked up, any other one is merged in the way that is best for its
//! length.

pub mod backtrack;
pub mod boundaries;
pub mod dropout;
pub mod heap;
mod joins;
pub mod lockstep;
pub(crate) mod pair_table;
pub mod ranks;
pub mod split_table;
pub mod token_index;
pub(crate) mod token_trie;

use std::collections::HashSet;
use std::sync::Arc;

use super::sampling::stream::Stream;
use super::{Covered, Cuts, Model, Piece, PieceIds, Token};
use crate::error::Result;
use crate::model::bpe::backtrack::{Backtracker, Lengths, SearchTables};
use crate::model::bpe::boundaries::SafeSplit;
use crate::model::bpe::dropout::Dropout;
use crate::model::bpe::heap::Merger;
pub(crate) use crate::model::bpe::joins::Joins;
use crate::model::bpe::lockstep::{LANES, Lanes};
use crate::model::bpe::ranks::MergeTable;
use crate::model::bpe::split_table::SplitTable;
use crate::model::bpe::token_index::{Candidate, TokenIndex};
use crate::parallel::join;
use crate::piece_cache::WIDE_LIMIT;
use crate::simd::level::SimdLevel;
use crate::vocabulary::Vocabulary;
use crate::vocabulary::token_table::TokenTable;

/// From this many tokens on, a second thread is worth its start.
const LARGE: u32 = 10_000;

/// Up to this many pieces are merged without looking them up as tokens: they would have to wait for the look-up, and
/// merges give the same ids.
const FEW: usize = 4;

/// Places in a lane, by the length of its pieces: two more than the bytes of the longest that it takes.
const SHORT: usize = 16;
const MIDDLE: usize = 32;

/// Tokens and merges, ready to be looked up.
#[derive(Debug)]
pub struct Bpe {
    merges: MergeTable,
    split_table: Option<SplitTable>,
    /// Absent where long pieces are merged with the queue.
    lengths: Option<Lengths>,
    tokens: TokenIndex,
    /// Absent where too many pairs of characters are spanned by tokens.
    boundaries: Option<SafeSplit>,
    /// Present where all of the above is about words, which are then joined.
    pub(crate) joins: Option<Joins>,
}

/// The buffers of [`Bpe`].
#[derive(Debug, Default)]
pub struct BpeBuffers {
    short: Lanes<SHORT>,
    middle: Lanes<MIDDLE>,
    backtracker: Backtracker,
    queue: Merger,
    /// By piece: the hash under which the index has it, and what the index gave.
    candidates: Vec<(u64, Candidate)>,
    /// Pieces to be merged, by length.
    groups: Groups,
}

#[derive(Debug, Default)]
struct Groups {
    short: Vec<u32>,
    middle: Vec<u32>,
    long: Vec<u32>,
}

impl BpeBuffers {
    /// Give back the memory of long pieces, down to `entries` entries a buffer.
    pub(super) fn shrink(&mut self, entries: usize) {
        self.backtracker.shrink(entries);
        self.queue.shrink(entries);
    }
}

impl Bpe {
    /// Make the tables of a vocabulary; no text becomes a token of `never`. With `ignore_merges` a piece that is a
    /// token is that token.
    ///
    /// # Errors
    /// `missing_byte`.
    pub fn new(
        vocabulary: &Vocabulary,
        table: &Arc<TokenTable>,
        never: &HashSet<u32>,
        ignore_merges: bool,
        level: SimdLevel,
    ) -> Result<Self> {
        let words = if ignore_merges { None } else { joins::words(vocabulary, never, level)? };
        match words {
            Some((words, joins)) => {
                Ok(Self { joins: Some(joins), ..Self::of_pieces(&words, table, never, false, level)? })
            }
            None => Self::of_pieces(vocabulary, table, never, ignore_merges, level),
        }
    }

    /// The tables of pieces that are merged at once.
    fn of_pieces(
        vocabulary: &Vocabulary,
        table: &Arc<TokenTable>,
        never: &HashSet<u32>,
        ignore_merges: bool,
        level: SimdLevel,
    ) -> Result<Self> {
        let split = || SafeSplit::new(vocabulary, level);
        let build = || {
            let merges = MergeTable::new(vocabulary, never)?.on(level);
            let split_table = SplitTable::new(vocabulary, &merges);
            let lengths = split_table
                .as_ref()
                .and_then(|split_table| Lengths::new(vocabulary, |id| split_table.is_reachable(id)));
            let tokens = TokenIndex::new(vocabulary, Arc::clone(table), split_table.as_ref(), never, ignore_merges);
            Result::Ok((merges, split_table, lengths, tokens))
        };
        let (built, boundaries) = if vocabulary.id_limit() < LARGE { (build(), split()) } else { join(build, split) };
        let (merges, split_table, lengths, tokens) = built?;
        Ok(Self { merges, split_table, lengths, tokens, boundaries, joins: None })
    }

    /// The table of all merges.
    pub fn merges(&self) -> &MergeTable {
        self.joins.as_ref().map_or(&self.merges, |joins| &joins.merges)
    }

    /// Return the tables that the search of long pieces needs; `None` where they are merged with the queue.
    pub fn search_tables(&self) -> Option<SearchTables<'_>> {
        let (split_table, lengths) = (self.split_table.as_ref()?, self.lengths.as_ref()?);
        Some(SearchTables { merges: &self.merges, split_table, lengths, tokens: &self.tokens })
    }

    /// Append the tokens of a piece, of whose merges some are left out.
    pub(super) fn sample(&self, piece: &[u8], dropout: &Dropout, stream: &mut Stream, work: &mut super::ModelBuffers) {
        let symbols = piece.iter().map(|byte| self.merges.byte_id(*byte));
        let (ids, starts) = work.sampling.dropout.merge(self.merges(), symbols, dropout, stream);
        let ends = starts.iter().skip(1).copied().chain([piece.len() as u32]);
        let tokens = ids.iter().zip(starts).zip(ends);
        work.tokens.extend(tokens.map(|((id, start), end)| Token { id: *id, bytes: end - start }));
    }

    /// Tell whether the index has to be asked: for a few pieces merges are faster, unless they give something else.
    fn asks_index(&self, pieces: usize) -> bool {
        pieces > FEW || self.tokens.has_whole_only()
    }

    /// Look up pieces of up to 31 bytes as tokens, each step for all of them, so that their waits for memory overlap.
    #[inline(always)]
    fn look_up(&self, text: &[u8], pieces: &[Piece], candidates: &mut Vec<(u64, Candidate)>) {
        candidates.clear();
        candidates.extend(pieces.iter().map(|piece| {
            let hash = match piece.key() {
                Some(key) => key.whole().hash(),
                None => TokenIndex::hash_of(&text[piece.range()]).unwrap_or_default(),
            };
            self.tokens.prefetch(hash);
            (hash, Candidate::default())
        }));
        for (hash, candidate) in candidates {
            *candidate = self.tokens.candidate(*hash);
        }
    }

    /// The token that a piece is.
    #[inline(always)]
    fn token(&self, text: &[u8], piece: &Piece, candidate: Candidate) -> Option<u32> {
        let bytes = &text[piece.range()];
        match piece.key() {
            Some(key) => self.tokens.confirm(candidate, key.whole(), bytes, piece.part),
            None if bytes.len() <= WIDE_LIMIT => self.tokens.confirm_wide(candidate, bytes, piece.part),
            None => self.tokens.get(None, bytes, piece.part),
        }
    }

    /// Merge pieces in groups of about the same length, so that their waits for memory overlap.
    #[inline(always)]
    fn merge_together<const N: usize>(
        &self,
        text: &[u8],
        pieces: &[Piece],
        listed: &mut Vec<u32>,
        lanes: &mut Lanes<N>,
        out: &mut PieceIds,
    ) {
        for group in listed.chunks(LANES) {
            lanes.merge(&self.merges, group.iter().map(|at| &text[pieces[*at as usize].range()]));
            for (lane, at) in group.iter().enumerate() {
                let (ids, count) = lanes.ids(lane);
                match ids.first_chunk::<8>() {
                    Some(few) if count <= few.len() => out.give_first(*at as usize, few, count),
                    _ => out.give(*at as usize, &ids[..count]),
                }
            }
        }
        listed.clear();
    }
}

impl Model for Bpe {
    const TILES: bool = true;

    #[inline(never)]
    fn encode(&self, text: &[u8], pieces: &[Piece], work: &mut super::ModelBuffers, out: &mut PieceIds) -> Covered {
        let BpeBuffers { short, middle, backtracker, queue, candidates, groups } = &mut work.bpe;
        candidates.clear();
        if self.asks_index(pieces.len()) {
            self.look_up(text, pieces, candidates);
        }
        for (at, piece) in pieces.iter().enumerate() {
            let candidate = candidates.get(at).map_or_else(Candidate::default, |(_, candidate)| *candidate);
            if let Some(id) = self.token(text, piece, candidate) {
                out.give_first(at, &[id], 1);
                continue;
            }
            let length = piece.length();
            let group = if length <= Lanes::<SHORT>::LIMIT {
                &mut groups.short
            } else if length <= Lanes::<MIDDLE>::LIMIT {
                &mut groups.middle
            } else {
                &mut groups.long
            };
            group.push(at as u32);
        }
        // The last few short ones go into the lanes of the middle ones if there is room.
        let (last, room) = (groups.short.len() % LANES, LANES - groups.middle.len() % LANES);
        if room < LANES && last <= room {
            groups.middle.extend(groups.short.drain(groups.short.len() - last..));
        }
        self.merge_together(text, pieces, &mut groups.short, short, out);
        self.merge_together(text, pieces, &mut groups.middle, middle, out);
        while let Some(at) = groups.long.pop() {
            let piece = &text[pieces[at as usize].range()];
            let by_search = self.search_tables().and_then(|search| backtracker.encode(search, piece));
            let ids = match by_search {
                Some(ids) => ids,
                None => queue.merge(&self.merges, piece),
            };
            out.give(at as usize, ids);
        }
        Ok(())
    }

    fn cut(&self, text: &str, start: usize, ends: &[u32], cuts: &mut Cuts) -> bool {
        let end = ends.last().map_or(start, |end| *end as usize);
        let boundaries = self.boundaries.as_ref();
        let Some(boundaries) =
            boundaries.filter(|all| self.joins.is_some() || all.is_worth_cutting(&text.as_bytes()[start..end]))
        else {
            return false;
        };
        // A token that merges do not make stands for a whole piece, and not for a part of the same bytes.
        boundaries.cut(text, start, ends, self.tokens.has_whole_only(), cuts);
        true
    }
}
