//! What one rendering may cost: steps, and bytes made, which are steps too.

use std::cell::Cell;

use super::failure::{Failure, Result};

/// Steps that every rendering has.
pub const BASE: u64 = 4_000_000;
/// Steps for each byte of the request.
pub const PER_BYTE: u64 = 64;
/// From so many bytes on, each byte brings less.
pub const LONG: u64 = 1 << 20;
/// Steps for each byte behind [`LONG`].
pub const PER_LATER_BYTE: u64 = 20;
/// Steps for a value that is made, however small it is: what stays of it takes memory.
pub const OBJECT: usize = 24;
/// Steps for each value of a list, which takes some thirty bytes.
pub const ITEM: usize = 8;
/// How deep calls, blocks and expressions may stand in one another; each takes some of the machine's stack.
pub const MAX_DEPTH: u32 = 900;
/// How deep lists and objects may stand in one another.
pub const MAX_NESTING: u16 = 250;

/// Counts steps down; shared by all that a rendering calls.
#[derive(Debug)]
pub struct Budget {
    left: Cell<u64>,
}

impl Budget {
    /// What a request of `size` bytes may cost.
    pub fn of_size(size: usize) -> Self {
        // Each byte made takes a step, so that places in texts are numbers of 32 bits.
        Self::of_steps((BASE + steps_of(size)).min(u64::from(u32::MAX)))
    }

    /// So many steps.
    pub fn of_steps(steps: u64) -> Self {
        Self { left: Cell::new(steps) }
    }

    /// The steps that are left.
    pub fn left(&self) -> u64 {
        self.left.get()
    }

    /// Take steps off before the work is done.
    #[inline]
    pub fn charge(&self, steps: usize) -> Result<()> {
        match self.left.get().checked_sub(steps as u64) {
            Some(left) => {
                self.left.set(left);
                Ok(())
            }
            None => Err(spent()),
        }
    }

    /// Charge for `count` parts of `size` bytes each.
    pub fn charge_product(&self, count: usize, size: usize) -> Result<()> {
        self.charge(count.saturating_mul(size))
    }
}

#[cold]
fn spent() -> Box<Failure> {
    Failure::limit("makes more text or takes more steps than a chat can need")
}

/// The steps that a request of `size` bytes brings.
pub fn steps_of(size: usize) -> u64 {
    let size = size as u64;
    let later = size.saturating_sub(LONG);
    PER_BYTE * (size - later) + PER_LATER_BYTE * later
}
