//! BPE-dropout (Provilkov et al., 2020): merges that are left out at random.
//!
//! Before each merge, each pair that could be merged is left out with the same probability, independently; the first of
//! the others, by rank and place, is merged. How many are left out before it is geometric: one number is drawn for a
//! merge, however many pairs there are.

use super::heap::MergeBuffers;
use super::ranks::Merges;
use crate::model::sampling::ordered::Ordered;
use crate::model::sampling::stream::Stream;

/// The probability that a pair is left out.
#[derive(Debug)]
pub struct Dropout {
    /// By power of two: the probability that so many pairs are left out.
    powers: [f64; 32],
}

impl Dropout {
    /// `probability` is from 0 to 1.
    pub fn new(probability: f64) -> Self {
        let mut powers = [probability; 32];
        for at in 1..powers.len() {
            powers[at] = powers[at - 1] * powers[at - 1];
        }
        Self { powers }
    }

    /// Draw the number of pairs that are left out before one is not: at least `n` with the probability to the power
    /// `n`.
    fn left_out(&self, stream: &mut Stream) -> usize {
        let drawn = stream.unit();
        if drawn >= self.powers[0] {
            return 0;
        }
        let (mut count, mut probability) = (0, 1.0);
        for (bit, power) in self.powers.iter().enumerate().rev() {
            if drawn < probability * power {
                probability *= power;
                count |= 1 << bit;
            }
        }
        count
    }
}

/// The buffers of merging.
pub type DropoutBuffers = MergeBuffers<Ordered>;

impl DropoutBuffers {
    /// The ids that symbols are merged into, and of each the number of its first symbol. There are fewer than 2^32.
    pub fn merge(
        &mut self,
        merges: &impl Merges,
        symbols: impl Iterator<Item = u32>,
        dropout: &Dropout,
        stream: &mut Stream,
    ) -> (&[u32], &[u32]) {
        self.merge_by(merges, symbols, |pairs| pairs.nth(dropout.left_out(stream)))
    }
}
