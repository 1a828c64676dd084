//! A pool of threads that help one call and then wait a while for the next: starting a thread and joining it took a
//! twentieth of the time of a batch of 2 MB.
//!
//! A helper serves only callers with its own [scheduling attributes](crate::threads::scheduling). It knows nothing of
//! Python and holds nothing of a tokenizer between calls, so either may end while it waits. When the caller is done, it
//! takes back tasks that no helper has begun: no call waits for a thread that the system has not run yet, nor for one
//! that does not exist in the child of a fork. A child starts helpers of its own.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, Thread};
use std::time::Duration;

use crate::error::{Error, Result};
use crate::machine::lock::lock_briefly;
use crate::threads::scheduling::Scheduling;

/// How long a helper waits for the next call.
const IDLE_TIME: Duration = Duration::from_secs(1);

/// How often a caller that is done checks whether all helpers are done, before it sleeps: mostly they soon are, and
/// waking up takes 30 microseconds.
const SPINS: usize = 2000;

/// Run `work` here, and meanwhile `help(1)`, `help(2)`, ... on up to `helpers` other threads. All calls have ended when
/// this returns; calls that no thread has begun by then are left out.
///
/// # Errors
/// That of a helper that panics.
pub fn with_helpers<T>(helpers: usize, help: &(dyn Fn(usize) + Sync), work: impl FnOnce() -> T) -> Result<T> {
    // SAFETY: only `Task::run` uses the reference, and every task has ended or was taken back when `Helpers` has been
    // dropped: before this function returns, or while a panic of `work` leaves it.
    let help = unsafe { std::mem::transmute::<&(dyn Fn(usize) + Sync), &'static (dyn Fn(usize) + Sync)>(help) };
    let left = AtomicUsize::new(0);
    let call = Arc::new(Call { help, left, died: Mutex::new(None), caller: thread::current() });
    let helpers = Helpers::new(&call, helpers);
    let done = work();
    drop(helpers);
    let died = call.died.lock().unwrap_or_else(PoisonError::into_inner).take();
    died.map_or(Ok(done), Err)
}

/// The work of one call.
struct Call {
    help: &'static (dyn Fn(usize) + Sync),
    /// Tasks that have not ended.
    left: AtomicUsize,
    /// Why the last helper died that did.
    died: Mutex<Option<Error>>,
    caller: Thread,
}

/// The part of one helper in a call.
struct Task {
    call: Arc<Call>,
    number: usize,
}

impl Task {
    fn run(&self) {
        if let Err(panic) = catch_unwind(AssertUnwindSafe(|| (self.call.help)(self.number))) {
            *self.call.died.lock().unwrap_or_else(PoisonError::into_inner) = Some(Error::of_panic(&*panic));
        }
    }

    /// Let the caller go on.
    fn end(self) {
        if self.call.left.fetch_sub(1, Ordering::Release) == 1 {
            self.call.caller.unpark();
        }
    }
}

/// A helper as callers see it.
#[derive(Default)]
struct Worker {
    slot: Mutex<Slot>,
    given: Condvar,
}

#[derive(Default)]
struct Slot {
    task: Option<Task>,
    /// The thread has ended, or is about to.
    closed: bool,
}

impl Worker {
    fn slot(&self) -> MutexGuard<'_, Slot> {
        self.slot.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Give it a task; returns the task if the thread has ended.
    fn give(&self, task: Task) -> Option<Task> {
        let mut slot = self.slot();
        if slot.closed {
            return Some(task);
        }
        slot.task = Some(task);
        drop(slot);
        self.given.notify_one();
        None
    }

    /// Wait for the next task; `None` if it is time to end.
    fn wait(&self) -> Option<Task> {
        let is_empty = |slot: &mut Slot| slot.task.is_none() && !slot.closed;
        let waited = self.given.wait_timeout_while(self.slot(), IDLE_TIME, is_empty);
        let (mut slot, _) = waited.unwrap_or_else(PoisonError::into_inner);
        slot.closed |= slot.task.is_none();
        slot.task.take()
    }

    fn close(&self) {
        self.slot().closed = true;
        self.given.notify_one();
    }
}

/// Workers that wait; the last one to come is at the end.
type Idle = Vec<(Scheduling, Arc<Worker>)>;

static IDLE: Mutex<Idle> = Mutex::new(Vec::new());

fn idle_workers() -> Option<MutexGuard<'static, Idle>> {
    lock_briefly(&IDLE)
}

/// Take the last idle worker with these attributes.
fn take_idle(scheduling: &Scheduling) -> Option<Arc<Worker>> {
    let mut idle = idle_workers()?;
    idle.retain(|(other, _)| other.process == scheduling.process);
    let at = idle.iter().rposition(|(other, _)| other == scheduling)?;
    Some(idle.remove(at).1)
}

/// Add a worker to the idle ones; returns whether the lock could be taken.
fn put_idle(scheduling: &Scheduling, worker: &Arc<Worker>) -> bool {
    idle_workers().map(|mut idle| idle.push((scheduling.clone(), Arc::clone(worker)))).is_some()
}

/// The loop of a worker's thread: one task after the other, until none has come for a while.
fn worker_loop(scheduling: Option<&Scheduling>, worker: &Arc<Worker>) {
    while let Some(task) = worker.wait() {
        task.run();
        // Before the caller goes on, so that its next call finds this thread.
        let waits = scheduling.is_some_and(|scheduling| put_idle(scheduling, worker));
        if !waits {
            worker.close();
        }
        task.end();
    }
    if let Some(mut idle) = idle_workers() {
        idle.retain(|(_, other)| !Arc::ptr_eq(other, worker));
    }
}

/// The helpers of one call.
struct Helpers<'a> {
    call: &'a Arc<Call>,
    scheduling: Option<Scheduling>,
    workers: Vec<Arc<Worker>>,
}

impl<'a> Helpers<'a> {
    fn new(call: &'a Arc<Call>, count: usize) -> Self {
        let mut helpers = Self { call, scheduling: Scheduling::of_this_thread(), workers: Vec::with_capacity(count) };
        for number in 1..=count {
            call.left.fetch_add(1, Ordering::Relaxed);
            let Some(worker) = helpers.start(Task { call: Arc::clone(call), number }) else {
                // If the system refuses a thread, the call has one helper fewer.
                call.left.fetch_sub(1, Ordering::Relaxed);
                break;
            };
            helpers.workers.push(worker);
        }
        helpers
    }

    /// Give the task to an idle worker, or to a new thread.
    fn start(&self, mut task: Task) -> Option<Arc<Worker>> {
        while let Some(worker) = self.scheduling.as_ref().and_then(take_idle) {
            match worker.give(task) {
                None => return Some(worker),
                Some(back) => task = back,
            }
        }
        let (scheduling, worker) = (self.scheduling.clone(), Arc::new(Worker::default()));
        worker.give(task);
        let own = Arc::clone(&worker);
        thread::Builder::new().spawn(move || worker_loop(scheduling.as_ref(), &own)).ok().map(|_| worker)
    }
}

impl Drop for Helpers<'_> {
    fn drop(&mut self) {
        for worker in &self.workers {
            // By now the worker may have another caller's task.
            let unbegun = worker.slot().task.take_if(|task| Arc::ptr_eq(&task.call, self.call));
            if unbegun.is_some() {
                self.call.left.fetch_sub(1, Ordering::Relaxed);
                if !self.scheduling.as_ref().is_some_and(|scheduling| put_idle(scheduling, worker)) {
                    worker.close();
                }
            }
        }
        let all_have_ended = || self.call.left.load(Ordering::Acquire) == 0;
        for _ in 0..SPINS {
            if all_have_ended() {
                return;
            }
            std::hint::spin_loop();
        }
        while !all_have_ended() {
            thread::park();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;
    use std::sync::atomic::AtomicBool;

    use super::*;
    use crate::error::{Code, OutOfMemory};

    /// What so many threads add up, each its number.
    fn sum(helpers: usize) -> (usize, usize) {
        let (begun, sum) = (AtomicUsize::new(0), AtomicUsize::new(0));
        let help = |number| {
            begun.fetch_add(1, Ordering::Relaxed);
            sum.fetch_add(number, Ordering::Relaxed);
        };
        with_helpers(helpers, &help, thread::yield_now).unwrap();
        (begun.into_inner(), sum.into_inner())
    }

    #[test]
    fn no_number_is_called_twice_and_none_after_the_end() {
        let many = |_| {
            for round in 0..300 {
                let helpers = round % 5;
                let (begun, sum) = sum(helpers);
                assert!(begun <= helpers && sum <= helpers * (helpers + 1) / 2, "{begun} threads made {sum}");
                assert!(begun < helpers || sum == helpers * (helpers + 1) / 2);
            }
        };
        thread::scope(|scope| (0..4).for_each(|at| drop(scope.spawn(move || many(at)))));
    }

    #[test]
    fn a_call_that_needs_its_helper_gets_it() {
        for _ in 0..100 {
            let helped = AtomicBool::new(false);
            let wait = || {
                while !helped.load(Ordering::Acquire) {
                    thread::yield_now();
                }
            };
            with_helpers(1, &|_| helped.store(true, Ordering::Release), wait).unwrap();
        }
    }

    #[test]
    fn a_call_does_not_wait_for_what_nobody_has_begun() {
        let worker = Arc::new(Worker::default());
        let call = Arc::new(Call {
            help: &|_| unreachable!(),
            left: AtomicUsize::new(1),
            died: Mutex::new(None),
            caller: thread::current(),
        });
        assert!(worker.give(Task { call: Arc::clone(&call), number: 1 }).is_none());
        // No thread is behind it, as after a fork.
        drop(Helpers { call: &call, scheduling: None, workers: vec![Arc::clone(&worker)] });
        assert_eq!(call.left.load(Ordering::Relaxed), 0);
        assert!(
            worker.give(Task { call, number: 1 }).is_some(),
            "it is closed, since it could not be put with the idle ones"
        );
    }

    #[test]
    fn a_helper_that_dies_is_an_error_and_the_next_call_is_none() {
        for number in 1..4 {
            let begun = AtomicUsize::new(0);
            let help = |at| {
                begun.fetch_add(1, Ordering::Release);
                assert_ne!(at, number, "as the test wants it");
            };
            let all = || {
                while begun.load(Ordering::Acquire) < 3 {
                    thread::yield_now();
                }
            };
            assert_eq!(with_helpers(3, &help, all).unwrap_err().code, Code::Internal);
        }
        let begun = AtomicBool::new(false);
        let refuse = |_| {
            begun.store(true, Ordering::Release);
            OutOfMemory::unwind()
        };
        let wait = || {
            while !begun.load(Ordering::Acquire) {
                thread::yield_now();
            }
        };
        assert_eq!(with_helpers(1, &refuse, wait).unwrap_err().code, Code::OutOfMemory);
        assert!(with_helpers(3, &|_| {}, || {}).is_ok());
    }

    #[test]
    fn a_caller_that_dies_is_still_waited_for() {
        let ended = AtomicBool::new(false);
        let begun = AtomicBool::new(false);
        let help = |_| {
            begun.store(true, Ordering::Release);
            thread::yield_now();
            ended.store(true, Ordering::Release);
        };
        let die = || {
            while !begun.load(Ordering::Acquire) {
                thread::yield_now();
            }
            panic!("as the test wants it");
        };
        assert!(catch_unwind(AssertUnwindSafe(|| with_helpers(1, &help, die))).is_err());
        assert!(ended.load(Ordering::Acquire));
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_helper_is_as_urgent_as_its_caller() {
        // SAFETY: both only ask for and change the niceness of this thread.
        let niceness = || unsafe { libc::getpriority(libc::PRIO_PROCESS, 0) };
        let seen = |wanted: i32| {
            let found = Mutex::new(HashSet::new());
            let help = |_| found.lock().unwrap().extend([niceness()]);
            let wait = || {
                while found.lock().unwrap().is_empty() {
                    thread::yield_now();
                }
            };
            with_helpers(1, &help, wait).unwrap();
            assert_eq!(found.into_inner().unwrap(), HashSet::from([wanted]));
        };
        let usual = niceness();
        for _ in 0..3 {
            seen(usual);
            let patient = || {
                // SAFETY: as above.
                unsafe { libc::setpriority(libc::PRIO_PROCESS, 0, usual + 1) };
                seen(niceness());
            };
            thread::scope(|scope| drop(scope.spawn(patient)));
        }
        assert_eq!(niceness(), usual);
    }
}
