//! The capacity of vectors that grow with a text.

use crate::error::OutOfMemory;

/// From so many bytes on, room is reserved for the worst case.
const LARGE: usize = 512 << 10;

/// Ids of a very short text beside a third of its bytes: it has fewer than three bytes a token.
const SHORT: usize = 16;

/// Make room for `more` items, as [`Vec::reserve`], but where the system refuses the memory leave the work with
/// [`OutOfMemory::unwind`] instead of ending the process.
#[inline]
pub(crate) fn reserve<T>(items: &mut Vec<T>, more: usize) {
    if items.try_reserve(more).is_err() {
        OutOfMemory::unwind();
    }
}

/// An empty vector for about `expected` items, and rarely more than `most`.
///
/// Many items get room for `most` at once: a page that is never touched costs nothing, and a vector that grows is
/// copied. [`trim`] gives back what is left.
pub(crate) fn with_room<T>(expected: usize, most: usize) -> Vec<T> {
    let mut items = Vec::new();
    let is_large = most.saturating_mul(size_of::<T>()) >= LARGE;
    if !is_large || items.try_reserve_exact(most).is_err() {
        reserve(&mut items, expected);
    }
    items
}

/// An empty vector for the ids of a text of `bytes` bytes.
pub(crate) fn for_ids(bytes: usize) -> Vec<u32> {
    with_room(bytes / 3 + SHORT, bytes)
}

/// Give back the memory of many items, down to room for `entries`; none of the items is left.
pub(crate) fn give_back<T>(items: &mut Vec<T>, entries: usize) {
    // A buffer never shrinks below its length.
    items.clear();
    items.shrink_to(entries);
}

/// Give back room for the worst case, before the items are kept for long.
#[cfg(any(test, feature = "python"))]
pub(crate) fn trim<T>(items: &mut Vec<T>) {
    if items.capacity() * size_of::<T>() >= LARGE {
        items.shrink_to_fit();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_items_have_room_for_all_until_it_is_trimmed() {
        let mut items = with_room::<u32>(10, LARGE / 4);
        let start = items.as_ptr();
        items.extend(0..1000);
        assert!(items.capacity() >= LARGE / 4);
        assert_eq!(items.as_ptr(), start);
        trim(&mut items);
        assert!(items.capacity() < LARGE / 4);
        assert!(items.iter().copied().eq(0..1000));
        assert!(with_room::<u32>(10, LARGE / 4 - 1).capacity() < LARGE / 8);
    }

    #[test]
    fn room_for_the_worst_case_is_not_insisted_on() {
        assert!(with_room::<u32>(10, usize::MAX).capacity() >= 10);
    }
}
