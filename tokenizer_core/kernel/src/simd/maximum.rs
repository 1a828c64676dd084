//! The maximum of some numbers.

#[cfg(target_arch = "x86_64")]
use crate::simd::level::Avx2;
use crate::simd::level::Portable;

/// Each level's search for the maximum of `N` numbers, which fill whole vectors. Each is zero or the bits of a normal
/// positive floating-point number, since the order of such bits is that of the numbers.
pub(crate) trait Maximum: Copy {
    fn maximum<const N: usize>(self, numbers: &[u32; N]) -> u32;
}

impl Maximum for Portable {
    /// SSE2 has no maximum of unsigned integers of 32 bits, but one of floating-point numbers.
    #[cfg(target_arch = "x86_64")]
    #[inline(always)]
    fn maximum<const N: usize>(self, numbers: &[u32; N]) -> u32 {
        use core::arch::x86_64::{_mm_cvtss_f32, _mm_loadu_ps, _mm_max_ps, _mm_movehl_ps, _mm_shuffle_ps};
        const { assert!(N.is_multiple_of(16)) };
        // SAFETY: every machine of this kind has SSE2; there are as many vectors of four numbers.
        unsafe {
            let four = |at: usize| _mm_loadu_ps(numbers.as_ptr().add(4 * at).cast());
            let sixteen =
                |at: usize| _mm_max_ps(_mm_max_ps(four(at), four(at + 1)), _mm_max_ps(four(at + 2), four(at + 3)));
            let all = (1..N / 16).fold(sixteen(0), |all, at| _mm_max_ps(all, sixteen(4 * at)));
            let two = _mm_max_ps(all, _mm_movehl_ps(all, all));
            let one = _mm_max_ps(two, _mm_shuffle_ps::<1>(two, two));
            _mm_cvtss_f32(one).to_bits()
        }
    }

    #[cfg(not(target_arch = "x86_64"))]
    #[inline(always)]
    fn maximum<const N: usize>(self, numbers: &[u32; N]) -> u32 {
        numbers.iter().copied().fold(0, u32::max)
    }
}

#[cfg(target_arch = "x86_64")]
impl Maximum for Avx2 {
    #[inline(always)]
    fn maximum<const N: usize>(self, numbers: &[u32; N]) -> u32 {
        use core::arch::x86_64::{
            __m256i, _mm_cvtsi128_si32, _mm_max_epu32, _mm_shuffle_epi32, _mm256_castsi256_si128,
            _mm256_extracti128_si256, _mm256_loadu_si256, _mm256_max_epu32,
        };
        const { assert!(N.is_multiple_of(16)) };
        // SAFETY: the token proves AVX2; there are as many vectors of eight numbers.
        unsafe {
            // No closure: where one is not inlined, each instruction in it becomes a call.
            let vectors = numbers.as_ptr().cast::<__m256i>();
            let mut all = _mm256_loadu_si256(vectors);
            let mut at = 1;
            while at < N / 8 {
                all = _mm256_max_epu32(all, _mm256_loadu_si256(vectors.add(at)));
                at += 1;
            }
            let four = _mm_max_epu32(_mm256_castsi256_si128(all), _mm256_extracti128_si256::<1>(all));
            let two = _mm_max_epu32(four, _mm_shuffle_epi32::<0b1110>(four));
            _mm_cvtsi128_si32(_mm_max_epu32(two, _mm_shuffle_epi32::<1>(two))) as u32
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn check<const N: usize>(numbers: &[u32]) -> Result<(), TestCaseError> {
        let numbers: [u32; N] = std::array::from_fn(|at| numbers[at]);
        let truth = numbers.iter().copied().max().unwrap_or(0);
        prop_assert_eq!(Portable.maximum(&numbers), truth);
        #[cfg(target_arch = "x86_64")]
        if let Some(avx2) = Avx2::detect() {
            prop_assert_eq!(avx2.maximum(&numbers), truth);
        }
        Ok(())
    }

    proptest! {
        /// The maximum in any place, and as often as it likes; the smallest and the maximum ordinary numbers among
        /// them.
        #[test]
        fn it_is_the_greatest_on_every_level(
            (least, most) in (1_u32 << 23..f32::INFINITY.to_bits(), 1_u32 << 23..f32::INFINITY.to_bits()),
            mut numbers in prop::collection::vec(0..5_u32, 64),
            maximum in prop::collection::vec(0..64_usize, 0..3),
        ) {
            let values = [0, 1 << 23, least, least.min(most), f32::INFINITY.to_bits() - 2];
            numbers.iter_mut().for_each(|number| *number = values[*number as usize]);
            maximum.into_iter().for_each(|at| numbers[at] = f32::INFINITY.to_bits() - 1);
            check::<16>(&numbers)?;
            check::<32>(&numbers)?;
            check::<64>(&numbers)?;
        }
    }
}
