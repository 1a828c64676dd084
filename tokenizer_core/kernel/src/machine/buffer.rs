//! Room for what texts become: ids, spans and UTF-8.
//!
//! What a long text becomes lies in memory of its own, in large pages where the system has them, and what is given back
//! waits for the next call: pages that nobody has touched took more time than some texts did.

use std::mem::MaybeUninit;
use std::ops::Deref;

/// Keep so many bytes at the most of what was given back; 24 MB unless it is said.
pub fn keep(bytes: usize) {
    #[cfg(target_os = "linux")]
    mapped::keep(bytes);
    #[cfg(not(target_os = "linux"))]
    let _ = bytes;
}

/// Room for so many ids is made for the shortest text, which mostly has as many bytes a token as it has bytes.
const SHORT: usize = 16;

/// Items one behind the other, as in a vector.
#[derive(Debug)]
pub enum Buffer<T> {
    /// As long as they are few.
    Heap(Vec<T>),
    /// For many.
    #[cfg(target_os = "linux")]
    Mapped(mapped::Mapped<T>),
}

impl<T: Copy> Buffer<T> {
    /// Room for `most` items, of which so many are expected. If there are more in the end, they find room too.
    pub fn new(expected: usize, most: usize) -> Self {
        #[cfg(target_os = "linux")]
        if let Some(mapped) = mapped::Mapped::new(most) {
            return Self::Mapped(mapped);
        }
        Self::Heap(Vec::with_capacity(expected))
    }

    /// Room for so many items; `None` if the system does not give it.
    pub fn with_room(most: usize) -> Option<Self> {
        #[cfg(target_os = "linux")]
        if let Some(mapped) = mapped::Mapped::new(most) {
            return Some(Self::Mapped(mapped));
        }
        let mut items = Vec::new();
        items.try_reserve_exact(most).ok()?;
        Some(Self::Heap(items))
    }

    /// Room for an item for each token of a text of so many bytes.
    pub fn for_text(bytes: usize) -> Self {
        Self::new(bytes / 3 + SHORT, bytes)
    }

    /// Make room for `more` items.
    #[inline]
    pub fn reserve(&mut self, more: usize) {
        match self {
            Self::Heap(items) => items.reserve(more),
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

    /// The room behind the items; at least what was reserved.
    #[inline]
    pub fn spare(&mut self) -> &mut [MaybeUninit<T>] {
        match self {
            Self::Heap(items) => items.spare_capacity_mut(),
            #[cfg(target_os = "linux")]
            Self::Mapped(mapped) => mapped.spare(),
        }
    }

    /// Take in the first items of [`Self::spare`].
    ///
    /// # Safety
    /// So many are written.
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
        // SAFETY: both are of this length, and an item may be copied.
        unsafe { std::ptr::copy_nonoverlapping(items.as_ptr(), spare.as_mut_ptr().cast(), items.len()) };
        // SAFETY: so many are written.
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

    /// Before somebody else keeps it for long: let go what is too much of it.
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

    /// What waits for the next call at the most, in bytes that were touched.
    static MOST: AtomicUsize = AtomicUsize::new(24 << 20);

    /// A multiple of every system's page.
    const PAGE: usize = 64 << 10;

    pub(super) static IDLE: Mutex<Vec<Region>> = Mutex::new(Vec::new());

    /// Memory, most of which is only reserved.
    #[derive(Debug)]
    pub(super) struct Region {
        mapping: Mapping,
        bytes: usize,
        /// So much may have been written to since the system gave it.
        touched: usize,
    }

    impl Region {
        /// One that waits, or a new one. Powers of two, so texts of about the same length can have one another's.
        fn take(bytes: usize) -> Option<Self> {
            let bytes = bytes.checked_next_power_of_two()?;
            // Who holds the lock may have been left behind in a fork, and nobody waits for memory.
            if let Ok(mut idle) = IDLE.try_lock()
                && let Some(at) = idle.iter().rposition(|region| region.bytes == bytes)
            {
                return Some(idle.remove(at));
            }
            Some(Self { mapping: Mapping::new(bytes)?, bytes, touched: 0 })
        }

        /// Keep it for the next call, unless there is enough; what has waited longest goes first.
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

    /// Take out what has waited longest until no more than `most` bytes are left. The system is given it back when the
    /// lock is free again, which takes it a while.
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
        // What is too much in a fork that cannot have the lock is never used there, and costs nothing.
        let _forgotten = lock_briefly(&IDLE).map(|mut idle| forget(&mut idle, bytes));
    }

    #[cfg(test)]
    pub fn is_within_bounds() -> bool {
        touched(&IDLE.lock().unwrap()) <= MOST.load(Ordering::Relaxed)
    }

    /// Items in a region.
    #[derive(Debug)]
    pub struct Mapped<T> {
        /// Empty once it is dropped.
        region: Option<Region>,
        start: *mut T,
        capacity: usize,
        pub(super) length: usize,
        items: PhantomData<T>,
    }

    // SAFETY: it owns its memory alone, as a vector does.
    unsafe impl<T: Send> Send for Mapped<T> {}
    // SAFETY: shared references only read.
    unsafe impl<T: Sync> Sync for Mapped<T> {}

    impl<T: Copy> Mapped<T> {
        /// `None` where that is less than a large page, or the system refuses.
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
            // SAFETY: the region has room for `capacity` items from `start` on, which is aligned to a page, and is
            // borrowed alone.
            unsafe { std::slice::from_raw_parts_mut(self.start.add(self.length).cast(), self.room()) }
        }

        #[inline]
        pub fn as_slice(&self) -> &[T] {
            // SAFETY: so many items are written.
            unsafe { std::slice::from_raw_parts(self.start, self.length) }
        }

        /// Give back pages behind the items, if they are more than a third of what is written.
        pub fn trim(&mut self) {
            let used = self.length * size_of::<T>();
            if let Some(region) = &mut self.region {
                region.touched = region.touched.max(used.next_multiple_of(LARGE)).min(region.bytes);
                let end = used.next_multiple_of(PAGE).min(region.touched);
                if (region.touched - end) * 3 > used {
                    // SAFETY: the range is in the region, at a page, and holds nothing that anybody reads.
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
