//! Vectors of bytes that are compared all at once: the few operations that scanners need, on each level.

/// Operations on two vectors, each of which is an instruction.
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
macro_rules! operations {
    ($($name:ident: $instruction:ident),*) => {$(
        #[inline(always)]
        fn $name(self, other: Self) -> Self {
            // SAFETY: who has a vector has the instructions of its level.
            Self(unsafe { $instruction(self.0, other.0) })
        }
    )*};
}

#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "aarch64")]
mod neon;
#[cfg(any(test, not(any(target_arch = "x86_64", target_arch = "aarch64"))))]
mod plain;
#[cfg(target_arch = "x86_64")]
mod sse2;

use crate::simd::level::Portable;

/// Bytes in a window, of which a word has a bit each.
pub(crate) const WINDOW: usize = u64::BITS as usize;

/// Places that are written at once, needed or not.
const STRIDE: usize = 8;

/// As many bytes as one register holds. Comparisons give 0xFF where they hold and 0 elsewhere.
pub(crate) trait ByteVector: Copy {
    const BYTES: usize;

    fn or(self, other: Self) -> Self;

    /// Wrapping sums.
    fn plus(self, other: Self) -> Self;

    /// Tell which bytes are equal.
    fn is(self, other: Self) -> Self;

    /// Tell which bytes are larger, as signed numbers.
    fn exceeds(self, other: Self) -> Self;

    /// The highest bit of each byte, the first byte's lowest.
    fn high_bits(self) -> u64;
}

/// The token of a level makes its vectors, and nothing else does: so who has a vector has its instructions.
pub(crate) trait Simd: Copy {
    type Bytes: ByteVector;

    /// The bytes of a window from `at` on, which is a multiple of the vector's length.
    fn load(self, window: &[u8; WINDOW], at: usize) -> Self::Bytes;

    /// The same byte everywhere.
    fn all(self, byte: u8) -> Self::Bytes;

    /// Write the place of every bit of `bits`, counted from `at`. What is written after the last means nothing.
    fn write_places(self, bits: u64, at: u32, room: &mut [u32; u64::BITS as usize]);
}

impl Simd for Portable {
    type Bytes = BaseVector;

    #[inline(always)]
    fn load(self, window: &[u8; WINDOW], at: usize) -> BaseVector {
        BaseVector::load(&window.as_chunks().0[at / BaseVector::BYTES])
    }

    #[inline(always)]
    fn all(self, byte: u8) -> BaseVector {
        BaseVector::all(byte)
    }

    #[inline(always)]
    fn write_places(self, mut bits: u64, at: u32, room: &mut [u32; u64::BITS as usize]) {
        for places in room.chunks_exact_mut(STRIDE) {
            if bits == 0 {
                break;
            }
            for place in places {
                *place = at.wrapping_add((bits | 1 << 63).trailing_zeros());
                bits &= bits.wrapping_sub(1);
            }
        }
    }
}

/// The vector that every machine of its kind has.
#[cfg(target_arch = "x86_64")]
pub(crate) type BaseVector = sse2::Bytes;
/// The vector that every machine of its kind has.
#[cfg(target_arch = "aarch64")]
pub(crate) type BaseVector = neon::Bytes;
/// The vector that every machine of its kind has.
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
pub(crate) type BaseVector = plain::Bytes;

/// The highest bit of each of 64 bytes after `test`.
#[inline(always)]
pub(crate) fn mask<S: Simd>(simd: S, window: &[u8; WINDOW], test: impl Fn(S::Bytes) -> S::Bytes) -> u64 {
    let mut bits = 0;
    for at in (0..WINDOW).step_by(S::Bytes::BYTES) {
        bits |= test(simd.load(window, at)).high_bits() << at;
    }
    bits
}

// Functions and no closures, since a closure that is not inlined loses the instructions of its path.

/// Find the positions of `byte`.
#[inline(always)]
pub(crate) fn is<S: Simd>(simd: S, window: &[u8; WINDOW], byte: u8) -> u64 {
    mask(simd, window, |bytes| bytes.is(simd.all(byte)))
}

/// Find the positions of bytes from `first` to `last`, once the bits of `set` are set.
#[inline(always)]
pub(crate) fn between<S: Simd>(simd: S, window: &[u8; WINDOW], set: u8, first: u8, last: u8) -> u64 {
    let (to_lowest, beyond) = (simd.all(0x80_u8.wrapping_sub(first)), simd.all((last - first + 1) ^ 0x80));
    mask(simd, window, |bytes| beyond.exceeds(bytes.or(simd.all(set)).plus(to_lowest)))
}

/// Find the positions of bytes below `limit`, as signed numbers.
#[inline(always)]
pub(crate) fn below<S: Simd>(simd: S, window: &[u8; WINDOW], limit: u8) -> u64 {
    mask(simd, window, |bytes| simd.all(limit).exceeds(bytes))
}

#[cfg(test)]
mod tests {
    use super::plain;
    use super::*;
    use crate::simd::level::Avx2;

    /// All that `V` tells of sixteen bytes beside another.
    fn told<V: ByteVector>(bytes: V, other: V) -> [u64; 4] {
        [bytes.or(other), bytes.plus(other), bytes.is(other), bytes.exceeds(other)].map(V::high_bits)
    }

    #[test]
    fn sixteen_bytes_are_told_alike_in_plain_rust() {
        for first in (0..=255).step_by(7) {
            let bytes = std::array::from_fn(|at| (at as u8).wrapping_mul(0x35).wrapping_add(first));
            for other in 0..=255 {
                let plain = told(plain::Bytes::load(&bytes), plain::Bytes::all(other));
                assert_eq!(plain, told(BaseVector::load(&bytes), BaseVector::all(other)), "{bytes:?} beside {other}");
                let exceeds = bytes.iter().enumerate().map(|(at, byte)| u64::from(*byte as i8 > other as i8) << at);
                assert_eq!(plain[3], exceeds.sum::<u64>());
            }
        }
    }

    /// The places that a level writes, counted from 1,000.
    fn places(simd: impl Simd, bits: u64) -> Vec<u32> {
        let mut room = [0; 64];
        simd.write_places(bits, 1_000, &mut room);
        room[..bits.count_ones() as usize].to_vec()
    }

    #[test]
    fn places_are_those_of_the_bits_on_every_level() {
        // As many bits as there are, then all kinds of bytes: the word is mixed as a hash is.
        let mixed = (0..20_000_u64).map(|number| number.wrapping_mul(0x9E37_79B9_7F4A_7C15).rotate_left(29));
        let sparse = mixed.clone().map(|bits| bits & bits >> 7 & bits >> 13);
        let dense = mixed.clone().map(|bits| bits | bits << 5 | bits << 11);
        for bits in
            (0..=64).map(|count| u64::MAX.checked_shr(count).unwrap_or(0)).chain(mixed).chain(sparse).chain(dense)
        {
            let truth: Vec<u32> = (0..64).filter(|at| bits >> at & 1 != 0).map(|at| 1_000 + at).collect();
            assert_eq!(places(Portable, bits), truth);
            #[cfg(target_arch = "x86_64")]
            if let Some(avx2) = Avx2::detect() {
                assert_eq!(places(avx2, bits), truth);
            }
        }
    }
}
