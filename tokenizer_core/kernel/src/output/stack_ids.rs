//! The ids of a short text, without an allocation.

use std::mem::MaybeUninit;
use std::ops::Range;

use crate::output::Sink;

/// Ids that have room in the frame: those of most texts of 2 KB.
const ROOM: usize = 512;

/// Ids in the caller's frame, or in a vector if they are too many for that.
#[derive(Debug)]
pub struct StackIds {
    room: [MaybeUninit<u32>; ROOM],
    /// The number of written ids.
    count: usize,
    /// All of them, if they have no room.
    many: Vec<u32>,
}

impl StackIds {
    /// No ids.
    #[inline(always)]
    pub fn new() -> Self {
        Self { room: [const { MaybeUninit::uninit() }; ROOM], count: 0, many: Vec::new() }
    }

    /// All ids.
    #[inline]
    pub fn as_slice(&self) -> &[u32] {
        if self.many.is_empty() { self.written() } else { &self.many }
    }

    #[inline]
    fn written(&self) -> &[u32] {
        // SAFETY: `pieces` has written the first `count`.
        unsafe { std::slice::from_raw_parts(self.room.as_ptr().cast(), self.count) }
    }

    #[cold]
    #[inline(never)]
    fn move_away(&mut self, ids: &[u32]) {
        if self.many.is_empty() {
            self.many = self.written().to_vec();
        }
        self.many.extend_from_slice(ids);
    }
}

impl Default for StackIds {
    fn default() -> Self {
        Self::new()
    }
}

impl Sink for StackIds {
    fn added(&mut self, id: u32, _source: Range<usize>) {
        self.pieces(&[id]);
    }

    #[inline]
    fn pieces(&mut self, ids: &[u32]) {
        match self.room[self.count..].get_mut(..ids.len()) {
            Some(room) if self.many.is_empty() => {
                // SAFETY: both slices have this length, and `&mut self` keeps them apart.
                unsafe { std::ptr::copy_nonoverlapping(ids.as_ptr(), room.as_mut_ptr().cast(), ids.len()) };
                self.count += ids.len();
            }
            _ => self.move_away(ids),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_in_order_however_many_come_at_once() {
        for sizes in [vec![0], vec![1, 0, ROOM - 1], vec![ROOM, 0, 1, 2], vec![ROOM - 1, 2, ROOM, 1], vec![ROOM + 1, 1]]
        {
            let all: Vec<u32> = (0..sizes.iter().sum::<usize>() as u32).collect();
            let (mut inline, mut given) = (StackIds::new(), 0);
            for size in sizes {
                inline.pieces(&all[given..given + size]);
                given += size;
                assert_eq!(inline.as_slice(), &all[..given]);
            }
            inline.added(7, 0..0);
            assert_eq!(inline.as_slice(), [all.as_slice(), &[7]].concat());
        }
    }
}
