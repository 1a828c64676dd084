//! Make the merges that an earlier attempt has learned in all words, so that they need not be found again.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use rustc_hash::FxHashMap;

use super::Learned;
use super::progress::{Progress, Reporter};
use super::symbols::TrainedTokens;
use super::words::{BORDER, Words};
use crate::error::Result;

/// Positions between two reports: some ten milliseconds.
const PAUSE: usize = 1 << 20;

/// Make the first of `known` that make a new token each, up to `tokens` tokens, and return them.
///
/// A merge that makes a token anew can bring back a pair that was merged before, which order by rank would merge too
/// early: that merge and those behind it are left to be found again, and so is what no run can have learned.
///
/// # Errors
/// `corpus_too_large`; what `reporter` returns.
pub fn replay(
    words: &mut Words,
    symbols: &mut TrainedTokens,
    known: &[Learned],
    tokens: usize,
    reporter: &mut Reporter<'_>,
) -> Result<Vec<Learned>> {
    let alphabet = symbols.len();
    let mut ranks: FxHashMap<(u32, u32), u32> = FxHashMap::default();
    for merge in known {
        let Learned { left, right, product, .. } = *merge;
        let next = symbols.len();
        let exist = (left as usize) < next && (right as usize) < next && symbols.may_follow(right);
        if next >= tokens || product as usize != next || !exist || ranks.contains_key(&(left, right)) {
            break;
        }
        let bytes = symbols.product(left, right);
        if symbols.find(&bytes).is_some() {
            break;
        }
        ranks.insert((left, right), (next - alphabet) as u32);
        symbols.push(&bytes, symbols.length(left) + symbols.length(right))?;
    }
    let merges = &known[..ranks.len()];
    if !merges.is_empty() {
        let mut replay = Replay { words, symbols, merges, ranks, open: BinaryHeap::new() };
        let total = (tokens - alphabet) as u64;
        replay.run(|| {
            reporter.tick(merges.len(), || Progress { done: merges.len() as u64, total, merges, tokens: None })
        })?;
    }
    Ok(merges.to_vec())
}

struct Replay<'a> {
    words: &'a mut Words,
    symbols: &'a TrainedTokens,
    merges: &'a [Learned],
    /// The place of each pair in `merges`.
    ranks: FxHashMap<(u32, u32), u32>,
    /// Merges of one word that may be made: the lowest rank first, of equals the leftmost.
    open: BinaryHeap<Reverse<(u32, usize)>>,
}

impl Replay<'_> {
    fn run(&mut self, mut pause: impl FnMut() -> Result<()>) -> Result<()> {
        let (mut position, mut next_pause) = (0, PAUSE);
        let (mut left, mut start) = (BORDER, 0);
        while position < self.words.positions() {
            let right = self.words.at(position);
            self.note(start, (left, right));
            (left, start) = (right, position);
            if right == BORDER {
                self.merge_word();
                position += 1;
            } else {
                position += self.symbols.length(right) as usize;
            }
            if position > next_pause {
                next_pause = position + PAUSE;
                pause()?;
            }
        }
        Ok(())
    }

    fn note(&mut self, position: usize, pair: (u32, u32)) {
        if let Some(rank) = self.ranks.get(&pair) {
            self.open.push(Reverse((*rank, position)));
        }
    }

    fn merge_word(&mut self) {
        while let Some(Reverse((rank, position))) = self.open.pop() {
            let Learned { left, right, product, .. } = self.merges[rank as usize];
            let lengths = (self.symbols.length(left), self.symbols.length(right));
            if !self.words.stands(position, left, right, lengths.0) {
                continue;
            }
            self.words.merge(position, lengths, product);
            self.words.note_merged(self.words.weight(position));
            let before = self.words.before(position);
            if before != BORDER {
                self.note(position - self.symbols.length(before) as usize, (before, product));
            }
            let after = self.words.at(position + (lengths.0 + lengths.1) as usize);
            self.note(position, (product, after));
        }
    }
}
