//! Several short pieces are merged in turns, so that the loads that one waits for overlap with work on the others.
//!
//! A symbol stays where its first byte was, and a bit says whether a symbol still begins there: nothing is ever moved.
//! A step finds the highest key, does two lookups and a few operations on bits, and has no branch that depends on the
//! text.

mod turn;

use crate::model::bpe::pair_table::Address;
use crate::model::bpe::ranks::{MergeTable, NEVER};
use crate::simd::level::OnLevel;
use crate::simd::maximum::Maximum;
use crate::simd::tagged_line::FindTag;
use crate::simd::words::{highest_bit, lowest_bit};

/// One piece being merged, of at most `N - 2` symbols: before the first symbol and after the last is a border, which
/// never merges.
#[derive(Debug, Clone, Copy)]
#[repr(C, align(64))]
struct Lane<const N: usize> {
    /// By place: the precedence of its symbol and the next one, above the distance of the place from the last one. So
    /// the highest key is that of the leftmost merge of the lowest rank.
    keys: [u32; N],
    ids: [u32; N],
    /// A bit for each place at which a symbol or a border begins.
    taken: u64,
    /// The place of the symbol that was made last.
    made: u32,
    /// The addresses in the table of its pairs with either neighbour.
    left: Address,
    right: Address,
    /// The place of the symbol before the one that was made last; not next to `made`, since the compiler would load
    /// both as one word, which would wait for two stores.
    before: u32,
    /// The number of ids at the front once all merges are made.
    count: usize,
    /// The highest key, except those of what [changed](Self::changed).
    rest: u32,
    /// The higher key of these two.
    last: u32,
}

/// Bits of a key for the place.
const PLACE_BITS: u32 = 6;

/// The last place.
const LAST: u32 = (1 << PLACE_BITS) - 1;

/// Set in every key that is not zero, so that keys are the bits of normal floating-point numbers: every machine has one
/// instruction for the higher of two of these.
const FLOAT: u32 = 1 << 30;

/// The key of the first place without a merge.
const NONE: u32 = FLOAT | LAST;

const _: () = assert!(((NEVER - 1) << PLACE_BITS | NONE) < f32::INFINITY.to_bits(), "an ordinary number");

/// The key of a place; one that is not above [`NONE`] is not a merge.
#[inline(always)]
fn key(precedence: u32, place: usize) -> u32 {
    (precedence << PLACE_BITS) + (NONE - place as u32)
}

impl<const N: usize> Lane<N> {
    const IDLE: Self = Self {
        keys: [0; N],
        ids: [0; N],
        taken: 0,
        made: 0,
        left: Address::NOWHERE,
        right: Address::NOWHERE,
        before: 0,
        count: 0,
        rest: 0,
        last: 0,
    };

    /// Merge the symbols of two places, and prefetch their pairs with both neighbours. Returns what [`Self::changed`]
    /// does.
    ///
    /// # Safety
    /// They are the places of two symbols.
    #[inline(always)]
    unsafe fn make(&mut self, table: &MergeTable, at: usize, right: usize, precedence: u32) -> [usize; 2] {
        self.taken &= !(1 << right);
        let behind = self.taken >> at >> 1;
        // SAFETY: the border before the first symbol has place 0 and the other one the place after the last symbol;
        // both stay taken, since no merge has a border in it. So there is a bit below `at`, and one above.
        let (before, after) = unsafe { (highest_bit(self.taken & ((1 << at) - 1)), lowest_bit(behind) + at + 1) };
        let product = table.made_by(precedence);
        self.ids[at] = product;
        (self.before, self.made) = (before as u32, at as u32);
        let is_last = behind & (behind - 1) == 0;
        self.left = table.address_between(self.ids[before % N], product, before == 0);
        self.right = table.address_between(product, self.ids[after % N], is_last);
        [before % N, at % N]
    }

    /// The symbol before the one that was made last, and that one itself.
    #[inline(always)]
    fn changed(&self) -> [usize; 2] {
        [self.before as usize % N, self.made as usize % N]
    }

    /// Look up the precedences of what [changed](Self::changed): those of the last symbol with its neighbours.
    #[inline(always)]
    fn precedences(&self, simd: impl FindTag, table: &MergeTable) -> [u32; 2] {
        let pair = |which: usize| {
            let left = self.changed()[which];
            // SAFETY: it is the place of a symbol or of the first border, and the last border stays taken after it.
            (self.ids[left], self.ids[unsafe { self.after(left) } % N])
        };
        let found = [table.look(simd, self.left, || pair(0)), table.look(simd, self.right, || pair(1))];
        table.prefetch_merges(found);
        found
    }

    /// The next place that is taken.
    ///
    /// # Safety
    /// There is one.
    #[inline(always)]
    unsafe fn after(&self, at: usize) -> usize {
        // Two steps, as 64 places are too many for one shift.
        // SAFETY: the caller's promise.
        unsafe { lowest_bit(self.taken >> at >> 1) + at + 1 }
    }

    /// The places of the symbols, without those of the borders.
    #[inline(always)]
    fn symbols(&self) -> u64 {
        let inner = self.taken & !1;
        inner & !(1 << (63 - inner.leading_zeros()))
    }
}

/// The place and the precedence of a key, if it is that of a merge.
#[inline(always)]
fn merge_of(key: u32) -> Option<(usize, u32)> {
    (key > NONE).then_some(((LAST - key % (LAST + 1)) as usize, (key % FLOAT) >> PLACE_BITS))
}

/// With up to this many lanes, each waits for its lookups.
const FEW: usize = 4;

/// Pieces merged in turns: nearly all that a block has, since each waits for memory.
pub const LANES: usize = 16;

/// Up to [`LANES`] pieces of 1 to `N - 2` symbols each, where `N` is a power of two and at most 64.
#[derive(Debug)]
pub struct Lanes<const N: usize>([Lane<N>; LANES]);

impl<const N: usize> Default for Lanes<N> {
    #[inline(always)]
    fn default() -> Self {
        const { assert!(N.is_power_of_two() && N <= 1 << PLACE_BITS, "a bit of a word for each place") };
        Self([Lane::IDLE; LANES])
    }
}

/// A symbol that a piece begins with: a byte, or a token that other merges left.
pub(crate) trait Symbol: Copy {
    fn id(self, table: &MergeTable) -> u32;

    /// The precedence of two neighbours, as [`MergeTable::look`] gives it.
    fn precedence(simd: impl FindTag, table: &MergeTable, pair: [Self; 2]) -> u32;
}

impl Symbol for u8 {
    #[inline(always)]
    fn id(self, table: &MergeTable) -> u32 {
        table.byte_id(self)
    }

    #[inline(always)]
    fn precedence(_: impl FindTag, table: &MergeTable, pair: [Self; 2]) -> u32 {
        table.precedence_of_bytes(u16::from_le_bytes(pair))
    }
}

impl Symbol for u32 {
    #[inline(always)]
    fn id(self, _: &MergeTable) -> u32 {
        self
    }

    #[inline(always)]
    fn precedence(simd: impl FindTag, table: &MergeTable, [left, right]: [Self; 2]) -> u32 {
        table.look(simd, table.address_between(left, right, false), || (left, right))
    }
}

/// Pieces to be merged on any level.
struct MergeLanes<'l, I, const N: usize> {
    lanes: &'l mut Lanes<N>,
    table: &'l MergeTable,
    pieces: I,
}

impl<'a, S: FindTag + Maximum, T: Symbol + 'a, I: Iterator<Item = &'a [T]>, const N: usize> OnLevel<S>
    for MergeLanes<'_, I, N>
{
    type Output = ();

    #[inline(always)]
    fn run(self, simd: S) {
        self.lanes.merge_by(simd, self.table, self.pieces);
    }
}

impl<const N: usize> Lanes<N> {
    /// The longest piece, in symbols.
    pub const LIMIT: usize = N - 2;

    /// Merge pieces, each in a lane of its own.
    #[inline]
    pub fn merge<'a>(&mut self, table: &MergeTable, pieces: impl Iterator<Item = &'a [u8]>) {
        table.level().run(MergeLanes { lanes: self, table, pieces });
    }

    /// As [`Self::merge`], of pieces that were merged before.
    #[inline]
    pub(crate) fn merge_tokens<'a>(&mut self, table: &MergeTable, pieces: impl Iterator<Item = &'a [u32]>) {
        table.level().run(MergeLanes { lanes: self, table, pieces });
    }

    #[inline(always)]
    fn merge_by<'a, S: FindTag + Maximum, T: Symbol + 'a>(
        &mut self,
        simd: S,
        table: &MergeTable,
        pieces: impl Iterator<Item = &'a [T]>,
    ) {
        let Self(lanes) = self;
        let mut begun = 0;
        for (lane, piece) in lanes.iter_mut().zip(pieces) {
            lane.begin(simd, table, piece);
            begun += 1;
        }
        let (mut left, mut count) = ([0_u8; LANES], 0);
        for at in 0..begun {
            left[count % LANES] = at as u8;
            count += usize::from(lanes[at % LANES].first(simd, table));
        }
        while count != 0 {
            // All lookups in a row: a processor looks a few hundred instructions ahead, which then cover several
            // lookups.
            for lane in left.iter().take(count) {
                lanes[usize::from(*lane) % LANES].look(simd, table);
            }
            let mut kept = 0;
            for at in 0..count {
                let lane = left[at % LANES];
                left[kept % LANES] = lane;
                kept += usize::from(lanes[usize::from(lane) % LANES].next(simd, table, count > FEW));
            }
            count = kept;
        }
        for lane in &mut lanes[..begun] {
            lane.finish();
        }
    }

    /// The ids of the piece in a lane, and how many there are.
    #[inline(always)]
    pub fn ids(&self, lane: usize) -> ([u32; N], usize) {
        (self.0[lane].ids, self.0[lane].count)
    }
}
