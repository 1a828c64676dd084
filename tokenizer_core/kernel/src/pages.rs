//! Tables of zeros straight from the system: a page costs nothing until it is touched, and pages are large where the
//! system has such. Large ones made a first text in English 15 % faster.

use std::ops::{Deref, DerefMut};

/// Plain data for which zeros are a value.
///
/// # Safety
/// Every bit pattern of zeros is a valid value, and dropping one does nothing.
pub(crate) unsafe trait Zeroed: Copy {}

#[cfg(target_os = "linux")]
mod mapped {
    use std::ptr::NonNull;

    use super::Zeroed;

    /// Size and alignment of a large page.
    const LARGE: usize = 2 << 20;

    /// A private anonymous mapping.
    #[derive(Debug)]
    pub struct Table<T> {
        start: NonNull<T>,
        length: usize,
        mapping: NonNull<libc::c_void>,
        mapped: usize,
    }

    // SAFETY: the table owns its memory alone, as a boxed slice does.
    unsafe impl<T: Send> Send for Table<T> {}
    // SAFETY: shared references only read.
    unsafe impl<T: Sync> Sync for Table<T> {}

    impl<T: Zeroed> Table<T> {
        /// `None` if the system refuses.
        pub fn new(length: usize) -> Option<Self> {
            let bytes = length.checked_mul(size_of::<T>())?.max(1);
            let large = bytes >= LARGE;
            let mapped = if large { bytes.checked_add(LARGE)? } else { bytes };
            let (access, kind) = (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS);
            // SAFETY: a new anonymous mapping touches no memory that is in use.
            let mapping = unsafe { libc::mmap(std::ptr::null_mut(), mapped, access, kind, -1, 0) };
            if mapping == libc::MAP_FAILED {
                return None;
            }
            let mapping = NonNull::new(mapping)?;
            let offset = if large { mapping.align_offset(LARGE) } else { 0 };
            // SAFETY: the offset is below `LARGE`, by which the mapping is longer than the table.
            let start = unsafe { mapping.byte_add(offset) };
            if large {
                // SAFETY: the range lies in the mapping. A system that knows no large pages refuses, which is no error.
                unsafe { libc::madvise(start.as_ptr(), bytes, libc::MADV_HUGEPAGE) };
            }
            Some(Self { start: start.cast(), length, mapping, mapped })
        }

        pub fn as_slice(&self) -> &[T] {
            // SAFETY: the mapping holds `length` entries from `start` on, which is aligned to a page; the system gave
            // zeros, which are a value of `T`, and all later writes went through `as_mut_slice`.
            unsafe { std::slice::from_raw_parts(self.start.as_ptr(), self.length) }
        }

        pub fn as_mut_slice(&mut self) -> &mut [T] {
            // SAFETY: as above, and `self` is borrowed alone.
            unsafe { std::slice::from_raw_parts_mut(self.start.as_ptr(), self.length) }
        }
    }

    impl<T> Drop for Table<T> {
        fn drop(&mut self) {
            // SAFETY: this is the whole mapping that `new` made, and nobody holds a reference into it any more.
            unsafe { libc::munmap(self.mapping.as_ptr(), self.mapped) };
        }
    }
}

/// A table of fixed length.
#[derive(Debug)]
pub(crate) enum Table<T> {
    #[cfg(target_os = "linux")]
    Mapped(mapped::Table<T>),
    Boxed(Box<[T]>),
}

impl<T: Zeroed> Table<T> {
    /// `length` entries of zeros.
    pub fn new(length: usize) -> Self {
        #[cfg(target_os = "linux")]
        if let Some(table) = mapped::Table::new(length) {
            return Self::Mapped(table);
        }
        // SAFETY: zeros are a value of `T`.
        let zero = unsafe { std::mem::zeroed() };
        Self::Boxed(vec![zero; length].into_boxed_slice())
    }
}

impl<T: Zeroed> Deref for Table<T> {
    type Target = [T];

    #[inline(always)]
    fn deref(&self) -> &[T] {
        match self {
            #[cfg(target_os = "linux")]
            Self::Mapped(table) => table.as_slice(),
            Self::Boxed(table) => table,
        }
    }
}

impl<T: Zeroed> DerefMut for Table<T> {
    #[inline(always)]
    fn deref_mut(&mut self) -> &mut [T] {
        match self {
            #[cfg(target_os = "linux")]
            Self::Mapped(table) => table.as_mut_slice(),
            Self::Boxed(table) => table,
        }
    }
}
