//! Puts rows of tokens into packs of one size: best-fit decreasing, in time linear in the rows.
//!
//! Johnson, "Near-optimal bin packing algorithms" (1973). Rows go in by size, the largest first, those of one size in
//! their order, each into the pack with the least room that holds it; of several with that room, into the one that came
//! to it last.

mod rooms;

use crate::error::{Code, Error, Result};
use rooms::Rooms;

/// The most tokens of a pack: a few arrays have an entry for each.
pub const LONGEST: u32 = 1 << 24;

/// The assignment of rows to packs.
#[derive(Debug, PartialEq, Eq)]
pub struct Packs {
    /// The rows of all packs, one pack after the other; those of one pack in their order.
    pub rows: Vec<u32>,
    /// The start of each pack in `rows`, and the end; packs are in the order of their first rows.
    pub offsets: Vec<u64>,
}

/// Pack rows of `sizes` tokens into packs of `room` tokens.
///
/// # Errors
///
/// `InvalidOption`: `room` is 0 or over [`LONGEST`], there are 2^32 rows, or a row, whose index is the place, is empty
/// or larger than a pack.
pub fn best_fit(sizes: &[u32], room: u32) -> Result<Packs> {
    if room == 0 || room > LONGEST {
        let message = format!("a pack has 1 to {LONGEST} tokens, not {room}");
        return Err(Error::new(Code::InvalidOption, message).at_field("length"));
    }
    if u32::try_from(sizes.len()).is_err() {
        return Err(Error::new(Code::InvalidOption, "there are 2^32 rows or more").at_field("lengths"));
    }
    if let Some(row) = sizes.iter().position(|&size| size == 0 || size > room) {
        let message = format!("row {row} has {} tokens; one of a pack has 1 to {room}", sizes[row]);
        return Err(Error::new(Code::InvalidOption, message).at_index(row));
    }
    let mut rooms = Rooms::new(room);
    let mut pack_of = vec![0; sizes.len()];
    for &row in &by_size(sizes, room) {
        let size = sizes[row as usize];
        pack_of[row as usize] = rooms.take(size);
    }
    Ok(gathered(&pack_of, rooms.packs()))
}

/// The rows, largest first, by counting.
fn by_size(sizes: &[u32], room: u32) -> Vec<u32> {
    let mut next = vec![0_u32; room as usize + 2];
    for &size in sizes {
        next[(room - size) as usize + 1] += 1;
    }
    for index in 1..next.len() {
        next[index] += next[index - 1];
    }
    let mut rows = vec![0; sizes.len()];
    for (row, &size) in (0..).zip(sizes) {
        let place = &mut next[(room - size) as usize];
        rows[*place as usize] = row;
        *place += 1;
    }
    rows
}

/// The packs in the order of their first rows.
fn gathered(pack_of: &[u32], packs: u32) -> Packs {
    const UNSEEN: u32 = u32::MAX;
    let mut number = vec![UNSEEN; packs as usize];
    let mut offsets = vec![0_u64; packs as usize + 1];
    let mut seen = 0;
    for &pack in pack_of {
        let number = &mut number[pack as usize];
        if *number == UNSEEN {
            *number = seen;
            seen += 1;
        }
        offsets[*number as usize + 1] += 1;
    }
    for index in 1..offsets.len() {
        offsets[index] += offsets[index - 1];
    }
    let mut next = offsets.clone();
    let mut rows = vec![0; pack_of.len()];
    for (row, &pack) in (0..).zip(pack_of) {
        let place = &mut next[number[pack as usize] as usize];
        rows[*place as usize] = row;
        *place += 1;
    }
    Packs { rows, offsets }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The same by its definition: every pack is looked at for every row.
    fn slowly(sizes: &[u32], room: u32) -> Packs {
        let mut rows: Vec<u32> = (0..).take(sizes.len()).collect();
        rows.sort_by_key(|&row| std::cmp::Reverse(sizes[row as usize]));
        // Of each pack its room, and when it came to it.
        let mut packs: Vec<(u32, usize)> = Vec::new();
        let mut pack_of = vec![0; sizes.len()];
        for (time, &row) in rows.iter().enumerate() {
            let size = sizes[row as usize];
            let fitting = (0..packs.len()).filter(|&pack| packs[pack].0 >= size);
            let pack =
                fitting.min_by_key(|&pack| (packs[pack].0, std::cmp::Reverse(packs[pack].1))).unwrap_or_else(|| {
                    packs.push((room, 0));
                    packs.len() - 1
                });
            packs[pack] = (packs[pack].0 - size, time);
            pack_of[row as usize] = pack as u32;
        }
        gathered(&pack_of, packs.len() as u32)
    }

    #[test]
    fn packs_are_those_of_the_definition() {
        let mut state = 7_u64;
        let mut random = |below: u64| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) % below
        };
        for _ in 0..300 {
            let room = 1 + random(200) as u32;
            let sizes: Vec<u32> = (0..random(400)).map(|_| 1 + random(u64::from(room)) as u32).collect();
            let found = best_fit(&sizes, room).unwrap();
            assert_eq!(found, slowly(&sizes, room), "{sizes:?} into {room}");
        }
    }

    #[test]
    fn rows_that_fit_no_pack_are_refused_with_their_place() {
        for (sizes, index) in [(&[4, 0][..], 1), (&[4, 4, 9], 2)] {
            let error = best_fit(sizes, 8).unwrap_err();
            assert_eq!(error.code, Code::InvalidOption);
            assert_eq!(error.place, crate::error::Place::Index(index));
        }
        assert_eq!(best_fit(&[], LONGEST + 1).unwrap_err().code, Code::InvalidOption);
        assert_eq!(best_fit(&[], 8).unwrap(), Packs { rows: vec![], offsets: vec![0] });
    }
}
