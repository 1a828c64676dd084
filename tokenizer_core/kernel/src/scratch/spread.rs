//! Work spread over threads by work stealing, each thread with a scratch of its own.

use std::ops::Range;
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::{Scratch, ScratchPool};
use crate::error::Result;
use crate::threads::helpers::with_helpers;
use crate::threads::scheduling::allowed_cores;

impl ScratchPool {
    /// How many threads `wanted` means, 0 being one a core, where at most `most` find work.
    pub(crate) fn threads_for(&self, wanted: usize, most: usize) -> usize {
        // Asking for the limits of the control group, which the pool knows, takes a tenth of a millisecond.
        let cores = self.slots().min(allowed_cores());
        if wanted == 0 { cores } else { wanted.min(cores * 4) }.min(most)
    }

    /// Do `shares` shares of work on this thread, which has `own`, and on others. Each part of the result is the
    /// outcome of neighbouring shares, and parts are in the order of their shares; `begin` is given the shares that may
    /// go into a part. The part with the first share is this thread's, unless another one was faster.
    ///
    /// A thread keeps one scratch for all its shares: passing scratches around would move their caches from core to
    /// core.
    ///
    /// # Errors
    /// `internal` if a thread dies.
    pub(crate) fn spread<T: Send>(
        &self,
        own: &mut Scratch,
        threads: usize,
        shares: usize,
        begin: impl Fn(Range<usize>) -> T + Sync,
        work: impl Fn(&mut Scratch, &mut T, usize) + Sync,
    ) -> Result<Vec<T>> {
        let runs = Runs::new(shares, threads);
        let take = |scratch: &mut Scratch, thread: usize| -> Vec<(usize, T)> {
            let mut done = Vec::new();
            let run = runs.left(thread);
            let first = run.start;
            let mut part = (!run.is_empty()).then(|| begin(run));
            while let Some((part, share)) = part.as_mut().zip(runs.next(thread)) {
                work(scratch, part, share);
            }
            done.extend(part.map(|part| (first, part)));
            while let Some(share) = runs.steal(thread) {
                let mut part = begin(share..share + 1);
                work(scratch, &mut part, share);
                done.push((share, part));
            }
            done
        };
        let done = Mutex::new(Vec::new());
        let add = |parts| lock(&done).extend(parts);
        // What a helper that starts late does not take is taken by the others, at least by this thread.
        let help = |thread| add(self.with(|scratch| take(scratch, thread)));
        with_helpers(threads - 1, &help, || add(take(own, 0)))?;
        let mut done = done.into_inner().unwrap_or_else(PoisonError::into_inner);
        done.sort_unstable_by_key(|(share, _)| *share);
        Ok(done.into_iter().map(|(_, done)| done).collect())
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A run of shares for each thread. It takes those of its own run from the front, then steals from the runs of others,
/// from the back.
///
/// If the same texts come again, a thread gets the same ones, which its caches know; and the shares it does of its own
/// run are neighbours.
struct Runs(Vec<Mutex<Range<usize>>>);

impl Runs {
    fn new(shares: usize, threads: usize) -> Self {
        let run = |thread: usize| Mutex::new(shares * thread / threads..shares * (thread + 1) / threads);
        Self((0..threads).map(run).collect())
    }

    /// What is left of a thread's own run.
    fn left(&self, thread: usize) -> Range<usize> {
        lock(&self.0[thread]).clone()
    }

    /// The next share of a thread's own run.
    fn next(&self, thread: usize) -> Option<usize> {
        lock(&self.0[thread]).next()
    }

    /// A share for a thread that has done its own.
    fn steal(&self, thread: usize) -> Option<usize> {
        (thread + 1..self.0.len()).chain(0..thread).find_map(|other| lock(&self.0[other]).next_back())
    }
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
            let mut taken = Vec::new();
            for at in order.into_iter().filter(|at| *at < threads) {
                taken.extend(runs.next(at).or_else(|| runs.steal(at)));
            }
            taken.extend(std::iter::from_fn(|| runs.next(0).or_else(|| runs.steal(0))));
            taken.sort_unstable();
            prop_assert_eq!(taken, (0..shares).collect::<Vec<_>>());
        }

        #[test]
        fn parts_are_neighbours_and_in_order(shares in 0..60_usize, threads in 1..9_usize) {
            let pool = ScratchPool::new(0);
            let work = |_: &mut Scratch, part: &mut (Range<usize>, Vec<usize>), share| part.1.push(share);
            let done = pool.with(|own| pool.spread(own, threads, shares, |run| (run, Vec::new()), work)).unwrap();
            for (run, part) in &done {
                prop_assert_eq!(part, &(run.start..run.start + part.len()).collect::<Vec<_>>());
                prop_assert!(part.len() <= run.len());
            }
            let all: Vec<_> = done.into_iter().flat_map(|(_, part)| part).collect();
            prop_assert_eq!(all, (0..shares).collect::<Vec<_>>());
        }
    }
}
