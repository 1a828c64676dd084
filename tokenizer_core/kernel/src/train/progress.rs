//! Report the progress of a run, and stop it.

use std::time::{Duration, Instant};

use super::Learned;
use crate::error::Result;

/// Between two reports; a caller that cancels waits no longer than this and one step.
const INTERVAL: Duration = Duration::from_millis(100);

/// After this many merges, and each time that there are an eighth more, it is reported however soon: a run that takes a
/// moment has a curve, too.
const FIRST: usize = 1;

/// The progress of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Progress<'a> {
    /// New tokens made.
    pub done: u64,
    /// New tokens asked for.
    pub total: u64,
    /// All merges so far.
    pub merges: &'a [Learned],
    /// Tokens that the counted pieces have by now, each piece as often as it occurs, if that is known.
    pub tokens: Option<u64>,
}

/// Tells when it is time to report.
#[derive(Debug)]
pub struct ReportTimer {
    next: Instant,
}

impl Default for ReportTimer {
    fn default() -> Self {
        Self { next: Instant::now() + INTERVAL }
    }
}

impl ReportTimer {
    /// Tell whether the interval has passed, and begin the next one if so.
    pub fn is_due(&mut self) -> bool {
        let now = Instant::now();
        let is_due = now >= self.next;
        if is_due {
            self.next = now + INTERVAL;
        }
        is_due
    }
}

/// Calls back at a bounded interval, however often it is asked to.
pub struct Reporter<'a> {
    report: &'a mut dyn FnMut(Progress<'_>) -> Result<()>,
    timer: ReportTimer,
    next_merges: usize,
}

impl<'a> Reporter<'a> {
    /// Report through `report`, whose error ends the run.
    pub fn new(report: &'a mut dyn FnMut(Progress<'_>) -> Result<()>) -> Self {
        Self { report, timer: ReportTimer::default(), next_merges: FIRST }
    }

    /// Report if it is time to, or if there are enough new merges.
    ///
    /// # Errors
    /// The error of the callback, `cancelled` as a rule.
    pub fn tick<'p>(&mut self, merges: usize, progress: impl FnOnce() -> Progress<'p>) -> Result<()> {
        if !self.timer.is_due() && merges < self.next_merges {
            return Ok(());
        }
        self.next_merges = merges + 1 + merges / 8;
        (self.report)(progress())
    }

    /// Report the end.
    ///
    /// # Errors
    /// The error of the callback.
    pub fn last(&mut self, progress: Progress<'_>) -> Result<()> {
        (self.report)(progress)
    }
}
