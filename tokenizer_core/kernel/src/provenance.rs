//! Rendered chats: the bytes that callers wrote, which never become part of a control token.

use std::ops::Range;

use crate::added_tokens::{AddedTokens, Pass, Segment};
use crate::output::Stretch;

/// The caller's bytes in a rendered chat.
///
/// A literal without a byte of the caller lies wholly within one range of the template, between two of the caller's, so
/// these ranges are searched one by one. What the caller begins can then neither be completed by the template nor hide
/// one of its literals, and every byte is read once.
#[derive(Debug)]
pub struct Guard<'c> {
    /// Half-open ranges in bytes of the text, in order and disjoint.
    caller: &'c [Range<usize>],
    /// Literals with a byte of the caller, in bytes of the text, and their ids; `None` if nobody asks for them.
    refused: Option<Vec<(Range<usize>, u32)>>,
}

impl<'c> Guard<'c> {
    /// Guard the caller's ranges, which are on borders of characters, in order and disjoint.
    pub fn new(caller: &'c [Range<usize>]) -> Self {
        Self { caller, refused: Some(Vec::new()) }
    }

    /// The same, for one who does not ask what was refused: then the caller's ranges are not searched.
    pub fn silent(caller: &'c [Range<usize>]) -> Self {
        Self { caller, refused: None }
    }

    /// The literals that were refused, in order.
    pub fn refused(self) -> Vec<(Range<usize>, u32)> {
        let mut refused = self.refused.unwrap_or_default();
        refused.sort_unstable_by_key(|(bytes, _)| (bytes.start, bytes.end));
        refused
    }

    /// Cut a whole text at the literals of the first pass.
    pub fn split_raw(&mut self, added: &AddedTokens, text: &str, segments: &mut Vec<Segment>) {
        let ranges = self.template_ranges(0..text.len());
        added.split_within(text, Pass::Raw, &ranges, segments);
        self.refuse(added.literals(text, Pass::Raw));
    }

    /// Cut the normalized `text` of a stretch at the literals of the second pass.
    pub fn split_normalized(
        &mut self,
        added: &AddedTokens,
        text: &str,
        stretch: &Stretch<'_>,
        segments: &mut Vec<Segment>,
    ) {
        let ranges = self.normalized_template_ranges(text, stretch);
        added.split_within(text, Pass::Normalized, &ranges, segments);
        let source = |(bytes, id): (Range<usize>, u32)| (stretch.source(bytes), id);
        self.refuse(added.literals(text, Pass::Normalized).map(source));
    }

    fn refuse(&mut self, literals: impl Iterator<Item = (Range<usize>, u32)>) {
        let (caller, Some(refused)) = (self.caller, &mut self.refused) else { return };
        refused.extend(literals.filter(|(bytes, _)| overlap(caller, bytes)));
    }

    /// The parts of `whole` that the caller did not write.
    fn template_ranges(&self, whole: Range<usize>) -> Vec<Range<usize>> {
        let mut ranges = Vec::with_capacity(self.caller.len() + 1);
        let mut start = whole.start;
        for range in self.caller.iter().filter(|range| !range.is_empty()) {
            if range.start > start {
                ranges.push(start..range.start);
            }
            start = start.max(range.end);
        }
        if whole.end > start {
            ranges.push(start..whole.end);
        }
        ranges
    }

    /// The parts of a normalized text that came from the template alone. They end before each character that was made
    /// with a byte of the caller, and wherever the normalizer dropped such a byte.
    fn normalized_template_ranges(&self, text: &str, stretch: &Stretch<'_>) -> Vec<Range<usize>> {
        let mut ranges: Vec<Range<usize>> = Vec::new();
        let mut open = false;
        let mut source_end = stretch.source(0..0).start;
        for (at, character) in text.char_indices() {
            let bytes = at..at + character.len_utf8();
            let source = stretch.source(bytes.clone());
            // The bytes of the source between the character before and this one were dropped.
            let dropped = source_end.min(source.start)..source.start;
            let caller = !source.is_empty() && overlap(self.caller, &source);
            if open && !caller && !overlap(self.caller, &dropped) {
                if let Some(last) = ranges.last_mut() {
                    last.end = bytes.end;
                }
            } else if !caller {
                ranges.push(bytes);
            }
            open = !caller;
            source_end = source_end.max(source.end);
        }
        ranges
    }
}

/// Tell whether `bytes` overlap any of the ranges, which are in order and disjoint.
fn overlap(ranges: &[Range<usize>], bytes: &Range<usize>) -> bool {
    let first = ranges.partition_point(|range| range.end <= bytes.start);
    ranges[first..]
        .iter()
        .find(|range| !range.is_empty())
        .is_some_and(|range| range.start < bytes.end && bytes.start < bytes.end)
}
