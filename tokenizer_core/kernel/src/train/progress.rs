//! Report the progress of a run, and stop it.

use std::time::{Duration, Instant};

use super::Learned;
use crate::error::Result;

/// Between two reports; a caller that cancels waits no longer than this and one step.
const INTERVAL: Duration = Duration::from_millis(100);

/// The progress of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Progress<'a> {
    /// New tokens made.
    pub done: u64,
    /// New tokens asked for.
    pub total: u64,
    /// All merges so far.
    pub merges: &'a [Learned],
}

/// Calls back at a bounded interval, however often it is asked to.
pub struct Reporter<'a> {
    report: &'a mut dyn FnMut(Progress<'_>) -> Result<()>,
    next: Instant,
}

impl<'a> Reporter<'a> {
    /// Report through `report`, whose error ends the run.
    pub fn new(report: &'a mut dyn FnMut(Progress<'_>) -> Result<()>) -> Self {
        Self { report, next: Instant::now() + INTERVAL }
    }

    /// Report if it is time to.
    ///
    /// # Errors
    /// What the callback returns, `cancelled` as a rule.
    pub fn tick<'p>(&mut self, progress: impl FnOnce() -> Progress<'p>) -> Result<()> {
        let now = Instant::now();
        if now < self.next {
            return Ok(());
        }
        self.next = now + INTERVAL;
        (self.report)(progress())
    }
}
