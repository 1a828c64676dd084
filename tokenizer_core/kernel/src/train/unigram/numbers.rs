//! Logarithm, exponential and digamma from additions, products and quotients alone, which round alike on every machine;
//! the functions of the system's library do not. Errors are below 2 units in the last place or so.

use std::f64::consts::{LN_2, SQRT_2};

/// The natural logarithm of a normal number above 0.
pub fn ln(x: f64) -> f64 {
    let (mut mantissa, mut exponent) = split(x);
    if mantissa > SQRT_2 {
        mantissa /= 2.0;
        exponent += 1;
    }
    let t = (mantissa - 1.0) / (mantissa + 1.0);
    let square = t * t;
    let mut sum = 0.0;
    for term in (0..=11).rev() {
        sum = sum * square + 1.0 / f64::from(2 * term + 1);
    }
    f64::from(exponent) * LN_2 + 2.0 * t * sum
}

/// The exponential of a number of at most 0; 0 below the normal numbers.
pub fn exp(x: f64) -> f64 {
    if x < -700.0 {
        return 0.0;
    }
    let halvings = (x / LN_2).round_ties_even();
    let rest = x - halvings * LN_2;
    let mut sum = 1.0;
    for term in (1..=14).rev() {
        sum = 1.0 + sum * rest / f64::from(term);
    }
    sum * power_of_two(halvings as i32)
}

/// The digamma function of a number above 0.
pub fn digamma(x: f64) -> f64 {
    let (mut x, mut result) = (x, 0.0);
    while x < 7.0 {
        result -= 1.0 / x;
        x += 1.0;
    }
    x -= 0.5;
    let square = 1.0 / x / x;
    let fourth = square * square;
    result += ln(x) + square / 24.0 - 7.0 / 960.0 * fourth + 31.0 / 8064.0 * fourth * square;
    result - 127.0 / 30720.0 * fourth * fourth
}

/// A power of two with an exponent from -1022 to 1023.
pub fn power_of_two(exponent: i32) -> f64 {
    f64::from_bits(((exponent + 1023) as u64) << 52)
}

/// A normal number above 0 as a mantissa from 1 to 2 and an exponent.
fn split(x: f64) -> (f64, i32) {
    let bits = x.to_bits();
    let mantissa = f64::from_bits(bits & ((1 << 52) - 1) | 1023 << 52);
    (mantissa, (bits >> 52) as i32 - 1023)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn they_are_near_those_of_the_library() {
        for step in 1..4000 {
            let x = f64::from(step) * 0.37;
            assert!((ln(x) - x.ln()).abs() <= 4e-16 * x.ln().abs().max(1.0), "{x}");
            assert!((exp(-x / 3.0) / (-x / 3.0).exp() - 1.0).abs() < 2e-13, "{x}");
        }
        // Minus Euler's constant, and the recurrence.
        assert!((digamma(1.0) + 0.577_215_664_901_532_9).abs() < 1e-9);
        assert!((digamma(3.5) - digamma(2.5) - 1.0 / 2.5).abs() < 1e-9);
        assert_eq!(exp(-800.0), 0.0);
    }
}
