//! Prefetching: ask the processor to load memory that will be read or written soon. By itself it looks no further than
//! the end of a page, even where all memory is read in order.

/// The unit in which memory is loaded, in bytes.
pub const CACHE_LINE: usize = 64;

/// Prefetch the cache line of one item. Any index is allowed: nothing but time changes.
#[inline(always)]
pub fn prefetch<T>(items: &[T], index: usize) {
    prefetch_at(items.as_ptr().wrapping_add(index));
}

/// Prefetch the cache lines of so many bytes from an address on. Any address is allowed.
#[inline(always)]
pub fn prefetch_bytes(start: *const u8, bytes: usize) {
    (0..bytes).step_by(CACHE_LINE).for_each(|at| prefetch_at(start.wrapping_add(at)));
}

/// Prefetch the cache line at an address. Any address is allowed.
#[inline(always)]
pub fn prefetch_at<T>(address: *const T) {
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        // SAFETY: a prefetch never faults and has no effect that a program sees, whatever the address.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(address.cast()) };
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = address;
}
