//! Classes of characters beyond ASCII by comparing: whole alphabets and ideographs at once, the rest one by one.

use super::{READ, WINDOW};
use crate::simd::byte_vector::{Simd, below, between, is};
use crate::unicode::utf8::decode;
use crate::unicode::{CASELESS, LOWER, UPPER, class_of, class_of_all};

/// A window with at least this many characters beyond ASCII is searched for alphabets.
const DENSE: u32 = 12;

/// The fewest characters that an alphabet has on its page of 64.
const ALPHABET: usize = 24;

/// Characters whose alphabets are tried before the rest is looked up one by one.
const TRIES: usize = 4;

/// The characters of each class, at their first bytes. The place is that of a class's lowest bit; the last has all
/// others.
#[derive(Clone, Copy, Default)]
pub(super) struct Wide([u64; 8]);

impl Wide {
    #[inline(always)]
    pub(super) fn of(&self, class: u8) -> u64 {
        self.0[class.trailing_zeros() as usize]
    }

    #[inline(always)]
    fn add(&mut self, class: u8, bits: u64) {
        self.0[place(class)] |= bits;
    }
}

/// The place of a class among [`Wide`].
const fn place(class: u8) -> usize {
    (class | OTHER).trailing_zeros() as usize
}

/// None of the classes that scanners tell apart.
const OTHER: u8 = 1 << 6;

/// The two longest runs of one class each, side by side, among the characters of two bytes that share the first.
#[derive(Clone, Copy)]
struct Alphabet {
    /// The second bytes that the first run begins with, the second, and what follows it.
    starts: [u8; 3],
    /// Their places among [`Wide`].
    places: [usize; 2],
}

/// By the low five bits of the first byte.
static ALPHABETS: [Option<Alphabet>; 32] = alphabets();

const fn alphabets() -> [Option<Alphabet>; 32] {
    let mut all = [None; 32];
    let mut first = 2;
    while first < 32 {
        all[first] = alphabet(first << 6);
        first += 1;
    }
    all
}

/// The alphabet of 64 characters.
const fn alphabet(page: usize) -> Option<Alphabet> {
    // Where the last run began, and the one before it.
    let (mut before, mut start, mut at) = (0, 0, 1);
    let mut best = None;
    let mut longest = ALPHABET - 1;
    while at <= 64 {
        if at == 64 || index_of(page + at) != index_of(page + start) {
            if at - before > longest {
                longest = at - before;
                best = Some(Alphabet {
                    starts: [0x80 + before as u8, 0x80 + start as u8, 0x80 + at as u8],
                    places: [index_of(page + before), index_of(page + start)],
                });
            }
            (before, start) = (start, at);
        }
        at += 1;
    }
    best
}

const fn index_of(code: usize) -> usize {
    place(class_of_all(code..code + 1))
}

/// The classes of the characters at `wide`.
#[inline(always)]
pub(super) fn wide_classes<S: Simd>(simd: S, bytes: &[u8; READ], wide: u64) -> Wide {
    let mut classes = Wide::default();
    let classified = if wide.count_ones() >= DENSE {
        dense(simd, bytes, wide, &mut classes)
    } else {
        latin(simd, bytes, wide, &mut classes)
    };
    let mut left = wide & !classified;
    while left != 0 {
        let at = left.trailing_zeros() as usize % WINDOW;
        classes.add(class_of(decode(bytes, at, bytes[at]).0), left & left.wrapping_neg());
        left &= left - 1;
    }
    classes
}

/// Classify characters of alphabets and ideographs, and return which they are.
#[inline(always)]
fn dense<S: Simd>(simd: S, bytes: &[u8; READ], wide: u64, classes: &mut Wide) -> u64 {
    let Some(window) = bytes.first_chunk() else { return 0 };
    let (mut candidates, mut known) = (wide, 0);
    for _ in 0..TRIES {
        if candidates == 0 {
            break;
        }
        let first = bytes[candidates.trailing_zeros() as usize % WINDOW];
        if matches!(first, 0xE3..=0xE9) {
            let caseless = wide & ideographs_and_kana(simd, window);
            classes.add(CASELESS, caseless);
            return known | caseless;
        }
        candidates &= candidates - 1;
        if first < 0xE0
            && let Some(alphabet) = ALPHABETS[usize::from(first % 32)]
        {
            let same = wide & is(simd, window, first);
            let [start, middle, end] = alphabet.starts;
            // No closure, as in `byte_vector`.
            let (start, middle) = (below(simd, window, start) >> 1, below(simd, window, middle) >> 1);
            let end = below(simd, window, end) >> 1;
            let (low, high) = (same & middle & !start, same & end & !middle);
            classes.0[alphabet.places[0] % 8] |= low;
            classes.0[alphabet.places[1] % 8] |= high;
            candidates &= !same;
            known |= low | high;
        }
    }
    known
}

const _: () = assert!(class_of_all(0xC0..0xD7) & class_of_all(0xD8..0xDF) & UPPER != 0);
const _: () = assert!(class_of_all(0xDF..0xF7) & class_of_all(0xF8..0x100) & LOWER != 0);

/// Classify the letters from U+00C0 to U+00FF, which are most of what a text in a European language has beyond ASCII,
/// and return where they are. All at once, since their number is unpredictable.
#[inline(always)]
fn latin<S: Simd>(simd: S, bytes: &[u8; READ], wide: u64, classes: &mut Wide) -> u64 {
    let Some(window) = bytes.first_chunk() else { return 0 };
    // U+00D7 and U+00F7 differ in one bit, and are not letters.
    let signs = between(simd, window, 0x20, 0xB7, 0xB7) >> 1;
    let letters = wide & is(simd, window, 0xC3) & !signs;
    let upper = letters & below(simd, window, 0x9F) >> 1;
    classes.add(UPPER, upper);
    classes.add(LOWER, letters & !upper);
    letters
}

const _: () = assert!(class_of_all(0x4E00..0xA000) & CASELESS != 0, "ideographs");
const _: () = assert!(class_of_all(0x3041..0x3097) & CASELESS != 0, "hiragana");
const _: () = assert!(class_of_all(0x30A1..0x30FB) & class_of_all(0x30FC..0x3100) & CASELESS != 0, "katakana");

/// The first bytes of what most of Japanese and Chinese is written in.
#[inline(always)]
fn ideographs_and_kana<S: Simd>(simd: S, window: &[u8; WINDOW]) -> u64 {
    // U+4E00 to U+4FFF share their first byte with what is none.
    let shared = is(simd, window, 0xE4) & !below(simd, window, 0xB8) >> 1;
    let ideographs = between(simd, window, 0, 0xE5, 0xE9) | shared;
    let kana = is(simd, window, 0xE3) & between(simd, window, 0, 0x81, 0x83) >> 1;
    if kana == 0 {
        return ideographs;
    }
    // U+3040, what is between hiragana and katakana, and U+30FB.
    let before = is(simd, window, 0x81) >> 1 & is(simd, window, 0x80) >> 2;
    let amid = is(simd, window, 0x82) >> 1 & between(simd, window, 0, 0x97, 0xA0) >> 2;
    let dot = is(simd, window, 0x83) >> 1 & is(simd, window, 0xBB) >> 2;
    ideographs | kana & !(before | amid | dot)
}
