//! Merges by scan and by queue against the definition.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod common;

use std::collections::HashSet;

use proptest::prelude::*;
use tokd_kernel::merge::Merger;
use tokd_kernel::ranks::MergeTable;

#[test]
fn the_leftmost_of_equals_merges_first() {
    //  a a a a a   ->   aa aa a
    let vocabulary = common::vocabulary(&[("a", "a")]);
    let table = MergeTable::new(&vocabulary, &HashSet::new()).unwrap();
    let mut merger = Merger::default();
    let a = u32::from(b'a');
    for (piece, ids) in
        [("aa", vec![256]), ("aaa", vec![256, a]), ("aaaa", vec![256, 256]), ("aaaaa", vec![256, 256, a])]
    {
        assert_eq!(merger.merge(&table, piece.as_bytes()), ids, "{piece}");
    }
}

#[test]
fn a_later_merge_of_the_same_pair_takes_the_place_of_the_earlier() {
    let vocabulary = common::vocabulary(&[("a", "b"), ("b", "c"), ("a", "b")]);
    let table = MergeTable::new(&vocabulary, &HashSet::new()).unwrap();
    // With (a, b) at rank 2, (b, c) at rank 1 goes first.
    assert_eq!(Merger::default().merge(&table, b"abc"), [u32::from(b'a'), 257]);
}

#[test]
fn an_empty_piece_has_no_ids() {
    let table = MergeTable::new(&common::vocabulary(&[]), &HashSet::new()).unwrap();
    assert!(Merger::default().merge(&table, b"").is_empty());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    /// Lengths on both sides of the border between scan and queue.
    #[test]
    fn scan_and_queue_follow_the_definition(
        draws in prop::collection::vec(any::<(u16, u16)>(), 0..40),
        piece in prop::collection::vec(prop::sample::select(b"aabc".to_vec()), 0..160),
    ) {
        let vocabulary = common::drawn_vocabulary(&[b"abc"], &draws);
        let table = MergeTable::new(&vocabulary, &HashSet::new()).unwrap();
        let ids = Merger::default().merge(&table, &piece).to_vec();
        prop_assert_eq!(ids, common::merge_slowly(&vocabulary, &piece));
    }
}
