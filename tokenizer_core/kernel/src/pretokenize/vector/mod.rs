//! The scanners, 64 bytes at a time: a bit for each character and class, and pieces found by arithmetic on these words,
//! in the manner of simdjson (Langdale and Lemire, 2019).
//!
//! If all of a window was decided, the next one begins with its last character, otherwise where the last known piece
//! begins. So little of the text before a window is ever needed, and where it begins is predictable. What is undecided
//! at the last characters of a window is decided by the next one.

mod borders;
mod compared;
mod wide;

use std::marker::PhantomData;

use self::borders::{BorderMasks, Carry, borders};
pub(crate) use self::compared::write;
use self::compared::{classes, shape, white_bytes};
use super::rules::{Contraction, PatternRules};
use super::scan::{self, contraction, match_end};
use crate::simd::branch::cold_path;
use crate::simd::byte_vector::{Simd, WINDOW};
use crate::simd::level::OnLevel;
use crate::simd::prefetch::prefetch;

/// The most ends in one window: one for each byte, and one for the end of the text.
pub(crate) const ROOM: usize = WINDOW + 1;

/// The distance ahead of a window at which the text is prefetched, in bytes.
const AHEAD: usize = 1024;

/// Bytes that are read to classify the characters that begin in the first 64.
pub(crate) const READ: usize = WINDOW + 4;

/// As [`scan::fill`], on any level.
pub(super) struct Fill<'a, R> {
    text: &'a str,
    at: usize,
    ends: &'a mut [u32],
    rules: PhantomData<R>,
}

impl<'a, R> Fill<'a, R> {
    pub(super) fn new(text: &'a str, at: usize, ends: &'a mut [u32]) -> Self {
        Self { text, at, ends, rules: PhantomData }
    }
}

impl<R: PatternRules, S: Simd> OnLevel<S> for Fill<'_, R> {
    type Output = usize;

    #[inline(always)]
    fn run(self, simd: S) -> usize {
        fill::<R, S>(simd, self.text.as_bytes(), self.at, self.ends)
    }
}

/// As [`scan::fill`].
#[inline(always)]
fn fill<R: PatternRules, S: Simd>(simd: S, text: &[u8], mut at: usize, ends: &mut [u32]) -> usize {
    let mut count = 0;
    // Where the last piece ended: at the window, or before it if that begins inside a piece.
    let mut start = at;
    let mut carry = Carry::default();
    while at < text.len()
        && let Some(room) = ends.get_mut(count..).and_then(<[u32]>::first_chunk_mut::<ROOM>)
    {
        prefetch(text, at + AHEAD);
        let (BorderMasks { starts, whole, next }, length, last) = look::<R, S>(simd, text, at, carry);
        write(simd, starts, at as u32, room);
        let given = starts.count_ones() as usize;
        count += given;
        if whole && at + length == text.len() {
            room[given] = text.len() as u32;
            return count + 1;
        }
        if starts != 0 {
            start = at + 63 - starts.leading_zeros() as usize;
        }
        if let Some(next) = next {
            carry = next;
            at += last;
            continue;
        }
        cold_path();
        carry = Carry::default();
        // The rest of shorter runs is looked at again with what follows.
        let is_long = start < at + 3 * WINDOW / 4;
        if is_long && let Some(white) = white_space(simd, text, start) {
            // One of them has no bit: it is the first character, or one of the last.
            let newlines = R::NEWLINE_CUT && white.newline_end > start;
            if newlines {
                start = white.newline_end;
                room[given] = start as u32;
                count += 1;
            }
            if white.end - start > 1 {
                start = white.end - 1;
                room[given + usize::from(newlines)] = start as u32;
                count += 1;
            }
        } else if starts == 0 {
            start = match_end::<R>(text, start);
            room[0] = start as u32;
            count += 1;
        }
        at = start;
    }
    if count > 0 { count } else { scan::fill::<R>(text, start, ends) }
}

/// The end of white space, and the end of its last newline.
struct WhiteSpace {
    end: usize,
    newline_end: usize,
}

/// The white space that begins with the piece at `at`, if there is more than one character of it, all of them are ASCII
/// and so is what follows.
#[inline(always)]
fn white_space<S: Simd>(simd: S, text: &[u8], at: usize) -> Option<WhiteSpace> {
    let mut white = WhiteSpace { end: at, newline_end: at };
    loop {
        let window = text.get(white.end..)?.first_chunk()?;
        let (space, newline) = white_bytes(simd, window);
        let run = space.trailing_ones() as usize;
        let newlines = newline & lowest_bits(run);
        if newlines != 0 {
            white.newline_end = white.end + WINDOW - newlines.leading_zeros() as usize;
        }
        white.end += run;
        if run < WINDOW {
            break;
        }
    }
    (white.end - at > 1 && text[white.end] < 0x80).then_some(white)
}

/// The borders in the window at `at`, by the first bytes of characters, the length of the window, and the place of its
/// last character.
#[inline(always)]
fn look<R: PatternRules, S: Simd>(simd: S, text: &[u8], at: usize, carry: Carry) -> (BorderMasks, usize, usize) {
    let rest = &text[at..];
    if let Some(bytes) = rest.first_chunk() {
        // Most windows are followed by more text, and knowing that makes their code shorter.
        look_at::<R, S>(simd, text, at, bytes, READ, carry)
    } else {
        let mut copy = [0; READ];
        copy[..rest.len()].copy_from_slice(rest);
        look_at::<R, S>(simd, text, at, &copy, rest.len(), carry)
    }
}

/// As [`look`], where `bytes` stand; of them `rest` are text.
#[inline(always)]
fn look_at<R: PatternRules, S: Simd>(
    simd: S,
    text: &[u8],
    at: usize,
    bytes: &[u8; READ],
    rest: usize,
    carry: Carry,
) -> (BorderMasks, usize, usize) {
    let Some(window) = bytes.first_chunk() else { return (BorderMasks::default(), 0, 0) };
    let last = rest <= WINDOW;
    let (wide, first) = shape(simd, window);
    if wide == 0 {
        let length = rest.min(WINDOW);
        let masks = classes::<R, S>(simd, bytes, 0, 0);
        let contractions = move |quotes| contractions::<R>(text, at, quotes);
        return (borders::<R>(&masks, 0, length, last, carry, contractions), length, length - 1);
    }
    let length = if last { rest } else { whole_characters(window, first) };
    let leads = first & lowest_bits(length);
    let inside = lowest_bits(length) & !first;
    let masks = classes::<R, S>(simd, bytes, leads & wide, inside);
    let contractions = move |quotes| contractions::<R>(text, at, quotes);
    (borders::<R>(&masks, inside, length, last, carry, contractions), length, 63 - leads.leading_zeros() as usize)
}

/// The bytes of a window that hold whole characters.
#[inline(always)]
pub(crate) fn whole_characters(window: &[u8; WINDOW], leads: u64) -> usize {
    let last = 63 - leads.leading_zeros() as usize;
    let length = match window[last] {
        0..0x80 => 1,
        0x80..0xE0 => 2,
        0xE0..0xF0 => 3,
        _ => 4,
    };
    if last + length > WINDOW { last } else { last + length }
}

/// Return the quotes after which one byte, and those after which two bytes belong to a contraction; quotes are bytes
/// counted from `at`.
#[inline(always)]
fn contractions<R: PatternRules>(text: &[u8], at: usize, mut quotes: u64) -> (u64, u64) {
    let (mut one, mut two, mut before) = (0, 0, None);
    while quotes != 0 {
        let bit = quotes & quotes.wrapping_neg();
        let quote = at + quotes.trailing_zeros() as usize;
        quotes ^= bit;
        // Right after another a quote begins a piece, so that it ends no word.
        if R::CONTRACTION == Contraction::Suffix && before == Some(quote) {
            continue;
        }
        let end = contraction::<R>(text, quote);
        if end == quote {
            continue;
        }
        before = Some(end);
        if end == quote + 2 {
            one |= bit;
        } else {
            two |= bit;
        }
    }
    (one, two)
}

/// The lowest `count` bits, of up to 64.
#[inline(always)]
pub(crate) fn lowest_bits(count: usize) -> u64 {
    if count < WINDOW { (1 << count) - 1 } else { u64::MAX }
}
