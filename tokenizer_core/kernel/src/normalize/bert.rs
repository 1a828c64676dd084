//! BERT's normalizer and its pretokenizer, each alone or both in one pass over the text.
//!
//! The order of the steps is that of Hugging Face: controls and white space, Chinese characters, decomposition without
//! marks, lower case. All but the decomposition look at one character at a time, and the decomposition looks at more
//! only where marks change places.

use std::ops::Range;

use super::forms::{Mark, sort_marks, split_blocks};
use super::written::{Trace, Written};
use crate::config::BertRules;
use crate::unicode::older::{
    CASED, CHINESE, CONTROL, DECOMPOSES, NONSPACING, PUNCTUATION, REORDERED, WHITE, lowercase, simple, table,
};
use crate::unicode::table::ClassTable;
use crate::unicode::utf8::decode;

/// The compiled pass. It cuts (`CUT`) at white space, which goes, and around each punctuation mark.
#[derive(Debug)]
pub(crate) struct Bert<const CUT: bool> {
    rules: BertRules,
    table: &'static ClassTable<u16>,
    /// The results for most characters that are decomposed or put into lower case.
    simple: &'static ClassTable<u32>,
    /// Characters without any of these bits are copied.
    touched: u16,
    /// The bits of each byte that the pass does not copy; those of capital letters are left out, since the copy is put
    /// into lower case as a whole.
    ascii: [u16; 128],
}

impl<const CUT: bool> Bert<CUT> {
    pub(crate) fn new(rules: BertRules) -> Self {
        let table = table();
        let wanted = [
            (rules.clean_text, CONTROL | WHITE),
            (rules.handle_chinese_chars, CHINESE),
            (rules.strip_accents, NONSPACING | DECOMPOSES | REORDERED),
            (rules.lowercase, CASED),
            (CUT, PUNCTUATION | WHITE),
        ];
        let touched = wanted.iter().filter(|(wanted, _)| *wanted).fold(0, |all, (_, bits)| all | bits);
        let ascii = std::array::from_fn(|code| {
            let is_space = !CUT && code == usize::from(b' ');
            if is_space { 0 } else { table.get(code as u32) & touched & !CASED }
        });
        Self { rules, table, simple: simple(rules.strip_accents, rules.lowercase), touched, ascii }
    }

    /// Append the rewritten `source`, whose first byte has the place `start` in the trace. Cut, it ends with a piece.
    pub(crate) fn run<T: Trace>(&self, source: &str, start: usize, out: &mut Written<T>) {
        let before = out.text.len();
        out.text.reserve(source.len());
        let mut at = 0;
        while at < source.len() {
            let (end, code, bits) = self.untouched(source.as_bytes(), at);
            if end > at {
                out.text.push_str(&source[at..end]);
                out.trace.copied(end - at, start + at);
            }
            if code < 0x80 {
                self.ascii(code as u8, bits, start + end, out);
                at = end + 1;
            } else if let Some(simple) = char::from_u32(self.simple.get(code)).filter(|simple| *simple != '\0') {
                let length = source[end..].chars().next().map_or(1, char::len_utf8);
                out.text.push(simple);
                out.trace.replaced(simple.len_utf8(), start + end..start + end + length, true);
                at = end + length;
            } else {
                at = self.rare(source, end, start, bits, out);
            }
        }
        if CUT {
            out.cut();
        }
        if self.rules.lowercase {
            out.text[before..].make_ascii_lowercase();
        }
    }

    /// Append what an ASCII character becomes that has bits.
    #[inline(always)]
    fn ascii<T: Trace>(&self, byte: u8, bits: u16, place: usize, out: &mut Written<T>) {
        if bits == 0 || self.rules.clean_text && bits & CONTROL != 0 {
            return;
        }
        if CUT {
            out.cut();
            if bits & WHITE != 0 {
                return;
            }
        }
        out.text.push(if bits & WHITE != 0 { ' ' } else { char::from(byte) });
        out.trace.copied(1, place);
        if CUT {
            out.cut();
        }
    }

    /// Append the character at `at`, which has bits and does not simply become another one; return where it ends, or
    /// where those end that change places with it.
    #[inline(never)]
    fn rare<T: Trace>(&self, source: &str, at: usize, start: usize, bits: u16, out: &mut Written<T>) -> usize {
        if bits & REORDERED != 0 && !self.is_cleaned(bits) {
            return self.reordered(source, at, start, out);
        }
        let Some(character) = source[at..].chars().next() else { return source.len() };
        let end = at + character.len_utf8();
        self.one(character, bits, start + at..start + end, out);
        end
    }

    /// The end of the characters from `at` on that are copied, the character there and its bits; 0 at the end of the
    /// text.
    #[inline(always)]
    fn untouched(&self, source: &[u8], mut at: usize) -> (usize, u32, u16) {
        while let Some(&first) = source.get(at) {
            if let Some(bits) = self.ascii.get(usize::from(first)) {
                if *bits != 0 {
                    return (at, u32::from(first), *bits);
                }
                at += 1;
            } else {
                let (code, length) = decode(source, at, first);
                let bits = self.table.get(code) & self.touched;
                if bits != 0 {
                    return (at, code, bits);
                }
                at += length;
            }
        }
        (at, 0, 0)
    }

    /// Tell whether the cleaning takes a character away or makes it a space.
    fn is_cleaned(&self, bits: u16) -> bool {
        self.rules.clean_text && bits & (CONTROL | WHITE) != 0
    }

    /// Append what one character becomes that has bits, and does not change places with others.
    fn one<T: Trace>(&self, character: char, bits: u16, source: Range<usize>, out: &mut Written<T>) {
        if self.rules.clean_text && bits & CONTROL != 0 {
            return;
        }
        if CUT && bits & WHITE != 0 {
            return out.cut();
        }
        let is_chinese = self.rules.handle_chinese_chars && bits & CHINESE != 0;
        if is_chinese {
            self.space(source.start, out);
        }
        let before = out.text.len();
        if self.is_cleaned(bits) {
            out.text.push(' ');
        } else if bits & (DECOMPOSES | NONSPACING) == 0 {
            self.lowered(character, out);
        } else {
            self.table.decompose(character, |part| self.lowered(part, out));
        }
        let is_one = out.text[before..].chars().nth(1).is_none();
        out.trace.replaced(out.text.len() - before, source.clone(), is_one);
        if is_chinese {
            self.space(source.end, out);
        }
    }

    /// Append the characters from `at` on whose marks may change places, and return where they end.
    #[cold]
    fn reordered<T: Trace>(&self, source: &str, at: usize, start: usize, out: &mut Written<T>) -> usize {
        let mut marks: Vec<Mark> = Vec::new();
        let mut region = source.len();
        for (offset, character) in source[at..].char_indices() {
            let bits = self.table.get(character.into());
            if self.rules.clean_text && bits & CONTROL != 0 {
                continue;
            }
            let (first, start) = (marks.len(), start + at + offset);
            let end = start + character.len_utf8();
            // No white space and no Chinese character has a combining class, or becomes one that has.
            self.table.decompose(character, |character| {
                marks.push(Mark { character, class: self.table.combining_class(character), start, end });
            });
            if first > 0 && marks[first].class == 0 {
                marks.truncate(first);
                region = at + offset;
                break;
            }
        }
        sort_marks(&mut marks);
        marks.retain(|mark| !self.table.has(mark.character, NONSPACING));
        let mut blocks = Vec::new();
        split_blocks(&marks, &mut blocks);
        for (index, block) in blocks.iter().enumerate() {
            let last = blocks.get(index + 1).map_or(marks.len(), |next| next.first);
            let before = out.text.len();
            marks[block.first..last].iter().for_each(|mark| self.lowered(mark.character, out));
            out.trace.whole(out.text.len() - before, block.start..block.end);
        }
        region
    }

    /// Append a part of a character, unless it is a mark that goes.
    fn lowered<T: Trace>(&self, part: char, out: &mut Written<T>) {
        if self.rules.strip_accents && self.table.has(part, NONSPACING) {
            return;
        }
        if self.rules.lowercase && !part.is_ascii() {
            lowercase(part).for_each(|part| self.put(part, out));
        } else {
            self.put(part, out);
        }
    }

    /// Append a character, or cut around it or instead of it.
    fn put<T: Trace>(&self, character: char, out: &mut Written<T>) {
        let bits = if CUT { self.table.get(character.into()) & (WHITE | PUNCTUATION) } else { 0 };
        if bits != 0 {
            out.cut();
        }
        if bits & WHITE == 0 {
            out.text.push(character);
        }
        if bits != 0 {
            out.cut();
        }
    }

    /// A space that came from nothing.
    fn space<T: Trace>(&self, place: usize, out: &mut Written<T>) {
        if CUT {
            out.cut();
        } else {
            out.text.push(' ');
            out.trace.whole(1, place..place);
        }
    }
}
