//! Tables of zeros straight from the system: a page costs nothing until it is touched, and pages are large where the
//! system has such. Large ones made a first text in English 15 % faster.

use std::ops::{Deref, DerefMut};

/// Plain data for which zeros are a value.
///
/// # Safety
/// Every bit pattern of zeros is a valid value, and dropping one does nothing.
pub(crate) unsafe trait Zeroed: Copy {}

/// Size and alignment of a large page.
#[cfg(target_os = "linux")]
pub(crate) const LARGE: usize = 2 << 20;

#[cfg(target_os = "linux")]
mod mapped {
    use std::ptr::NonNull;

    use super::{LARGE, Zeroed};

    /// Private anonymous memory.
    #[derive(Debug)]
    pub struct Mapping {
        /// Aligned to a large page, if there is room for one.
        start: NonNull<libc::c_void>,
        mapping: NonNull<libc::c_void>,
        mapped: usize,
    }

    // SAFETY: it owns its memory alone, as a boxed slice does.
    unsafe impl Send for Mapping {}
    // SAFETY: a shared reference gives no access.
    unsafe impl Sync for Mapping {}

    impl Mapping {
        /// So many bytes of zeros; `None` if the system refuses.
        pub fn new(bytes: usize) -> Option<Self> {
            let large = bytes >= LARGE / 4;
            let bytes = bytes.max(if large { LARGE } else { 1 });
            let mapped = if large { bytes.checked_add(LARGE)? } else { bytes };
            let (access, kind) = (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS);
            // SAFETY: a new anonymous mapping touches no memory that is in use.
            let mapping = unsafe { libc::mmap(std::ptr::null_mut(), mapped, access, kind, -1, 0) };
            if mapping == libc::MAP_FAILED {
                return None;
            }
            let mapping = NonNull::new(mapping)?;
            let offset = if large { mapping.align_offset(LARGE) } else { 0 };
            // SAFETY: the offset is below `LARGE`, by which the mapping is longer than what was asked for.
            let start = unsafe { mapping.byte_add(offset) };
            if large {
                // SAFETY: the range lies in the mapping. A system that knows no large pages refuses, which is no error.
                unsafe { libc::madvise(start.as_ptr(), bytes, libc::MADV_HUGEPAGE) };
            }
            Some(Self { start, mapping, mapped })
        }

        /// Where it begins.
        pub fn start(&self) -> NonNull<libc::c_void> {
            self.start
        }
    }

    impl Drop for Mapping {
        fn drop(&mut self) {
            // SAFETY: this is the whole mapping that `new` made, and nobody holds a reference into it any more.
            unsafe { libc::munmap(self.mapping.as_ptr(), self.mapped) };
        }
    }

    /// Entries in a mapping of their own.
    #[derive(Debug)]
    pub struct Table<T> {
        mapping: Mapping,
        length: usize,
        entries: std::marker::PhantomData<T>,
    }

    impl<T: Zeroed> Table<T> {
        /// `None` if the system refuses.
        pub fn new(length: usize) -> Option<Self> {
            let mapping = Mapping::new(length.checked_mul(size_of::<T>())?)?;
            Some(Self { mapping, length, entries: std::marker::PhantomData })
        }

        pub fn as_slice(&self) -> &[T] {
            // SAFETY: the mapping holds `length` entries from its start on, which is aligned to a page; the system gave
            // zeros, which are a value of `T`, and all later writes went through `as_mut_slice`.
            unsafe { std::slice::from_raw_parts(self.mapping.start().as_ptr().cast(), self.length) }
        }

        pub fn as_mut_slice(&mut self) -> &mut [T] {
            // SAFETY: as above, and `self` is borrowed alone.
            unsafe { std::slice::from_raw_parts_mut(self.mapping.start().as_ptr().cast(), self.length) }
        }
    }
}

#[cfg(target_os = "linux")]
pub(crate) use mapped::Mapping;

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
