//! A text between its added tokens: normalized, begun as the model wants it, and given on to be cut.

use std::ops::Range;

use super::{Call, Pipeline, shift};
use crate::added_tokens::{Pass, Segment};
use crate::capacity::for_ids;
use crate::error::Result;
use crate::output::{Sink, Stretch};
use crate::segment_cache::SegmentIds;

/// The ids of one segment, on their way to those that are kept.
struct SegmentSink {
    ids: Vec<u32>,
    is_verbatim: bool,
}

impl Sink for SegmentSink {
    fn added(&mut self, id: u32, _source: Range<usize>) {
        self.ids.push(id);
    }

    #[inline]
    fn pieces(&mut self, ids: &[u32]) {
        self.ids.pieces(ids);
    }

    fn stretch_begins(&mut self, stretch: &Stretch<'_>) {
        self.is_verbatim = stretch.verbatim().is_some();
    }
}

impl Pipeline {
    /// A whole text: look for added tokens that are literals of it.
    pub(super) fn encode_text(&self, text: &str, call: &mut Call<'_>, sink: &mut impl Sink) -> Result<()> {
        if !self.added_tokens.may_be_in(text, Pass::Raw, call.options.policy) {
            return self.encode_kept_segment(text, 0, call, sink);
        }
        let mut segments = Vec::new();
        match &mut call.guard {
            None => self.added_tokens.split(text, Pass::Raw, call.options.policy, &mut segments)?,
            Some(guard) => guard.split_raw(&self.added_tokens, text, &mut segments),
        }
        for Segment { bytes, id } in segments {
            match id {
                Some(id) => sink.added(id, bytes),
                None => self.encode_kept_segment(&text[bytes.clone()], bytes.start, call, sink)?,
            }
        }
        Ok(())
    }

    /// Text between the added tokens of the first pass, whose ids may be kept.
    fn encode_kept_segment<S: Sink>(&self, text: &str, start: usize, call: &mut Call<'_>, sink: &mut S) -> Result<()> {
        let is_placed = !S::SPANS || self.model.tiles();
        if let Some(segments) = call.segments.filter(|_| self.keeps_segments && is_placed) {
            let encode = || -> Result<SegmentIds> {
                let mut made = SegmentSink { ids: for_ids(text.len()), is_verbatim: false };
                self.encode_raw_segment(text, start, call, &mut made)?;
                Ok(SegmentIds { ids: made.ids.into(), is_verbatim: made.is_verbatim })
            };
            if let Some(known) = segments.ids(self.number, text, start == 0, encode) {
                let SegmentIds { ids, is_verbatim } = known?;
                if is_verbatim || !S::SPANS {
                    let stretch = Stretch { start, alignment: None, inner: 0, spaced: None };
                    sink.stretch_begins(&stretch);
                    sink.pieces(&ids);
                    sink.stretch_ended(&stretch, text.len());
                    return Ok(());
                }
            }
        }
        self.encode_raw_segment(text, start, call, sink)
    }

    /// Text between the added tokens of the first pass: normalize it and look for those of the second.
    fn encode_raw_segment(&self, text: &str, start: usize, call: &mut Call<'_>, sink: &mut impl Sink) -> Result<()> {
        if let Some(words) = &self.words {
            return self.encode_words(words, text, start, call.scratch, sink);
        }
        if let Some(rules) = &self.rules
            && self.encode_rewritten(rules, text, call, sink)
        {
            return Ok(());
        }
        let normalized = self
            .normalizer
            .normalize(text, &mut call.steps)
            .map_err(|error| error.moved(|range| shift(range, start)))?;
        let alignment = normalized.as_ref().map(|normalized| &normalized.alignment);
        let text = normalized.as_ref().map_or(text, |normalized| &normalized.text);
        let whole = Stretch { start, alignment, inner: 0, spaced: None };
        if !self.added_tokens.may_be_in(text, Pass::Normalized, call.options.policy) {
            return self.encode_stretch(text, whole, call, sink);
        }
        let mut segments = Vec::new();
        match &mut call.guard {
            None => self
                .added_tokens
                .split(text, Pass::Normalized, call.options.policy, &mut segments)
                .map_err(|error| error.moved(|range| whole.source(range)))?,
            Some(guard) => guard.split_normalized(&self.added_tokens, text, &whole, &mut segments),
        }
        for Segment { bytes, id } in segments {
            match id {
                Some(id) => sink.added(id, whole.source(bytes)),
                None => {
                    let stretch = Stretch { inner: bytes.start, ..whole };
                    self.encode_stretch(&text[bytes], stretch, call, sink)?;
                }
            }
        }
        Ok(())
    }

    /// Text without added tokens: cut it into pieces and encode them.
    fn encode_stretch(
        &self,
        text: &str,
        stretch: Stretch<'_>,
        call: &mut Call<'_>,
        sink: &mut impl Sink,
    ) -> Result<()> {
        let begins_text = stretch.start == 0 && stretch.inner == 0;
        let Some(spaced) = self.start.rewrite(text, begins_text, &mut call.scratch.spaced) else {
            return self.encode_spaced(text, stretch, begins_text, call, sink);
        };
        let stretch = Stretch { spaced: Some(&spaced.moved), ..stretch };
        let encoded = self.encode_spaced(&spaced.text, stretch, begins_text, call, sink);
        call.scratch.spaced = spaced.text;
        encoded
    }

    /// A stretch that begins as the model wants it.
    fn encode_spaced(
        &self,
        text: &str,
        stretch: Stretch<'_>,
        begins_text: bool,
        call: &mut Call<'_>,
        sink: &mut impl Sink,
    ) -> Result<()> {
        if let Some(missing) = &self.missing_bytes {
            missing.check(text).map_err(|error| error.moved(|range| stretch.source(range)))?;
        }
        let recut = self
            .pretokenizer
            .recut(text, begins_text, &mut call.steps)
            .map_err(|error| error.moved(|range| stretch.source(range)))?;
        if let Some(recut) = recut {
            return self.encode_recut(recut, text.len(), stretch, call.scratch, sink);
        }
        sink.stretch_begins(&stretch);
        let encoded = self.encode_whole(text, call, sink);
        encoded.map_err(|error| error.moved(|range| stretch.source(range)))?;
        sink.stretch_ended(&stretch, text.len());
        Ok(())
    }
}
