//! The beginning of a long text that has no added token, encoded while these are looked for.
//!
//! A text longer than a core's caches comes from far away, and would come twice if all of it were looked through
//! before the first piece is cut. So what a scanner has cut is looked through right afterwards, when it is near.
//! Where a literal may begin this ends, and the text from there on is read like any other.

use super::Pipeline;
use crate::guard::EncodeContext;
use crate::portion::PIECES;
use crate::scratch::Scratch;
use crate::sink::{Sink, Stretch};

/// From so many bytes on a text is long: many times as much as is cut at once.
pub(super) const LONG: usize = 64 * 1024;

impl Pipeline {
    /// Encode the beginning of a [long](LONG) text and return where it ends: all of it if no literal may be in it, and
    /// nothing if the text is rewritten or not cut by a scanner alone. Not inlined, so that a short text does not wait.
    ///
    /// The text from there on may be encoded as if it were all there is. A scanner cuts there wherever the text ends
    /// after that, at a literal or as a whole. No literal begins before, and none takes white space from there: what
    /// stands before is none.
    #[inline(never)]
    pub(super) fn encode_plain_start(
        &self,
        text: &str,
        context: &EncodeContext<'_>,
        scratch: &mut Scratch,
        sink: &mut impl Sink,
    ) -> usize {
        let is_verbatim = self.normalizer.is_empty() && !self.prefix_space;
        let is_serial = context.threads == 1 && context.guard.is_none();
        let scanner = self.pretokenizer.scanner().filter(|_| is_verbatim && is_serial);
        let Some(scanner) = scanner.filter(|_| self.added_tokens.begin_alone(context.policy)) else {
            return 0;
        };
        let stretch = Stretch { start: 0, alignment: None, inner: 0, spaced: None };
        sink.stretch_begins(&stretch);
        scratch.longest = scratch.longest.max(text.len());
        let mut start = 0;
        while start < text.len() {
            let count = scanner.fill(text, start, &mut scratch.ends);
            let ends = &scratch.ends[..count];
            let looked_at = ends.last().map_or(start, |end| *end as usize);
            if self.added_tokens.may_begin_in(text, start..looked_at, context.policy) {
                break;
            }
            let settled = if looked_at == text.len() { count } else { scanner.settled(text, ends) };
            if settled == 0 {
                break;
            }
            for first in (0..settled).step_by(PIECES) {
                start = self.encode_pieces(text, start, first..settled.min(first + PIECES), scratch, sink);
            }
        }
        sink.stretch_ended(&stretch, start);
        start
    }
}
