//! Work on several threads. Threads are started for one call and end with it, so a fork between two calls finds none,
//! and each has the priority and the cores of its caller.

use std::num::NonZero;
use std::thread;

use crate::error::{Error, Result};

/// Run both and return both results; `other` runs on a thread of its own, unless the system refuses one.
pub fn join<A, B: Send>(work: impl FnOnce() -> A, other: impl Fn() -> B + Sync) -> (A, B) {
    thread::scope(|scope| {
        let started = thread::Builder::new().spawn_scoped(scope, &other);
        let done = work();
        let other = match started {
            Ok(thread) => thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)),
            Err(_) => other(),
        };
        (done, other)
    })
}

/// Run `own` here and `other` on `threads - 1` other threads, or fewer if the system refuses them; return the results.
///
/// # Errors
/// That of a thread that panics.
pub fn on_threads<T: Send>(threads: usize, own: impl FnOnce() -> T, other: impl Fn() -> T + Sync) -> Result<Vec<T>> {
    thread::scope(|scope| {
        let start = |_| thread::Builder::new().spawn_scoped(scope, &other).ok();
        let started: Vec<_> = (1..threads).map_while(start).collect();
        let own = own();
        // All are joined before the first error is returned: a scope panics for threads that nobody joined.
        let others: Vec<_> = started.into_iter().map(thread::ScopedJoinHandle::join).collect();
        let others = others.into_iter().map(|done| done.map_err(|panic| Error::of_panic(&*panic)));
        std::iter::once(Ok(own)).chain(others).collect()
    })
}

/// The number of cores that this thread may use: those that it may run on, and no more than the limits of the control
/// groups around it leave, `cpu.max` and `cpu.cfs_quota_us`.
pub fn core_count() -> usize {
    thread::available_parallelism().map_or(1, NonZero::get)
}

/// The number of cores that this thread may run on, as far as the system says.
///
/// [`core_count`] also asks for the limits of the control groups, which takes a tenth of a millisecond: too long for
/// each call.
pub fn allowed_cores() -> usize {
    #[cfg(target_os = "linux")]
    {
        // SAFETY: zeros are the empty set; the system is given the size of the set and writes no more.
        unsafe {
            let mut cores: libc::cpu_set_t = std::mem::zeroed();
            if libc::sched_getaffinity(0, size_of_val(&cores), &raw mut cores) == 0 {
                return libc::CPU_COUNT(&cores) as usize;
            }
        }
    }
    usize::MAX
}

#[cfg(test)]
mod tests {
    use std::panic::{AssertUnwindSafe, catch_unwind};
    use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

    use super::*;
    use crate::error::{Code, OutOfMemory};

    #[test]
    fn each_thread_runs_once_and_gives_its_result() {
        for threads in 1..6 {
            let next = AtomicUsize::new(1);
            let mut done = on_threads(threads, || 0, || next.fetch_add(1, Ordering::Relaxed)).unwrap();
            done.sort_unstable();
            assert_eq!(done, (0..threads).collect::<Vec<_>>());
        }
    }

    #[test]
    fn a_thread_that_dies_is_an_error_and_the_next_call_is_none() {
        let begun = AtomicUsize::new(0);
        let other = || assert_ne!(begun.fetch_add(1, Ordering::Relaxed), 1, "as the test wants it");
        assert_eq!(on_threads(4, || {}, other).unwrap_err().code, Code::Internal);
        assert_eq!(begun.load(Ordering::Relaxed), 3);
        assert_eq!(on_threads(3, || {}, || OutOfMemory::unwind()).unwrap_err().code, Code::OutOfMemory);
        assert!(on_threads(4, || {}, || {}).is_ok());
    }

    #[test]
    fn a_caller_that_dies_waits_for_the_others() {
        let ended = AtomicBool::new(false);
        let other = || {
            thread::sleep(std::time::Duration::from_millis(5));
            ended.store(true, Ordering::Release);
        };
        assert!(catch_unwind(AssertUnwindSafe(|| on_threads(2, || panic!("as the test wants it"), other))).is_err());
        assert!(ended.load(Ordering::Acquire));
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_thread_is_as_urgent_as_its_caller() {
        // SAFETY: both only ask for and change the niceness of this thread.
        let niceness = || unsafe { libc::getpriority(libc::PRIO_PROCESS, 0) };
        let patient = || {
            let usual = niceness();
            // SAFETY: as above.
            unsafe { libc::setpriority(libc::PRIO_PROCESS, 0, usual + 1) };
            assert_eq!(on_threads(3, niceness, niceness).unwrap(), [niceness(); 3]);
        };
        thread::scope(|scope| drop(scope.spawn(patient)));
    }
}
