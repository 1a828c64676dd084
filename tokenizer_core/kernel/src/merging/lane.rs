//! Short pieces merged several in turns, so that what one waits for from memory is loaded while the others go on.
//!
//! A symbol stays where its first byte was and a bit tells which places are still taken: nothing is ever moved. A step is
//! a greatest number, two look-ups and a few bits, without a branch on what the text is.

#[cfg(target_arch = "x86_64")]
mod avx512;

use crate::machine::path::Path;
use crate::machine::tagged_line::{Look, Portable};
use crate::machine::words::places;
use crate::merging::pair_table::Address;
use crate::merging::ranks::MergeTable;

/// One piece being merged, of at most `N - 2` bytes: before the first symbol and behind the last stands one that never merges.
#[derive(Debug, Clone, Copy)]
#[repr(C, align(64))]
struct Lane<const N: usize> {
    /// The precedence of the symbol of a place and the next one, above how far the place is from the last one: the greatest
    /// of them is the leftmost of the lowest rank.
    keys: [u32; N],
    ids: [u32; N],
    /// A bit for each place that begins a symbol.
    taken: u64,
    /// The bits of the symbol that was made last and of the one before it.
    changed: u64,
    /// Where the table tells what it becomes with either neighbour.
    left: Address,
    right: Address,
    /// How many ids are at the front when all merges are made.
    count: usize,
    /// The greatest of all keys but those of [`Self::changed`], where turns are taken with AVX-512.
    #[cfg(target_arch = "x86_64")]
    rest: u32,
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
        changed: 1,
        left: Address::NOWHERE,
        right: Address::NOWHERE,
        count: 0,
        #[cfg(target_arch = "x86_64")]
        rest: 0,
    };

    /// Begin with a piece of 1 to `N - 2` bytes.
    #[inline(always)]
    fn begin(&mut self, table: &MergeTable, piece: &[u8]) {
        let length = piece.len().min(N - 2);
        self.keys = [0; N];
        for (at, bytes) in piece[..length].windows(2).enumerate() {
            self.keys[at + 1] = key(table.precedence_of_bytes([bytes[0], bytes[1]]), at + 1);
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
            let Some((at, precedence)) = merge_of(greatest) else { return false };
            let right = self.after(at % N);
            if table.holds(precedence, self.ids[at % N], self.ids[right % N]) {
                self.keys[right % N] = 0;
                self.make(table, at % N, right % N, precedence);
                return true;
            }
            self.keys[at % N] = 0;
        }
    }

    /// Merge the symbols of two places, and begin to load what their neighbours become with them.
    #[inline(always)]
    fn make(&mut self, table: &MergeTable, at: usize, right: usize, precedence: u32) {
        self.taken &= !(1 << right);
        let after = self.after(at) % N;
        let before = (63 - (self.taken & ((1 << at) - 1)).leading_zeros() as usize) % N;
        let product = table.made_by(precedence);
        self.ids[at] = product;
        self.changed = 1 << before | 1 << at;
        self.left = table.address(self.ids[before], product);
        self.right = table.address(product, self.ids[after]);
    }

    /// The symbol before the one that was made last, and that itself.
    #[inline(always)]
    fn changed(&self) -> [usize; 2] {
        [self.changed.trailing_zeros() as usize % N, (63 - self.changed.leading_zeros() as usize) % N]
    }

    /// Look up the precedences of what [changed](Self::changed): what the symbol that was made becomes with its neighbours.
    ///
    /// # Safety
    /// The machine has the path.
    #[inline(always)]
    unsafe fn look<L: Look>(&self, table: &MergeTable) -> [u32; 2] {
        let pair = |which: usize| {
            let left = self.changed()[which];
            (self.ids[left], self.ids[self.after(left) % N])
        };
        // SAFETY: the caller's promise.
        let found = unsafe { [table.look::<L>(self.left, || pair(0)), table.look::<L>(self.right, || pair(1))] };
        table.prefetch_merges(found);
        found
    }

    /// The next place that is taken: there is one, as `at` is not that behind the last symbol.
    #[inline(always)]
    fn after(&self, at: usize) -> usize {
        // Two steps, as 64 places are too many for one shift.
        (self.taken >> at >> 1).trailing_zeros() as usize + at + 1
    }

    /// The places of the symbols, without those of the borders.
    #[inline(always)]
    fn symbols(&self) -> u64 {
        let inner = self.taken & !1;
        inner & !(1 << (63 - inner.leading_zeros()))
    }

    /// Bring the ids of the piece to the front.
    #[inline(always)]
    fn finish(&mut self) {
        let mut symbols = self.symbols();
        self.count = 0;
        while symbols != 0 {
            self.ids[self.count % N] = self.ids[symbols.trailing_zeros() as usize % N];
            self.count += 1;
            symbols &= symbols - 1;
        }
    }
}

/// The place and the precedence of a key, if it stands for a merge.
#[inline(always)]
fn merge_of(key: u32) -> Option<(usize, u32)> {
    (key > LAST).then_some(((LAST - key % (LAST + 1)) as usize, key >> PLACE_BITS))
}

/// Pieces merged at the same time: nearly all that a portion has, as what each waits for is memory.
pub const LANES: usize = 16;

/// Up to [`LANES`] pieces of 1 to `N - 2` bytes each, where `N` is a power of two and at most 64.
#[derive(Debug)]
pub struct Lanes<const N: usize>([Lane<N>; LANES]);

impl<const N: usize> Default for Lanes<N> {
    #[inline(always)]
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
            _ => self.merge_here(table, pieces),
        }
    }

    /// # Safety
    /// The machine has [`Path::Avx512`].
    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vbmi,avx512vbmi2,avx2,bmi1,bmi2,lzcnt,popcnt")]
    unsafe fn merge_avx512<'a>(&mut self, table: &MergeTable, pieces: impl Iterator<Item = &'a [u8]>) {
        let narrow = table.narrow_byte_ids();
        let (mut left, mut count) = ([0_u8; LANES], 0);
        let busy = match narrow {
            // SAFETY: the caller's promise.
            Some(ids) => self.begin_with(pieces, |lane, piece| unsafe { avx512::begin(lane, table, ids, piece) }),
            None => self.begin_with(pieces, |lane, piece| lane.begin(table, piece)),
        };
        let Self(lanes) = self;
        for at in places(busy) {
            left[count % LANES] = at as u8;
            let lane = &mut lanes[at % LANES];
            // SAFETY: the caller's promise.
            count += usize::from(unsafe { avx512::first(lane, table) });
        }
        while count != 0 {
            let mut kept = 0;
            for at in 0..count {
                let lane = left[at % LANES];
                left[kept % LANES] = lane;
                // SAFETY: the caller's promise.
                kept += usize::from(unsafe { avx512::turn(&mut lanes[usize::from(lane) % LANES], table) });
            }
            count = kept;
        }
        for at in places(busy) {
            // SAFETY: the caller's promise.
            unsafe { avx512::finish(&mut lanes[at % LANES]) };
        }
    }

    /// # Safety
    /// The machine has [`Path::Avx2`].
    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
    unsafe fn merge_avx2<'a>(&mut self, table: &MergeTable, pieces: impl Iterator<Item = &'a [u8]>) {
        self.merge_here(table, pieces);
    }

    /// With the instructions of whoever calls: the compiler makes the greatest of many numbers of what is there.
    #[inline(always)]
    fn merge_here<'a>(&mut self, table: &MergeTable, pieces: impl Iterator<Item = &'a [u8]>) {
        let begun = self.begin_with(pieces, |lane, piece| lane.begin(table, piece));
        let mut busy = begun;
        let Self(lanes) = self;
        while busy != 0 {
            for at in places(busy) {
                if !lanes[at % LANES].merge(table) {
                    busy &= !(1 << at);
                }
            }
            // All of them behind one another: what is read at once in a merge has long been written then.
            for at in places(busy) {
                let lane = &mut lanes[at % LANES];
                // SAFETY: every machine has it.
                let found = unsafe { lane.look::<Portable>(table) };
                for (place, precedence) in lane.changed().into_iter().zip(found) {
                    lane.keys[place] = key(precedence, place);
                }
            }
        }
        places(begun).for_each(|at| lanes[at % LANES].finish());
    }

    /// Begin with pieces; a bit for each lane that has one.
    #[inline(always)]
    fn begin_with<'a>(
        &mut self,
        pieces: impl Iterator<Item = &'a [u8]>,
        mut begin: impl FnMut(&mut Lane<N>, &'a [u8]),
    ) -> u32 {
        let mut busy = 0;
        for (at, (lane, piece)) in self.0.iter_mut().zip(pieces).enumerate() {
            begin(lane, piece);
            busy |= 1 << at;
        }
        busy
    }

    /// The ids of the piece in a lane, and how many there are.
    #[inline(always)]
    pub fn ids(&self, lane: usize) -> ([u32; N], usize) {
        (self.0[lane].ids, self.0[lane].count)
    }
}
