//! Two tasks at once.

use std::thread;

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
