//! Short pieces merged several in turns, so that what one waits for from memory is loaded while the others go on.
//!
//! A symbol stays where its first byte was and a bit tells which places are still taken: nothing is ever moved. A step is
//! a greatest number, two look-ups and a few bits, without a branch on what the text is.

#[cfg(target_arch = "x86_64")]
use crate::pair_table::Avx512;
use crate::pair_table::{Address, Look, Portable};
use crate::path::Path;
use crate::ranks::MergeTable;
use crate::words::places;

/// One piece being merged, of at most `N - 2` bytes: before the first symbol and behind the last stands one that never merges.
#[derive(Debug, Clone, Copy)]
#[repr(align(64))]
struct Lane<const N: usize> {
    /// The precedence of the symbol of a place and the next one, above how far the place is from the last one: the greatest
    /// of them is the leftmost of the lowest rank.
    keys: [u32; N],
    ids: [u32; N],
    /// A bit for each place that begins a symbol.
    taken: u64,
    /// The symbol that was made last, and its neighbours.
    before: usize,
    made: usize,
    after: usize,
    /// Where the table tells what it becomes with either.
    left: Address,
    right: Address,
}

/// Bits of a key that tell the place.
const PLACE_BITS: u32 = 6;

/// The last place.
const LAST: u32 = (1 << PLACE_BITS) - 1;

/// The key of a place; one that is not above [`LAST`] stands for no merge.
#[inline(always)]
fn key(precedence: u32, place: usize) -> u32 {
    precedence << PLACE_BITS | (LAST - place as u32)
}

impl<const N: usize> Lane<N> {
    const IDLE: Self = Self {
        keys: [0; N],
        ids: [0; N],
        taken: 0,
        before: 0,
        made: 0,
        after: 0,
        left: Address::NOWHERE,
        right: Address::NOWHERE,
    };

    /// Begin with a piece of 1 to `N - 2` bytes.
    #[inline(always)]
    fn begin(&mut self, table: &MergeTable, piece: &[u8]) {
        let length = piece.len().min(N - 2);
        self.keys = [0; N];
        for (at, bytes) in piece[..length].windows(2).enumerate() {
            self.keys[at + 1] = key(table.precedence_of_bytes(bytes[0], bytes[1]), at + 1);
        }
        for (id, byte) in self.ids[1..].iter_mut().zip(&piece[..length]) {
            *id = table.byte_id(*byte);
        }
        (self.ids[0], self.ids[length + 1]) = (table.no_token(), table.no_token());
        self.taken = u64::MAX >> (62 - length);
    }

    /// Make the leftmost merge of the lowest rank, and begin to load what its neighbours become; `false` if none is left.
    #[inline(always)]
    fn merge(&mut self, table: &MergeTable) -> bool {
        loop {
            let greatest = self.keys.iter().copied().fold(0, u32::max);
            if greatest <= LAST {
                return false;
            }
            let (at, precedence) = ((LAST - greatest % (LAST + 1)) as usize % N, greatest >> PLACE_BITS);
            let right = self.after(at);
            if !table.holds(precedence, self.ids[at], self.ids[right % N]) {
                self.keys[at] = 0;
                continue;
            }
            self.taken &= !(1 << right);
            let after = self.after(at);
            let before = 63 - (self.taken & ((1 << at) - 1)).leading_zeros() as usize;
            let product = table.made_by(precedence);
            self.ids[at] = product;
            self.keys[right % N] = 0;
            (self.before, self.made, self.after) = (before % N, at, after % N);
            self.left = table.address(self.ids[before % N], product);
            self.right = table.address(product, self.ids[after % N]);
            return true;
        }
    }

    /// Look up what the symbol that was made and its neighbours become.
    ///
    /// # Safety
    /// The machine has the path.
    #[inline(always)]
    unsafe fn look<L: Look>(&mut self, table: &MergeTable) {
        for (left, right, address) in [(self.before, self.made, self.left), (self.made, self.after, self.right)] {
            // SAFETY: the caller's promise.
            let precedence = unsafe { table.look::<L>(address, self.ids[left], self.ids[right]) };
            table.prefetch_made(precedence);
            self.keys[left] = key(precedence, left);
        }
    }

    /// The next place that is taken: there is one, as `at` is not that behind the last symbol.
    #[inline(always)]
    fn after(&self, at: usize) -> usize {
        // Two steps, as 64 places are too many for one shift.
        (self.taken >> at >> 1).trailing_zeros() as usize + at + 1
    }

    /// Replace `ids` by those of the piece.
    #[inline(always)]
    fn finish(&self, ids: &mut Vec<u32>) {
        ids.clear();
        // Without the places of the borders.
        let mut taken = self.taken & !1;
        while taken & (taken - 1) != 0 {
            ids.push(self.ids[taken.trailing_zeros() as usize % N]);
            taken &= taken - 1;
        }
    }
}

/// Pieces merged at the same time: nearly all that a portion has, as what each waits for is memory.
pub const LANES: usize = 16;

/// Up to [`LANES`] pieces of 1 to `N - 2` bytes each, where `N` is a power of two and at most 64.
#[derive(Debug)]
pub struct Lanes<const N: usize>([Lane<N>; LANES]);

impl<const N: usize> Default for Lanes<N> {
    fn default() -> Self {
        const { assert!(N.is_power_of_two() && N <= 1 << PLACE_BITS, "a bit of a word for each place") };
        Self([Lane::IDLE; LANES])
    }
}

impl<const N: usize> Lanes<N> {
    /// The longest piece, in bytes.
    pub const LIMIT: usize = N - 2;

    /// Merge pieces, each in a lane of its own.
    #[inline]
    pub fn merge<'a>(&mut self, table: &MergeTable, pieces: impl Iterator<Item = &'a [u8]>) {
        match table.path() {
            #[cfg(target_arch = "x86_64")]
            // SAFETY: a table is only on a path that this machine has.
            Path::Avx512 => unsafe { self.merge_avx512(table, pieces) },
            #[cfg(target_arch = "x86_64")]
            // SAFETY: as above.
            Path::Avx2 => unsafe { self.merge_avx2(table, pieces) },
            // SAFETY: every machine has it.
            _ => unsafe { self.merge_here::<Portable>(table, pieces) },
        }
    }

    /// # Safety
    /// The machine has [`Path::Avx512`].
    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx512f,avx512bw,avx512vbmi,avx512vbmi2,avx2,bmi1,bmi2,lzcnt,popcnt")]
    unsafe fn merge_avx512<'a>(&mut self, table: &MergeTable, pieces: impl Iterator<Item = &'a [u8]>) {
        // SAFETY: the caller's promise.
        unsafe { self.merge_here::<Avx512>(table, pieces) };
    }

    /// # Safety
    /// The machine has [`Path::Avx2`].
    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
    unsafe fn merge_avx2<'a>(&mut self, table: &MergeTable, pieces: impl Iterator<Item = &'a [u8]>) {
        // SAFETY: every machine has it.
        unsafe { self.merge_here::<Portable>(table, pieces) };
    }

    /// With the instructions of whoever calls: the compiler makes the greatest of many numbers of what is there.
    ///
    /// # Safety
    /// The machine has the path of `L`.
    #[inline(always)]
    unsafe fn merge_here<'a, L: Look>(&mut self, table: &MergeTable, pieces: impl Iterator<Item = &'a [u8]>) {
        let Self(lanes) = self;
        let mut busy = 0_u32;
        for (at, (lane, piece)) in lanes.iter_mut().zip(pieces).enumerate() {
            lane.begin(table, piece);
            busy |= 1 << at;
        }
        while busy != 0 {
            for at in places(busy) {
                if !lanes[at % LANES].merge(table) {
                    busy &= !(1 << at);
                }
            }
            for at in places(busy) {
                // SAFETY: the caller's promise.
                unsafe { lanes[at % LANES].look::<L>(table) };
            }
        }
    }

    /// Replace `ids` by those of the piece in a lane.
    #[inline]
    pub fn ids(&self, lane: usize, ids: &mut Vec<u32>) {
        self.0[lane].finish(ids);
    }
}
