//! Memory for the results of long texts, in large pages where the system has them. What is freed is kept for the next
//! call, and some is touched before the first: touching new pages took longer than encoding some texts.

use std::ptr::NonNull;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::lock::lock_briefly;
use super::pages::{LARGE, Mapping};

/// Regions that are [prepared](prepare).
const PREPARED: usize = 2;

/// The size of these, most of it only reserved: enough for the ids of a text of 8 MB.
const PREPARED_BYTES: usize = 16 * LARGE;

/// The most that is kept for later calls, in bytes that were touched.
static MOST: AtomicUsize = AtomicUsize::new(24 << 20);

/// A multiple of every system's page.
const PAGE: usize = 64 << 10;

static IDLE: Mutex<Vec<Region>> = Mutex::new(Vec::new());

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
    pub fn take(bytes: usize) -> Option<Self> {
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

    /// Where it begins: a border of pages.
    pub fn start(&self) -> NonNull<libc::c_void> {
        self.mapping.start()
    }

    /// How many bytes it has.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Note that the first `bytes` bytes may have been written to.
    fn touch(&mut self, bytes: usize) {
        self.touched = self.touched.max(bytes.next_multiple_of(LARGE)).min(self.bytes);
    }

    /// Give the pages after the first `used` bytes back to the system, if they are more than a third of these. What is
    /// in them is lost.
    pub fn trim(&mut self, used: usize) {
        self.touch(used);
        let end = used.next_multiple_of(PAGE).min(self.touched);
        if (self.touched - end) * 3 > used {
            // SAFETY: `end` is a multiple of a page and `touched` at most the region's size, so the range lies in the
            // region; what has the region reads nothing after what it uses.
            unsafe { libc::madvise(self.start().as_ptr().byte_add(end), self.touched - end, libc::MADV_DONTNEED) };
            self.touched = end;
        }
    }

    /// Keep it for a later call, the first `used` bytes having been written to, and free the oldest kept ones to make
    /// room for it.
    pub fn give_back(mut self, used: usize) {
        self.touch(used);
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

/// See [`super::buffer::keep`].
pub(super) fn keep(bytes: usize) {
    MOST.store(bytes, Ordering::Relaxed);
    // If the lock cannot be had, after a fork, the kept regions are never used in that process and cost nothing.
    let _forgotten = lock_briefly(&IDLE).map(|mut idle| forget(&mut idle, bytes));
}

/// See [`super::buffer::prepare`].
pub(super) fn prepare() {
    let is_wanted = MOST.load(Ordering::Relaxed) >= PREPARED * LARGE;
    if is_wanted && IDLE.try_lock().is_ok_and(|idle| idle.is_empty()) {
        let regions = (0..PREPARED).filter_map(|_| Region::prepared(PREPARED_BYTES));
        regions.for_each(|region| region.give_back(LARGE));
    }
}

#[cfg(test)]
pub(super) fn is_within_bounds() -> bool {
    touched(&IDLE.lock().unwrap()) <= MOST.load(Ordering::Relaxed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_kept_is_told_in_a_fork_that_another_thread_left_the_lock_to() {
        let as_it_is = 24 << 20;
        assert!(crate::machine::lock::ends_while_locked(&IDLE, move || keep(as_it_is)));
    }

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
