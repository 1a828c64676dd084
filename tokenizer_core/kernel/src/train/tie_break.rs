//! The order of equally frequent pairs.

use std::cmp::Ordering;

use super::symbols::Symbols;
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
}

impl TieBreak {
    /// Every name, as callers write it.
    pub const NAMES: [(&'static str, Self); 3] = [
        ("lexicographic_low", Self::LexicographicLow),
        ("lexicographic_high", Self::LexicographicHigh),
        ("lowest_ids", Self::LowestIds),
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
    pub(super) fn key(self, left: u32, right: u32, symbols: &Symbols) -> u64 {
        match self {
            Self::LexicographicLow => !prefix(symbols.bytes(left)),
            Self::LexicographicHigh => prefix(symbols.bytes(left)),
            Self::LowestIds => !(u64::from(left) << 32 | u64::from(right)),
        }
    }

    /// The order of two pairs with equal keys; `Greater` goes first.
    pub(super) fn compare(self, one: (u32, u32), other: (u32, u32), symbols: &Symbols) -> Ordering {
        let bytes = |(left, right)| (symbols.bytes(left), symbols.bytes(right));
        match self {
            Self::LexicographicLow => bytes(other).cmp(&bytes(one)),
            Self::LexicographicHigh => bytes(one).cmp(&bytes(other)),
            Self::LowestIds => other.cmp(&one),
        }
    }
}

/// The first eight bytes as a number. Equal numbers say nothing: a shorter string has the number of the same one with
/// zeros after it.
fn prefix(bytes: &[u8]) -> u64 {
    let mut first = [0; 8];
    let length = bytes.len().min(8);
    first[..length].copy_from_slice(&bytes[..length]);
    u64::from_be_bytes(first)
}
