//! A lock that is never waited for long.

use std::sync::{Mutex, MutexGuard, TryLockError};

/// So often it is tried: who has one of these locks gives it back after some instructions.
const TRIES: usize = 1000;

/// Lock, unless it cannot be had: a thread that is not there any more may hold it in a fork. What a thread left that
/// died meanwhile has to be whole.
pub(crate) fn lock_briefly<T>(mutex: &Mutex<T>) -> Option<MutexGuard<'_, T>> {
    (0..TRIES).find_map(|_| match mutex.try_lock() {
        Ok(guard) => Some(guard),
        Err(TryLockError::Poisoned(guard)) => Some(guard.into_inner()),
        Err(TryLockError::WouldBlock) => {
            std::hint::spin_loop();
            None
        }
    })
}

/// Run `work` as in a child whose parent had a thread that held the lock when it forked, and say whether it ended.
#[cfg(test)]
pub(crate) fn ends_while_locked<T>(mutex: &Mutex<T>, work: impl FnOnce() + Send + 'static) -> bool {
    let held = mutex.lock();
    let (done, is_done) = std::sync::mpsc::channel();
    // Not joined: it would be waited for without end.
    std::thread::spawn(move || {
        work();
        let _ = done.send(());
    });
    let ends = is_done.recv_timeout(std::time::Duration::from_secs(20)).is_ok();
    drop(held);
    ends
}
