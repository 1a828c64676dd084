//! A text between its added tokens: normalized, begun as the model wants it, and given on to be cut.

use super::{Call, Pipeline, shift};
use crate::added_tokens::{Pass, Segment};
use crate::capacity::for_ids;
use crate::error::Result;
use crate::output::{Sink, Stretch};

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
    fn encode_kept_segment(&self, text: &str, start: usize, call: &mut Call<'_>, sink: &mut impl Sink) -> Result<()> {
        if let Some(segments) = call.segments.filter(|_| self.keeps_segments) {
            let encode = || {
                let mut ids = for_ids(text.len());
                self.encode_raw_segment(text, start, call, &mut ids).map(|()| ids)
            };
            if let Some(ids) = segments.ids(self.number, text, start == 0, encode) {
                return ids.map(|ids| sink.pieces(&ids));
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
