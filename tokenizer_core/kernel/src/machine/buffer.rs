//! Buffers for results: ids, spans and UTF-8. Those of a long text lie in memory of their own (`regions`).

use std::mem::MaybeUninit;
use std::ops::Deref;

use crate::machine::room::reserve;

/// Keep at most `bytes` of freed memory for later calls; 24 MB by default.
pub fn keep(bytes: usize) {
    #[cfg(target_os = "linux")]
    super::regions::keep(bytes);
    #[cfg(not(target_os = "linux"))]
    let _ = bytes;
}

/// Touch memory for the first long text, before anybody waits for it: a large page for its ids, and one for its UTF-8
/// or its spans. They are kept like freed memory; nothing is done if some is kept already, or less may be.
pub fn prepare() {
    #[cfg(target_os = "linux")]
    super::regions::prepare();
}

/// Room for ids in addition to a third of the text's bytes, since very short texts have fewer than three bytes a token.
const SHORT: usize = 16;

/// Items one after the other, as in a vector.
#[derive(Debug)]
pub enum Buffer<T> {
    /// For few items.
    Heap(Vec<T>),
    /// For many items.
    #[cfg(target_os = "linux")]
    Mapped(mapped::Mapped<T>),
}

impl<T: Copy> Buffer<T> {
    /// An empty buffer for about `expected` items and rarely more than `most`. If there are more, it grows.
    pub fn new(expected: usize, most: usize) -> Self {
        #[cfg(target_os = "linux")]
        if let Some(mapped) = mapped::Mapped::new(most) {
            return Self::Mapped(mapped);
        }
        let mut items = Vec::new();
        reserve(&mut items, expected);
        Self::Heap(items)
    }

    /// An empty buffer with room for `most` items; `None` if the system refuses the memory.
    pub fn with_room(most: usize) -> Option<Self> {
        #[cfg(target_os = "linux")]
        if let Some(mapped) = mapped::Mapped::new(most) {
            return Some(Self::Mapped(mapped));
        }
        let mut items = Vec::new();
        items.try_reserve_exact(most).ok()?;
        Some(Self::Heap(items))
    }

    /// An empty buffer for one item for each token of a text of `bytes` bytes.
    pub fn for_text(bytes: usize) -> Self {
        Self::new(bytes / 3 + SHORT, bytes)
    }

    /// Make room for `more` items.
    #[inline]
    pub fn reserve(&mut self, more: usize) {
        match self {
            Self::Heap(items) => reserve(items, more),
            #[cfg(target_os = "linux")]
            Self::Mapped(mapped) if mapped.room() < more => self.move_to(more),
            #[cfg(target_os = "linux")]
            Self::Mapped(_) => {}
        }
    }

    #[cfg(target_os = "linux")]
    #[cold]
    fn move_to(&mut self, more: usize) {
        let size = self.len() + more;
        let mut other = Self::new(size, size.saturating_mul(2));
        other.extend_from_slice(self);
        *self = other;
    }

    /// The room after the items; at least what was reserved.
    #[inline]
    pub fn spare(&mut self) -> &mut [MaybeUninit<T>] {
        match self {
            Self::Heap(items) => items.spare_capacity_mut(),
            #[cfg(target_os = "linux")]
            Self::Mapped(mapped) => mapped.spare(),
        }
    }

    /// Count the first `more` items of [`Self::spare`] as items.
    ///
    /// # Safety
    /// They have been written.
    #[inline]
    pub unsafe fn grow(&mut self, more: usize) {
        match self {
            // SAFETY: the caller's promise.
            Self::Heap(items) => unsafe { items.set_len(items.len() + more) },
            #[cfg(target_os = "linux")]
            Self::Mapped(mapped) => mapped.length += more,
        }
    }

    /// Append one item.
    #[inline]
    pub fn push(&mut self, item: T) {
        self.extend_from_slice(&[item]);
    }

    /// Append items.
    #[inline]
    pub fn extend_from_slice(&mut self, items: &[T]) {
        self.reserve(items.len());
        let spare = &mut self.spare()[..items.len()];
        // SAFETY: both slices have this length, `&mut self` keeps them apart, and items are `Copy`.
        unsafe { std::ptr::copy_nonoverlapping(items.as_ptr(), spare.as_mut_ptr().cast(), items.len()) };
        // SAFETY: they have just been written.
        unsafe { self.grow(items.len()) };
    }

    /// The items as a vector, if they are in one.
    ///
    /// # Errors
    /// The buffer, if they are not.
    pub fn into_vec(self) -> Result<Vec<T>, Self> {
        match self {
            Self::Heap(items) => Ok(items),
            #[cfg(target_os = "linux")]
            Self::Mapped(_) => Err(self),
        }
    }

    /// Free most of the unused room, before the buffer is kept for long.
    pub fn trim(&mut self) {
        #[cfg(target_os = "linux")]
        if let Self::Mapped(mapped) = self {
            mapped.trim();
        }
    }
}

impl<T: Copy> Deref for Buffer<T> {
    type Target = [T];

    #[inline]
    fn deref(&self) -> &[T] {
        match self {
            Self::Heap(items) => items,
            #[cfg(target_os = "linux")]
            Self::Mapped(mapped) => mapped.as_slice(),
        }
    }
}

#[cfg(target_os = "linux")]
mod mapped {
    use std::marker::PhantomData;
    use std::mem::MaybeUninit;

    use crate::machine::pages::LARGE;
    use crate::machine::regions::Region;

    /// Items in a region.
    #[derive(Debug)]
    pub struct Mapped<T> {
        /// `None` only while it is dropped.
        region: Option<Region>,
        start: *mut T,
        capacity: usize,
        pub(super) length: usize,
        items: PhantomData<T>,
    }

    // SAFETY: it alone owns the memory at `start`, as a vector owns its own.
    unsafe impl<T: Send> Send for Mapped<T> {}
    // SAFETY: a shared reference only gives out shared references to items.
    unsafe impl<T: Sync> Sync for Mapped<T> {}

    impl<T: Copy> Mapped<T> {
        /// `None` for less than a large page, or if the system refuses.
        pub fn new(capacity: usize) -> Option<Self> {
            let bytes = capacity.checked_mul(size_of::<T>()).filter(|bytes| *bytes >= LARGE)?;
            let region = Region::take(bytes)?;
            let (start, capacity) = (region.start().as_ptr().cast(), region.bytes() / size_of::<T>());
            Some(Self { region: Some(region), start, capacity, length: 0, items: PhantomData })
        }

        #[inline]
        pub fn room(&self) -> usize {
            self.capacity - self.length
        }

        #[inline]
        pub fn spare(&mut self) -> &mut [MaybeUninit<T>] {
            // SAFETY: the region, which `self` owns alone, has room for `capacity` items from `start` on, which is
            // aligned to a page; `length` never exceeds `capacity`, since `grow` counts only items written here.
            unsafe { std::slice::from_raw_parts_mut(self.start.add(self.length).cast(), self.room()) }
        }

        #[inline]
        pub fn as_slice(&self) -> &[T] {
            // SAFETY: the first `length` items have been written: `grow` asks its caller for that.
            unsafe { std::slice::from_raw_parts(self.start, self.length) }
        }

        /// Give the pages after the items back to the system, if they are more than a third of what is in use.
        pub fn trim(&mut self) {
            let used = self.length * size_of::<T>();
            if let Some(region) = &mut self.region {
                region.trim(used);
            }
        }
    }

    impl<T> Drop for Mapped<T> {
        fn drop(&mut self) {
            if let Some(region) = self.region.take() {
                region.give_back(self.length * size_of::<T>());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn a_buffer_holds_what_a_vector_does(
            most in prop::sample::select(vec![0, 1, 1000, 600_000, 1_100_000]),
            parts in prop::collection::vec((any::<u32>(), 0..400_000_usize), 0..8),
        ) {
            let (mut buffer, mut truth) = (Buffer::new(0, most), Vec::new());
            for (item, count) in parts {
                buffer.push(item);
                buffer.extend_from_slice(&vec![item; count]);
                truth.push(item);
                truth.extend(std::iter::repeat_n(item, count));
                prop_assert!(buffer[..] == truth[..]);
            }
            buffer.trim();
            prop_assert!(buffer[..] == truth[..]);
        }
    }

    #[test]
    fn what_is_kept_is_bounded_and_never_in_use_twice() {
        let mut buffers: Vec<Buffer<u32>> = (0..24).map(|_| Buffer::new(0, 1 << 20)).collect();
        for round in 0..3 {
            for (at, buffer) in buffers.iter_mut().enumerate() {
                buffer.extend_from_slice(&vec![at as u32 + round; 300_000]);
            }
            for (at, buffer) in buffers.iter().enumerate() {
                assert!(buffer.iter().all(|item| *item == at as u32 + round));
            }
            buffers = (0..24).map(|_| Buffer::new(0, 1 << 20)).collect();
            #[cfg(target_os = "linux")]
            assert!(crate::machine::regions::is_within_bounds());
        }
    }
}
