//! The number of units (bytes, characters or UTF-16 units) that each token moves on in a text, in one byte a token: the
//! span of a token is then a sum, and the text is not read.

use std::mem::MaybeUninit;

use once_cell::race::OnceBox;

use crate::decode::TokenBytes;

/// The unit of a span.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unit {
    /// Bytes of UTF-8.
    Byte,
    /// Code points.
    Char,
    /// UTF-16 units, as JavaScript counts.
    Utf16,
}

/// The token begins inside a character.
const INSIDE: u8 = 0x80;

/// The last character that the token begins is two units.
const PAIR: u8 = 0x40;

/// Units of the characters that the token begins.
const UNITS: u8 = 0x3F;

/// The length of a token in units of a text.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct TokenWidth {
    /// Units of all characters that begin in the token.
    pub units: u32,
    /// It begins inside a character that began in an earlier token.
    pub inside: bool,
    /// The last character that begins in it is two units.
    pub pair: bool,
}

impl TokenWidth {
    /// The width of a token of these bytes, which are a part of valid UTF-8.
    pub fn of(bytes: &[u8], unit: Unit) -> Self {
        if unit == Unit::Byte {
            return Self { units: bytes.len() as u32, ..Self::default() };
        }
        let units = |byte: u8| match byte {
            0x80..0xC0 => 0,
            0xF0.. if unit == Unit::Utf16 => 2,
            _ => 1,
        };
        let last = bytes.iter().rev().map(|byte| units(*byte)).find(|units| *units > 0);
        Self {
            units: bytes.iter().map(|byte| units(*byte)).sum(),
            inside: bytes.first().is_some_and(|byte| units(*byte) == 0),
            pair: last == Some(2),
        }
    }

    /// The width in a byte, unless it does not fit.
    fn pack(self) -> Option<u8> {
        let units = u8::try_from(self.units).ok().filter(|units| *units <= UNITS)?;
        Some(units | if self.inside { INSIDE } else { 0 } | if self.pair { PAIR } else { 0 })
    }

    #[inline(always)]
    fn unpack(packed: u8) -> Self {
        Self { units: u32::from(packed & UNITS), inside: packed & INSIDE != 0, pair: packed & PAIR != 0 }
    }
}

/// The widths of all tokens in each unit, made when the first text is measured in it. `OnceBox` and not `OnceLock`:
/// after a fork, a thread that was making the value may not exist, and nobody must wait for it.
#[derive(Debug, Default)]
pub struct WidthTables([OnceBox<Box<[u8]>>; 3]);

impl WidthTables {
    /// The widths in `unit` of these tokens, which are always the same.
    pub fn of<'a>(&'a self, tokens: &'a TokenBytes, unit: Unit) -> TokenWidths<'a> {
        let packed = self.0[unit as usize].get_or_init(|| {
            let width = |id| tokens.get(id).and_then(|bytes| TokenWidth::of(bytes, unit).pack()).unwrap_or(0);
            Box::new((0..tokens.id_limit()).map(width).collect())
        });
        TokenWidths { packed, tokens, unit }
    }
}

/// A number twice in one word: the start of a span in the lower half, its end in the upper one.
#[inline(always)]
const fn twice(number: u32) -> u64 {
    (number as u64) << 32 | number as u64
}

/// For each packed width without pairs, what has to be added to the position before it: for its span, and for the
/// position after it.
static SUMS: [[u64; 2]; 256] = sums();

const fn sums() -> [[u64; 2]; 256] {
    let mut sums = [[0; 2]; 256];
    let mut packed = 0;
    while packed < 256 {
        let units = packed as u32 & UNITS as u32;
        let inside = packed as u64 >> 7;
        sums[packed] = [((units as u64) << 32).wrapping_sub(inside), twice(units)];
        packed += 1;
    }
    sums
}

/// The widths of all tokens in one unit.
#[derive(Debug, Clone, Copy)]
pub struct TokenWidths<'a> {
    /// A byte for each id, 0 for a width that does not fit.
    packed: &'a [u8],
    tokens: &'a TokenBytes,
    unit: Unit,
}

impl TokenWidths<'_> {
    /// The width of a token; an empty one for a hole.
    #[inline(always)]
    pub fn get(&self, id: u32) -> TokenWidth {
        match self.packed.get(id as usize) {
            Some(packed) if *packed > 0 => TokenWidth::unpack(*packed),
            _ => self.long(id),
        }
    }

    /// The spans of tokens that tile the text from `start` on, where every character is one unit; returns where they
    /// end. Two additions a token, only one of which the next token waits for.
    pub fn tile(&self, ids: &[u32], start: u32, spans: &mut [MaybeUninit<[u32; 2]>]) -> u32 {
        let mut place = twice(start);
        for (id, span) in ids.iter().zip(spans) {
            let packed = self.packed.get(*id as usize).copied().unwrap_or(0);
            let [of_span, of_place] = if packed > 0 {
                SUMS[usize::from(packed)]
            } else {
                let TokenWidth { units, inside, .. } = self.long(*id);
                [(u64::from(units) << 32).wrapping_sub(u64::from(inside)), twice(units)]
            };
            let both = place.wrapping_add(of_span);
            span.write([both as u32, (both >> 32) as u32]);
            place = place.wrapping_add(of_place);
        }
        place as u32
    }

    #[cold]
    fn long(&self, id: u32) -> TokenWidth {
        self.tokens.get(id).map_or_else(TokenWidth::default, |bytes| TokenWidth::of(bytes, self.unit))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::output::unit_index::UnitIndex;
    use crate::vocabulary::Vocabulary;

    /// Tokens of all lengths around what a byte holds, whole characters and parts of them; every seventh id is a hole.
    fn tokens() -> TokenBytes {
        let texts = ["a", "é", "中", "👍", "日本語、", "plain"].map(str::as_bytes);
        let token = |id: usize| {
            let text = texts[id % texts.len()];
            let length = [1, 2, 3, 5, 16, 62, 63, 64, 65, 200][id % 10];
            text.iter().copied().cycle().skip(id % 3).take(length).collect::<Vec<u8>>()
        };
        let ids = (0..200_usize).filter(|id| id % 7 != 3);
        let vocabulary = Vocabulary::new(ids.map(|id| (id as u32, token(id))).collect(), Vec::new(), Vec::new());
        let tokens = vocabulary.and_then(|vocabulary| TokenBytes::new(&vocabulary, &[]));
        tokens.unwrap_or_else(|error| panic!("{error}"))
    }

    proptest! {
        #[test]
        fn spans_are_those_of_each_token_in_turn(
            ids in prop::collection::vec(0..205_u32, 0..200), rare in prop::sample::select(vec![0, 1, 40]),
            start in prop::sample::select(vec![1, 1000, u32::MAX / 2]),
            unit in prop::sample::select(vec![Unit::Byte, Unit::Char]),
        ) {
            let (mut truth, mut place) = (Vec::new(), start);
            let tokens = tokens();
            // Mostly ids of which a byte says it all.
            let common = |(at, id): (usize, &u32)| if at % 41 < rare { *id } else { *id % 3 };
            let ids: Vec<u32> = ids.iter().enumerate().map(common).chain([u32::MAX]).collect();
            for id in &ids {
                let width = tokens.get(*id).map_or_else(TokenWidth::default, |bytes| TokenWidth::of(bytes, unit));
                truth.push([place.wrapping_sub(u32::from(width.inside)), place + width.units]);
                place += width.units;
            }
            let mut spans: Vec<[u32; 2]> = Vec::with_capacity(ids.len());
            let end = tokens.widths(unit).tile(&ids, start, &mut spans.spare_capacity_mut()[..ids.len()]);
            // SAFETY: all of them are written.
            unsafe { spans.set_len(ids.len()) };
            prop_assert_eq!(&spans, &truth);
            prop_assert_eq!(end, place);
        }

        #[test]
        fn steps_lead_where_the_text_says(
            parts in prop::collection::vec(prop::sample::select(vec!["a", "é", "中", "👍", "sixteen ASCII ch"]), 0..60),
            lengths in prop::collection::vec(1..80_usize, 1..60),
            unit in prop::sample::select(vec![Unit::Byte, Unit::Char, Unit::Utf16]),
        ) {
            let text = parts.concat();
            let index = UnitIndex::new(text.as_bytes(), unit == Unit::Utf16);
            let around = |at: usize| if unit == Unit::Byte { [at as u32; 2] } else { index.around(at) };
            let (mut position, mut units, mut open) = (0, 0, 0);
            for length in lengths.into_iter().cycle() {
                let next = text.len().min(position + length);
                if next == position {
                    break;
                }
                let width = TokenWidth::of(&text.as_bytes()[position..next], unit);
                prop_assert_eq!(width.pack().map_or(width, TokenWidth::unpack), width);
                prop_assert_eq!(units - if width.inside { open } else { 0 }, around(position)[0]);
                units += width.units;
                prop_assert_eq!(units, around(next)[1]);
                if width.units > 0 {
                    open = 1 + u32::from(width.pair);
                }
                position = next;
            }
        }
    }
}
