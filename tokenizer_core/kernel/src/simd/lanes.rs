//! The numbers of the set bits of a byte, as eight lanes, from a table.

use core::arch::x86_64::{__m256i, _mm_loadl_epi64, _mm256_cvtepu8_epi32};

use crate::simd::level::Avx2;

/// Lanes for each byte.
const COUNT: usize = 8;

/// By byte: the numbers of its set bits, then zeros. Aligned to cache lines.
#[repr(align(64))]
struct LaneTable([[u8; COUNT]; 1 << COUNT]);

static LANES: LaneTable = {
    let mut lanes = [[0; COUNT]; 1 << COUNT];
    let mut bits = 0;
    while bits < lanes.len() {
        let (mut lane, mut to) = (0, 0);
        while lane < COUNT {
            if bits >> lane & 1 != 0 {
                lanes[bits][to] = lane as u8;
                to += 1;
            }
            lane += 1;
        }
        bits += 1;
    }
    LaneTable(lanes)
};

/// The numbers of the set bits, in order, with zeros after them.
#[inline(always)]
pub(crate) fn lanes_of(_: Avx2, bits: u8) -> __m256i {
    // SAFETY: the token proves AVX2; eight bytes are half a vector.
    unsafe { _mm256_cvtepu8_epi32(_mm_loadl_epi64(LANES.0[usize::from(bits)].as_ptr().cast())) }
}
