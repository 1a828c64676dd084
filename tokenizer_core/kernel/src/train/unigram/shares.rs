//! Words shared out over threads; what they add up does not depend on how.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use super::text::TrainingText;
use crate::error::Result;
use crate::parallel::on_threads;

/// Words that a thread takes at a time.
const SHARE: usize = 1 << 12;

/// Call `each` for every word with a thread's own state and sums, and return the sums of all; `pause` is called now and
/// then.
///
/// # Errors
/// The error of `pause`, or that of a thread that dies.
pub fn summed<S: Default>(
    text: &TrainingText,
    threads: usize,
    sums: usize,
    each: impl Fn(&mut S, (usize, usize, u64), &mut [u64]) + Sync,
    mut pause: impl FnMut() -> Result<()>,
) -> Result<Vec<u64>> {
    let (next, is_stopped, count) = (AtomicUsize::new(0), AtomicBool::new(false), text.words().len());
    let take = || {
        let first = next.fetch_add(SHARE, Ordering::Relaxed);
        (first < count && !is_stopped.load(Ordering::Relaxed)).then(|| first..count.min(first + SHARE))
    };
    let work = |pause: &mut dyn FnMut() -> Result<()>| {
        let (mut state, mut sums) = (S::default(), vec![0; sums]);
        while let Some(share) = take() {
            share.for_each(|index| each(&mut state, text.word(index), &mut sums));
            if let Err(error) = pause() {
                is_stopped.store(true, Ordering::Relaxed);
                return Err(error);
            }
        }
        Ok(sums)
    };
    let done = on_threads(threads, || work(&mut pause), || work(&mut || Ok(())))?;
    let mut total = vec![0; sums];
    for sums in done {
        total.iter_mut().zip(sums?).for_each(|(total, sum)| *total += sum);
    }
    Ok(total)
}
