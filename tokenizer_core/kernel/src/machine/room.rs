//! Room in vectors that grow with a text.

use crate::error::OutOfMemory;

/// Make room for `more` items, as [`Vec::reserve`], but where the system refuses the memory leave the work with
/// [`OutOfMemory::unwind`] instead of ending the process.
#[inline]
pub(crate) fn reserve<T>(items: &mut Vec<T>, more: usize) {
    if items.try_reserve(more).is_err() {
        OutOfMemory::unwind();
    }
}
