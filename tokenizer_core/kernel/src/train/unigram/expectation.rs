//! The expected number of occurrences of every piece, over all ways to cut all words: forwards, then backwards.
//!
//! Probabilities of long words leave the range of a float, so each sum has an exponent of its own, in steps of 256.
//! The addend of a word to a piece is rounded to a fixed point: sums of integers are the same in any order, so threads
//! change nothing.

use super::lattice::Lattice;
use super::numbers::power_of_two;

/// Between two exponents.
const STEP: i32 = 256;

/// A number of at most about 1, times 2 to the power of [`STEP`] times `exponent`.
#[derive(Debug, Clone, Copy, Default)]
struct ScaledProbability {
    value: f64,
    exponent: i32,
}

impl ScaledProbability {
    const ONE: Self = Self { value: 1.0, exponent: 0 };

    #[inline]
    fn add(&mut self, other: Self) {
        if self.exponent == other.exponent {
            self.value += other.value;
        } else if self.value == 0.0 {
            *self = other;
        } else if self.exponent > other.exponent {
            self.value += other.at(self.exponent);
        } else {
            *self = Self { value: self.at(other.exponent) + other.value, exponent: other.exponent };
        }
    }

    #[inline]
    fn times(self, factor: f64) -> Self {
        Self { value: self.value * factor, ..self }
    }

    /// The value with a higher exponent, or with one lower by few steps.
    #[inline]
    fn at(self, exponent: i32) -> f64 {
        match self.exponent - exponent {
            0 => self.value,
            steps @ -3..=3 => self.value * power_of_two(steps * STEP),
            _ => 0.0,
        }
    }

    #[inline]
    fn normalize(&mut self) {
        if self.value > 0.0 && self.value < 1.0 / power_of_two(STEP) {
            *self = Self { value: self.value * power_of_two(STEP), exponent: self.exponent - 1 };
        }
    }
}

/// Buffers for one thread.
#[derive(Debug, Default)]
pub struct Expectation {
    forwards: Vec<ScaledProbability>,
    backwards: Vec<ScaledProbability>,
}

impl Expectation {
    /// Add to `sums` what is expected of a word of `weight`, times `unit`.
    pub fn add(
        &mut self,
        lattice: &Lattice,
        probabilities: &[f64],
        (start, end, weight): (usize, usize, u64),
        unit: f64,
        sums: &mut [u64],
    ) {
        let (Self { forwards, backwards }, length) = (self, end - start);
        forwards.clear();
        forwards.resize(length + 1, ScaledProbability::default());
        backwards.clear();
        backwards.resize(length + 1, ScaledProbability::default());
        (forwards[0], backwards[length]) = (ScaledProbability::ONE, ScaledProbability::ONE);
        for at in 0..length {
            forwards[at].normalize();
            let here = forwards[at];
            for edge in lattice.at(start + at) {
                forwards[at + edge.length()].add(here.times(probabilities[edge.piece()]));
            }
        }
        forwards[length].normalize();
        let (all, weight) = (forwards[length], weight as f64);
        for at in (0..length).rev() {
            let mut sum = ScaledProbability::default();
            for edge in lattice.at(start + at) {
                let (probability, behind) = (probabilities[edge.piece()], backwards[at + edge.length()]);
                sum.add(behind.times(probability));
                let exponent = forwards[at].exponent + behind.exponent - all.exponent;
                let both =
                    ScaledProbability { value: forwards[at].value * probability * behind.value / all.value, exponent };
                sums[edge.piece()] += (both.at(0) * weight * unit).round_ties_even() as u64;
            }
            sum.normalize();
            backwards[at] = sum;
        }
    }
}
