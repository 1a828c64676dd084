//! All distinct pieces in one flat array, each as its current tokens, so that a merge touches only its own places.
//!
//! A token always covers as many positions as it has symbols of the alphabet, and its id is at the first and the last
//! of them. So the next token begins `length` positions on, and the one before ends one position back: no links are
//! needed, and a piece of a million symbols costs no more than a million short ones:
//!
//! ```text
//! position   0  1  2  3  4  5  6  7
//! text       |  l  o  w  |  l  o  |        | is a border
//! array      |  l  o  w  |  l  o  |
//! l+o        |  lo lo w  |  lo lo |
//! lo+w       | low .. low|  lo lo |        .. was the start of `w` or of `o`: no token begins here any more
//! ```

use std::fmt::Debug;

use super::symbols::TrainedTokens;
use crate::error::Result;
use crate::simd::prefetch::prefetch;

/// Between two words, and beside characters outside the alphabet: no merge crosses it.
pub const BORDER: u32 = u32::MAX;

/// A position at which a token began that has been merged with the one before it.
const INSIDE: u32 = u32::MAX - 1;

/// Positions between two pauses: some ten milliseconds of counting.
const PAUSE: usize = 1 << 20;

/// Positions that share one entry of the index into runs of equal weights.
const BLOCK: usize = 64;

/// The room of a kept position: most of a run's memory is positions, and 32 bits can name those of some 250 million
/// pieces.
pub trait Position: Copy + Debug + Default {
    /// A position among so many that this type can name them.
    fn of(at: usize) -> Self;

    /// The position.
    fn at(self) -> usize;
}

macro_rules! position {
    ($($width:ty),*) => {$(
        impl Position for $width {
            #[inline]
            fn of(at: usize) -> Self {
                at as Self
            }

            #[inline]
            fn at(self) -> usize {
                self as usize
            }
        }
    )*};
}

position!(u32, u64);

/// The words, their tokens and their weights.
#[derive(Debug, Default)]
pub struct Words {
    tokens: Vec<u32>,
    /// The beginning of each run of words with one weight, with a last entry after all of them.
    run_starts: Vec<usize>,
    run_weights: Vec<u64>,
    /// The run that each block of positions begins in.
    blocks: Vec<u32>,
    /// Tokens of all words, each word as often as it weighs.
    total: u64,
}

impl Words {
    /// No words yet, with room for `positions` symbols and borders.
    pub fn with_capacity(positions: usize) -> Self {
        Self { tokens: Vec::with_capacity(positions), ..Self::default() }
    }

    /// Append a word; words of equal weight should follow each other. A token may be [`BORDER`].
    pub fn push_word(&mut self, tokens: impl Iterator<Item = u32>, weight: u64, symbols: &TrainedTokens) {
        if self.tokens.is_empty() {
            self.tokens.push(BORDER);
        }
        if self.run_weights.last() != Some(&weight) {
            self.run_starts.push(self.tokens.len());
            self.run_weights.push(weight);
        }
        for token in tokens.chain([BORDER]) {
            let start = self.tokens.len();
            let length = if token == BORDER { 1 } else { symbols.length(token) as usize };
            self.total += if token == BORDER { 0 } else { weight };
            self.tokens.resize(start + length, INSIDE);
            self.tokens[start] = token;
            self.tokens[start + length - 1] = token;
        }
    }

    /// Make the index of the weights.
    pub fn finish(&mut self) {
        self.tokens.shrink_to_fit();
        self.run_starts.push(usize::MAX);
        let mut run = 0;
        self.blocks = (0..self.tokens.len().div_ceil(BLOCK))
            .map(|block| {
                while self.run_starts[run + 1] <= block * BLOCK {
                    run += 1;
                }
                run as u32
            })
            .collect();
    }

    /// The number of positions.
    pub fn positions(&self) -> usize {
        self.tokens.len()
    }

    /// Tell whether 32 bits can name every position.
    pub fn are_few(&self) -> bool {
        u32::try_from(self.tokens.len()).is_ok()
    }

    /// The weight of the word at a position.
    #[inline]
    pub fn weight(&self, position: usize) -> u64 {
        let mut run = self.blocks[position / BLOCK] as usize;
        while self.run_starts[run + 1] <= position {
            run += 1;
        }
        self.run_weights[run]
    }

    /// The tokens of all words, each word as often as it weighs.
    pub fn total(&self) -> u64 {
        self.total
    }

    /// Note that merges made so many tokens fewer, which are not counted one by one in [`Words::merge`].
    pub fn note_merged(&mut self, tokens: u64) {
        self.total -= tokens;
    }

    /// Prefetch a position that will be read soon.
    #[inline]
    pub fn prefetch(&self, position: usize) {
        prefetch(&self.tokens, position);
    }

    /// Tell whether `left` is at `position` and `right` follows it.
    ///
    /// `left` must have been at `position` at some time: since then that token can only have grown.
    #[inline]
    pub fn stands(&self, position: usize, left: u32, right: u32, left_length: u32) -> bool {
        self.tokens[position] == left && self.tokens[position + left_length as usize] == right
    }

    /// Replace the tokens of `lengths` at `position` by one.
    #[inline]
    pub fn merge(&mut self, position: usize, lengths: (u32, u32), product: u32) {
        let second = position + lengths.0 as usize;
        self.tokens[position] = product;
        self.tokens[second] = INSIDE;
        self.tokens[second + lengths.1 as usize - 1] = product;
    }

    /// The token that ends before `position`, or [`BORDER`].
    #[inline]
    pub fn before(&self, position: usize) -> u32 {
        self.tokens[position - 1]
    }

    /// The token that begins at `position`, or [`BORDER`].
    #[inline]
    pub fn at(&self, position: usize) -> u32 {
        self.tokens[position]
    }

    /// Call `pair` with the position and the tokens of every pair, in order, and `pause` now and then.
    ///
    /// # Errors
    /// The error of `pause`.
    pub fn each_pair(
        &self,
        symbols: &TrainedTokens,
        mut pair: impl FnMut(usize, (u32, u32)),
        pause: impl FnMut() -> Result<()>,
    ) -> Result<()> {
        let (mut left, mut start) = (BORDER, 0);
        self.each_token(
            symbols,
            |position, right| {
                if left != BORDER && right != BORDER {
                    pair(start, (left, right));
                }
                (left, start) = (right, position);
            },
            pause,
        )
    }

    /// Call `token` with the position of every token and border, in order, and `pause` now and then.
    ///
    /// # Errors
    /// The error of `pause`.
    pub fn each_token(
        &self,
        symbols: &TrainedTokens,
        mut token: impl FnMut(usize, u32),
        mut pause: impl FnMut() -> Result<()>,
    ) -> Result<()> {
        let (mut position, mut next_pause) = (0, PAUSE);
        while position < self.tokens.len() {
            let id = self.tokens[position];
            token(position, id);
            position += if id == BORDER { 1 } else { symbols.length(id) as usize };
            if position > next_pause {
                next_pause = position + PAUSE;
                pause()?;
            }
        }
        Ok(())
    }
}
