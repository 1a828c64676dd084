//! Locks that are never waited for long, because after a fork the thread that held one may no longer exist.

use std::sync::{Mutex, MutexGuard, TryLockError};

/// Attempts before giving up. Whoever holds one of these locks releases it after a few instructions.
const TRIES: usize = 1000;

/// Lock, or give up: in the child of a fork, a lock that another thread held is never released.
///
/// The lock is taken even if a thread panicked while it held it, so what it guards must be valid at every moment.
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
