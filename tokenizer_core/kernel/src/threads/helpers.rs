//! Threads that help one call and wait a while for the next: to start one and to see it end took a twentieth of a batch of 2 MB.
//!
//! They help callers of their own [standing](crate::threads::standing) alone, know nothing of Python and hold nothing of a tokenizer
//! between calls, so either may go while they wait. What nobody has begun when the caller is done is taken back: no call
//! waits for a thread that the system has not let run, nor for one that stayed behind in a fork. A child starts its own.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, Thread};
use std::time::Duration;

use crate::error::{Code, Error, Result};
use crate::machine::lock::lock_briefly;
use crate::threads::standing::Standing;

/// So long a thread waits for the next call.
const PATIENCE: Duration = Duration::from_secs(1);

/// A caller that is done looks so often whether all others are before it sleeps: they mostly are soon, and to be woken
/// takes 30 microseconds.
const LOOKS: usize = 2000;

/// Run `work` here, and `help` with 1, 2, ... on so many threads beside it as far as the system has them; all have ended
/// when this returns. Some numbers may never be called.
///
/// # Errors
/// `internal` if a helper dies.
pub fn with_helpers<T>(helpers: usize, help: &(dyn Fn(usize) + Sync), work: impl FnOnce() -> T) -> Result<T> {
    // SAFETY: the reference is used by errands alone, and none is left when `Hired` is gone, at the end of this function or
    // when it is left by a panic.
    let help = unsafe { std::mem::transmute::<&(dyn Fn(usize) + Sync), &'static (dyn Fn(usize) + Sync)>(help) };
    let left = AtomicUsize::new(0);
    let call = Arc::new(Call { help, left, died: AtomicBool::new(false), caller: thread::current() });
    let hired = Hired::new(&call, helpers);
    let done = work();
    drop(hired);
    if call.died.load(Ordering::Relaxed) {
        return Err(Error::new(Code::Internal, "an encoding thread died"));
    }
    Ok(done)
}

/// What is to be done in one call.
struct Call {
    help: &'static (dyn Fn(usize) + Sync),
    /// Errands that have not ended.
    left: AtomicUsize,
    died: AtomicBool,
    caller: Thread,
}

/// One thread's part in it.
struct Errand {
    call: Arc<Call>,
    number: usize,
}

impl Errand {
    fn run(&self) {
        if catch_unwind(AssertUnwindSafe(|| (self.call.help)(self.number))).is_err() {
            self.call.died.store(true, Ordering::Relaxed);
        }
    }

    /// Let the caller go on.
    fn end(self) {
        if self.call.left.fetch_sub(1, Ordering::Release) == 1 {
            self.call.caller.unpark();
        }
    }
}

/// Where a thread is given its next errand.
#[derive(Default)]
struct Desk {
    tray: Mutex<Tray>,
    given: Condvar,
}

#[derive(Default)]
struct Tray {
    errand: Option<Errand>,
    /// The thread has gone, or is to go.
    closed: bool,
}

impl Desk {
    fn tray(&self) -> MutexGuard<'_, Tray> {
        self.tray.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Give an errand, or have it back if the thread has gone.
    fn give(&self, errand: Errand) -> Option<Errand> {
        let mut tray = self.tray();
        if tray.closed {
            return Some(errand);
        }
        tray.errand = Some(errand);
        drop(tray);
        self.given.notify_one();
        None
    }

    /// The next errand, or `None` if it is time to go.
    fn wait(&self) -> Option<Errand> {
        let idle = |tray: &mut Tray| tray.errand.is_none() && !tray.closed;
        let waited = self.given.wait_timeout_while(self.tray(), PATIENCE, idle);
        let (mut tray, _) = waited.unwrap_or_else(PoisonError::into_inner);
        tray.closed |= tray.errand.is_none();
        tray.errand.take()
    }

    fn close(&self) {
        self.tray().closed = true;
        self.given.notify_one();
    }
}

/// Threads that wait, who came last at the end.
type Line = Vec<(Standing, Arc<Desk>)>;

static LINE: Mutex<Line> = Mutex::new(Vec::new());

fn line() -> Option<MutexGuard<'static, Line>> {
    lock_briefly(&LINE)
}

/// Take the last in the line that has this standing.
fn call_up(standing: &Standing) -> Option<Arc<Desk>> {
    let mut line = line()?;
    line.retain(|(other, _)| other.process == standing.process);
    let at = line.iter().rposition(|(other, _)| other == standing)?;
    Some(line.remove(at).1)
}

/// Put one into the line. Returns whether it is.
fn line_up(standing: &Standing, desk: &Arc<Desk>) -> bool {
    line().map(|mut line| line.push((standing.clone(), Arc::clone(desk)))).is_some()
}

/// The life of a helper.
fn serve(standing: Option<&Standing>, desk: &Arc<Desk>) {
    while let Some(errand) = desk.wait() {
        errand.run();
        // Before the caller goes on, so that its next call finds this thread.
        let waits = standing.is_some_and(|standing| line_up(standing, desk));
        if !waits {
            desk.close();
        }
        errand.end();
    }
    if let Some(mut line) = line() {
        line.retain(|(_, other)| !Arc::ptr_eq(other, desk));
    }
}

/// The helpers of one call.
struct Hired<'a> {
    call: &'a Arc<Call>,
    standing: Option<Standing>,
    desks: Vec<Arc<Desk>>,
}

impl<'a> Hired<'a> {
    fn new(call: &'a Arc<Call>, helpers: usize) -> Self {
        let mut hired = Self { call, standing: Standing::of_this_thread(), desks: Vec::with_capacity(helpers) };
        for number in 1..=helpers {
            call.left.fetch_add(1, Ordering::Relaxed);
            let Some(desk) = hired.hire(Errand { call: Arc::clone(call), number }) else {
                // A thread that the system refuses is no error.
                call.left.fetch_sub(1, Ordering::Relaxed);
                break;
            };
            hired.desks.push(desk);
        }
        hired
    }

    /// Give the errand to one that waits, or to a new thread.
    fn hire(&self, mut errand: Errand) -> Option<Arc<Desk>> {
        while let Some(desk) = self.standing.as_ref().and_then(call_up) {
            match desk.give(errand) {
                None => return Some(desk),
                Some(back) => errand = back,
            }
        }
        let (standing, desk) = (self.standing.clone(), Arc::new(Desk::default()));
        desk.give(errand);
        let own = Arc::clone(&desk);
        thread::Builder::new().spawn(move || serve(standing.as_ref(), &own)).ok().map(|_| desk)
    }
}

impl Drop for Hired<'_> {
    fn drop(&mut self) {
        for desk in &self.desks {
            // By now it may have another caller's.
            let unbegun = desk.tray().errand.take_if(|errand| Arc::ptr_eq(&errand.call, self.call));
            if unbegun.is_some() {
                self.call.left.fetch_sub(1, Ordering::Relaxed);
                if !self.standing.as_ref().is_some_and(|standing| line_up(standing, desk)) {
                    desk.close();
                }
            }
        }
        let all_have_ended = || self.call.left.load(Ordering::Acquire) == 0;
        for _ in 0..LOOKS {
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

    use super::*;

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
        let desk = Arc::new(Desk::default());
        let call = Arc::new(Call {
            help: &|_| unreachable!(),
            left: AtomicUsize::new(1),
            died: AtomicBool::new(false),
            caller: thread::current(),
        });
        assert!(desk.give(Errand { call: Arc::clone(&call), number: 1 }).is_none());
        // No thread is behind this desk, as after a fork.
        drop(Hired { call: &call, standing: None, desks: vec![Arc::clone(&desk)] });
        assert_eq!(call.left.load(Ordering::Relaxed), 0);
        assert!(
            desk.give(Errand { call, number: 1 }).is_some(),
            "it is closed, since it could not be put into the line"
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
