//! Work over scoped threads.

use std::num::NonZero;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use crate::error::{Code, Error, Result};
use crate::scratch::{Scratch, ScratchPool};

/// How many threads `wanted` means for so many shares of work: 0 is one a core.
pub fn threads_for(wanted: usize, shares: usize) -> usize {
    let cores = thread::available_parallelism().map_or(1, NonZero::get);
    if wanted == 0 { cores } else { wanted.min(cores * 4) }.min(shares)
}

impl ScratchPool {
    /// Do so many shares of work on this thread, which has `own`, and on others; what they give, in order.
    ///
    /// A thread keeps one scratch for all it does: handing them round would move the caches from core to core.
    ///
    /// # Errors
    /// `internal` if a thread dies.
    pub(crate) fn spread<T: Send>(
        &self,
        own: &mut Scratch,
        threads: usize,
        shares: usize,
        work: impl Fn(&mut Scratch, usize) -> T + Sync,
    ) -> Result<Vec<T>> {
        let runs = Runs::new(shares, threads);
        let take = |scratch: &mut Scratch, thread: usize| -> Vec<(usize, T)> {
            runs.of(thread).map(|share| (share, work(scratch, share))).collect()
        };
        let mut done = thread::scope(|scope| {
            let help = |thread| move || self.with(|scratch| take(scratch, thread));
            // A thread that the system refuses is no error: those that run take its shares, this one at the least.
            let started: Vec<_> =
                (1..threads).map_while(|at| thread::Builder::new().spawn_scoped(scope, help(at)).ok()).collect();
            let mut done = take(own, 0);
            for thread in started {
                done.extend(thread.join().map_err(|_| Error::new(Code::Internal, "an encoding thread died"))?);
            }
            Ok(done)
        })?;
        done.sort_unstable_by_key(|(share, _)| *share);
        Ok(done.into_iter().map(|(_, done)| done).collect())
    }
}

/// Shares as threads take them: each those of its own run, which are neighbours, and then what others have left.
///
/// A thread that is given the same texts again has the same of them, which its caches know.
struct Runs(Vec<(AtomicUsize, usize)>);

impl Runs {
    fn new(shares: usize, threads: usize) -> Self {
        let run = |thread: usize| (AtomicUsize::new(shares * thread / threads), shares * (thread + 1) / threads);
        Self((0..threads).map(run).collect())
    }

    /// The shares for one thread.
    fn of(&self, thread: usize) -> impl Iterator<Item = usize> {
        let (others, own) = self.0.split_at(thread);
        own.iter().chain(others).flat_map(|(next, end)| {
            std::iter::repeat_with(|| next.fetch_add(1, Ordering::Relaxed)).take_while(|share| share < end)
        })
    }
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

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn every_share_is_taken_once_even_if_some_threads_never_run(
            shares in 0..40_usize, threads in 1..9_usize, order in prop::collection::vec(0..9_usize, 0..60),
        ) {
            let runs = Runs::new(shares, threads);
            let mut threads: Vec<_> = (0..threads).map(|thread| runs.of(thread)).collect();
            let mut taken = Vec::new();
            for at in order {
                if let Some(thread) = threads.get_mut(at) {
                    taken.extend(thread.next());
                }
            }
            taken.extend(&mut threads[0]);
            taken.sort_unstable();
            prop_assert_eq!(taken, (0..shares).collect::<Vec<_>>());
        }

        #[test]
        fn a_thread_begins_with_its_own_neighbours(per_thread in 1..9_usize, threads in 1..9_usize) {
            let runs = Runs::new(per_thread * threads, threads);
            for thread in 0..threads {
                let own: Vec<_> = runs.of(thread).take(per_thread).collect();
                prop_assert_eq!(own, (per_thread * thread..per_thread * (thread + 1)).collect::<Vec<_>>());
            }
        }
    }
}
