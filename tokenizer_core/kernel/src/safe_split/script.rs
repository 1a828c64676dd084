//! Which text is cut into parts: decided by its bytes.

use crate::machine::byte_vector::{BaseVector, ByteVector, WINDOW, mask};
use crate::machine::words::bytes_at;

/// The first byte of all characters below U+3000 is at most this.
const NEAR: u8 = 0xE2;

/// As [`super::SafeSplit::is_worth_cutting`], with AVX2.
///
/// # Safety
/// The machine has [`crate::machine::path::Path::Avx2`].
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
pub(super) unsafe fn is_worth_cutting_avx2(text: &[u8]) -> bool {
    // SAFETY: the caller's promise.
    unsafe { is_worth_cutting_with::<core::arch::x86_64::__m256i>(text) }
}

/// As [`super::SafeSplit::is_worth_cutting`].
pub(super) fn is_worth_cutting(text: &[u8]) -> bool {
    // SAFETY: every machine has these.
    unsafe { is_worth_cutting_with::<BaseVector>(text) }
}

/// As [`super::SafeSplit::is_worth_cutting`].
///
/// # Safety
/// The machine has `V`.
#[inline(always)]
unsafe fn is_worth_cutting_with<V: ByteVector>(text: &[u8]) -> bool {
    let mut beyond = 0;
    for at in (0..text.len()).step_by(WINDOW) {
        let mut copy = [0; WINDOW];
        let window = bytes_at(text, at, &mut copy);
        // SAFETY: the caller's promise.
        let wide = unsafe { mask::<V>(window, |bytes| bytes) };
        if wide != 0 {
            // SAFETY: as above. As signed numbers the bytes of ASCII exceed it too.
            if wide & unsafe { mask::<V>(window, |bytes| bytes.exceeds(V::all(NEAR))) } != 0 {
                return true;
            }
            beyond += wide.count_ones() as usize;
        }
    }
    beyond > 0 && beyond * 4 >= text.len()
}
