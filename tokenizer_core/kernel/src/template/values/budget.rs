//! The most that one rendering may cost: steps, and bytes made, which are steps too.

use std::cell::Cell;

use crate::template::syntax::failure::{Failure, Result};

/// Steps that every rendering has.
pub const BASE: u64 = 4_000_000;
/// Steps for each byte of the request.
pub const PER_BYTE: u64 = 64;
/// From so many bytes on, each byte brings less.
pub const LONG: u64 = 1 << 20;
/// Steps for each byte behind [`LONG`]. Of forty real templates none takes more than 11 for a byte of a long text.
pub const PER_LATER_BYTE: u64 = 12;
/// Steps for a value that is made, however small it is: what stays of it takes memory.
pub const OBJECT: usize = 32;
/// Steps for each value of a list, which takes some thirty bytes, and while lists grow more.
pub const ITEM: usize = 12;
/// Steps for each time that a loop goes round, beside those of its body.
pub const ROUND: usize = 16;
/// Bytes of memory that a step may take at most.
pub const BYTES_PER_STEP: u64 = 6;
/// Steps that are handed out at once, once the memory that they may take is known to be there.
const SLICE: u64 = 1 << 20;
/// More than the largest block that the allocator keeps for later: asking for so much leaves no trace.
const LEAST_ASKED: u64 = 64 << 20;
/// The greatest depth of calls, blocks and expressions in one another; each takes some of the machine's stack.
pub const MAX_DEPTH: u32 = 450;
/// The greatest depth of lists and objects in one another.
pub const MAX_NESTING: u16 = 250;

/// Steps for each of the first chats of a request beside its bytes, for what all of them are rendered with.
pub const CHAT: u64 = 2_000_000;
/// Chats that bring [`CHAT`].
pub const MANY_CHATS: u32 = 500;
/// Steps for each further chat: enough for a short one without tools. There may be a million of them in a request.
pub const LATER_CHAT: u64 = 50_000;

/// The chats of one request that were rendered: they share a budget.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Before {
    /// The number of these chats.
    pub chats: u32,
    /// The steps that they left.
    pub left: u64,
}

impl Before {
    /// The budget of one more chat, and what the request has with it: `shared` bytes of its options, which count once,
    /// and `own` bytes of the chat. It takes `most` steps.
    pub fn and_another(self, shared: usize, own: usize, most: Option<u64>) -> (Budget, Self) {
        let first = if self.chats == 0 { BASE + steps_of(shared) } else { self.left };
        let further = if self.chats < MANY_CHATS { CHAT } else { LATER_CHAT };
        let with = Self { chats: self.chats.saturating_add(1), left: first + further + steps_of(own) };
        // Each byte made takes a step, so that places in texts are numbers of 32 bits.
        let alone = (BASE + steps_of(shared + own)).min(u64::from(u32::MAX));
        let mut budget = Budget::of_steps(alone.min(with.left).min(most.unwrap_or(u64::MAX)));
        budget.is_shared = self.chats > 0;
        (budget, with)
    }

    /// The same after so many steps were taken.
    pub fn without(self, steps: u64) -> Self {
        Self { left: self.left - steps, ..self }
    }
}

/// Counts steps down; shared by all that a rendering calls.
#[derive(Debug)]
pub struct Budget {
    /// Of the present slice.
    slice: Cell<u64>,
    /// Behind that.
    rest: Cell<u64>,
    /// Other chats took from it before.
    is_shared: bool,
}

impl Budget {
    /// So many steps.
    pub fn of_steps(steps: u64) -> Self {
        let slice = steps.min(SLICE);
        Self { slice: Cell::new(slice), rest: Cell::new(steps - slice), is_shared: false }
    }

    /// The steps that are left.
    pub fn left(&self) -> u64 {
        self.slice.get() + self.rest.get()
    }

    /// Take steps off before the work is done.
    #[inline]
    pub fn charge(&self, steps: usize) -> Result<()> {
        match self.slice.get().checked_sub(steps as u64) {
            Some(left) => {
                self.slice.set(left);
                Ok(())
            }
            None => self.begin_slice(steps as u64),
        }
    }

    /// Take steps that the slice does not have, and begin another. An allocation that fails would end the process, so
    /// the memory is asked for before the steps that may take it are given.
    #[cold]
    fn begin_slice(&self, steps: u64) -> Result<()> {
        let Some(left) = self.left().checked_sub(steps) else { return Err(self.spent()) };
        let slice = left.min(SLICE);
        let bytes = (steps.saturating_add(slice)).saturating_mul(BYTES_PER_STEP).max(LEAST_ASKED);
        let mut asked: Vec<u8> = Vec::new();
        let got = usize::try_from(bytes).is_ok_and(|bytes| asked.try_reserve_exact(bytes).is_ok());
        // What nobody looks at would never be asked for.
        std::hint::black_box(&asked);
        if !got {
            return Err(no_memory());
        }
        self.slice.set(slice);
        self.rest.set(left - slice);
        Ok(())
    }

    /// Charge for `count` parts of `size` bytes each.
    pub fn charge_product(&self, count: usize, size: usize) -> Result<()> {
        self.charge(count.saturating_mul(size))
    }

    /// Append one more of a list, which costs so many steps.
    pub fn push<T>(&self, list: &mut Vec<T>, item: T, steps: usize) -> Result<()> {
        self.charge(steps)?;
        if list.len() == list.capacity() {
            list.try_reserve(1).map_err(|_| no_memory())?;
        }
        list.push(item);
        Ok(())
    }

    /// Room for a list of so many items, which cost so many steps each.
    pub fn room<T>(&self, count: usize, steps: usize) -> Result<Vec<T>> {
        self.charge_product(count, steps)?;
        let mut list = Vec::new();
        list.try_reserve_exact(count).map_err(|_| no_memory())?;
        Ok(list)
    }

    #[cold]
    fn spent(&self) -> Box<Failure> {
        let together =
            if self.is_shared { ", as do those before it in this request; send fewer chats at once" } else { "" };
        Failure::limit(format!("makes more text or takes more steps than a chat can need{together}"))
    }
}

/// The failure for memory that there is not.
pub fn no_memory() -> Box<Failure> {
    Failure::limit("needs more memory than this process gets")
}

/// The steps that a request of `size` bytes brings.
pub fn steps_of(size: usize) -> u64 {
    let size = size as u64;
    let later = size.saturating_sub(LONG);
    PER_BYTE * (size - later) + PER_LATER_BYTE * later
}
