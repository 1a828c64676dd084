//! Merges by scan, by queue and by backtracking against the definition.

use std::collections::HashSet;
use std::sync::Arc;

use crate::common;
use proptest::prelude::*;
use tokd_kernel::model::bpe::Bpe;
use tokd_kernel::model::bpe::backtrack::Backtracker;
use tokd_kernel::model::bpe::heap::Merger;
use tokd_kernel::model::bpe::lockstep::{LANES, Lanes};
use tokd_kernel::model::bpe::ranks::{MergeTable, Merges, NEVER};
use tokd_kernel::simd::level::SimdLevel;
use tokd_kernel::vocabulary::token_table::TokenTable;
use tokd_kernel::vocabulary::{Merge, Vocabulary};

fn tables(vocabulary: &Vocabulary) -> Bpe {
    Bpe::new(
        vocabulary,
        &Arc::new(TokenTable::new(vocabulary, &[]).unwrap()),
        &HashSet::new(),
        false,
        SimdLevel::best(),
    )
    .unwrap()
}

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

/// Every other pair of bytes by chance: of so many, a few find their line of the table full.
#[test]
fn every_pair_has_its_rank_and_no_other_has_one() {
    let mut chance = 1_u64;
    let mut merges = Vec::new();
    let mut tokens: Vec<(u32, Vec<u8>)> = (0..=255_u8).map(|byte| (u32::from(byte), vec![byte])).collect();
    let mut ranks = vec![NEVER; 1 << 16];
    for (pair, rank) in (0..=u16::MAX).map(u16::to_be_bytes).zip(&mut ranks) {
        chance = chance.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        if chance >> 63 == 0 {
            let product = tokens.len() as u32;
            *rank = merges.len() as u32;
            merges.push(Merge { left: u32::from(pair[0]), right: u32::from(pair[1]), product });
            tokens.push((product, pair.to_vec()));
        }
    }
    let vocabulary = Vocabulary::new(tokens, merges, Vec::new()).unwrap();
    let table = MergeTable::new(&vocabulary, &HashSet::new()).unwrap();
    for (number, rank) in (0..).zip(ranks) {
        assert_eq!(table.rank(number >> 8, number & 255), rank);
        assert_eq!(table.rank(number & 255, 256 + (number >> 8)), NEVER);
    }
}

#[test]
fn long_equal_letters_are_merged_from_the_left() {
    // 501 of them: the odd one is the last.
    let vocabulary = common::vocabulary(&[("q", "q"), ("qq", "qq"), ("qqqq", "qqqq")]);
    let tables = tables(&vocabulary);
    let piece = [b'q'; 501];
    let expected = common::merge_slowly(&vocabulary, &piece);
    assert_eq!(Backtracker::default().encode(tables.search_tables().unwrap(), &piece), Some(&expected[..]));
}

#[test]
fn a_vocabulary_of_too_long_tokens_goes_by_the_queue() {
    let halves: Vec<String> = (0..9).map(|power| "a".repeat(1 << power)).collect();
    let merges: Vec<(&str, &str)> = halves.iter().map(|half| (half.as_str(), half.as_str())).collect();
    let tables = tables(&common::vocabulary(&merges));
    assert!(tables.search_tables().is_none());
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
        for level in SimdLevel::available() {
            let table = MergeTable::new(&vocabulary, &HashSet::new()).unwrap().on(level);
            let ids = Merger::default().merge(&table, &piece).to_vec();
            prop_assert_eq!(ids, common::merge_slowly(&vocabulary, &piece));
        }
    }
}

fn check_lanes<const N: usize>(
    vocabulary: &Vocabulary,
    table: &MergeTable,
    pieces: &[Vec<u8>],
) -> Result<(), TestCaseError> {
    let mut lanes = Lanes::<N>::default();
    let pieces: Vec<&[u8]> = pieces.iter().map(|piece| &piece[..piece.len().min(Lanes::<N>::LIMIT)]).collect();
    for group in pieces.chunks(LANES) {
        lanes.merge(table, group.iter().copied());
        for (lane, piece) in group.iter().enumerate() {
            let (ids, count) = lanes.ids(lane);
            prop_assert_eq!(
                &ids[..count],
                &common::merge_slowly(vocabulary, piece),
                "{:?}",
                String::from_utf8_lossy(piece)
            );
        }
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    /// One after the other in the same lanes, each time as many as there are or fewer; products in a row and in any
    /// order; and with tags so short that other pairs are found at every turn.
    #[test]
    fn lanes_follow_the_definition(
        draws in prop::collection::vec(any::<(u16, u16)>(), 0..40),
        order in any::<Option<u64>>(),
        tag_bits in prop::sample::select(vec![1, 2, 3, 6, u32::BITS]),
        pieces in prop::collection::vec(prop::collection::vec(prop::sample::select(b"aabc".to_vec()), 1..=62), 1..20),
    ) {
        let drawn = common::drawn_vocabulary(&[b"abc"], &draws);
        let vocabulary = order.map_or_else(|| drawn.clone(), |order| common::reordered(&drawn, order));
        for level in SimdLevel::available() {
            let table = MergeTable::with_tags(&vocabulary, &HashSet::new(), tag_bits).unwrap().on(level);
            check_lanes::<16>(&vocabulary, &table, &pieces)?;
            check_lanes::<32>(&vocabulary, &table, &pieces)?;
            check_lanes::<64>(&vocabulary, &table, &pieces)?;
        }
    }

    /// Bytes of every quarter, whose ids are other bytes, or more than a byte can tell.
    #[test]
    fn lanes_follow_the_definition_whatever_ids_bytes_have(
        draws in prop::collection::vec(any::<(u16, u16)>(), 0..40),
        exchanged in 0..256_u32,
        added in prop::sample::select(vec![0, 1, 1000]),
        pieces in prop::collection::vec(
            prop::collection::vec(prop::sample::select(b"\0 ad\x80\xc3\xff".to_vec()), 1..=62), 1..20),
    ) {
        let drawn = common::drawn_vocabulary(&[b"\0 ad\x80\xc3\xff"], &draws);
        let vocabulary = common::renumbered(&drawn, |id| added + if id < 256 { id ^ exchanged } else { id });
        for level in SimdLevel::available() {
            let table = MergeTable::new(&vocabulary, &HashSet::new()).unwrap().on(level);
            check_lanes::<16>(&vocabulary, &table, &pieces)?;
            check_lanes::<32>(&vocabulary, &table, &pieces)?;
        }
    }

    /// Vocabularies of one letter are all ties, those of two and three are hard to look ahead in. White space is looked
    /// for in a way of its own.
    #[test]
    fn backtracking_follows_the_definition(
        letters in prop::sample::select(vec!["a", "ab", "abc", "aé中", " ", " \n", "\t \r", " \n\u{A0}", " \u{A1}"]),
        draws in prop::collection::vec(any::<(u16, u16)>(), 0..60),
        choices in prop::collection::vec(any::<u8>(), 1..200),
    ) {
        let vocabulary = common::drawn_vocabulary(&[letters.as_bytes()], &draws);
        let tables = tables(&vocabulary);
        let letter = |choice: &u8| letters.as_bytes()[usize::from(*choice) % letters.len()];
        let piece: Vec<u8> = choices.iter().map(letter).collect();
        let mut backtracker = Backtracker::default();
        for piece in [&piece[..], &piece[..1]] {
            if let Some(search) = tables.search_tables()
                && let Some(ids) = backtracker.encode(search, piece)
            {
                prop_assert_eq!(ids, common::merge_slowly(&vocabulary, piece));
            }
        }
    }

    /// Merges in any order: pieces are refused, or the definition is followed.
    #[test]
    fn backtracking_follows_the_definition_in_any_order_of_merges(
        draws in prop::collection::vec(any::<(u16, u16)>(), 0..30),
        order in any::<u64>(),
        pieces in prop::collection::vec(prop::collection::vec(prop::sample::select(b"abcd".to_vec()), 1..40), 1..8),
    ) {
        let vocabulary = common::reordered(&common::drawn_vocabulary(&[b"abcd"], &draws), order);
        let tables = tables(&vocabulary);
        let mut backtracker = Backtracker::default();
        for piece in pieces {
            if let Some(search) = tables.search_tables()
                && let Some(ids) = backtracker.encode(search, &piece)
            {
                prop_assert_eq!(ids, common::merge_slowly(&vocabulary, &piece));
            }
        }
    }

    /// Long runs, as in white space: many tokens of more than thirty bytes begin with one another.
    #[test]
    fn backtracking_over_long_tokens_follows_the_definition(
        (letter, other) in prop::sample::select(vec![("a", "b"), (" ", "\n")]),
        draws in prop::collection::vec(any::<(u16, u16)>(), 0..30),
        runs in prop::collection::vec((prop::sample::select(vec![true, true, false]), 1_usize..80), 1..5),
    ) {
        let run = |length: usize| letter.repeat(length);
        let mut merges: Vec<(String, String)> = (0..6).map(|power| (run(1 << power), run(1 << power))).collect();
        let ends = [1, 2, 4, 8, 16].map(|length| (run(32), run(length)));
        merges.extend(ends);
        merges.extend([(run(32), other.to_owned()), (run(36), other.to_owned()), (other.to_owned(), run(32))]);
        merges.extend(draws.iter().map(|(left, right)| (run(1 << (left % 6)), run(32 + usize::from(right % 5)))));
        let mut known: HashSet<String> = [letter, other].map(str::to_owned).into();
        merges.retain(|(left, right)| {
            known.contains(left) && known.contains(right) && known.insert(format!("{left}{right}"))
        });
        let pairs: Vec<(&str, &str)> = merges.iter().map(|(left, right)| (left.as_str(), right.as_str())).collect();
        let vocabulary = common::vocabulary(&pairs);
        let tables = tables(&vocabulary);
        let stretch = |(same, length): &(bool, usize)| if *same { letter } else { other }.repeat(*length);
        let piece = runs.iter().map(stretch).collect::<String>().into_bytes();
        let (mut backtracker, search) = (Backtracker::default(), tables.search_tables().unwrap());
        prop_assert_eq!(backtracker.encode(search, &piece), Some(&common::merge_slowly(&vocabulary, &piece)[..]));
    }
}
