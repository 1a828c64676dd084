//! Packs by the room that they have left.

const NONE: u32 = u32::MAX;

/// For every size of room the packs that have it, with bits that find the next size that any has.
pub struct Rooms {
    room: u32,
    /// The pack of each room that came to it last.
    last: Vec<u32>,
    /// Of each pack the one that came to the same room before it.
    before: Vec<u32>,
    /// A bit for every room that a pack has.
    bits: Vec<u64>,
    /// A bit for every word of `bits` that is not zero.
    words: Vec<u64>,
}

impl Rooms {
    /// Of packs that have at first `room`.
    pub fn new(room: u32) -> Self {
        let words = room as usize / 64 + 1;
        Self {
            room,
            last: vec![NONE; room as usize + 1],
            before: Vec::new(),
            bits: vec![0; words],
            words: vec![0; words / 64 + 1],
        }
    }

    /// The number of packs.
    pub const fn packs(&self) -> u32 {
        self.before.len() as u32
    }

    /// Put `size` tokens, at most the room of an empty pack, into the pack with the least room for them, and return it.
    pub fn take(&mut self, size: u32) -> u32 {
        let Some(room) = self.least(size) else {
            let pack = self.packs();
            self.before.push(NONE);
            self.put(pack, self.room - size);
            return pack;
        };
        let pack = self.last[room];
        self.last[room] = self.before[pack as usize];
        if self.last[room] == NONE {
            self.bits[room / 64] &= !(1 << (room % 64));
            if self.bits[room / 64] == 0 {
                self.words[room / 4096] &= !(1 << (room / 64 % 64));
            }
        }
        self.put(pack, room as u32 - size);
        pack
    }

    fn put(&mut self, pack: u32, room: u32) {
        let room = room as usize;
        self.before[pack as usize] = self.last[room];
        self.last[room] = pack;
        self.bits[room / 64] |= 1 << (room % 64);
        self.words[room / 4096] |= 1 << (room / 64 % 64);
    }

    /// The least room of at least `size` that a pack has.
    fn least(&self, size: u32) -> Option<usize> {
        let size = size as usize;
        let word = size / 64;
        let here = self.bits[word] & (!0 << (size % 64));
        if here != 0 {
            return Some(word * 64 + here.trailing_zeros() as usize);
        }
        let word = next_bit(&self.words, word + 1)?;
        Some(word * 64 + self.bits[word].trailing_zeros() as usize)
    }
}

/// The first bit at `from` or behind it.
fn next_bit(bits: &[u64], from: usize) -> Option<usize> {
    let first = bits.get(from / 64)? & (!0 << (from % 64));
    if first != 0 {
        return Some(from / 64 * 64 + first.trailing_zeros() as usize);
    }
    let behind = from / 64 + 1;
    let word = behind + bits[behind..].iter().position(|&word| word != 0)?;
    Some(word * 64 + bits[word].trailing_zeros() as usize)
}
