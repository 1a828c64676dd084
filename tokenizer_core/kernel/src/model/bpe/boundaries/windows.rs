//! The cut: a bit for each byte, 64 bytes at a time, and no branch on what a pair is.
//!
//! Only pairs inside a piece are looked up, and of these those that may be cut at all. Where both characters have two
//! bytes, or three, which are nearly all pairs of a script, the bytes as they are loaded are what is looked up.

use super::Cuts;
use super::crossings::{Crossings, FAR, character};
use crate::pretokenize::vector::{ROOM, lowest_bits, write};
use crate::simd::byte_vector::{ByteVector, Simd, WINDOW, mask};
use crate::simd::level::OnLevel;
use crate::simd::words::bytes_at;
use crate::unicode::utf8::previous;

/// The mark at the end of a piece.
const MARK: u8 = 0x80;

/// As [`super::SafeSplit::cut`].
pub(super) struct Cut<'a> {
    pub(super) crossings: &'a Crossings,
    pub(super) text: &'a str,
    pub(super) start: usize,
    pub(super) ends: &'a [u32],
    pub(super) tell_parts: bool,
    pub(super) cuts: &'a mut Cuts,
}

impl<S: Simd> OnLevel<S> for Cut<'_> {
    type Output = ();

    #[inline(always)]
    fn run(self, simd: S) {
        cut(simd, self);
    }
}

#[inline(always)]
fn cut<S: Simd>(simd: S, Cut { crossings, text, start, ends, tell_parts, cuts }: Cut<'_>) {
    let end = ends.last().map_or(start, |end| *end as usize);
    let most = end - start + ROOM;
    cuts.reserve(most, tell_parts);
    if cuts.marks.len() < most {
        cuts.marks.resize(most, 0);
    }
    let (mut at, mut count) = (start, 0);
    for end in ends.split_last().map_or(ends, |(_, before)| before) {
        cuts.marks[*end as usize - start] = MARK;
    }
    let mut before = WindowCharacters::default();
    // Where the first piece begins nothing is cut.
    let mut closed = 1;
    // Whether the last cut was one between parts.
    let mut part_before = false;
    while at < end {
        let length = (end - at).min(WINDOW);
        let within = lowest_bits(length);
        let here = WindowCharacters::of(simd, text.as_bytes(), at);
        let pieces = take_marks(simd, &mut cuts.marks, at - start);
        let pairs = here.pairs(before, within & !(pieces | closed));
        let inside = pairs.apart(crossings, text, at);
        let all = pieces | inside;
        let given = all.count_ones() as usize;
        if let Some(ends) = cuts.ends[count..].first_chunk_mut() {
            write(simd, all, at as u32, ends);
        }
        if tell_parts {
            let mut left = all;
            for part in &mut cuts.parts[count..count + given] {
                let is_cut = inside >> left.trailing_zeros() & 1 != 0;
                *part = is_cut | part_before;
                part_before = is_cut;
                left &= left - 1;
            }
        }
        count += given;
        at += WINDOW;
        before = here;
        closed = 0;
    }
    if !ends.is_empty() {
        cuts.ends[count] = end as u32;
        if tell_parts {
            cuts.parts[count] = part_before;
        }
        count += 1;
    }
    cuts.count = count;
}

/// The marked ones of 64 bytes from `at` on, a bit each; no mark is left.
#[inline(always)]
fn take_marks<S: Simd>(simd: S, marks: &mut [u8], at: usize) -> u64 {
    let Some(marks) = marks[at..].first_chunk_mut() else { return 0 };
    let taken = mask(simd, marks, |marks| marks);
    *marks = [0; WINDOW];
    taken
}

/// The first bytes of the characters of a window, a bit each, by how many bytes they have.
#[derive(Debug, Clone, Copy, Default)]
struct WindowCharacters {
    one: u64,
    two: u64,
    three: u64,
    four: u64,
    /// Spaces, which are of one byte.
    blank: u64,
}

impl WindowCharacters {
    /// Of 64 bytes of `text` from `at` on; after its end all seem to be of one byte.
    #[inline(always)]
    fn of<S: Simd>(simd: S, text: &[u8], at: usize) -> Self {
        let mut copy = [0; WINDOW];
        let window = bytes_at(text, at, &mut copy);
        let (mut eighth, mut seventh, mut sixth, mut fifth, mut blank) = (0, 0, 0, 0, 0);
        for at in (0..WINDOW).step_by(S::Bytes::BYTES) {
            let bytes = simd.load(window, at);
            // Added to itself a byte shows its next bit in the highest place.
            let second = bytes.plus(bytes);
            let third = second.plus(second);
            eighth |= bytes.high_bits() << at;
            seventh |= second.high_bits() << at;
            sixth |= third.high_bits() << at;
            fifth |= third.plus(third).high_bits() << at;
            blank |= bytes.is(simd.all(b' ')).high_bits() << at;
        }
        let first = eighth & seventh;
        Self { one: !eighth, two: first & !sixth, three: first & sixth & !fifth, four: first & sixth & fifth, blank }
    }

    /// The pairs whose right character is in the window, at places of `open`, and that may be cut.
    #[inline(always)]
    fn pairs(self, before: Self, open: u64) -> PairBits {
        let moved = |here: u64, before: u64, by: u32| here << by | before >> (u64::BITS - by);
        let left_one = moved(self.one, before.one, 1);
        let left_two = moved(self.two, before.two, 2);
        let left_three = moved(self.three, before.three, 3);
        let left_four = moved(self.four, before.four, 4);
        let open = open & !left_four & !moved(self.blank, before.blank, 1);
        PairBits {
            two: open & self.two & left_two,
            three: open & self.three & left_three,
            space: open & self.blank & left_one,
            other: open & (self.one & !left_one | self.two & !left_two | self.three & !left_three),
        }
    }
}

/// Pairs of characters that may be cut, a bit for each where the right one begins.
struct PairBits {
    /// Both of two bytes.
    two: u64,
    /// Both of three.
    three: u64,
    /// A space after another character of ASCII.
    space: u64,
    other: u64,
}

impl PairBits {
    /// Those that no token spans.
    #[inline(always)]
    fn apart(&self, crossings: &Crossings, text: &str, at: usize) -> u64 {
        // SAFETY: `text` is UTF-8. `Characters` found the first byte of a character of two bytes at each place of `two`
        // and another one before it, and as much of three bytes at each place of `three`: the four bytes that are read
        // lie among those of both.
        let four = |place: usize| unsafe { text.as_ptr().add(place).cast::<u32>().read_unaligned().to_le() };
        let two = those(self.two, |place| !crossings.has_two(four(at + place - 2)));
        let three = those(self.three, |place| !crossings.has_three(four(at + place - 3), four(at + place - 1)));
        let text = text.as_bytes();
        let space = those(self.space, |place| !crossings.has_space(text[at + place - 1]));
        let other = those(self.other, |place| {
            let left = previous(text, at + place).map_or(FAR, |left| first(text, left));
            !crossings.has(left, first(text, at + place))
        });
        two | three | space | other
    }
}

/// The character that begins at `at`.
#[inline(always)]
fn first(text: &[u8], at: usize) -> u32 {
    character(match text[at] {
        0..0x80 => &text[at..at + 1],
        0x80..0xE0 => &text[at..at + 2],
        0xE0..0xF0 => &text[at..at + 3],
        _ => &text[at..at + 4],
    })
}

/// The bits for whose place `test` is true.
#[inline(always)]
fn those(mut bits: u64, test: impl Fn(usize) -> bool) -> u64 {
    let mut those = 0;
    while bits != 0 {
        let place = bits.trailing_zeros();
        those |= u64::from(test(place as usize)) << place;
        bits &= bits - 1;
    }
    those
}
