//! From bytes to tokens against a map, on vocabularies by chance and on those that are made to collide.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use crate::common;
use proptest::prelude::*;
use tokd_kernel::model::bpe::ranks::MergeTable;
use tokd_kernel::model::bpe::split_table::SplitTable;
use tokd_kernel::model::bpe::token_index::TokenIndex;
use tokd_kernel::piece_cache::Key;
use tokd_kernel::vocabulary::Vocabulary;
use tokd_kernel::vocabulary::token_table::TokenTable;

/// Hold the index against a map from bytes to the first id: every token, and all of `others`.
fn check(index: &TokenIndex, tokens: &[(u32, &[u8])], is_reachable: impl Fn(u32) -> bool, others: &[Vec<u8>]) {
    let mut truth: HashMap<&[u8], u32> = HashMap::new();
    for (id, bytes) in tokens {
        truth.entry(bytes).or_insert(*id);
    }
    assert_eq!(index.distinct(), truth.len());
    for bytes in tokens.iter().map(|(_, bytes)| *bytes).chain(others.iter().map(Vec::as_slice)) {
        let expected = truth.get(bytes).copied();
        let key = Key::new(bytes, 0, bytes.len(), false);
        index.prefetch_whole(bytes);
        assert_eq!(index.get(key, bytes, false), expected, "{bytes:?}");
        assert_eq!(index.get(key, bytes, true), expected.filter(|id| is_reachable(*id)), "a part, {bytes:?}");
        assert_eq!(index.find_whole(bytes), expected, "{bytes:?}");
        // Behind other text, where the bytes beyond the piece are no zeros.
        let text = [b"x", bytes, b"yz, and more than sixteen bytes"].concat();
        let key = Key::new(&text, 1, 1 + bytes.len(), false);
        if let Some(hash) = TokenIndex::hash_of(bytes) {
            index.prefetch(hash);
            let candidate = index.candidate(hash);
            assert_eq!(index.confirm_wide(candidate, bytes, false), expected, "{bytes:?}");
            if let Some(key) = key {
                assert_eq!(index.confirm(candidate, key, bytes, false), expected, "{bytes:?}");
            }
        }
        assert_eq!(index.get(key, &text[1..=bytes.len()], false), expected, "{bytes:?}");
    }
}

/// What is near the tokens and mostly no token.
fn neighbours(tokens: &[(u32, &[u8])]) -> Vec<Vec<u8>> {
    let near = |bytes: &[u8]| {
        let (last, rest) = bytes.split_last().unwrap();
        [bytes.to_vec(), [bytes, b"\0"].concat(), [bytes, bytes].concat(), [rest, &[last ^ 1]].concat()]
    };
    let all = tokens.iter().flat_map(|(_, bytes)| near(bytes));
    all.chain(tokens.iter().map(|(_, bytes)| bytes[1..].to_vec())).filter(|bytes| !bytes.is_empty()).collect()
}

fn check_all(vocabulary: &Vocabulary) {
    let tokens: Vec<(u32, &[u8])> = vocabulary.tokens().collect();
    check(&TokenIndex::of_all(vocabulary).unwrap(), &tokens, |_| false, &neighbours(&tokens));
}

/// Tokens whose keys have the hashes that are given by their numbers: the first 8 bytes make up for what the other 7
/// add, by the inverse of the number that they are multiplied by.
fn hashed(count: usize, hash: impl Fn(u64) -> u64) -> Vec<Vec<u8>> {
    const FACTORS: [u64; 2] = [0x9E37_79B9_7F4A_7C15, 0xD6E8_FEB8_6659_FD93];
    let inverse =
        (0..6).fold(FACTORS[0], |guess, _| guess.wrapping_mul(2_u64.wrapping_sub(FACTORS[0].wrapping_mul(guess))));
    assert_eq!(inverse.wrapping_mul(FACTORS[0]), 1);
    let key = |number: u64| {
        let high = number | 15 << 56;
        let low = inverse.wrapping_mul(hash(number).wrapping_sub(high.wrapping_mul(FACTORS[1])));
        [&low.to_le_bytes()[..], &high.to_le_bytes()[..7]].concat()
    };
    (0..count as u64).map(key).collect()
}

#[test]
fn tokens_of_one_hash_are_told_apart() {
    let words = hashed(20_000, |_| 77);
    let (tokens, others) = words.split_at(10_000);
    let vocabulary = Vocabulary::new((0..).zip(tokens.iter().cloned()).collect(), Vec::new(), Vec::new()).unwrap();
    let index = TokenIndex::of_all(&vocabulary).unwrap();
    check(&index, &vocabulary.tokens().collect::<Vec<_>>(), |_| false, others);
}

/// 200 tokens in two of sixteen lines, which are neighbours, under 40 tags: what finds its line full finds its tag in
/// the other one.
#[test]
fn tokens_that_share_two_lines_and_their_tags_are_told_apart() {
    for seed in 1..50 {
        let chance = |number: u64| (number + seed * 1_000).wrapping_mul(0xD134_2543_DE82_EF95) >> 32;
        let words = hashed(400, |number| (6 + chance(number) % 2) << 60 | (chance(number) / 2 % 40) << 54);
        let (tokens, others) = words.split_at(200);
        let vocabulary = Vocabulary::new((0..).zip(tokens.iter().cloned()).collect(), Vec::new(), Vec::new()).unwrap();
        let index = TokenIndex::of_all(&vocabulary).unwrap();
        check(&index, &vocabulary.tokens().collect::<Vec<_>>(), |_| false, others);
    }
}

/// 65,536 tokens of two to 33 bytes: lines are full here and there, and some with their neighbours.
#[test]
fn lines_that_are_full_hide_nothing() {
    let words = (0..=u16::MAX).map(|number| {
        let length = 2 + usize::from(number.wrapping_mul(0x9E3B) >> 11);
        number.to_be_bytes().into_iter().chain([b'-'; 31]).take(length).collect::<Vec<u8>>()
    });
    let vocabulary = Vocabulary::new((0..).zip(words).collect(), Vec::new(), Vec::new()).unwrap();
    check_all(&vocabulary);
}

#[test]
fn an_empty_vocabulary_has_nothing() {
    let empty = Vocabulary::new(Vec::<(u32, Vec<u8>)>::new(), Vec::new(), Vec::new()).unwrap();
    check(&TokenIndex::of_all(&empty).unwrap(), &[], |_| false, &[b"a".to_vec(), vec![b'a'; 40]]);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    /// Few different bytes, so that many tokens are equal, and lengths on both sides of that of a key.
    #[test]
    fn any_vocabulary_is_as_in_a_map(
        words in prop::collection::vec(
            prop::collection::vec(prop::sample::select(b"a\0\xFF".as_slice()), 1..20), 0..200),
        holes in 1_u32..5,
        opaque in prop::collection::vec(any::<prop::sample::Index>(), 0..4),
        never in prop::collection::vec(any::<prop::sample::Index>(), 0..4),
    ) {
        let tokens: Vec<(u32, Vec<u8>)> = (0..).step_by(holes as usize).zip(words).collect();
        let some = |draws: &[prop::sample::Index]| -> Vec<u32> {
            draws.iter().filter(|_| !tokens.is_empty()).map(|draw| draw.get(&tokens).0).collect()
        };
        let (opaque, never) = (some(&opaque), some(&never).into_iter().collect::<HashSet<u32>>());
        let vocabulary = Vocabulary::new(tokens.clone(), Vec::new(), opaque).unwrap();
        let table = Arc::new(TokenTable::new(&vocabulary, &[]).unwrap());
        let index = TokenIndex::new(&vocabulary, table, None, &never, true);
        let kept = vocabulary.tokens().filter(|(id, _)| !vocabulary.is_opaque(*id) && !never.contains(id));
        let all: Vec<(u32, &[u8])> = vocabulary.tokens().collect();
        check(&index, &kept.collect::<Vec<_>>(), |_| false, &neighbours(&all));
    }

    /// Tokens that merges do not make stand for whole pieces, and for nothing without `ignore_merges`.
    #[test]
    fn parts_are_those_that_merges_make(
        draws in prop::collection::vec(any::<(u16, u16)>(), 0..24), ignore_merges in any::<bool>(),
    ) {
        let vocabulary = common::drawn_vocabulary(&[b"ab"], &draws);
        let table = MergeTable::new(&vocabulary, &HashSet::new()).unwrap();
        let split_table = SplitTable::new(&vocabulary, &table);
        let is_reachable = |id: u32| split_table.as_ref().is_some_and(|split_table| split_table.is_reachable(id));
        let table = Arc::new(TokenTable::new(&vocabulary, &[]).unwrap());
        let index = TokenIndex::new(&vocabulary, table, split_table.as_ref(), &HashSet::new(), ignore_merges);
        let all: Vec<(u32, &[u8])> = vocabulary.tokens().collect();
        let kept: Vec<(u32, &[u8])> =
            all.iter().copied().filter(|(id, _)| ignore_merges || is_reachable(*id)).collect();
        check(&index, &kept, is_reachable, &neighbours(&all));
    }
}
