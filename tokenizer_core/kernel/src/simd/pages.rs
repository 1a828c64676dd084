//! Zeroed tables straight from the system: a page costs nothing until it is touched, and is a large page where the
//! system has them.

use std::ops::{Deref, DerefMut};
use std::ptr::NonNull;

use bytemuck::Pod;
use memmap2::MmapMut;

use crate::error::OutOfMemory;

/// Size and alignment of a large page.
const LARGE: usize = 2 << 20;

/// A table of fixed length, aligned to a page.
#[derive(Debug)]
pub(crate) struct Table<T> {
    entries: NonNull<[T]>,
    _memory: MmapMut,
}

// SAFETY: it alone owns its entries, as a boxed slice does.
unsafe impl<T: Send> Send for Table<T> {}
// SAFETY: a shared reference only gives out shared references to entries.
unsafe impl<T: Sync> Sync for Table<T> {}

impl<T: Pod> Table<T> {
    /// `length` entries of zeros. Where the system refuses the memory, the work is left with [`OutOfMemory::unwind`].
    pub fn new(length: usize) -> Self {
        Self::map(length).unwrap_or_else(|| OutOfMemory::unwind())
    }

    fn map(length: usize) -> Option<Self> {
        let bytes = length.checked_mul(size_of::<T>())?;
        let is_large = bytes >= LARGE;
        // Longer by a large page, so that one can begin where the table does.
        let mut memory = MmapMut::map_anon(if is_large { bytes.checked_add(LARGE)? } else { bytes }).ok()?;
        let start = if is_large { memory.as_ptr().align_offset(LARGE) } else { 0 };
        #[cfg(target_os = "linux")]
        if is_large {
            // A system without large pages refuses, which is harmless.
            let _ = memory.advise_range(memmap2::Advice::HugePage, start, bytes);
        }
        // A page is aligned for every entry; the cast checks it.
        let entries = NonNull::from(bytemuck::cast_slice_mut(&mut memory[start..start + bytes]));
        Some(Self { entries, _memory: memory })
    }
}

impl<T> Deref for Table<T> {
    type Target = [T];

    #[inline(always)]
    fn deref(&self) -> &[T] {
        // SAFETY: `map` borrowed the entries from `_memory`, which is not accessed any other way.
        unsafe { self.entries.as_ref() }
    }
}

impl<T> DerefMut for Table<T> {
    #[inline(always)]
    fn deref_mut(&mut self) -> &mut [T] {
        // SAFETY: as above, and `self` is borrowed alone.
        unsafe { self.entries.as_mut() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_of_every_size_are_zeros_aligned_and_apart() {
        let sizes = [0, 1, 500, LARGE / 8 - 1, LARGE / 8, 3 * LARGE / 16];
        let mut tables: Vec<Table<u64>> = sizes.map(Table::new).into();
        for (at, table) in tables.iter_mut().enumerate() {
            assert_eq!((table.len(), table.as_ptr().addr() % 4096), (sizes[at], 0));
            assert!(table.len() < LARGE / 8 || table.as_ptr().addr().is_multiple_of(LARGE));
            assert!(table.iter().all(|entry| *entry == 0));
            table.fill(at as u64);
        }
        assert!(tables.iter().enumerate().all(|(at, table)| table.iter().all(|entry| *entry == at as u64)));
    }

    #[test]
    fn a_table_that_no_memory_holds_is_out_of_memory() {
        for length in [usize::MAX, 1 << 57] {
            let refused = std::panic::catch_unwind(|| Table::<u64>::new(length)).unwrap_err();
            assert_eq!(crate::error::Error::of_panic(&*refused).code, crate::error::Code::OutOfMemory);
        }
    }
}
