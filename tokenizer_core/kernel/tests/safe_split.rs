//! Cuts that no merge can cross: parts merged alone give the ids of the whole.

use std::collections::HashSet;

use crate::common;
use proptest::prelude::*;
use tokd_kernel::model::bpe::boundaries::{Cuts, SafeSplit};
use tokd_kernel::model::bpe::heap::Merger;
use tokd_kernel::model::bpe::ranks::MergeTable;
use tokd_kernel::simd::level::SimdLevel;
use tokd_kernel::vocabulary::Vocabulary;

fn parts<'t>(split: &SafeSplit, piece: &'t str) -> Vec<&'t str> {
    let mut cuts = Cuts::default();
    split.cut(piece, 0, &[piece.len() as u32], true, &mut cuts);
    let starts = std::iter::once(0).chain(cuts.ends().iter().copied());
    starts.zip(cuts.ends()).map(|(start, end)| &piece[start as usize..*end as usize]).collect()
}

fn merge_in_parts(vocabulary: &Vocabulary, piece: &str) -> Vec<u32> {
    let (table, split) = (
        MergeTable::new(vocabulary, &HashSet::new()).unwrap(),
        SafeSplit::new(vocabulary, SimdLevel::Portable).unwrap(),
    );
    let mut merger = Merger::default();
    parts(&split, piece).iter().flat_map(|part| merger.merge(&table, part.as_bytes()).to_vec()).collect()
}

#[test]
fn a_piece_is_cut_where_no_token_spans_two_characters() {
    let vocabulary =
        common::vocabulary_of_bytes(&[(b"\xE4", b"\xB8"), (b"\xE4\xB8", b"\xAD"), (b"\xE4\xB8\xAD", b"a")]);
    let split = SafeSplit::new(&vocabulary, SimdLevel::Portable).unwrap();
    // 中a is a token, so nothing is cut between the two; nothing spans any other pair.
    assert_eq!(parts(&split, "文中a中文"), ["文", "中a", "中", "文"]);
}

#[test]
fn a_token_that_ends_inside_a_character_keeps_its_neighbours_together() {
    // "a" and the first byte of every character from U+4000 to U+4FFF.
    let vocabulary = common::vocabulary_of_bytes(&[(b"a", b"\xE4")]);
    let split = SafeSplit::new(&vocabulary, SimdLevel::Portable).unwrap();
    assert_eq!(parts(&split, "a中文a国"), ["a中", "文", "a", "国"]);
}

#[test]
fn beside_a_character_beyond_the_plane_nothing_is_cut() {
    let split = SafeSplit::new(&common::vocabulary(&[]), SimdLevel::Portable).unwrap();
    assert_eq!(parts(&split, "中👍文字"), ["中👍文", "字"]);
}

#[test]
fn between_characters_of_ascii_nothing_is_cut_but_before_a_space() {
    let vocabulary = common::vocabulary(&[("a", " "), (",", "a")]);
    let split = SafeSplit::new(&vocabulary, SimdLevel::Portable).unwrap();
    assert_eq!(parts(&split, "ab a b  b,  a"), ["ab", " a b", "  b,", "  a"]);
    assert_eq!(parts(&split, "abc"), ["abc"]);
    assert_eq!(parts(&split, "ab文字cd"), ["ab", "文", "字", "cd"]);
}

#[test]
fn behind_a_space_nothing_is_cut() {
    let split = SafeSplit::new(&common::vocabulary(&[]), SimdLevel::Portable).unwrap();
    assert_eq!(parts(&split, " 文字 a"), [" 文", "字", " a"]);
}

#[test]
fn few_pairs_that_no_token_spans_are_left_uncut() {
    let ideograph = |at: u32| char::from_u32(0x4E00 + at).unwrap().to_string();
    let pairs: Vec<_> = (0..500).map(|at| (ideograph(at * 28), ideograph(at * 44 % 14_000))).collect();
    let mut merges: Vec<_> = pairs.iter().map(|(left, right)| (left.as_bytes(), right.as_bytes())).collect();
    let characters: Vec<&[u8]> = merges.iter().flat_map(|(left, right)| [*left, *right]).collect();
    let within = characters.iter().flat_map(|bytes| [(&bytes[..1], &bytes[1..2]), (&bytes[..2], &bytes[2..])]);
    merges.splice(0..0, within);
    let split = SafeSplit::new(&common::vocabulary_of_bytes(&merges), SimdLevel::Portable).unwrap();
    for (left, right) in &pairs {
        assert_eq!(parts(&split, &format!("{left}{right}")).len(), 1);
    }
    let others: String = (0..5_000).map(|at| ideograph(15_000 + at * 37 % 5_000)).collect();
    assert!(parts(&split, &others).len() > 4_500);
}

#[test]
fn a_quarter_beyond_ascii_is_worth_cutting_and_a_byte_less_is_not() {
    let vocabulary = common::drawn_vocabulary(&[b"abc"], &[]);
    for level in SimdLevel::available() {
        let split = SafeSplit::new(&vocabulary, level).unwrap();
        for count in 1..80 {
            let text = "é".repeat(count) + &"a".repeat(6 * count + 1);
            let (quarter, less) = (&text[..text.len() - 1], &text);
            assert!(split.is_worth_cutting(quarter.as_bytes()), "{} {count}", level.name());
            assert!(!split.is_worth_cutting(less.as_bytes()), "{} {count}", level.name());
        }
        assert!(!split.is_worth_cutting(b"") && !split.is_worth_cutting(&[b'a'; 200]), "{}", level.name());
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn parts_give_the_ids_of_the_whole(
        draws in prop::collection::vec(any::<(u16, u16)>(), 0..60),
        characters in prop::collection::vec(prop::sample::select("aé中丮文👍 ß".chars().collect::<Vec<_>>()), 0..40),
    ) {
        let piece: String = characters.into_iter().collect();
        let vocabulary = common::drawn_vocabulary(&["aé中丮文👍 ß".as_bytes()], &draws);
        prop_assert_eq!(merge_in_parts(&vocabulary, &piece), common::merge_slowly(&vocabulary, piece.as_bytes()));
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    #[test]
    fn every_path_cuts_alike(
        draws in prop::collection::vec(any::<(u16, u16)>(), 0..60),
        pieces in prop::collection::vec(concat!(
            "[a-cé中丮文👍 ß\u{10000}]{1,30}|[é中]{1,99}|👍{1,40}|",
            "[a文]{60,70}|[a-cé]{60,70}|[aé\u{2FFF}]{9}",
        ), 0..20),
        skipped in 0..3_usize,
    ) {
        let vocabulary = common::drawn_vocabulary(&["abcé中丮文👍 ß".as_bytes()], &draws);
        let text = pieces.concat().into_boxed_str();
        let ends = pieces.iter().scan(0, |end, piece| {
            *end += piece.len() as u32;
            Some(*end)
        });
        let ends: Vec<u32> = ends.collect();
        let start = if skipped == 0 { 0 } else { ends.get(skipped - 1).copied().unwrap_or(0) };
        let ends: Vec<u32> = ends.into_iter().filter(|end| *end > start).collect();
        let cut = |level, tell_parts| {
            let mut cuts = Cuts::default();
            SafeSplit::new(&vocabulary, level).unwrap().cut(&text, start as usize, &ends, tell_parts, &mut cuts);
            (cuts.ends().to_vec(), cuts.parts().to_vec())
        };
        let beyond = text.bytes().filter(|byte| *byte >= 0x80).count();
        let worth = text.chars().any(|character| character >= '\u{3000}') || beyond > 0 && beyond * 4 >= text.len();
        let truth = cut(SimdLevel::Portable, true);
        for level in SimdLevel::available() {
            prop_assert_eq!(cut(level, true), truth.clone(), "{}", level.name());
            prop_assert_eq!(cut(level, false), (truth.0.clone(), Vec::new()), "{}", level.name());
            let split = SafeSplit::new(&vocabulary, level).unwrap();
            prop_assert_eq!(split.is_worth_cutting(text.as_bytes()), worth, "{}", level.name());
        }
    }

    /// One character from U+3000 on is enough, wherever it stands and however much is ASCII.
    #[test]
    fn every_path_tells_alike_which_text_is_worth_cutting(
        pieces in prop::collection::vec("[a-c ]{0,150}(|é{1,60}|\u{2FFF}|\u{3000}|\u{3FFF}|中|\u{FFFD}|👍)", 0..4),
    ) {
        let vocabulary = common::drawn_vocabulary(&[b"abc"], &[]);
        let text = pieces.concat();
        let beyond = text.bytes().filter(|byte| *byte >= 0x80).count();
        let worth = text.chars().any(|character| character >= '\u{3000}') || beyond > 0 && beyond * 4 >= text.len();
        for level in SimdLevel::available() {
            let split = SafeSplit::new(&vocabulary, level).unwrap();
            prop_assert_eq!(split.is_worth_cutting(text.as_bytes()), worth, "{}", level.name());
        }
    }
}
