//! What a run says while it works, and how it is stopped.

use std::time::{Duration, Instant};

use crate::error::Result;

/// Between two reports; a caller that cancels waits no longer than this and one step.
const INTERVAL: Duration = Duration::from_millis(100);

/// What is being done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Phase {
    /// Pieces are being counted.
    Counting,
    /// Pairs are being merged.
    Merging,
}

/// How far a run has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Progress {
    /// What is being done.
    pub phase: Phase,
    /// Bytes of text counted, or merges made.
    pub done: u64,
    /// Merges asked for; 0 where nobody knows.
    pub total: u64,
}

/// Calls back at a bounded interval, however often it is asked to.
pub struct Reporter<'a> {
    report: &'a mut dyn FnMut(Progress) -> Result<()>,
    next: Instant,
}

impl<'a> Reporter<'a> {
    /// Report through `report`, whose error ends the run.
    pub fn new(report: &'a mut dyn FnMut(Progress) -> Result<()>) -> Self {
        Self { report, next: Instant::now() + INTERVAL }
    }

    /// Report if it is time to.
    ///
    /// # Errors
    /// What the callback returns, `cancelled` as a rule.
    pub fn tick(&mut self, progress: impl FnOnce() -> Progress) -> Result<()> {
        let now = Instant::now();
        if now < self.next {
            return Ok(());
        }
        self.next = now + INTERVAL;
        (self.report)(progress())
    }
}
