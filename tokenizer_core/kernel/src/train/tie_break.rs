//! The order of equally frequent pairs.

use std::cmp::Ordering;

use super::symbols::TrainedTokens;
use crate::error::{Code, Error, Result};

/// The order of pairs with equal counts.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum TieBreak {
    /// The smallest pair of byte strings.
    #[default]
    LexicographicLow,
    /// The largest pair of byte strings.
    LexicographicHigh,
    /// The smallest pair of ids, as in Hugging Face.
    LowestIds,
    /// The pair whose product has the fewest symbols of the alphabet, of equals the smallest product, as in
    /// SentencePiece.
    Shortest,
}

impl TieBreak {
    /// Every name, as callers write it.
    pub const NAMES: [(&'static str, Self); 4] = [
        ("lexicographic_low", Self::LexicographicLow),
        ("lexicographic_high", Self::LexicographicHigh),
        ("lowest_ids", Self::LowestIds),
        ("shortest", Self::Shortest),
    ];

    /// Read a name.
    ///
    /// # Errors
    /// `invalid_option` at `tie_break`, with the names there are.
    pub fn from_name(name: &str) -> Result<Self> {
        let known = Self::NAMES.iter().find(|(known, _)| *known == name);
        known.map(|(_, rule)| *rule).ok_or_else(|| {
            let names = Self::NAMES.map(|(name, _)| format!("{name:?}")).join(", ");
            Error::new(Code::InvalidOption, format!("tie_break is one of {names}, not {name:?}")).at_field("tie_break")
        })
    }

    /// A number that decides most ties: of two pairs with different keys the one with the larger goes first.
    pub(super) fn key(self, left: u32, right: u32, symbols: &TrainedTokens) -> u64 {
        match self {
            Self::LexicographicLow => !prefix(symbols.bytes(left).iter()),
            Self::LexicographicHigh => prefix(symbols.bytes(left).iter()),
            Self::LowestIds => !(u64::from(left) << 32 | u64::from(right)),
            Self::Shortest => match length(left, right, symbols) {
                short @ 0..0xFFFF => !(short << 48 | prefix(product(left, right, symbols)) >> 16),
                // Longer ones are told apart by `compare`.
                _ => 0,
            },
        }
    }

    /// The order of two pairs with equal keys; `Greater` goes first.
    pub(super) fn compare(self, one: (u32, u32), other: (u32, u32), symbols: &TrainedTokens) -> Ordering {
        let bytes_of = |(left, right)| (symbols.bytes(left), symbols.bytes(right));
        match self {
            Self::LexicographicLow => bytes_of(other).cmp(&bytes_of(one)),
            Self::LexicographicHigh => bytes_of(one).cmp(&bytes_of(other)),
            Self::LowestIds => other.cmp(&one),
            Self::Shortest => {
                let key = |(left, right)| (length(left, right, symbols), product(left, right, symbols));
                let ((length, bytes), (other_length, other_bytes)) = (key(one), key(other));
                let lengths = other_length.cmp(&length);
                // An older vocabulary may make one product of two pairs.
                lengths.then_with(|| other_bytes.cmp(bytes)).then_with(|| bytes_of(other).cmp(&bytes_of(one)))
            }
        }
    }
}

/// The symbols of the alphabet in a product.
fn length(left: u32, right: u32, symbols: &TrainedTokens) -> u64 {
    u64::from(symbols.length(left)) + u64::from(symbols.length(right))
}

/// The bytes of a product, one after the other.
fn product(left: u32, right: u32, symbols: &TrainedTokens) -> impl Iterator<Item = &u8> {
    symbols.bytes(left).iter().chain(symbols.bytes(right))
}

/// The first eight bytes as a number. Equal numbers say nothing: a shorter string has the number of the same one with
/// zeros after it.
fn prefix<'a>(bytes: impl Iterator<Item = &'a u8>) -> u64 {
    let mut first = [0; 8];
    first.iter_mut().zip(bytes).for_each(|(place, byte)| *place = *byte);
    u64::from_be_bytes(first)
}
