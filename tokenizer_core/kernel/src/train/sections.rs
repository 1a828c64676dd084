//! Counts on the disk, divided by the hashes of their pieces into sections, each in the order of its pieces' bytes: the
//! sections of one number of many files are merged as streams, and no two numbers share a piece.
//!
//! ```text
//! section   entry ...  checksum          the 64-bit XXH3 of the entries, seeded with the number of the section
//! entry     length  bytes  count         both numbers as LEB128: seven bits a byte, the lowest first
//! ```

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use xxhash_rust::xxh3::{xxh3_64, xxh3_64_with_seed};

use super::counts::Counts;
use crate::error::{Code, Error, Result};

/// Sections of a file of counts.
pub const SECTIONS: usize = 256;

const CHECKSUM: usize = 8;

/// The section of a piece; every machine puts it into the same one.
fn section_of(piece: &[u8]) -> usize {
    (xxh3_64(piece) >> 56) as usize
}

/// Write counts as sections, in the order of their numbers.
pub fn write(counts: &Counts) -> Vec<Vec<u8>> {
    let mut entries: Vec<_> = counts.iter().map(|(piece, count)| (section_of(piece) as u8, piece, count)).collect();
    entries.sort_unstable_by_key(|(section, piece, _)| (*section, *piece));
    let mut sections = vec![Vec::new(); SECTIONS];
    for (section, piece, count) in entries {
        write_entry(&mut sections[usize::from(section)], piece, count);
    }
    sections.iter_mut().enumerate().for_each(|(number, section)| seal(section, number));
    sections
}

/// Merge the sections of one number of several files into one.
///
/// # Errors
/// As [`each_sum`].
pub fn merge(number: usize, sections: &[&[u8]]) -> Result<Vec<u8>> {
    let mut merged = Vec::with_capacity(sections.iter().map(|section| section.len()).max().unwrap_or(0));
    each_sum(number, sections, |piece, count| write_entry(&mut merged, piece, count))?;
    seal(&mut merged, number);
    Ok(merged)
}

/// Call `sum` with every piece of the sections of one number, in the order of their bytes, and with its counts added.
///
/// # Errors
/// `invalid_corpus` with the index of a damaged section as row.
pub fn each_sum<'s>(number: usize, sections: &[&'s [u8]], mut sum: impl FnMut(&'s [u8], u64)) -> Result<()> {
    let mut rests = Vec::with_capacity(sections.len());
    let mut heap = BinaryHeap::with_capacity(sections.len());
    for (row, section) in sections.iter().enumerate() {
        let entries = section.len().checked_sub(CHECKSUM).map(|end| section.split_at(end));
        let intact = entries.filter(|(entries, sum)| xxh3_64_with_seed(entries, number as u64).to_le_bytes() == **sum);
        let Some((mut rest, _)) = intact else { return Err(damaged(row)) };
        if let Some(entry) = next(&mut rest, row)? {
            heap.push(Reverse((entry.0, row, entry.1)));
        }
        rests.push(rest);
    }
    let mut held: Option<(&[u8], u64)> = None;
    while let Some(Reverse((piece, row, count))) = heap.pop() {
        if let Some(entry) = next(&mut rests[row], row)? {
            if entry.0 <= piece {
                return Err(damaged(row));
            }
            heap.push(Reverse((entry.0, row, entry.1)));
        }
        held = match held {
            Some((same, total)) if same == piece => Some((same, total.saturating_add(count))),
            before => {
                if let Some((piece, total)) = before {
                    sum(piece, total);
                }
                Some((piece, count))
            }
        };
    }
    if let Some((piece, total)) = held {
        sum(piece, total);
    }
    Ok(())
}

fn damaged(row: usize) -> Error {
    Error::new(Code::InvalidCorpus, "these counts are damaged; remove the file, and count again").in_row(row)
}

fn seal(section: &mut Vec<u8>, number: usize) {
    let sum = xxh3_64_with_seed(section, number as u64);
    section.extend_from_slice(&sum.to_le_bytes());
}

fn write_entry(out: &mut Vec<u8>, piece: &[u8], count: u64) {
    write_number(out, piece.len() as u64);
    out.extend_from_slice(piece);
    write_number(out, count);
}

fn write_number(out: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        out.push(number as u8 | 0x80);
        number >>= 7;
    }
    out.push(number as u8);
}

/// Take the next piece and its count.
fn next<'s>(rest: &mut &'s [u8], row: usize) -> Result<Option<(&'s [u8], u64)>> {
    if rest.is_empty() {
        return Ok(None);
    }
    let entry = read_number(rest).and_then(|length| rest.split_at_checked(usize::try_from(length).ok()?)).and_then(
        |(piece, mut behind)| {
            let count = read_number(&mut behind)?;
            *rest = behind;
            (!piece.is_empty()).then_some((piece, count))
        },
    );
    entry.map(Some).ok_or_else(|| damaged(row))
}

fn read_number(rest: &mut &[u8]) -> Option<u64> {
    let mut number = 0;
    for shift in (0..64).step_by(7) {
        let (byte, behind) = rest.split_first()?;
        *rest = behind;
        number |= u64::from(byte & 0x7F).checked_shl(shift)?;
        if byte & 0x80 == 0 {
            return Some(number);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;
    use crate::train::table::PieceTable;

    fn counted(pieces: &[(Vec<u8>, u64)]) -> Counts {
        let mut table = PieceTable::default();
        pieces.iter().for_each(|(piece, count)| table.add(piece, *count));
        Counts::new(table, 0, 0)
    }

    proptest! {
        #[test]
        fn merged_sections_are_the_sections_of_the_sum(
            files in prop::collection::vec(
                prop::collection::vec((prop::collection::vec(any::<u8>(), 1..20), 1_u64..u64::MAX), 0..200), 0..5
            ),
        ) {
            let written: Vec<_> = files.iter().map(|pieces| write(&counted(pieces))).collect();
            let truth = write(&counted(&files.concat()));
            let mut sums = BTreeMap::new();
            for number in 0..SECTIONS {
                let sections: Vec<&[u8]> = written.iter().map(|sections| sections[number].as_slice()).collect();
                prop_assert_eq!(&merge(number, &sections).expect("whole"), &truth[number]);
                let all = each_sum(number, &sections, |piece, count| sums.extend([(piece.to_vec(), count)]));
                all.expect("whole");
            }
            let all: BTreeMap<_, _> = counted(&files.concat()).iter().map(|(piece, n)| (piece.to_vec(), n)).collect();
            prop_assert_eq!(sums, all);
        }

        #[test]
        fn a_damaged_section_is_refused_by_its_row(
            pieces in prop::collection::vec((prop::collection::vec(any::<u8>(), 1..20), 1_u64..999), 1..200),
            number in 0_usize..SECTIONS,
            at in any::<prop::sample::Index>(),
            bit in 0_u8..8,
        ) {
            let mut section = write(&counted(&pieces)).swap_remove(number);
            let whole = section.clone();
            prop_assert!(merge((number + 1) % SECTIONS, &[&whole]).is_err());
            prop_assert!(merge(number, &[&whole, &whole[..at.index(whole.len())]]).is_err());
            let at = at.index(section.len());
            section[at] ^= 1_u8 << bit;
            let refused = merge(number, &[&whole, &section]).expect_err("damaged");
            prop_assert_eq!((refused.code, refused.row), (Code::InvalidCorpus, Some(1)));
        }
    }

    #[test]
    fn what_no_writer_makes_is_refused_though_its_checksum_is_right() {
        for entries in
            [&b"\x00\x01"[..], b"\x01a", b"\x09a\x01", b"\x01b\x01\x01a\x01", b"\x01a\x01\x01a\x01", &[0xFF; 11]]
        {
            let mut section = entries.to_vec();
            seal(&mut section, 3);
            assert_eq!(merge(3, &[&section]).expect_err("wrong").code, Code::InvalidCorpus, "{entries:?}");
        }
    }
}
