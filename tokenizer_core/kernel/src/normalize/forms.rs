//! The four normalization forms of Unicode (UAX #15), with the way back to the source characters.
//!
//! They use the character tables of `unicode-normalization` but not its iterators, which do not say where a character
//! came from.

use std::ops::Range;

use once_cell::race::OnceBox;
use unicode_normalization::char::{canonical_combining_class, compose, decompose_compatible};
use unicode_normalization::{IsNormalized, is_nfc_quick, is_nfd_quick, is_nfkc_quick, is_nfkd_quick};

use super::Normalized;
use super::rewriter::Rewriter;
use crate::unicode::older::{self, is_known};
use crate::unicode::utf8::decode;

/// Characters below are looked up in a bitmap, the rarer ones above in the tables of the crate.
const BITMAP_CHARS: usize = 0x2_0000;

/// One of the four forms.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    Nfc,
    Nfd,
    Nfkc,
    Nfkd,
}

/// A form and the characters it never touches.
#[derive(Debug)]
pub(super) struct FormRewrite {
    form: Form,
    stable: &'static [u64],
}

/// A character of the output and the source range it came from.
#[derive(Debug, Clone, Copy)]
pub(super) struct Mark {
    pub(super) character: char,
    pub(super) class: u8,
    pub(super) start: usize,
    pub(super) end: usize,
}

/// Output characters from `first` on that came from source bytes of their own.
#[derive(Debug, Clone, Copy)]
pub(super) struct Block {
    pub(super) first: usize,
    pub(super) start: usize,
    pub(super) end: usize,
}

/// Buffers that are reused for every region of one text.
#[derive(Debug, Default)]
struct FormBuffers {
    marks: Vec<Mark>,
    composed: Vec<Mark>,
    blocks: Vec<Block>,
    text: String,
}

impl FormRewrite {
    pub(super) fn new(form: Form) -> Self {
        // `OnceBox` and not `OnceLock`: after a fork, a thread that was making the value may not exist, and nobody must
        // wait for it.
        static STABLE: [OnceBox<Vec<u64>>; 4] = [const { OnceBox::new() }; 4];
        let stable = STABLE[form as usize].get_or_init(|| {
            let mut bits = vec![0; BITMAP_CHARS / 64];
            for character in ('\0'..).take_while(|character| (*character as usize) < BITMAP_CHARS) {
                if form.is_stable(character) {
                    bits[character as usize / 64] |= 1 << (character as usize % 64);
                }
            }
            Box::new(bits)
        });
        Self { form, stable }
    }

    /// Rewrite `text`; `None` when it is in this form already.
    pub(super) fn rewrite(&self, text: &str) -> Option<Normalized> {
        let mut rewriter = Rewriter::new(text);
        let mut scratch = FormBuffers::default();
        // Everything before is normalized, whatever follows.
        let mut done = 0;
        while let Some(unstable) = self.first_unstable(text.as_bytes(), done) {
            // The character before is stable: what follows may compose with it, and with nothing before it.
            let start = text[done..unstable].char_indices().next_back().map_or(done, |(start, _)| done + start);
            let end = text[unstable..].char_indices().find(|(_, character)| self.is_stable(*character as usize));
            done = end.map_or(text.len(), |(length, _)| unstable + length);
            self.rewrite_region(text, start..done, &mut rewriter, &mut scratch);
        }
        rewriter.finish()
    }

    /// The beginning of the first unstable character at or after `at`, in bytes of valid UTF-8.
    fn first_unstable(&self, bytes: &[u8], mut at: usize) -> Option<usize> {
        let limit = self.form.first_unstable_byte();
        loop {
            let lead = *bytes.get(at)?;
            if lead < limit {
                at += 1;
                // The maximum of 32 bytes is an instruction or two; a search with an early exit is more.
                let all_below = |block: &[u8]| block.iter().fold(0, |highest: u8, byte| highest.max(*byte)) < limit;
                while bytes.get(at..at + 32).is_some_and(all_below) {
                    at += 32;
                }
                continue;
            }
            let (code, length) = decode(bytes, at, lead);
            if !self.is_stable(code as usize) {
                return Some(at);
            }
            at += length;
        }
    }

    #[inline(always)]
    fn is_stable(&self, code: usize) -> bool {
        match self.stable.get(code / 64) {
            Some(bits) => bits & (1 << (code % 64)) != 0,
            None => char::from_u32(code as u32).is_none_or(|character| self.form.is_stable(character)),
        }
    }

    /// Rewrite a region: nothing outside of it composes or changes places with anything in it.
    fn rewrite_region(&self, text: &str, region: Range<usize>, rewriter: &mut Rewriter<'_>, scratch: &mut FormBuffers) {
        let FormBuffers { marks, composed, blocks, text: block_text } = scratch;
        marks.clear();
        let table = older::table();
        for (at, character) in text[region.clone()].char_indices() {
            let start = region.start + at;
            let end = start + character.len_utf8();
            let mut push =
                |character| marks.push(Mark { character, class: table.combining_class(character), start, end });
            match self.form {
                Form::Nfkc | Form::Nfkd if is_known(character) => decompose_compatible(character, push),
                Form::Nfc | Form::Nfd => table.decompose(character, push),
                Form::Nfkc | Form::Nfkd => push(character),
            }
        }
        sort_marks(marks);
        let output = match self.form {
            Form::Nfc | Form::Nfkc => {
                compose_marks(marks, composed);
                composed
            }
            Form::Nfd | Form::Nfkd => marks,
        };
        split_blocks(output, blocks);
        for (index, block) in blocks.iter().enumerate() {
            let last = blocks.get(index + 1).map_or(output.len(), |next| next.first);
            block_text.clear();
            block_text.extend(output[block.first..last].iter().map(|mark| mark.character));
            rewriter.put(block.start..block.end, block_text);
        }
    }
}

impl Form {
    /// Tell whether the form keeps the character, and it neither composes nor changes places with those before it.
    fn is_stable(self, character: char) -> bool {
        let check = match self {
            Self::Nfc => is_nfc_quick(std::iter::once(character)),
            Self::Nfd => is_nfd_quick(std::iter::once(character)),
            Self::Nfkc => is_nfkc_quick(std::iter::once(character)),
            Self::Nfkd => is_nfkd_quick(std::iter::once(character)),
        };
        check == IsNormalized::Yes && canonical_combining_class(character) == 0
    }

    /// No character whose first byte in UTF-8 is lower is unstable: U+0300, U+00C0, U+00A0.
    pub(super) const fn first_unstable_byte(self) -> u8 {
        match self {
            Self::Nfc => 0xCC,
            Self::Nfd => 0xC3,
            Self::Nfkc | Self::Nfkd => 0xC2,
        }
    }
}

/// Put what is decomposed into canonical order.
pub(super) fn sort_marks(marks: &mut [Mark]) {
    // A stable sort, so that marks of one class keep their order, and a fast one even for a million of them.
    for run in marks.chunk_by_mut(|left, right| left.class != 0 && right.class != 0) {
        if !run.is_sorted_by_key(|mark| mark.class) {
            run.sort_by_key(|mark| mark.class);
        }
    }
}

/// Compose what is decomposed and in canonical order.
fn compose_marks(marks: &[Mark], composed: &mut Vec<Mark>) {
    composed.clear();
    let mut starter: Option<usize> = None;
    for mark in marks {
        if let Some(index) = starter {
            let blocked = composed.len() > index + 1 && composed[composed.len() - 1].class >= mark.class;
            let product = if blocked {
                None
            } else {
                compose(composed[index].character, mark.character).filter(|product| is_known(*product))
            };
            if let Some(character) = product {
                let starter = &mut composed[index];
                starter.character = character;
                starter.start = starter.start.min(mark.start);
                starter.end = starter.end.max(mark.end);
                continue;
            }
        }
        if mark.class == 0 {
            starter = Some(composed.len());
        }
        composed.push(*mark);
    }
}

/// Cut the output into the smallest blocks whose source ranges follow each other without an overlap: characters that
/// changed places, or came from one, share a block.
pub(super) fn split_blocks(output: &[Mark], blocks: &mut Vec<Block>) {
    blocks.clear();
    for (first, mark) in output.iter().enumerate() {
        let mut block = Block { first, start: mark.start, end: mark.end };
        while let Some(before) = blocks.pop_if(|before| before.end > block.start) {
            block = Block { first: before.first, start: before.start.min(block.start), end: before.end.max(block.end) };
        }
        blocks.push(block);
    }
}
