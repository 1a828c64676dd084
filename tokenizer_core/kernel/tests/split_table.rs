//! Which tokens merges make, and which can be neighbours, against merges done one after the other.

use std::collections::HashSet;
use std::sync::Arc;

use crate::common;
use proptest::prelude::*;
use tokd_kernel::model::bpe::ranks::MergeTable;
use tokd_kernel::model::bpe::split_table::SplitTable;
use tokd_kernel::model::bpe::token_index::TokenIndex;
use tokd_kernel::piece_cache::Key;
use tokd_kernel::vocabulary::Vocabulary;
use tokd_kernel::vocabulary::token_table::TokenTable;

fn split_table(vocabulary: &Vocabulary) -> (MergeTable, Option<SplitTable>) {
    let table = MergeTable::new(vocabulary, &HashSet::new()).unwrap();
    let split_table = SplitTable::new(vocabulary, &table);
    (table, split_table)
}

/// Hold every token and every pair of tokens of the vocabulary against the definition.
fn check(vocabulary: &Vocabulary) {
    let (table, Some(split_table)) = split_table(vocabulary) else { return };
    let tokens: Vec<(u32, &[u8])> =
        vocabulary.tokens().filter(|(id, bytes)| *id > 255 || b"abc".contains(&bytes[0])).collect();
    let made: Vec<(u32, &[u8])> = tokens
        .iter()
        .copied()
        .filter(|(id, bytes)| split_table.is_clear(bytes) && common::merge_slowly(vocabulary, bytes) == [*id])
        .collect();
    for (id, bytes) in &tokens {
        assert_eq!(split_table.is_reachable(*id), made.contains(&(*id, bytes)), "{:?}", String::from_utf8_lossy(bytes));
    }
    for (left, left_bytes) in &made {
        for (right, right_bytes) in &made {
            let bytes = [*left_bytes, right_bytes].concat();
            if !split_table.is_clear(&bytes) {
                continue;
            }
            let both = common::merge_slowly(vocabulary, &bytes) == [*left, *right];
            assert_eq!(split_table.is_valid_pair(&table, *left, *right), both, "{left_bytes:?} {right_bytes:?}");
        }
    }
    check_index(vocabulary, &split_table, &made);
}

fn check_index(vocabulary: &Vocabulary, split_table: &SplitTable, made: &[(u32, &[u8])]) {
    let table = Arc::new(TokenTable::new(vocabulary, &[]).unwrap());
    for ignore_merges in [false, true] {
        let index = TokenIndex::new(vocabulary, Arc::clone(&table), Some(split_table), &HashSet::new(), ignore_merges);
        for (id, bytes) in vocabulary.tokens() {
            let key = Key::new(bytes, 0, bytes.len(), false);
            let is_reachable = bytes.len() == 1 || made.contains(&(id, bytes));
            assert_eq!(index.get(key, bytes, true), is_reachable.then_some(id));
            assert_eq!(index.get(key, bytes, false), (is_reachable || ignore_merges).then_some(id));
            let longer = [bytes, b"\0"].concat();
            assert_eq!(index.get(Key::new(&longer, 0, longer.len(), false), &longer, false), None);
        }
    }
}

#[test]
fn a_token_that_merges_never_reach_is_not_made() {
    // In "abc" (b, c) goes first, so (ab, c) never comes to be.
    let vocabulary = common::vocabulary(&[("b", "c"), ("a", "b"), ("ab", "c")]);
    let (_, split_table) = split_table(&vocabulary);
    let split_table = split_table.unwrap();
    assert!(split_table.is_reachable(256) && split_table.is_reachable(257));
    assert!(!split_table.is_reachable(258));
    check(&vocabulary);
}

#[test]
fn ties_go_to_the_left() {
    // aaa is aa a, never a aa; of aaaa the halves stand side by side, of aaaaa they do not.
    let vocabulary = common::vocabulary(&[("a", "a"), ("aa", "a"), ("b", "aa"), ("aa", "aa")]);
    check(&vocabulary);
}

#[test]
fn a_merge_of_a_later_part_is_no_matter_where_its_product_comes_first() {
    // As Llama 3 lists them: every way to cut a token, (a, bc) before bc itself.
    let other = common::vocabulary(&[("a", "b"), ("ab", "c"), ("b", "c"), ("a", "bc")]);
    let tokens: Vec<(u32, Vec<u8>)> = other.tokens().map(|(id, bytes)| (id, bytes.to_vec())).collect();
    let merges = [0, 1, 3, 2].map(|rank| other.merges()[rank]).to_vec();
    let vocabulary = Vocabulary::new(tokens, merges, Vec::new()).unwrap();
    assert!(split_table(&vocabulary).1.is_some());
    check(&vocabulary);
}

#[test]
fn of_a_merge_before_those_that_make_its_parts_nothing_is_said() {
    let parts = common::vocabulary(&[("a", "b"), ("ab", "c")]);
    let tokens: Vec<(u32, Vec<u8>)> = parts.tokens().map(|(id, bytes)| (id, bytes.to_vec())).collect();
    let reversed = parts.merges().iter().rev().copied().collect();
    let vocabulary = Vocabulary::new(tokens, reversed, Vec::new()).unwrap();
    let split_table = split_table(&vocabulary).1.unwrap();
    assert!(split_table.is_clear(b"bcab") && !split_table.is_clear(b"aabca"));
    assert!(split_table.is_reachable(256) && !split_table.is_reachable(257));
    assert_eq!(common::merge_slowly(&vocabulary, b"abc"), [257]);
    check(&vocabulary);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn tokens_and_neighbours_follow_the_definition(draws in prop::collection::vec(any::<(u16, u16)>(), 0..24)) {
        check(&common::drawn_vocabulary(&[b"abc"], &draws));
    }

    #[test]
    fn ties_follow_the_definition(draws in prop::collection::vec(any::<(u16, u16)>(), 0..10)) {
        check(&common::drawn_vocabulary(&[b"aa"], &draws));
    }

    /// Merges in any order: most have one before those that make its parts.
    #[test]
    fn any_order_of_merges_is_followed_where_it_is_clear(
        draws in prop::collection::vec(any::<(u16, u16)>(), 0..12),
        order in any::<u64>(),
    ) {
        check(&common::reordered(&common::drawn_vocabulary(&[b"ab"], &draws), order));
    }
}
