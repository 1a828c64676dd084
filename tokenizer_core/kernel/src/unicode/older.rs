//! The tables of Hugging Face's `tokenizers`, which follow several versions of Unicode: categories are those of 8.0,
//! the forms of normalization those of 9.0, and cases those of 17.0.
//!
//! Categories come from the pinned tables of this crate, without what is newer than 8.0 (or 9.0), and with the few
//! characters that have changed since. `tests/core/families/test_bert_stages.py` holds all code points to the library.

use std::iter::once;
use std::ops::RangeInclusive;

use once_cell::race::OnceBox;
use unicode_normalization::char::{canonical_combining_class, decompose_canonical};

use super::table::{CODES, ClassTable, ranges_of};
use super::{is_whitespace, is_word};

/// Control, format or private use (`Cc`, `Cf`, `Co`).
pub(crate) const CONTROL: u16 = 1;
/// White space.
pub(crate) const WHITE: u16 = 1 << 1;
/// A character that BERT calls Chinese.
pub(crate) const CHINESE: u16 = 1 << 2;
/// ASCII punctuation, or punctuation of Unicode.
pub(crate) const PUNCTUATION: u16 = 1 << 3;
/// A mark without a width of its own (`Mn`).
pub(crate) const NONSPACING: u16 = 1 << 4;
/// Has a canonical decomposition.
pub(crate) const DECOMPOSES: u16 = 1 << 5;
/// Is another character, or several, in lower case.
pub(crate) const CASED: u16 = 1 << 6;
/// It, or what it decomposes into, has a combining class without being [`NONSPACING`].
pub(crate) const REORDERED: u16 = 1 << 7;
/// A mark (`M`), as normalization sees it.
pub(crate) const MARK: u16 = 1 << 8;
/// Normalization knows it; what it does not know has neither a decomposition nor a combining class.
pub(crate) const KNOWN: u16 = 1 << 9;

/// The categories that the pinned tables give.
const CATEGORIES: [(&str, u16); 6] = [
    // Tabs and line ends are let through, and U+FFFD goes as controls do.
    (r"[[\p{Cc}\p{Cf}\p{Co}&&\p{Age=8.0}]\x{FFFD}--[\t\n\r]]", CONTROL),
    (r"[[\p{P}&&\p{Age=8.0}]\x{166D}\x{111C9}!-/:-@\[-`\{-~]", PUNCTUATION),
    (r"[[\p{Mn}&&\p{Age=8.0}]\x{1734}\x{1171E}--[\x{1885}\x{1886}\x{A9BD}\x{111C9}]]", NONSPACING),
    (r"[[\p{M}&&\p{Age=9.0}]\x{1CF2}\x{1CF3}--[\x{111C9}]]", MARK),
    (r"\p{Age=9.0}", KNOWN),
    (
        concat!(
            r"[\x{3400}-\x{4DBF}\x{4E00}-\x{9FFF}\x{F900}-\x{FAFF}\x{20000}-\x{2A6DF}",
            r"\x{2A700}-\x{2B81F}\x{2B920}-\x{2CEAF}\x{2F800}-\x{2FA1F}]"
        ),
        CHINESE,
    ),
];

/// Capital letters that are newer than the pinned tables, and how far behind them the small ones are.
const NEW_CAPITALS: [(RangeInclusive<char>, u32); 4] = [
    ('\u{A7CE}'..='\u{A7CE}', 1),
    ('\u{A7D2}'..='\u{A7D2}', 1),
    ('\u{A7D4}'..='\u{A7D4}', 1),
    ('\u{16EA0}'..='\u{16EB8}', 0x1B),
];

impl ClassTable<u16> {
    /// Tell whether a character has one of `bits`.
    #[inline(always)]
    pub(crate) fn has(&self, character: char, bits: u16) -> bool {
        self.get(character.into()) & bits != 0
    }

    /// The canonical decomposition of a character, or itself.
    pub(crate) fn decompose(&self, character: char, mut emit: impl FnMut(char)) {
        if self.has(character, KNOWN) { decompose_canonical(character, emit) } else { emit(character) }
    }

    /// The canonical combining class.
    pub(crate) fn combining_class(&self, character: char) -> u8 {
        if self.has(character, KNOWN) { canonical_combining_class(character) } else { 0 }
    }
}

/// The bits of all characters.
pub(crate) fn table() -> &'static ClassTable<u16> {
    static TABLE: OnceBox<ClassTable<u16>> = OnceBox::new();
    TABLE.get_or_init(|| Box::new(ClassTable::of(&bits())))
}

fn bits() -> Vec<u16> {
    let mut bits = vec![0_u16; CODES];
    for (pattern, bit) in CATEGORIES {
        for range in ranges_of(pattern) {
            bits[range].iter_mut().for_each(|bits| *bits |= bit);
        }
    }
    let is_reordered = |character: char, bits: &[u16]| {
        bits[character as usize] & (KNOWN | NONSPACING) == KNOWN && canonical_combining_class(character) != 0
    };
    for character in '\0'..=char::MAX {
        let mut more = if is_whitespace(character) { WHITE } else { 0 };
        if lowercase(character).ne(once(character)) {
            more |= CASED;
        }
        if is_reordered(character, &bits) {
            more |= REORDERED;
        }
        if bits[character as usize] & KNOWN != 0 {
            decompose_canonical(character, |part| {
                more |= if part == character { 0 } else { DECOMPOSES };
                more |= if is_reordered(part, &bits) { REORDERED } else { 0 };
            });
        }
        bits[character as usize] |= more;
    }
    bits
}

/// Return the results for characters that are decomposed without their marks, or put into lower case, or both: one
/// character each, or 0 where that is not so simple.
pub(crate) fn simple(decomposed: bool, lowered: bool) -> &'static ClassTable<u32> {
    static TABLES: [OnceBox<ClassTable<u32>>; 4] = [const { OnceBox::new() }; 4];
    TABLES[2 * usize::from(decomposed) + usize::from(lowered)].get_or_init(|| {
        let (table, mut simple) = (table(), vec![0; CODES]);
        let (mut parts, mut written): (Vec<char>, Vec<char>) = (Vec::new(), Vec::new());
        for character in '\u{80}'..=char::MAX {
            if !table.has(character, DECOMPOSES | CASED) || table.has(character, REORDERED | CHINESE) {
                continue;
            }
            parts.clear();
            written.clear();
            if decomposed {
                table.decompose(character, |part| parts.push(part));
                parts.retain(|part| !table.has(*part, NONSPACING));
            } else {
                parts.push(character);
            }
            parts.iter().for_each(|part| if lowered { written.extend(lowercase(*part)) } else { written.push(*part) });
            // What is cut around is not simple either.
            if let [only] = written.as_slice()
                && !table.has(*only, WHITE | PUNCTUATION)
            {
                simple[character as usize] = u32::from(*only);
            }
        }
        Box::new(ClassTable::of(&simple))
    })
}

/// Tell whether a character is a combining mark.
pub fn is_mark(character: char) -> bool {
    table().has(character, MARK)
}

/// Tell whether normalization knows a character; an unknown one stays as it is, and nothing composes with it.
pub fn is_known(character: char) -> bool {
    table().has(character, KNOWN)
}

/// The small letter or letters of a character. No id depends on the version of Unicode in the standard library.
pub fn lowercase(character: char) -> impl Iterator<Item = char> {
    let behind = |(capitals, by): &(RangeInclusive<char>, u32)| {
        capitals.contains(&character).then(|| char::from_u32(u32::from(character) + by)).flatten()
    };
    let new = NEW_CAPITALS.iter().find_map(behind);
    // Every cased character is a word character.
    let known = (new.is_none() && is_word(character)).then(|| character.to_lowercase());
    let same = (new.is_none() && known.is_none()).then_some(character);
    known.into_iter().flatten().chain(new).chain(same)
}
