//! The tables that encoding needs, made once from a vocabulary.

use std::collections::HashSet;
use std::sync::Arc;

use crate::decode::cells::Cells;
use crate::error::Result;
use crate::machine::level::SimdLevel;
use crate::merging::backtrack::{Lengths, SearchTables};
use crate::merging::lineage::Lineage;
use crate::merging::ranks::MergeTable;
use crate::merging::token_index::TokenIndex;
use crate::parallel::join;
use crate::safe_split::SafeSplit;
use crate::vocabulary::Vocabulary;

/// From this many tokens on, a second thread is worth its start.
const LARGE: u32 = 10_000;

/// All tables of a vocabulary, shared between threads.
#[derive(Debug)]
pub struct Tables {
    pub(crate) merges: MergeTable,
    lineage: Option<Lineage>,
    /// Absent where long pieces are merged with the queue.
    lengths: Option<Lengths>,
    pub(crate) tokens: TokenIndex,
    pub(crate) safe_split: Option<SafeSplit>,
    /// Whether a part of a piece can have other ids than a piece of the same bytes.
    pub(crate) parts_differ: bool,
    /// One that the machine has: [`MergeTable::on`] panics on any other.
    pub(crate) level: SimdLevel,
}

impl Tables {
    /// Make the tables of a vocabulary for the instructions of `path`; no text becomes one of `never`. With
    /// `ignore_merges` a piece that is a token is that token.
    ///
    /// # Errors
    /// `missing_byte`.
    ///
    /// # Panics
    /// If the machine lacks `path`.
    pub fn new(
        vocabulary: &Vocabulary,
        cells: &Arc<Cells>,
        never: &HashSet<u32>,
        ignore_merges: bool,
        level: SimdLevel,
    ) -> Result<Self> {
        let split = || SafeSplit::new(vocabulary, level);
        let build = || {
            let merges = MergeTable::new(vocabulary, never)?.on(level);
            let lineage = Lineage::new(vocabulary, &merges);
            let lengths = lineage.as_ref().and_then(|lineage| Lengths::new(vocabulary, |id| lineage.is_made(id)));
            let tokens = TokenIndex::new(vocabulary, Arc::clone(cells), lineage.as_ref(), never, ignore_merges);
            Ok((merges, lineage, lengths, tokens))
        };
        let (built, safe_split) = if vocabulary.id_limit() < LARGE { (build(), split()) } else { join(build, split) };
        let (merges, lineage, lengths, tokens) = built?;
        let parts_differ = tokens.has_whole_only();
        Ok(Self { merges, lineage, lengths, tokens, safe_split, parts_differ, level })
    }

    /// The tables of backtracking over long pieces; `None` where they are merged with the queue.
    pub fn search_tables(&self) -> Option<SearchTables<'_>> {
        let (lineage, lengths) = (self.lineage.as_ref()?, self.lengths.as_ref()?);
        Some(SearchTables { merges: &self.merges, lineage, lengths, tokens: &self.tokens })
    }
}
