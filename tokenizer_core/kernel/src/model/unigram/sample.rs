//! A segmentation drawn with its probability to a power, exactly: the weights of all ways from each place to the end
//! are summed from the right, then tokens are drawn from the left.

use std::ops::Range;

use super::lattice::Step;
use super::{Unigram, is_char_start};
use crate::capacity::reserve;
use crate::model::sampling::scaled::Scaled;
use crate::model::sampling::stream::Stream;
use crate::model::{Covered, ModelBuffers};

/// The buffers of sampling.
#[derive(Debug, Default)]
pub struct SampleBuffers {
    /// By place: the sum of the weights of all ways from there to the end.
    sums: Vec<Scaled>,
    /// The tokens that may come next, and their shares of the sum.
    choices: Vec<(Step, f64)>,
    steps: Vec<Step>,
}

impl SampleBuffers {
    /// Give back the memory of long pieces, down to `entries` entries a buffer.
    pub fn shrink(&mut self, entries: usize) {
        self.sums.clear();
        self.sums.shrink_to(entries);
        self.choices.clear();
        self.steps.clear();
        self.steps.shrink_to(entries);
    }
}

impl Unigram {
    /// Append the tokens of a segmentation of a piece, drawn with a probability proportional to
    /// `exp(alpha * (sum of its scores))`.
    pub(in crate::model) fn sample(
        &self,
        text: &[u8],
        piece: Range<usize>,
        alpha: f64,
        stream: &mut Stream,
        work: &mut ModelBuffers,
    ) -> Covered {
        let SampleBuffers { sums, choices, steps } = &mut work.sampling.unigram;
        let (start, word) = (piece.start, &text[piece]);
        let weight = |id: u32| Scaled::exp(alpha * self.entries.double(id));
        sums.clear();
        reserve(sums, word.len() + 1);
        sums.resize(word.len(), Scaled::ZERO);
        sums.push(Scaled::ONE);
        for at in (0..word.len()).rev().filter(|at| is_char_start(word[*at])) {
            let mut sum = Scaled::ZERO;
            self.each_token(word, at, |end, id| sum = sum.plus(weight(id) * sums[end]));
            sums[at] = sum;
        }
        if sums[0].is_zero() {
            return Err(self.uncovered(word, start));
        }
        steps.clear();
        let mut at = 0;
        while at < word.len() {
            choices.clear();
            self.each_token(word, at, |end, id| {
                let share = (weight(id) * sums[end]).share(sums[at]);
                choices.push(((id, (end - at) as u32), share));
            });
            let step = drawn(choices, stream);
            steps.push(step);
            at += step.1 as usize;
        }
        self.append(word, start, steps, &mut work.tokens)
    }
}

/// One of at least one item, with a probability proportional to its share.
pub fn drawn<T: Copy>(choices: &[(T, f64)], stream: &mut Stream) -> T {
    let total: f64 = choices.iter().map(|(_, share)| share).sum();
    let mut left = stream.unit() * total;
    // What roundings leave at the end goes to the last that is possible.
    let mut last = choices[0].0;
    for (item, share) in choices.iter().filter(|(_, share)| *share > 0.0) {
        last = *item;
        if left < *share {
            break;
        }
        left -= share;
    }
    last
}
