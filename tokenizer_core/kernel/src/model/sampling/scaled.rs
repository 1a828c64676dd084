//! Positive numbers of any size: the probability of a long text is far below the smallest double.
//!
//! Only additions and multiplications of doubles, which give the same bits everywhere. The exponential function of a
//! system's library does not.

use std::ops::Mul;

/// `mantissa * 2^exponent`; the mantissa is at least 1 and below 2, or 0.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Scaled {
    mantissa: f64,
    exponent: i64,
}

/// An addend that is smaller by so many powers of two changes no bit of a double.
const PRECISION: i64 = 54;

/// `ln 2` in two parts, the first with bits to spare, so that its multiples are exact.
const LN_2: [f64; 2] = [6.931_471_803_691_238e-1, 1.908_214_929_270_587_7e-10];

/// fdlibm's polynomial of `r (e^r + 1) / (e^r - 1)`, in powers of `r^2`.
const POLYNOMIAL: [f64; 5] = [
    1.666_666_666_666_660_2e-1,
    -2.777_777_777_701_559_3e-3,
    6.613_756_321_437_934e-5,
    -1.653_390_220_546_525_2e-6,
    4.138_136_797_057_238_5e-8,
];

impl Scaled {
    /// 0.
    pub const ZERO: Self = Self { mantissa: 0.0, exponent: 0 };

    /// 1.
    pub const ONE: Self = Self { mantissa: 1.0, exponent: 0 };

    /// `e^x` of a finite `x`, to the last bit or the one before.
    pub fn exp(x: f64) -> Self {
        let twos = (x * std::f64::consts::LOG2_E).round();
        let (high, low) = (x - twos * LN_2[0], twos * LN_2[1]);
        let rest = high - low;
        let square = rest * rest;
        let sum = POLYNOMIAL.iter().rev().fold(0.0, |sum, factor| sum * square + factor);
        let near = rest - square * sum;
        let power = 1.0 + (rest * near / (2.0 - near) - low + high);
        Self { mantissa: power, exponent: twos as i64 }.normal()
    }

    /// Tell whether it is 0.
    pub fn is_zero(self) -> bool {
        self.mantissa == 0.0
    }

    /// The mantissa is at least a half and below 4, or 0.
    fn normal(self) -> Self {
        let Self { mantissa, exponent } = self;
        match mantissa {
            2.0.. => Self { mantissa: mantissa / 2.0, exponent: exponent + 1 },
            0.5..1.0 => Self { mantissa: mantissa * 2.0, exponent: exponent - 1 },
            _ => self,
        }
    }

    /// The sum of both.
    pub fn plus(self, other: Self) -> Self {
        if self.is_zero() || other.is_zero() {
            return if self.is_zero() { other } else { self };
        }
        let (large, small) = if self.exponent >= other.exponent { (self, other) } else { (other, self) };
        let mantissa = large.mantissa + small.mantissa * power_of_two(small.exponent - large.exponent);
        Self { mantissa, exponent: large.exponent }.normal()
    }

    /// Return its ratio to `whole`: a double.
    pub fn share(self, whole: Self) -> f64 {
        self.mantissa / whole.mantissa * power_of_two(self.exponent - whole.exponent)
    }
}

impl Mul for Scaled {
    type Output = Self;

    fn mul(self, other: Self) -> Self {
        let mantissa = self.mantissa * other.mantissa;
        Self { mantissa, exponent: self.exponent + other.exponent }.normal()
    }
}

/// `2^exponent` of an exponent up to 1: 0 if a double is too coarse to tell its addition from none.
fn power_of_two(exponent: i64) -> f64 {
    if exponent < -PRECISION { 0.0 } else { f64::from_bits(((1023 + exponent.min(1)) as u64) << 52) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_exponential_is_that_of_the_library() {
        for at in -7000..7000 {
            let x = f64::from(at) / 10.0;
            let Scaled { mantissa, exponent } = Scaled::exp(x);
            let ours = mantissa * 2_f64.powi(exponent as i32);
            assert!((ours / x.exp() - 1.0).abs() < 4e-16, "{x}");
            assert!((1.0..2.0).contains(&mantissa));
        }
    }

    #[test]
    fn sums_and_products_of_numbers_far_below_a_double_keep_their_shares() {
        let tiny = Scaled::exp(-1e6);
        let three = tiny.plus(tiny).plus(tiny);
        assert!((tiny.share(three) - 1.0 / 3.0).abs() < 1e-15);
        assert_eq!((tiny * Scaled::ONE), tiny);
        assert!((tiny * tiny).share(tiny) == 0.0);
        assert_eq!(tiny.plus(Scaled::ZERO), tiny);
    }
}
