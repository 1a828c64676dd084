//! Buffers for results: ids, spans and UTF-8.
//!
//! The results of a long text get memory of their own, in large pages where the system has them, and freed memory is
//! kept for the next call: touching new pages took longer than encoding some texts.

use std::mem::MaybeUninit;
use std::ops::Deref;

use crate::machine::room::reserve;

/// Keep at most `bytes` of freed memory for later calls; 24 MB by default.
pub fn keep(bytes: usize) {
    #[cfg(target_os = "linux")]
    mapped::keep(bytes);
    #[cfg(not(target_os = "linux"))]
    let _ = bytes;
}

/// Touch memory for the first long text, before anybody waits for it: a large page for its ids, and one for its UTF-8
/// or its spans. They are kept like freed memory; nothing is done if some is kept already, or less may be.
pub fn prepare() {
    #[cfg(target_os = "linux")]
    mapped::prepare();
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
    use std::sync::Mutex;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use crate::machine::lock::lock_briefly;
    use crate::machine::pages::{LARGE, Mapping};

    /// Regions that are [prepared](super::prepare).
    const PREPARED: usize = 2;

    /// The size of these, most of it only reserved: enough for the ids of a text of 8 MB.
    const PREPARED_BYTES: usize = 16 * LARGE;

    /// The most that is kept for later calls, in bytes that were touched.
    static MOST: AtomicUsize = AtomicUsize::new(24 << 20);

    /// A multiple of every system's page.
    const PAGE: usize = 64 << 10;

    pub(super) static IDLE: Mutex<Vec<Region>> = Mutex::new(Vec::new());

    /// Memory, most of which is only reserved.
    #[derive(Debug)]
    pub(super) struct Region {
        mapping: Mapping,
        bytes: usize,
        /// How many bytes, from the start, may have been written to since the system gave the memory.
        touched: usize,
    }

    impl Region {
        /// One that was kept, or a new one. Sizes are powers of two, so that texts of similar length can share them.
        fn take(bytes: usize) -> Option<Self> {
            let bytes = bytes.checked_next_power_of_two()?;
            // No waiting: after a fork nobody may ever release the lock, and a new region is always possible.
            if let Ok(mut idle) = IDLE.try_lock()
                && let Some(at) = fitting(&idle, bytes)
            {
                return Some(idle.remove(at));
            }
            Some(Self { mapping: Mapping::new(bytes)?, bytes, touched: 0 })
        }

        /// A new one whose first large page is touched.
        fn prepared(bytes: usize) -> Option<Self> {
            let mapping = Mapping::new(bytes)?;
            mapping.populate(LARGE);
            Some(Self { mapping, bytes, touched: LARGE })
        }

        /// Keep it for a later call, and free the oldest kept ones to make room for it.
        fn give_back(self) {
            let most = MOST.load(Ordering::Relaxed);
            if self.touched > most {
                return;
            }
            let _forgotten = IDLE.try_lock().map(|mut idle| {
                let forgotten = forget(&mut idle, most - self.touched);
                idle.push(self);
                forgotten
            });
        }
    }

    /// The last region of this size, or a larger one of which no more was touched than is asked for.
    fn fitting(idle: &[Region], bytes: usize) -> Option<usize> {
        let of_size = idle.iter().rposition(|region| region.bytes == bytes);
        of_size.or_else(|| idle.iter().rposition(|region| region.bytes > bytes && region.touched <= bytes))
    }

    /// Take out the oldest regions until at most `most` bytes are left. The caller drops them after it has released the
    /// lock, since unmapping takes a while.
    fn forget(idle: &mut Vec<Region>, most: usize) -> Vec<Region> {
        let (mut kept, mut count) = (touched(idle), 0);
        while kept > most {
            kept -= idle[count].touched;
            count += 1;
        }
        idle.drain(..count).collect()
    }

    fn touched(idle: &[Region]) -> usize {
        idle.iter().map(|region| region.touched).sum()
    }

    /// See [`super::keep`].
    pub fn keep(bytes: usize) {
        MOST.store(bytes, Ordering::Relaxed);
        // If the lock cannot be had, after a fork, the kept regions are never used in that process and cost nothing.
        let _forgotten = lock_briefly(&IDLE).map(|mut idle| forget(&mut idle, bytes));
    }

    /// See [`super::prepare`].
    pub fn prepare() {
        let is_wanted = MOST.load(Ordering::Relaxed) >= PREPARED * LARGE;
        if is_wanted && IDLE.try_lock().is_ok_and(|idle| idle.is_empty()) {
            (0..PREPARED).filter_map(|_| Region::prepared(PREPARED_BYTES)).for_each(Region::give_back);
        }
    }

    #[cfg(test)]
    pub fn is_within_bounds() -> bool {
        touched(&IDLE.lock().unwrap()) <= MOST.load(Ordering::Relaxed)
    }

    #[cfg(test)]
    mod tests {
        use super::*;

        #[test]
        fn a_region_of_the_size_comes_before_a_larger_one_and_one_that_was_used_for_more_is_left() {
            let region = |bytes, touched| Region { touched, ..Region::prepared(bytes).unwrap() };
            let idle = [region(4 * LARGE, LARGE), region(8 * LARGE, 5 * LARGE), region(8 * LARGE, 4 * LARGE)];
            for (bytes, expected) in [(2, Some(0)), (4, Some(0)), (1, Some(0)), (8, Some(2)), (16, None)] {
                assert_eq!(fitting(&idle, bytes * LARGE), expected, "{bytes}");
            }
            assert_eq!(fitting(&idle[1..], 4 * LARGE), Some(1));
            assert_eq!(fitting(&idle[1..], 2 * LARGE), None);
        }

        #[test]
        fn what_is_prepared_serves_the_first_results_of_any_size() {
            let prepared = vec![Region::prepared(PREPARED_BYTES).unwrap()];
            assert_eq!(touched(&prepared), LARGE);
            for bytes in [LARGE, 4 * LARGE, PREPARED_BYTES] {
                assert_eq!(fitting(&prepared, bytes), Some(0), "{bytes}");
            }
            assert_eq!(fitting(&prepared, 2 * PREPARED_BYTES), None);
        }
    }

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
            let (start, capacity) = (region.mapping.start().as_ptr().cast(), region.bytes / size_of::<T>());
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
                region.touched = region.touched.max(used.next_multiple_of(LARGE)).min(region.bytes);
                let end = used.next_multiple_of(PAGE).min(region.touched);
                if (region.touched - end) * 3 > used {
                    // SAFETY: `end` is a multiple of a page and `touched` at most the region's size, so the range lies
                    // in the region; it is after all items, so nothing in it is ever read.
                    unsafe {
                        let from = region.mapping.start().as_ptr().byte_add(end);
                        libc::madvise(from, region.touched - end, libc::MADV_DONTNEED);
                    }
                    region.touched = end;
                }
            }
        }
    }

    impl<T> Drop for Mapped<T> {
        fn drop(&mut self) {
            if let Some(mut region) = self.region.take() {
                let used = self.length * size_of::<T>();
                region.touched = region.touched.max(used.next_multiple_of(LARGE)).min(region.bytes);
                region.give_back();
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

    #[cfg(target_os = "linux")]
    #[test]
    fn what_is_kept_is_told_in_a_fork_that_another_thread_left_the_lock_to() {
        let as_it_is = 24 << 20;
        assert!(crate::machine::lock::ends_while_locked(&mapped::IDLE, move || keep(as_it_is)));
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
            assert!(mapped::is_within_bounds());
        }
    }
}
