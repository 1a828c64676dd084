//! Pieces on their way to the model: those of a text that is cut as it goes, or that was cut and rewritten before.

use std::ops::Range;

use super::{Call, Pipeline};
use crate::block::{BlockPieces, PIECES};
use crate::error::Result;
use crate::output::{Moved, Sink, Stretch};
use crate::pretokenize::Recut;
use crate::scratch::Scratch;

impl Pipeline {
    /// Text of `bytes` bytes that the pretokenizer has cut and rewritten.
    pub(super) fn encode_recut(
        &self,
        recut: Recut,
        bytes: usize,
        stretch: Stretch<'_>,
        scratch: &mut Scratch,
        sink: &mut impl Sink,
    ) -> Result<()> {
        let Recut { text, ends, alignment } = recut;
        let moved = match stretch.spaced {
            Some(spaced) => spaced.then(&alignment, bytes),
            None => alignment,
        };
        let moved = Moved::Along(moved);
        let stretch = Stretch { spaced: Some(&moved), ..stretch };
        sink.stretch_begins(&stretch);
        self.encode_all(&text, &ends, scratch, sink).map_err(|error| error.moved(|range| stretch.source(range)))?;
        sink.stretch_ended(&stretch, text.len());
        Ok(())
    }

    /// Give `sink` the ids of all pieces of a text.
    pub(super) fn encode_all(
        &self,
        text: &str,
        ends: &[u32],
        scratch: &mut Scratch,
        sink: &mut impl Sink,
    ) -> Result<()> {
        scratch.longest = scratch.longest.max(text.len());
        let mut start = 0;
        for ends in ends.chunks(PIECES) {
            scratch.ends[..ends.len()].copy_from_slice(ends);
            start = self.encode_pieces(text, start, 0..ends.len(), scratch, sink)?;
        }
        Ok(())
    }

    /// Cut a text into pieces and give their ids to `sink`.
    pub(super) fn encode_cut(&self, text: &str, call: &mut Call<'_>, sink: &mut impl Sink) -> Result<()> {
        let Call { steps, scratch, .. } = call;
        scratch.longest = scratch.longest.max(text.len());
        let mut cutter = self.pretokenizer.pieces(text, steps)?;
        let mut start = 0;
        loop {
            let count = cutter.fill(&mut scratch.ends)?;
            if count == 0 {
                return Ok(());
            }
            for first in (0..count).step_by(PIECES) {
                start = self.encode_pieces(text, start, first..count.min(first + PIECES), scratch, sink)?;
            }
            if start == text.len() {
                return Ok(());
            }
        }
    }

    /// Give `sink` the ids of the pieces from `start` on, whose ends are those of the scratch at `places`, and return
    /// where the last of them ends.
    pub(super) fn encode_pieces<S: Sink>(
        &self,
        text: &str,
        mut start: usize,
        places: Range<usize>,
        scratch: &mut Scratch,
        sink: &mut S,
    ) -> Result<usize> {
        if S::ENDS && places.len() > 1 {
            for place in places {
                start = self.encode_pieces(text, start, place..place + 1, scratch, sink)?;
            }
            return Ok(start);
        }
        if scratch.sampler.is_some() {
            return self.sample_pieces(text, start, places, scratch, sink);
        }
        if let Some(joins) = self.model.joins() {
            let mut words = std::mem::take(&mut scratch.words);
            words.clear();
            let end = self.encode_parts(text, start, places.clone(), scratch, &mut words)?;
            joins.join(&words, start, &scratch.ends[places], &mut scratch.work.bpe, |ids| match S::COUNTS {
                true => sink.counted(ids.len()),
                false => sink.pieces(ids),
            });
            scratch.words = words;
            start = end;
        } else {
            start = self.encode_parts(text, start, places, scratch, sink)?;
        }
        if S::ENDS {
            sink.piece_ended();
        }
        Ok(start)
    }

    /// Give `sink` the ids of the parts that the model cuts these pieces into.
    #[inline]
    fn encode_parts(
        &self,
        text: &str,
        mut start: usize,
        places: Range<usize>,
        scratch: &mut Scratch,
        sink: &mut impl Sink,
    ) -> Result<usize> {
        let Scratch { block, work, caches, cuts, ends, .. } = scratch;
        let ends = &ends[places];
        let (ends, parts) = match self.model.cut(text, start, ends, cuts) {
            true => (cuts.ends(), cuts.parts()),
            false => (ends, [].as_slice()),
        };
        let parts = ends.chunks(PIECES).zip(parts.chunks(PIECES).chain(std::iter::repeat([].as_slice())));
        for (ends, parts) in parts {
            let pieces = BlockPieces { text: text.as_bytes(), start, ends, parts };
            block.encode(pieces, self.level, &self.model, work, caches, sink)?;
            start = ends.last().map_or(start, |end| *end as usize);
        }
        Ok(start)
    }
}
