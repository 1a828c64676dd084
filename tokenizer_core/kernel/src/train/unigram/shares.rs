//! Work shared out over threads; what it comes to does not depend on how.

use std::sync::{Mutex, PoisonError};

use super::text::TrainingText;
use crate::error::Result;
use crate::parallel::on_threads;

/// Words that a thread takes at a time.
const SHARE: usize = 1 << 12;

/// Call `each` for every item with a thread's own state, and return the states of all; `pause` is called now and then.
///
/// # Errors
/// The error of `pause`, or that of a thread that dies.
pub fn share_out<T, S: Send>(
    threads: usize,
    items: impl Iterator<Item = T> + Send,
    start: impl Fn() -> S + Sync,
    each: impl Fn(&mut S, T) + Sync,
    mut pause: impl FnMut() -> Result<()>,
) -> Result<Vec<S>> {
    let items = Mutex::new(Some(items));
    let locked = || items.lock().unwrap_or_else(PoisonError::into_inner);
    let take = || locked().as_mut().and_then(Iterator::next);
    let work = |pause: &mut dyn FnMut() -> Result<()>| {
        let mut state = start();
        while let Some(item) = take() {
            each(&mut state, item);
            if let Err(error) = pause() {
                // The other threads find nothing left.
                *locked() = None;
                return Err(error);
            }
        }
        Ok(state)
    };
    on_threads(threads, || work(&mut pause), || work(&mut || Ok(())))?.into_iter().collect()
}

/// Call `each` for every word with a thread's own state and sums, and return the sums of all; `pause` is called now and
/// then.
///
/// # Errors
/// As [`share_out`].
pub fn summed<S: Default + Send>(
    text: &TrainingText,
    threads: usize,
    sums: usize,
    each: impl Fn(&mut S, (usize, usize, u64), &mut [u64]) + Sync,
    pause: impl FnMut() -> Result<()>,
) -> Result<Vec<u64>> {
    let count = text.len();
    let share = |(state, sums): &mut (S, Vec<u64>), first: usize| {
        (first..count.min(first + SHARE)).for_each(|index| each(state, text.word(index), sums));
    };
    let start = || (S::default(), vec![0; sums]);
    let done = share_out(threads, (0..count).step_by(SHARE), start, share, pause)?;
    let mut total = vec![0; sums];
    for (_, sums) in done {
        total.iter_mut().zip(sums).for_each(|(total, sum)| *total += sum);
    }
    Ok(total)
}
