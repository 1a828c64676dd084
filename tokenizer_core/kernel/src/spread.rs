//! Work over scoped threads.

use std::num::NonZero;
use std::thread;

use crate::error::{Code, Error, Result};

/// How many threads `wanted` means for so many shares of work: 0 is one a core.
pub fn threads_for(wanted: usize, shares: usize) -> usize {
    let cores = thread::available_parallelism().map_or(1, NonZero::get);
    if wanted == 0 { cores } else { wanted.min(cores * 4) }.min(shares)
}

/// Run `work`, which takes shares until none is left, on this thread and on others; all that they give, in any order.
///
/// # Errors
/// `internal` if a thread dies.
pub fn spread<T: Send>(threads: usize, work: impl Fn() -> Vec<T> + Sync) -> Result<Vec<T>> {
    thread::scope(|scope| {
        // A thread that the system refuses is no error: those that run take its shares, this one at the least.
        let started: Vec<_> =
            (1..threads).map_while(|_| thread::Builder::new().spawn_scoped(scope, &work).ok()).collect();
        let mut done = work();
        for thread in started {
            done.extend(thread.join().map_err(|_| Error::new(Code::Internal, "an encoding thread died"))?);
        }
        Ok(done)
    })
}

/// Do both, `other` on a thread of its own unless the system refuses one.
pub fn beside<A, B: Send>(work: impl FnOnce() -> A, other: impl Fn() -> B + Sync) -> (A, B) {
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
