//! Few bits a tag, so that other pairs are found at every turn, and lines of more pairs than have room.

use std::collections::HashMap;

use proptest::prelude::*;

use super::{FindTag, PairTable, Portable};
#[cfg(target_arch = "x86_64")]
use crate::simd::level::Avx2;

const ID_BITS: u32 = 9;

/// What a pair has, by level: 0 for none, whatever was found first.
fn looked_up(simd: impl FindTag, table: &PairTable, left: u32, right: u32) -> u32 {
    let found = table.look(simd, table.address(left, right), || (left, right));
    if found != 0 && table.holds(found, left, right) { found } else { 0 }
}

fn check(table: &PairTable, truth: &HashMap<(u32, u32), u32>, pair: (u32, u32)) -> Result<(), TestCaseError> {
    let (left, right) = pair;
    let expected = truth.get(&pair).copied().unwrap_or(0);
    prop_assert_eq!(table.get(left, right), expected, "{:?}", pair);
    prop_assert_eq!(looked_up(Portable, table, left, right), expected, "{:?}", pair);
    #[cfg(target_arch = "x86_64")]
    if let Some(avx2) = Avx2::detect() {
        prop_assert_eq!(looked_up(avx2, table, left, right), expected, "{:?}", pair);
    }
    Ok(())
}

/// Add pairs in turn, the first with the greatest precedence, and look all up after each of the last.
fn check_pairs(mut table: PairTable, pairs: &[(u32, u32)], others: &[(u32, u32)]) -> Result<PairTable, TestCaseError> {
    let mut truth = HashMap::new();
    for (pair, precedence) in pairs.iter().zip((1..=pairs.len() as u32).rev()) {
        table.insert(pair.0, pair.1, precedence);
        truth.insert(*pair, precedence);
        check(&table, &truth, *pair)?;
        if precedence < 8 {
            pairs.iter().chain(others).try_for_each(|pair| check(&table, &truth, *pair))?;
        }
    }
    Ok(table)
}

/// The pairs of one line of a table for so many.
fn of_one_line(count: usize, tag_bits: u32) -> Vec<(u32, u32)> {
    let table = PairTable::new(ID_BITS, count, tag_bits);
    let all = (0..1 << (2 * ID_BITS)).map(|pair: u32| (pair >> ID_BITS, pair & !(u32::MAX << ID_BITS)));
    all.filter(|(left, right)| table.address(*left, *right).line == 1).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    /// Some of them twice: the later counts.
    #[test]
    fn every_pair_has_its_precedence_and_no_other_has_one(
        tag_bits in 1..=12_u32,
        pairs in prop::collection::vec((0..40_u32, 0..40_u32), 1..300),
        others in prop::collection::vec((0..512_u32, 0..512_u32), 100),
    ) {
        check_pairs(PairTable::new(ID_BITS, pairs.len(), tag_bits), &pairs, &others)?;
    }

    #[test]
    fn pairs_that_find_their_line_full_are_told_from_those_in_it(
        tag_bits in 1..=12_u32,
        draws in prop::collection::vec(any::<prop::sample::Index>(), 20..60),
        others in prop::collection::vec(any::<prop::sample::Index>(), 100),
    ) {
        let line = of_one_line(draws.len(), tag_bits);
        let drawn = |draws: &[prop::sample::Index]| draws.iter().map(|draw| *draw.get(&line)).collect::<Vec<_>>();
        check_pairs(PairTable::new(ID_BITS, draws.len(), tag_bits), &drawn(&draws), &drawn(&others))?;
    }
}

/// Sixteen tags, three pairs of each: of those that find the line full, some have an only entry of their tag beside
/// them.
#[test]
fn a_pair_set_apart_is_hidden_by_no_entry_of_its_tag() {
    let (count, tag_bits) = (48, 4);
    let line = of_one_line(count, tag_bits);
    let table = PairTable::new(ID_BITS, count, tag_bits);
    let mut by_tag = vec![Vec::new(); 1 << tag_bits];
    for (left, right) in &line {
        let tag = table.address(*left, *right).tag >> table.tags.trailing_zeros();
        by_tag[tag as usize].push((*left, *right));
    }
    for order in [[0, 1, 2], [0, 2, 1], [2, 1, 0]] {
        let rounds = order.map(|round| by_tag.iter().filter_map(move |pairs| pairs.get(round)));
        let pairs: Vec<(u32, u32)> = rounds.into_iter().flatten().copied().collect();
        let table = check_pairs(PairTable::new(ID_BITS, count, tag_bits), &pairs, &line[..200]).unwrap();
        assert_eq!(table.overflow.len(), pairs.len() - 16);
    }
}

/// Both have the tag zero, and the pair's lowest bits are those that belong to no precedence.
#[test]
fn the_pair_of_zeros_is_told_from_free_entries() {
    let (count, tag_bits) = (8, 1);
    let table = PairTable::new(ID_BITS, count, tag_bits);
    let all = (0..1 << (2 * ID_BITS)).map(|pair: u32| (pair >> ID_BITS, pair & !(u32::MAX << ID_BITS)));
    let alike: Vec<_> = all.filter(|(left, right)| table.address(*left, *right) == table.address(0, 0)).collect();
    let (zeros, other) = (alike[0], alike[1]);
    for pairs in [[zeros, other], [other, zeros]] {
        check_pairs(PairTable::new(ID_BITS, count, tag_bits), &pairs, &alike[..20]).unwrap();
    }
}

/// Its line is empty, so it is found by no tag, whatever stands on its other side.
#[test]
fn a_pair_with_a_border_has_none() {
    let (count, tag_bits) = (300, 1);
    let mut table = PairTable::new(ID_BITS, count, tag_bits);
    let ids = |at: u32| (at % 20, at / 20);
    for at in 0..count as u32 {
        let (left, right) = ids(at);
        table.insert(left, right, count as u32 - at);
    }
    for at in 0..count as u32 {
        let (left, right) = ids(at);
        let address = table.address_between(left, right, false);
        assert_eq!(address, table.address(left, right));
        let border = table.address_between(left, right, true);
        assert_eq!(table.look(Portable, border, || (left, right)), 0);
    }
}

/// Every id there may be, with as few merges as there may be, and with more than there are lines for.
#[test]
fn ids_of_any_size_are_told_apart() {
    for (id_bits, count) in [(22, 1), (22, 40), (18, 3_000), (9, 100_000), (22, 70_000)] {
        let mut table = PairTable::new(id_bits, count, 1);
        let ids = |at: u32| (at.wrapping_mul(2_654_435_761) >> (32 - id_bits), at % (1 << id_bits));
        for at in 0..count.min(3_000) as u32 {
            let (left, right) = ids(at);
            table.insert(left, right, count as u32 - at);
        }
        for at in 0..count.min(3_000) as u32 {
            let (left, right) = ids(at);
            assert_eq!(table.get(left, right), count as u32 - at, "{id_bits} {count} {at}");
            assert_eq!(table.get(left ^ 1, right ^ 1 << (id_bits - 1)), 0, "{id_bits} {count} {at}");
        }
    }
}
