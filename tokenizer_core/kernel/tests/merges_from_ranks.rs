//! The merges behind a rank file, whatever the order of its ranks, against every token merged alone.

use std::time::{Duration, Instant};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use proptest::prelude::*;
use tokd_kernel::formats::from_tiktoken;
use tokd_kernel::vocabulary::Merge;

/// Merge any two neighbours whose joined bytes are a token, the lowest rank first; the pair that becomes the whole
/// token.
fn last_merge(tokens: &[Vec<u8>], token: &[u8]) -> Option<Merge> {
    let rank = |bytes: &[u8]| tokens.iter().position(|other| other == bytes).map(|rank| rank as u32);
    let mut parts: Vec<Vec<u8>> = token.iter().map(|byte| vec![*byte]).collect();
    loop {
        let joined = parts.windows(2).enumerate().filter_map(|(at, pair)| Some((rank(&pair.concat())?, at)));
        let (product, at) = joined.min()?;
        let (left, right) = (rank(&parts[at])?, rank(&parts[at + 1])?);
        if parts.len() == 2 {
            return Some(Merge { left, right, product });
        }
        let right = parts.remove(at + 1);
        parts[at].extend(right);
    }
}

fn check(tokens: &[Vec<u8>]) {
    let lines = tokens.iter().enumerate().map(|(rank, token)| format!("{} {rank}\n", STANDARD.encode(token)));
    let vocabulary = from_tiktoken(lines.collect::<String>().as_bytes()).unwrap();
    let long = tokens.iter().filter(|token| token.len() > 1);
    let expected: Vec<Merge> = long.filter_map(|token| last_merge(tokens, token)).collect();
    assert_eq!(vocabulary.merges(), expected);
}

fn bytes_and(words: &[&str]) -> Vec<Vec<u8>> {
    let bytes = (0..=255_u8).map(|byte| vec![byte]);
    bytes.chain(words.iter().map(|word| word.as_bytes().to_vec())).collect()
}

#[test]
fn a_token_made_of_later_ones_keeps_its_merge() {
    check(&bytes_and(&["abc", "ab"]));
    check(&bytes_and(&["aab", "abab", "ab", "aabab"]));
}

#[test]
fn a_token_that_its_bytes_never_become_has_no_merge() {
    check(&bytes_and(&["bc", "ab", "abc", "abcd"]));
    check(&bytes_and(&["bc", "xyz"]));
}

#[test]
fn a_long_token_takes_time_in_proportion_to_its_length() {
    let doubled: Vec<String> = (1..10).map(|times| "ab".repeat(1 << times)).collect();
    let mut words: Vec<&str> = std::iter::once("ab").chain(doubled.iter().map(String::as_str)).collect();
    check(&bytes_and(&words));
    words.reverse();
    check(&bytes_and(&words));
    // None is ever made, so every cut would be looked at.
    let never: Vec<String> = (0..40).map(|at| "xyz".repeat(27_000 + at)).collect();
    let tokens = bytes_and(&never.iter().map(String::as_str).chain(["ab", "abab"]).collect::<Vec<_>>());
    let start = Instant::now();
    let lines = tokens.iter().enumerate().map(|(rank, token)| format!("{} {rank}\n", STANDARD.encode(token)));
    let vocabulary = from_tiktoken(lines.collect::<String>().as_bytes()).unwrap();
    assert_eq!(vocabulary.merges().len(), 2);
    assert!(start.elapsed() < Duration::from_secs(10), "it takes {:?}", start.elapsed());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    /// In the order of their lengths every token is made of earlier ones; in any other order hardly one is.
    #[test]
    fn merges_are_those_of_every_token_alone(
        mut words in prop::collection::hash_set("[ab]{2,6}", 0..30),
        others in prop::collection::hash_set("[abc]{2,4}", 0..12),
        ordered in any::<bool>(),
    ) {
        words.extend(others);
        let mut words: Vec<&str> = words.iter().map(String::as_str).collect();
        if ordered {
            words.sort_by_key(|word| word.len());
        }
        check(&bytes_and(&words));
    }
}
