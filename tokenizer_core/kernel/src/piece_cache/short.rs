//! Short pieces of few ids: the key is the piece, an entry half a cache line.

/// Longest piece that has a key, in bytes.
pub const KEY_LIMIT: usize = 15;

/// Most ids that an entry holds.
pub const IDS_LIMIT: usize = 4;

/// A piece as one word: 15 bytes of text, then 4 bits of length, one bit for its kind, 3 bits that entries use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Key(u128);

const LENGTH_SHIFT: u32 = 120;
const PART_BIT: u128 = 1 << 124;
const COUNT_SHIFT: u32 = 125;

impl Key {
    /// The key of `text[start..end]`, or `None` if the piece is too long.
    ///
    /// `part` tells a part of a piece from a whole one: only whole pieces are looked up as tokens before they are
    /// merged, so the same bytes can have other ids.
    #[inline]
    pub fn new(text: &[u8], start: usize, end: usize, part: bool) -> Option<Self> {
        let length = end - start;
        if length > KEY_LIMIT {
            return None;
        }
        // Sixteen bytes at once where the text goes on that far; the surplus is masked off.
        let word = match text.get(start..).and_then(<[u8]>::first_chunk::<16>) {
            Some(bytes) => u128::from_le_bytes(*bytes) & ((1_u128 << (8 * length)) - 1),
            None => {
                let mut bytes = [0; 16];
                bytes[..length].copy_from_slice(&text[start..end]);
                u128::from_le_bytes(bytes)
            }
        };
        Some(Self(word | (length as u128) << LENGTH_SHIFT | if part { PART_BIT } else { 0 }))
    }

    /// Whether a byte of the piece is outside ASCII.
    #[inline]
    pub fn is_ascii(self) -> bool {
        self.0 & 0x0080_8080_8080_8080_8080_8080_8080_8080 == 0
    }

    #[inline]
    fn hash(self) -> u64 {
        let (low, high) = (self.0 as u64, (self.0 >> 64) as u64);
        let mixed = (low ^ high.rotate_left(23)).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        (mixed ^ high).wrapping_mul(0xD6E8_FEB8_6659_FD93)
    }
}

#[derive(Debug, Clone, Copy)]
struct Entry {
    /// The key with the number of ids in the three bits above it; zero is empty.
    key: u128,
    ids: [u32; IDS_LIMIT],
}

const EMPTY: Entry = Entry { key: 0, ids: [0; IDS_LIMIT] };

/// Two entries in one cache line.
#[derive(Debug, Clone, Copy)]
#[repr(align(64))]
struct Bucket([Entry; 2]);

const _: () = assert!(size_of::<Bucket>() == 64);

/// The cache; its size is fixed when it is made.
#[derive(Debug)]
pub struct ShortCache {
    buckets: Box<[Bucket]>,
    shift: u32,
}

impl ShortCache {
    /// A cache of at most `bytes` bytes, and at least one bucket.
    pub fn new(bytes: usize) -> Self {
        let bits = (bytes / size_of::<Bucket>()).max(2).ilog2();
        Self { buckets: vec![Bucket([EMPTY; 2]); 1 << bits].into_boxed_slice(), shift: 64 - bits }
    }

    /// The ids of a piece and how many of them count.
    #[inline]
    pub fn get(&self, key: Key) -> Option<([u32; IDS_LIMIT], usize)> {
        let Bucket(entries) = &self.buckets[self.bucket(key)];
        entries
            .iter()
            .find(|entry| (entry.key ^ key.0) << (128 - COUNT_SHIFT) == 0 && entry.key != 0)
            .map(|entry| (entry.ids, (entry.key >> COUNT_SHIFT) as usize))
    }

    /// Remember the ids of a piece, unless there are too many; the older entry of the bucket goes.
    #[inline]
    pub fn insert(&mut self, key: Key, ids: &[u32]) {
        if ids.len() > IDS_LIMIT {
            return;
        }
        let mut entry = Entry { key: key.0 | (ids.len() as u128) << COUNT_SHIFT, ids: [0; IDS_LIMIT] };
        entry.ids[..ids.len()].copy_from_slice(ids);
        let at = self.bucket(key);
        let Bucket(entries) = &mut self.buckets[at];
        entries[1] = entries[0];
        entries[0] = entry;
    }

    #[inline]
    fn bucket(&self, key: Key) -> usize {
        (key.hash() >> self.shift) as usize & (self.buckets.len() - 1)
    }
}
