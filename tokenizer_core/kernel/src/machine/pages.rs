//! Zeroed tables straight from the system: a page costs nothing until it is touched, and is a large page where the
//! system has them, which made the first text in English 15 % faster.

use std::ops::{Deref, DerefMut};

use super::room::reserve;

/// Plain data that may be all zeros, as `Zeroable` of the crate `bytemuck`.
///
/// # Safety
/// The bit pattern of all zeros is a valid value.
pub(crate) unsafe trait Zeroable: Copy {}

// SAFETY: an integer.
unsafe impl Zeroable for u16 {}
// SAFETY: as above.
unsafe impl Zeroable for u32 {}

/// Size and alignment of a large page.
#[cfg(target_os = "linux")]
const LARGE: usize = 2 << 20;

#[cfg(target_os = "linux")]
mod mapped {
    use std::ptr::NonNull;
    use std::sync::{Arc, Mutex, Weak};

    use super::{LARGE, Zeroable};
    use crate::machine::lock::lock_briefly;
    use crate::machine::prefetch::CACHE_LINE;

    /// Smaller tables have small pages of their own.
    const SHARED: usize = LARGE / 16;

    /// The address space of an arena, in which tables lie side by side that would not fill large pages of their own.
    const ARENA_BYTES: usize = 16 * LARGE;

    /// A multiple of every system's small page.
    const PAGE: usize = 1 << 16;

    /// Private anonymous memory.
    #[derive(Debug)]
    pub struct Mapping {
        /// Aligned to a large page, if there is room for one.
        start: NonNull<libc::c_void>,
        mapping: NonNull<libc::c_void>,
        mapped: usize,
    }

    // SAFETY: it alone owns its memory, as a boxed slice does.
    unsafe impl Send for Mapping {}
    // SAFETY: a shared reference gives out the address and nothing else.
    unsafe impl Sync for Mapping {}

    impl Mapping {
        /// `bytes` bytes of zeros; `None` if the system refuses.
        pub fn new(bytes: usize) -> Option<Self> {
            let (bytes, large) = (bytes.max(1), bytes >= LARGE);
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
                // SAFETY: the range lies in the mapping. A system without large pages refuses, which is harmless.
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
            // SAFETY: this is the whole mapping that `new` made. All users of its memory own it or share it by an
            // `Arc`, so there is none any more.
            unsafe { libc::munmap(self.mapping.as_ptr(), self.mapped) };
        }
    }

    /// The current arena, and how many of its bytes are taken. It lives as long as one of its tables.
    pub(super) static ARENA: Mutex<(Weak<Mapping>, usize)> = Mutex::new((Weak::new(), 0));

    /// `bytes` bytes of zeros in an arena: the arena, and where they begin in it. `None` if the system refuses, or the
    /// lock cannot be had.
    fn share(bytes: usize) -> Option<(Arc<Mapping>, usize)> {
        let mut guard = lock_briefly(&ARENA)?;
        let (arena, taken) = &mut *guard;
        let bytes = bytes.next_multiple_of(CACHE_LINE);
        let open = arena.upgrade().filter(|_| *taken + bytes <= ARENA_BYTES);
        let (mapping, start) = match open {
            Some(mapping) => (mapping, *taken),
            None => (Arc::new(Mapping::new(ARENA_BYTES)?), 0),
        };
        (*arena, *taken) = (Arc::downgrade(&mapping), start + bytes);
        Some((mapping, start))
    }

    /// Entries in a mapping of their own, or in a part of an arena that no other table has.
    #[derive(Debug)]
    pub struct Table<T> {
        start: NonNull<T>,
        length: usize,
        /// Keeps the memory alive.
        memory: Memory,
    }

    #[derive(Debug)]
    enum Memory {
        Own { _mapping: Mapping },
        Shared { _arena: Arc<Mapping> },
    }

    // SAFETY: it alone owns its entries, as a boxed slice does: `share` gives no byte to two tables.
    unsafe impl<T: Send> Send for Table<T> {}
    // SAFETY: a shared reference only gives out shared references to entries.
    unsafe impl<T: Sync> Sync for Table<T> {}

    impl<T: Zeroable> Table<T> {
        /// `None` if the system refuses.
        pub fn new(length: usize) -> Option<Self> {
            const { assert!(align_of::<T>() <= CACHE_LINE) };
            let bytes = length.checked_mul(size_of::<T>())?;
            let fills_no_page = (SHARED..ARENA_BYTES / 4).contains(&bytes) && !bytes.is_multiple_of(LARGE);
            let (memory, start) = match fills_no_page.then(|| share(bytes)).flatten() {
                Some((arena, at)) => {
                    // SAFETY: `share` made sure that `bytes` bytes from there on lie within the arena.
                    let start = unsafe { arena.start().byte_add(at) };
                    (Memory::Shared { _arena: arena }, start)
                }
                None => {
                    let mapping = Mapping::new(bytes)?;
                    let start = mapping.start();
                    (Memory::Own { _mapping: mapping }, start)
                }
            };
            Some(Self { start: start.cast(), length, memory })
        }

        pub fn as_slice(&self) -> &[T] {
            // SAFETY: there are `length` entries from the start on, which is aligned to a cache line at the least; the
            // system gave zeros, which are a value of `T`, and all later writes went through `as_mut_slice`.
            unsafe { std::slice::from_raw_parts(self.start.as_ptr(), self.length) }
        }

        pub fn as_mut_slice(&mut self) -> &mut [T] {
            // SAFETY: as above, `self` is borrowed alone, and the entries are its own.
            unsafe { std::slice::from_raw_parts_mut(self.start.as_ptr(), self.length) }
        }
    }

    impl<T> Drop for Table<T> {
        fn drop(&mut self) {
            if let Memory::Shared { .. } = &self.memory {
                // Only whole pages, since the others are shared with neighbours. This part of the arena is not used
                // again.
                let (start, end) = (self.start.addr().get(), self.start.addr().get() + self.length * size_of::<T>());
                let (first, end) = (start.next_multiple_of(PAGE), end / PAGE * PAGE);
                if first < end {
                    // SAFETY: these pages hold nothing but entries of this table, which is being dropped.
                    unsafe {
                        libc::madvise(
                            self.start.as_ptr().byte_add(first - start).cast(),
                            end - first,
                            libc::MADV_DONTNEED,
                        )
                    };
                }
            }
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

impl<T: Zeroable> Table<T> {
    /// `length` entries of zeros.
    pub fn new(length: usize) -> Self {
        #[cfg(target_os = "linux")]
        if let Some(table) = mapped::Table::new(length) {
            return Self::Mapped(table);
        }
        // SAFETY: `T: Zeroable`.
        let zero = unsafe { std::mem::zeroed() };
        let mut table = Vec::new();
        reserve(&mut table, length);
        table.resize(length, zero);
        Self::Boxed(table.into_boxed_slice())
    }
}

impl<T: Zeroable> Deref for Table<T> {
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

impl<T: Zeroable> DerefMut for Table<T> {
    #[inline(always)]
    fn deref_mut(&mut self) -> &mut [T] {
        match self {
            #[cfg(target_os = "linux")]
            Self::Mapped(table) => table.as_mut_slice(),
            Self::Boxed(table) => table,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::thread;

    use super::*;

    // SAFETY: integers alone.
    unsafe impl Zeroable for u64 {}

    /// Sizes below, among and above those of tables that share pages, made and dropped on several threads at once.
    #[test]
    fn tables_are_zeros_and_each_has_its_own() {
        let sizes = [1, 500, 131_071, 131_072, 131_080, 700_000, 2_097_144, 2_097_152, 3_000_000];
        let work = |thread: u64| {
            let mut kept: Vec<(u64, Table<u64>)> = Vec::new();
            for round in 0..40 {
                let mut table = Table::<u64>::new(sizes[(thread + round) as usize % sizes.len()] / 8 + 1);
                assert!(table.iter().all(|entry| *entry == 0));
                let mark = (thread << 32) + round + 1;
                table.fill(mark);
                kept.push((mark, table));
                if round % 3 == 2 {
                    kept.swap_remove((round * 7) as usize % kept.len());
                }
                let last = |table: &Table<u64>| table.len() - 1;
                assert!(kept.iter().all(|(mark, table)| table[0] == *mark && table[last(table)] == *mark));
            }
            assert!(kept.iter().all(|(mark, table)| table.iter().all(|entry| entry == mark)));
        };
        thread::scope(|scope| (0..4).for_each(|thread| drop(scope.spawn(move || work(thread)))));
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_table_is_made_in_a_fork_that_another_thread_left_the_lock_to() {
        let make = || assert!(Table::<u64>::new(500_000 / 8).iter().all(|entry| *entry == 0));
        assert!(crate::machine::lock::ends_while_locked(&mapped::ARENA, make));
    }

    /// How many bytes of a table are in memory, in whole pages; none if the system has taken all of it back.
    #[cfg(all(target_os = "linux", not(miri)))]
    fn resident(start: *const u64, bytes: usize) -> usize {
        // SAFETY: it only tells the size of a page.
        let page = unsafe { libc::sysconf(libc::_SC_PAGESIZE) } as usize;
        let first = start.addr().next_multiple_of(page);
        let count = (start.addr() + bytes - first) / page;
        let mut there = vec![0_u8; count];
        // SAFETY: nothing is read from the range, which need not be mapped, and there is a byte for each page.
        unsafe { libc::mincore(first as *mut libc::c_void, count * page, there.as_mut_ptr()) };
        there.iter().map(|is_there| usize::from(is_there & 1)).sum::<usize>() * page
    }

    #[cfg(all(target_os = "linux", not(miri)))]
    #[test]
    fn a_table_gives_its_pages_back_while_others_stay_beside_it() {
        const BYTES: usize = 1 << 20;
        let untouched = Table::<u64>::new(2 * LARGE / 8);
        if resident(untouched.as_ptr(), 2 * LARGE) > 0 {
            return; // The system does not tell.
        }
        let is_given_back = || {
            let mut tables: Vec<Table<u64>> = (0..4).map(|_| Table::new(BYTES / 8)).collect();
            tables.iter_mut().for_each(|table| table.fill(1));
            let lost = tables.remove(1);
            let start = lost.as_ptr();
            assert!(resident(start, BYTES) > BYTES / 2);
            drop(lost);
            let left = resident(start, BYTES);
            assert!(tables.iter().all(|table| table.iter().all(|entry| *entry == 1)));
            left < BYTES / 2
        };
        // A table of another test may take the place as soon as it is free.
        assert!((0..20).any(|_| is_given_back()));
    }
}
