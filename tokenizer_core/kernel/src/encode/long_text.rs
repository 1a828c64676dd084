//! One long text over several threads, cut only where every scanner cuts, whatever comes before and after.
//!
//! No match of a scanner holds a newline and the letter after it. So the letter begins a match, and what follows is cut
//! as if the text began there. A newline after a visible character always ends its match, also at the end of a text. So
//! between a newline that follows a visible ASCII character and an ASCII letter a text can be cut, and both sides be
//! encoded on their own.

use super::{Call, EncodeOptions, Pipeline, shift};
use crate::capacity::for_ids;
use crate::error::Result;
use crate::output::{Sink, Tokens};
use crate::scratch::Scratch;

/// Text that is worth a thread, in bytes: enough to be worth filling the thread's caches.
const WORTHWHILE: usize = 256 * 1024;

/// Text that a thread takes at a time, in bytes: small enough that all threads end at about the same time, and large
/// enough that there are few places to cut, which are looked for before any thread begins.
const SHARE: usize = 128 * 1024;

impl Pipeline {
    /// Encode a stretch over threads, if it is long enough and can be cut. Returns whether it was.
    pub(super) fn encode_in_shares(&self, text: &str, call: &mut Call<'_>, sink: &mut impl Sink) -> Result<bool> {
        let Call { options, threads, ref mut scratch, .. } = *call;
        if threads == 1 || text.len() < 2 * WORTHWHILE || !self.pretokenizer.cuts_behind_newlines() {
            return Ok(false);
        }
        let ends = share_ends(text.as_bytes());
        let threads = self.scratch.threads_for(threads, ends.len().min(text.len() / WORTHWHILE));
        if threads < 2 {
            return Ok(false);
        }
        let text_of = |at: usize| {
            let start = if at == 0 { 0 } else { ends[at - 1] };
            (start, &text[start..ends[at]])
        };
        if self.model.tiles() {
            for ids in self.encode_each(threads, ends.len(), text_of, options, scratch, for_ids)? {
                sink.pieces(&ids?);
            }
        } else {
            for tokens in self.encode_each(threads, ends.len(), text_of, options, scratch, |_| Tokens::default())? {
                sink.tokens(&tokens?.0);
            }
        }
        Ok(true)
    }

    /// Encode each of the texts, which begins where `text_of` says, into a sink that `make` makes for its length;
    /// return the sinks.
    fn encode_each<'t, S: Sink + Send>(
        &self,
        threads: usize,
        texts: usize,
        text_of: impl Fn(usize) -> (usize, &'t str) + Sync,
        options: EncodeOptions,
        scratch: &mut Scratch,
        make: impl Fn(usize) -> S + Sync,
    ) -> Result<Vec<Result<S>>> {
        self.scratch.spread(scratch, threads, texts, |scratch, at| {
            let (start, text) = text_of(at);
            let mut sink = make(text.len());
            let encoded = self.encode_cut(text, &mut self.call(options, scratch), &mut sink);
            encoded.map_err(|error| error.moved(|range| shift(range, start)))?;
            Ok(sink)
        })
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
