//! One long text over several threads, cut only where every scanner cuts, whatever comes before and after.
//!
//! No match of a scanner holds a newline and the letter after it. So the letter begins a match, and what follows is cut
//! as if the text began there. A newline after a visible character always ends its match, also at the end of a text. So
//! between a newline that follows a visible ASCII character and an ASCII letter a text can be cut, and both sides be
//! encoded on their own.

use super::Pipeline;
use crate::error::Result;
use crate::expression::StepBudget;
use crate::machine::room::for_ids;
use crate::scratch::Scratch;
use crate::sink::Sink;

/// Text that is worth a thread, in bytes: enough to be worth filling the thread's caches.
const WORTHWHILE: usize = 256 * 1024;

/// Text that a thread takes at a time, in bytes: small enough that all threads end at about the same time, and large
/// enough that there are few places to cut, which are looked for before any thread begins.
const SHARE: usize = 128 * 1024;

impl Pipeline {
    /// Encode a stretch over threads, if it is long enough and can be cut. Returns whether it was.
    pub(super) fn encode_in_shares(
        &self,
        text: &str,
        threads: usize,
        scratch: &mut Scratch,
        sink: &mut impl Sink,
    ) -> Result<bool> {
        if threads == 1 || text.len() < 2 * WORTHWHILE || !self.pretokenizer.cuts_behind_newlines() {
            return Ok(false);
        }
        let ends = share_ends(text.as_bytes());
        let threads = self.scratch.threads_for(threads, ends.len().min(text.len() / WORTHWHILE));
        if threads < 2 {
            return Ok(false);
        }
        let work = |scratch: &mut Scratch, at: usize| -> Result<Vec<u32>> {
            let text = &text[if at == 0 { 0 } else { ends[at - 1] }..ends[at]];
            let mut ids = for_ids(text.len());
            self.encode_cut(text, &mut StepBudget::default(), scratch, &mut ids)?;
            Ok(ids)
        };
        for ids in self.scratch.spread(scratch, threads, ends.len(), work)? {
            sink.pieces(&ids?);
        }
        Ok(true)
    }
}

/// The possible ends of shares of about [`SHARE`] bytes.
fn share_ends(text: &[u8]) -> Vec<usize> {
    let mut ends = Vec::new();
    let mut from = SHARE;
    while from + 1 < text.len() {
        let borders = memchr::memchr_iter(b'\n', &text[from..]).map(|at| from + at);
        let mut borders = borders
            .filter(|at| text[at - 1].is_ascii_graphic() && text.get(at + 1).is_some_and(u8::is_ascii_alphabetic));
        let Some(newline) = borders.next() else { break };
        ends.push(newline + 1);
        from = newline + 1 + SHARE;
    }
    ends.push(text.len());
    ends
}
