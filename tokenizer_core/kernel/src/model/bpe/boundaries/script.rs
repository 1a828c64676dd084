//! The choice of the texts that are cut into parts: decided by their bytes.

use crate::simd::byte_vector::{ByteVector, Simd, WINDOW, mask};
use crate::simd::level::OnLevel;
use crate::simd::words::bytes_at;

/// The first byte of all characters below U+3000 is at most this.
const NEAR: u8 = 0xE2;

/// As [`super::SafeSplit::is_worth_cutting`].
pub(super) struct IsWorthCutting<'a>(pub(super) &'a [u8]);

impl<S: Simd> OnLevel<S> for IsWorthCutting<'_> {
    type Output = bool;

    #[inline(always)]
    fn run(self, simd: S) -> bool {
        is_worth_cutting(simd, self.0)
    }
}

#[inline(always)]
fn is_worth_cutting<S: Simd>(simd: S, text: &[u8]) -> bool {
    let mut beyond = 0;
    for at in (0..text.len()).step_by(WINDOW) {
        let mut copy = [0; WINDOW];
        let window = bytes_at(text, at, &mut copy);
        let wide = mask(simd, window, |bytes| bytes);
        if wide != 0 {
            // SAFETY: as above. As signed numbers the bytes of ASCII exceed it too.
            if wide & mask(simd, window, |bytes| bytes.exceeds(simd.all(NEAR))) != 0 {
                return true;
            }
            beyond += wide.count_ones() as usize;
        }
    }
    beyond > 0 && beyond * 4 >= text.len()
}
