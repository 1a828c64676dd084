//! A turn of a lane without AVX-512. The highest of all keys but the two that the last merge changed is found while
//! these are looked up. The two are written one by one, and all keys are read a turn later, when those stores are long
//! done.

use std::hint::select_unpredictable;
use std::marker::PhantomData;

use super::{Lane, LaneOps, key, merge_of};
use crate::machine::branch::cold_path;
use crate::machine::maximum::Maximum;
use crate::machine::tagged_line::FindTag;
use crate::merging::ranks::MergeTable;

pub(super) struct Plain<P>(PhantomData<P>);

impl<P: FindTag + Maximum> LaneOps for Plain<P> {
    #[inline(always)]
    unsafe fn begin<const N: usize>(lane: &mut Lane<N>, table: &MergeTable, piece: &[u8]) {
        let length = piece.len().min(N - 2);
        lane.keys = [0; N];
        let places = lane.keys[1..].iter_mut().zip(&mut lane.ids[1..]);
        for (at, (pair, (key_of, id))) in piece[..length].windows(2).zip(places).enumerate() {
            if let Some(pair) = pair.first_chunk().copied().map(u16::from_le_bytes) {
                *key_of = key(table.precedence_of_bytes(pair), at + 1);
                *id = table.byte_id(pair as u8);
            }
        }
        if let Some(last) = piece[..length].last() {
            lane.ids[length] = table.byte_id(*last);
        }
        (lane.ids[0], lane.ids[length + 1]) = (table.no_token(), table.no_token());
        lane.taken = u64::MAX >> (62 - length);
    }

    #[inline(always)]
    unsafe fn first<const N: usize>(lane: &mut Lane<N>, table: &MergeTable) -> bool {
        // SAFETY: the caller's promise.
        unsafe { next::<N, P>(lane, table, P::maximum(&lane.keys)) }
    }

    #[inline(always)]
    unsafe fn look<const N: usize>(lane: &mut Lane<N>, table: &MergeTable) {
        // SAFETY: the caller's promise.
        let (rest, found) = unsafe { (P::maximum(&lane.keys), lane.precedences::<P>(table)) };
        let [before, at] = lane.changed();
        let found = [key(found[0], before), key(found[1], at)];
        (lane.keys[before], lane.keys[at]) = (found[0], found[1]);
        (lane.rest, lane.last) = (rest, found[0].max(found[1]));
    }

    #[inline(always)]
    unsafe fn next<const N: usize>(lane: &mut Lane<N>, table: &MergeTable, others: bool) -> bool {
        let (mut highest, last) = (lane.rest, lane.last);
        if others {
            highest = select_unpredictable(last > highest, last, highest);
        } else if last > highest {
            // In about one case of eight a new pair comes first. In all others the next merge waits for nothing.
            cold_path();
            highest = last;
        }
        // SAFETY: the caller's promise.
        unsafe { next::<N, P>(lane, table, highest) }
    }

    #[inline(always)]
    unsafe fn finish<const N: usize>(lane: &mut Lane<N>) {
        let mut symbols = lane.symbols();
        lane.count = symbols.count_ones() as usize;
        let mut at = 0;
        while symbols != 0 {
            // Most have no more than four, and their number is unpredictable.
            for _ in 0..4 {
                lane.ids[at % N] = lane.ids[(symbols | 1 << 63).trailing_zeros() as usize % N];
                symbols &= symbols.wrapping_sub(1);
                at += 1;
            }
        }
    }
}

/// Make the leftmost merge of the lowest rank, whose key is the highest; `false` if none is left.
///
/// # Safety
/// The machine has the path.
#[inline(always)]
unsafe fn next<const N: usize, P: Maximum>(lane: &mut Lane<N>, table: &MergeTable, mut key: u32) -> bool {
    loop {
        let Some((at, precedence)) = merge_of(key) else { return false };
        // SAFETY: only the place of a symbol has a key above `NONE`, and the last border stays taken after it.
        let (at, right) = (at % N, unsafe { lane.after(at % N) } % N);
        if table.holds(precedence, lane.ids[at], lane.ids[right]) {
            // SAFETY: a precedence that holds is that of two symbols: no pair with the border is in the table.
            let [before, at] = unsafe { lane.make(table, at, right, precedence) };
            // A place that is no longer taken has no key, and one that changed has none yet.
            (lane.keys[before], lane.keys[at], lane.keys[right]) = (0, 0, 0);
            return true;
        }
        // The precedence is that of another pair, so this one does not merge.
        lane.keys[at] = 0;
        // SAFETY: the caller's promise.
        key = unsafe { P::maximum(&lane.keys) };
    }
}
