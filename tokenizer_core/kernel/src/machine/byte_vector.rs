//! Vectors of bytes that are compared all at once: the few operations that scanners need, on each path.

#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "aarch64")]
mod neon;
#[cfg(any(test, not(any(target_arch = "x86_64", target_arch = "aarch64"))))]
mod plain;
#[cfg(target_arch = "x86_64")]
mod sse2;

/// Bytes in a window, of which a word has a bit each.
pub(crate) const WINDOW: usize = u64::BITS as usize;

/// Places that are written at once, needed or not.
const STRIDE: usize = 8;

/// As many bytes as one register holds. Comparisons give 0xFF where they hold and 0 elsewhere.
///
/// All functions are unsafe for the same reason: the machine must have the instructions of the vector.
pub(crate) trait ByteVector: Copy {
    const BYTES: usize;

    /// # Safety
    /// The machine has the vector's instructions, as for all of these; [`Self::BYTES`] bytes can be read there.
    unsafe fn load(from: *const u8) -> Self;

    /// The same byte everywhere.
    ///
    /// # Safety
    /// As above.
    unsafe fn all(byte: u8) -> Self;

    /// # Safety
    /// As above.
    unsafe fn or(self, other: Self) -> Self;

    /// Wrapping sums.
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

    /// Write the place of every bit of `bits`, counted from `at`. What is written after the last means nothing.
    ///
    /// # Safety
    /// As above.
    #[inline(always)]
    unsafe fn write_places(mut bits: u64, at: u32, room: &mut [u32; u64::BITS as usize]) {
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
pub(crate) type BaseVector = core::arch::x86_64::__m128i;
/// The vector that every machine of its kind has.
#[cfg(target_arch = "aarch64")]
pub(crate) type BaseVector = core::arch::aarch64::uint8x16_t;
/// The vector that every machine of its kind has.
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
pub(crate) type BaseVector = plain::Sixteen;

/// The highest bit of each of 64 bytes after `test`.
///
/// # Safety
/// The machine has `V`.
#[inline(always)]
pub(crate) unsafe fn mask<V: ByteVector>(window: &[u8; WINDOW], test: impl Fn(V) -> V) -> u64 {
    let mut bits = 0;
    for at in (0..WINDOW).step_by(V::BYTES) {
        // SAFETY: the caller's promise; whole vectors make up the window.
        bits |= unsafe { test(V::load(window.as_ptr().add(at))).high_bits() } << at;
    }
    bits
}

#[cfg(test)]
mod tests {
    use super::plain::Sixteen;
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
                assert_eq!(told, self::told::<BaseVector>(&bytes, other), "{bytes:?} beside {other}");
                let exceeds = bytes.iter().enumerate().map(|(at, byte)| u64::from(*byte as i8 > other as i8) << at);
                assert_eq!(told[3], exceeds.sum::<u64>());
            }
        }
    }

    /// The places that `V` writes, counted from 1,000.
    ///
    /// # Safety
    /// The machine has `V`.
    unsafe fn places<V: ByteVector>(bits: u64) -> Vec<u32> {
        let mut room = [0; 64];
        // SAFETY: the caller's promise.
        unsafe { V::write_places(bits, 1_000, &mut room) };
        room[..bits.count_ones() as usize].to_vec()
    }

    #[test]
    fn places_are_those_of_the_bits_on_every_path() {
        // As many bits as there are, then all kinds of bytes: the word is mixed as a hash is.
        let mixed = (0..20_000_u64).map(|number| number.wrapping_mul(0x9E37_79B9_7F4A_7C15).rotate_left(29));
        let sparse = mixed.clone().map(|bits| bits & bits >> 7 & bits >> 13);
        let dense = mixed.clone().map(|bits| bits | bits << 5 | bits << 11);
        for bits in
            (0..=64).map(|count| u64::MAX.checked_shr(count).unwrap_or(0)).chain(mixed).chain(sparse).chain(dense)
        {
            let truth: Vec<u32> = (0..64).filter(|at| bits >> at & 1 != 0).map(|at| 1_000 + at).collect();
            // SAFETY: every machine has these.
            unsafe {
                assert_eq!([places::<BaseVector>(bits), places::<Sixteen>(bits)], [truth.clone(), truth.clone()])
            };
            #[cfg(target_arch = "x86_64")]
            if crate::machine::path::Path::Avx2.is_available() {
                // SAFETY: the machine has it.
                assert_eq!(unsafe { places::<core::arch::x86_64::__m256i>(bits) }, truth);
            }
        }
    }
}
