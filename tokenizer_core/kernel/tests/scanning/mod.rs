//! Patterns, scanners and texts for the tests of scanners.

use proptest::prelude::*;
use proptest::sample::select;
use tokd_kernel::config::{Behavior, Pattern, PretokenizerStage};
use tokd_kernel::pretokenize::Pretokenizer;
use tokd_kernel::simd::level::SimdLevel;

const GPT2: &str = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+";
const LLAMA3: &str = concat!(
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}",
    r"| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+",
);
const QWEN2: &str = concat!(
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}",
    r"| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+",
);
const O200K: &str = concat!(
    r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?",
    r"|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?",
    r"|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+",
);
pub const PATTERNS: [(&str, &str); 5] =
    [("gpt2", GPT2), ("cl100k_base", LLAMA3), ("llama3", LLAMA3), ("o200k_base", O200K), ("qwen2", QWEN2)];

pub fn scanner(name: &str, level: SimdLevel) -> Pretokenizer {
    let stage = PretokenizerStage::Split {
        pattern: Pattern::Name(name.to_owned()),
        behavior: Behavior::Isolated,
        invert: false,
    };
    Pretokenizer::on_level(&[stage], level).unwrap()
}

/// Characters of every class, and those that the patterns name.
pub const ALPHABET: [&str; 48] = [
    "a", "b", "s", "t", "r", "e", "v", "m", "l", "d", "S", "T", "R", "E", "V", "M", "L", "D", "ſ", "K", "ǅ", "É", "ß",
    "ʰ", "中", "あ", "한", "\u{301}", "\u{20dd}", "1", "٠", "²", "\u{2167}", "'", "'", "’", "/", "!", "😀",
    "👨\u{200d}👩", " ", "\t", "\u{a0}", "\u{85}", "\u{2028}", "\u{3000}", "\r", "\n",
];

/// Many windows, most of which end in the middle of something, and go on with anything.
pub fn long_text() -> impl Strategy<Value = String> {
    let word = "[a-zé中 ]{1,9}".prop_map(String::from);
    let single = select(&ALPHABET[..]).prop_map(str::to_owned);
    let repeated = (select(&ALPHABET[..]), 1..40_usize).prop_map(|(piece, times)| piece.repeat(times));
    prop::collection::vec(prop_oneof![6 => word, 6 => single, 1 => repeated], 60..200)
        .prop_map(|pieces| pieces.concat())
}

pub fn hostile_text() -> impl Strategy<Value = String> {
    let single = select(&ALPHABET[..]).prop_map(str::to_owned);
    let space = select(&[" ", " ", "\n", "\r\n", "\t"][..]).prop_map(str::to_owned);
    let repeated = (select(&ALPHABET[..]), 1..6_usize).prop_map(|(piece, times)| piece.repeat(times));
    let any = any::<char>().prop_map(String::from);
    prop::collection::vec(prop_oneof![6 => single, 2 => space, 2 => repeated, 1 => any], 0..24)
        .prop_map(|pieces| pieces.concat())
}
