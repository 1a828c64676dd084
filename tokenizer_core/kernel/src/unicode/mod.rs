//! Character classes of one pinned version of Unicode.
//!
//! A class is a set of bits; `class` finds it in a table of two stages, and `ASCII` holds the first 128.

pub mod from_utf32;
pub mod older;
pub(crate) mod scripts;
pub(crate) mod table;
pub(crate) mod utf8;

/// The version of every class table; `regex-syntax` and `unicode-normalization` have the same.
pub const UNICODE_VERSION: &str = "16.0.0";

/// `\p{Lu}` or `\p{Lt}`.
pub const UPPER: u8 = 1;
/// `\p{Ll}`.
pub const LOWER: u8 = 1 << 1;
/// `\p{Lm}` or `\p{Lo}`.
pub const CASELESS: u8 = 1 << 2;
/// `\p{M}`.
pub const MARK: u8 = 1 << 3;
/// `\p{N}`.
pub const NUMBER: u8 = 1 << 4;
/// `\s`: U+0085, U+2028 and U+3000 are in it, U+001C and U+200B are not.
pub const SPACE: u8 = 1 << 5;
/// `\w`: letters, marks, decimal digits, connectors, joiners and whatever else is alphabetic.
pub const WORD: u8 = 1 << 6;
/// Carriage return or line feed, and no other line end.
pub const NEWLINE: u8 = 1 << 7;
/// `\p{L}`.
pub const LETTER: u8 = UPPER | LOWER | CASELESS;

/// The classes there are, and the letter that stands for each in `classes.txt`.
pub const LETTERS: [(u8, u8); 10] = [
    (b'.', 0),
    (b'U', UPPER | WORD),
    (b'l', LOWER | WORD),
    (b'o', CASELESS | WORD),
    (b'm', MARK | WORD),
    (b'd', NUMBER | WORD),
    (b'n', NUMBER),
    (b's', SPACE),
    (b'r', SPACE | NEWLINE),
    (b'_', WORD),
];

/// Written by `examples/generate_unicode_tables.rs`. A line for each plane has the number of each of its 256 blocks, in
/// two hexadecimal digits; a line for each block has the letters of its 256 code points.
const FILE: &[u8] = include_bytes!("classes.txt");

const BLOCK_BITS: u32 = 8;
const BLOCK: usize = 1 << BLOCK_BITS;
const BLOCK_MASK: usize = BLOCK - 1;
const PLANES: usize = 17;
/// The start of the lines of the blocks, and their number.
const FIRST_BLOCK: usize = PLANES * (2 * BLOCK + 1);
const BLOCKS: usize = (FILE.len() - FIRST_BLOCK) / (BLOCK + 1);
const _: () = assert!(FILE.len() == FIRST_BLOCK + BLOCKS * (BLOCK + 1) && FILE[FILE.len() - 1] == b'\n');

static INDEX: [u8; PLANES * BLOCK] = decode_index();
static CLASSES: [u8; BLOCKS * BLOCK] = decode_blocks();

/// The class of every byte that is a character; bytes above 127 have none.
pub static ASCII: [u8; 256] = ascii();

/// The letter that stands for a class in `classes.txt`, if there are characters of it.
pub fn letter_of_class(class: u8) -> Option<u8> {
    LETTERS.iter().find(|(_, known)| *known == class).map(|(letter, _)| *letter)
}

/// The bits of a code point; a number beyond the last code point has none.
#[inline]
pub fn class_of(code: u32) -> u8 {
    let Some(&block) = INDEX.get((code >> BLOCK_BITS) as usize) else {
        return 0;
    };
    CLASSES.get(((block as usize) << BLOCK_BITS) | (code as usize & BLOCK_MASK)).copied().unwrap_or(0)
}

/// The class of all code points of a range; 0 if they have several.
pub(crate) const fn class_of_all(codes: std::ops::Range<usize>) -> u8 {
    let mut code = codes.start;
    let class = CLASSES[(INDEX[code >> BLOCK_BITS] as usize) << BLOCK_BITS | code & BLOCK_MASK];
    while code < codes.end {
        if CLASSES[(INDEX[code >> BLOCK_BITS] as usize) << BLOCK_BITS | code & BLOCK_MASK] != class {
            return 0;
        }
        code += 1;
    }
    class
}

/// The bits of a character.
#[inline]
pub fn class(character: char) -> u8 {
    class_of(u32::from(character))
}

/// `\s`.
#[inline]
pub fn is_whitespace(character: char) -> bool {
    class(character) & SPACE != 0
}

/// `\w`.
#[inline]
pub fn is_word(character: char) -> bool {
    class(character) & WORD != 0
}

const fn decode_index() -> [u8; PLANES * BLOCK] {
    let mut index = [0; PLANES * BLOCK];
    let mut at = 0;
    while at < index.len() {
        let line_ends = at / BLOCK;
        let digits = 2 * at + line_ends;
        index[at] = hexadecimal(FILE[digits]) << 4 | hexadecimal(FILE[digits + 1]);
        at += 1;
    }
    index
}

const fn hexadecimal(digit: u8) -> u8 {
    if digit.is_ascii_digit() { digit - b'0' } else { digit - b'a' + 10 }
}

const fn decode_blocks() -> [u8; BLOCKS * BLOCK] {
    let mut class_of_letter = [0; 256];
    let mut at = 0;
    while at < LETTERS.len() {
        class_of_letter[LETTERS[at].0 as usize] = LETTERS[at].1;
        at += 1;
    }
    let mut classes = [0; BLOCKS * BLOCK];
    at = 0;
    while at < classes.len() {
        let line_ends = at / BLOCK;
        classes[at] = class_of_letter[FILE[FIRST_BLOCK + at + line_ends] as usize];
        at += 1;
    }
    classes
}

const fn ascii() -> [u8; 256] {
    let (index, classes) = (decode_index(), decode_blocks());
    let block = (index[0] as usize) << BLOCK_BITS;
    let mut ascii = [0; 256];
    let mut at = 0;
    while at < 128 {
        ascii[at] = classes[block + at];
        at += 1;
    }
    ascii
}
