//! Vectors of bytes, compared all at once: what scanners ask of the instructions of a path.

#[cfg(target_arch = "aarch64")]
mod neon;

/// As many bytes as one register holds. Comparisons give 0xFF where they hold and 0 elsewhere.
///
/// All functions are unsafe for the same reason: the machine must have the instructions of the vector.
pub(crate) trait ByteVector: Copy {
    const BYTES: usize;

    /// # Safety
    /// The machine has the vector's instructions, as for all of these; so many bytes can be read there.
    unsafe fn load(from: *const u8) -> Self;

    /// The same byte everywhere.
    ///
    /// # Safety
    /// As above.
    unsafe fn all(byte: u8) -> Self;

    /// # Safety
    /// As above.
    unsafe fn or(self, other: Self) -> Self;

    /// Sums without what they carry.
    ///
    /// # Safety
    /// As above.
    unsafe fn plus(self, other: Self) -> Self;

    /// Whether bytes are equal.
    ///
    /// # Safety
    /// As above.
    unsafe fn is(self, other: Self) -> Self;

    /// Whether bytes are larger, as signed numbers.
    ///
    /// # Safety
    /// As above.
    unsafe fn exceeds(self, other: Self) -> Self;

    /// The highest bit of each byte, the first byte's lowest.
    ///
    /// # Safety
    /// As above.
    unsafe fn high_bits(self) -> u64;
}

/// What every machine has.
#[cfg(target_arch = "x86_64")]
pub(crate) type Portable = core::arch::x86_64::__m128i;
/// What every machine has.
#[cfg(target_arch = "aarch64")]
pub(crate) type Portable = core::arch::aarch64::uint8x16_t;
/// What every machine has.
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
pub(crate) type Portable = Sixteen;

#[cfg(target_arch = "x86_64")]
impl ByteVector for core::arch::x86_64::__m128i {
    const BYTES: usize = 16;

    #[inline(always)]
    unsafe fn load(from: *const u8) -> Self {
        // SAFETY: the caller's promise; any alignment will do.
        unsafe { core::arch::x86_64::_mm_loadu_si128(from.cast()) }
    }

    #[inline(always)]
    unsafe fn all(byte: u8) -> Self {
        // SAFETY: every machine of this kind has SSE2, as for all of these.
        unsafe { core::arch::x86_64::_mm_set1_epi8(byte as i8) }
    }

    #[inline(always)]
    unsafe fn or(self, other: Self) -> Self {
        // SAFETY: as above.
        unsafe { core::arch::x86_64::_mm_or_si128(self, other) }
    }

    #[inline(always)]
    unsafe fn plus(self, other: Self) -> Self {
        // SAFETY: as above.
        unsafe { core::arch::x86_64::_mm_add_epi8(self, other) }
    }

    #[inline(always)]
    unsafe fn is(self, other: Self) -> Self {
        // SAFETY: as above.
        unsafe { core::arch::x86_64::_mm_cmpeq_epi8(self, other) }
    }

    #[inline(always)]
    unsafe fn exceeds(self, other: Self) -> Self {
        // SAFETY: as above.
        unsafe { core::arch::x86_64::_mm_cmpgt_epi8(self, other) }
    }

    #[inline(always)]
    unsafe fn high_bits(self) -> u64 {
        // SAFETY: as above.
        u64::from(unsafe { core::arch::x86_64::_mm_movemask_epi8(self) } as u16)
    }
}

#[cfg(target_arch = "x86_64")]
impl ByteVector for core::arch::x86_64::__m256i {
    const BYTES: usize = 32;

    #[inline(always)]
    unsafe fn load(from: *const u8) -> Self {
        // SAFETY: the caller's promise; any alignment will do.
        unsafe { core::arch::x86_64::_mm256_loadu_si256(from.cast()) }
    }

    #[inline(always)]
    unsafe fn all(byte: u8) -> Self {
        // SAFETY: the caller's promise, that the machine has AVX2, as for all of these.
        unsafe { core::arch::x86_64::_mm256_set1_epi8(byte as i8) }
    }

    #[inline(always)]
    unsafe fn or(self, other: Self) -> Self {
        // SAFETY: as above.
        unsafe { core::arch::x86_64::_mm256_or_si256(self, other) }
    }

    #[inline(always)]
    unsafe fn plus(self, other: Self) -> Self {
        // SAFETY: as above.
        unsafe { core::arch::x86_64::_mm256_add_epi8(self, other) }
    }

    #[inline(always)]
    unsafe fn is(self, other: Self) -> Self {
        // SAFETY: as above.
        unsafe { core::arch::x86_64::_mm256_cmpeq_epi8(self, other) }
    }

    #[inline(always)]
    unsafe fn exceeds(self, other: Self) -> Self {
        // SAFETY: as above.
        unsafe { core::arch::x86_64::_mm256_cmpgt_epi8(self, other) }
    }

    #[inline(always)]
    unsafe fn high_bits(self) -> u64 {
        // SAFETY: as above.
        u64::from(unsafe { core::arch::x86_64::_mm256_movemask_epi8(self) } as u32)
    }
}

/// Sixteen bytes in plain Rust, of which compilers make vectors; the bits are gathered by a multiplication.
#[cfg(any(test, not(any(target_arch = "x86_64", target_arch = "aarch64"))))]
#[derive(Debug, Clone, Copy)]
pub(crate) struct Sixteen([u8; 16]);

#[cfg(any(test, not(any(target_arch = "x86_64", target_arch = "aarch64"))))]
impl Sixteen {
    #[inline(always)]
    fn with(mut self, other: Self, change: impl Fn(u8, u8) -> u8) -> Self {
        self.0.iter_mut().zip(other.0).for_each(|(byte, other)| *byte = change(*byte, other));
        self
    }
}

#[cfg(any(test, not(any(target_arch = "x86_64", target_arch = "aarch64"))))]
impl ByteVector for Sixteen {
    const BYTES: usize = 16;

    #[inline(always)]
    unsafe fn load(from: *const u8) -> Self {
        // SAFETY: the caller's promise; any alignment will do.
        Self(unsafe { from.cast::<[u8; 16]>().read_unaligned() })
    }

    #[inline(always)]
    unsafe fn all(byte: u8) -> Self {
        Self([byte; 16])
    }

    #[inline(always)]
    unsafe fn or(self, other: Self) -> Self {
        self.with(other, |left, right| left | right)
    }

    #[inline(always)]
    unsafe fn plus(self, other: Self) -> Self {
        self.with(other, u8::wrapping_add)
    }

    #[inline(always)]
    unsafe fn is(self, other: Self) -> Self {
        self.with(other, |left, right| u8::from(left == right).wrapping_neg())
    }

    #[inline(always)]
    unsafe fn exceeds(self, other: Self) -> Self {
        self.with(other, |left, right| u8::from(left as i8 > right as i8).wrapping_neg())
    }

    #[inline(always)]
    unsafe fn high_bits(self) -> u64 {
        // Bit 7 of byte n goes to bit 56 + n; nothing else reaches the highest byte, and no two bits meet.
        let bits = |word: u64| (word >> 7 & 0x0101_0101_0101_0101).wrapping_mul(0x0102_0408_1020_4080) >> 56;
        let both = u128::from_le_bytes(self.0);
        bits(both as u64) | bits((both >> 64) as u64) << 8
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// All that `V` tells of sixteen bytes beside another.
    fn told<V: ByteVector>(bytes: &[u8; 16], other: u8) -> [u64; 4] {
        // SAFETY: there are sixteen bytes, and every machine has these vectors.
        unsafe {
            assert_eq!(V::BYTES, bytes.len());
            let (bytes, other) = (V::load(bytes.as_ptr()), V::all(other));
            [bytes.or(other), bytes.plus(other), bytes.is(other), bytes.exceeds(other)]
                .map(|vector| V::high_bits(vector))
        }
    }

    #[test]
    fn sixteen_bytes_are_told_alike_in_plain_rust() {
        for first in (0..=255).step_by(7) {
            let bytes = std::array::from_fn(|at| (at as u8).wrapping_mul(0x35).wrapping_add(first));
            for other in 0..=255 {
                let told = told::<Sixteen>(&bytes, other);
                assert_eq!(told, self::told::<Portable>(&bytes, other), "{bytes:?} beside {other}");
                let exceeds = bytes.iter().enumerate().map(|(at, byte)| u64::from(*byte as i8 > other as i8) << at);
                assert_eq!(told[3], exceeds.sum::<u64>());
            }
        }
    }
}
