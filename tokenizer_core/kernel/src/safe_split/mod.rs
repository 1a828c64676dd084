//! Cuts inside a piece that no merge can cross.
//!
//! Where no token of the vocabulary spans a given pair of neighbouring characters, no merge can ever join them, so the
//! piece may be cut there: exact by construction, and for scripts without spaces the parts are short enough for
//! the piece cache. Characters fall into classes by what they can stand beside; a bit matrix holds the answers.

#[cfg(target_arch = "x86_64")]
mod avx512;

use rustc_hash::{FxHashMap, FxHashSet};

use crate::path::Path;
use crate::unicode::utf8::decode;
use crate::vocabulary::Vocabulary;

/// Characters of the Basic Multilingual Plane have a class each; next to any other character nothing is cut.
const PLANE: usize = 0x1_0000;

/// Above this many bits the matrix costs more than the cuts bring.
const MATRIX_LIMIT: usize = 1 << 26;

/// Which pairs of neighbouring characters some token spans.
#[derive(Debug)]
pub struct SafeSplit {
    /// By character: its class as a left neighbour in the high half, as a right neighbour in the low half.
    classes: Box<[u32]>,
    /// One row a left class, one bit a right class: set where a token may span the two.
    rows: Box<[u64]>,
    words: usize,
    /// One that the machine has.
    path: Path,
}

/// Pieces cut into parts; the buffers are as long as ever was needed, and the first `count` entries mean something.
#[derive(Debug, Default)]
pub struct Cuts {
    ends: Vec<u32>,
    parts: Vec<bool>,
    count: usize,
}

impl Cuts {
    /// Where each part or uncut piece ends.
    #[inline]
    pub fn ends(&self) -> &[u32] {
        &self.ends[..self.count]
    }

    /// Which of them are parts.
    #[inline]
    pub fn parts(&self) -> &[bool] {
        &self.parts[..self.count]
    }

    /// Make room for `most` ends.
    fn reserve(&mut self, most: usize) {
        if self.ends.len() < most {
            self.ends.resize(most, 0);
            self.parts.resize(most, false);
        }
    }

    /// Give back the memory of long pieces, down to `entries` entries a buffer.
    pub fn shrink(&mut self, entries: usize) {
        self.count = 0;
        self.ends.truncate(entries);
        self.ends.shrink_to(entries);
        self.parts.truncate(entries);
        self.parts.shrink_to(entries);
    }
}

/// Class of characters beyond the plane: everything may cross.
const ANY: u32 = 0;

impl SafeSplit {
    /// Learn the crossings of a vocabulary; `None` where there are too many kinds of them. Cuts are made on the portable
    /// path if the machine lacks `path`.
    pub fn new(vocabulary: &Vocabulary, path: Path) -> Option<Self> {
        let crossings = Crossings::of(vocabulary);
        let left = Classes::of(&crossings, Side::Left);
        let right = Classes::of(&crossings, Side::Right);
        let words = right.members.len().div_ceil(64);
        if left.members.len() * words * 64 > MATRIX_LIMIT {
            return None;
        }
        let mut rows = vec![0_u64; left.members.len() * words];
        rows[..words].fill(u64::MAX);
        for row in rows.chunks_exact_mut(words) {
            row[0] |= 1;
        }
        let (left_of, right_of) = (left.by_item(), right.by_item());
        for (left_item, right_item) in &crossings.pairs {
            for row in left_of.get(left_item).into_iter().flatten() {
                for column in right_of.get(right_item).into_iter().flatten() {
                    rows[*row as usize * words + *column as usize / 64] |= 1 << (column % 64);
                }
            }
        }
        let (rows, row_of) = merge_equal_rows(&rows, words);
        let classes = left.of_char.iter().zip(&right.of_char);
        let classes = classes.map(|(left, right)| row_of[*left as usize] << 16 | right).collect();
        let path = if path.is_available() { path } else { Path::Portable };
        Some(Self { classes, rows: rows.into_boxed_slice(), words, path })
    }

    /// Cut the pieces of `text` from `start` on, which end at `ends`. Between two characters of ASCII nothing is cut: such
    /// pieces repeat often enough as they are.
    pub fn cut(&self, text: &str, start: usize, ends: &[u32], cuts: &mut Cuts) {
        match self.path {
            #[cfg(target_arch = "x86_64")]
            // SAFETY: `new` has made sure that the machine has the path.
            Path::Avx512 => unsafe { avx512::cut(self, text.as_bytes(), start, ends, cuts) },
            _ => self.cut_one_by_one(text.as_bytes(), start, ends, cuts),
        }
    }

    fn cut_one_by_one(&self, text: &[u8], start: usize, ends: &[u32], cuts: &mut Cuts) {
        let (mut at, mut count) = (start, 0);
        // A part has a byte or more.
        let most = ends.last().map_or(0, |end| (*end as usize).saturating_sub(start)) + ends.len();
        cuts.reserve(most);
        let (part_ends, parts) = (&mut cuts.ends[..most], &mut cuts.parts[..most]);
        for end in ends.iter().map(|end| *end as usize) {
            let first = count;
            if !is_ascii(text, at, end) {
                let (mut left, mut before) = (ANY, 0);
                while at < end {
                    let (code, length) = decode(text, at, text[at]);
                    let class = self.class(code);
                    let right = class & 0xFFFF;
                    let word = self.rows[left as usize * self.words + right as usize / 64];
                    // Written whether it is cut here or not, which no branch could foresee.
                    part_ends[count] = at as u32;
                    parts[count] = true;
                    count += usize::from((word >> (right % 64) & 1 == 0) & (code | before >= 0x80));
                    at += length;
                    left = class >> 16;
                    before = code;
                }
            }
            part_ends[count] = end as u32;
            parts[count] = count > first;
            count += 1;
            at = end;
        }
        cuts.count = count;
    }

    /// The classes of a character, as a left neighbour in the high half.
    #[inline(always)]
    fn class(&self, code: u32) -> u32 {
        self.classes.get(code as usize).copied().unwrap_or(ANY << 16 | ANY)
    }
}

/// Whether `text[start..end]` is ASCII; most pieces are shorter than the bytes that are looked at together.
#[inline(always)]
fn is_ascii(text: &[u8], start: usize, end: usize) -> bool {
    const HIGH: u128 = u128::from_ne_bytes([0x80; 16]);
    match text[start..].first_chunk() {
        Some(bytes) if end - start <= 16 => {
            // Twice, since a number cannot be shifted by all of its bits.
            let half = 4 * (16 - (end - start)) as u32;
            (u128::from_le_bytes(*bytes) & HIGH) << half << half == 0
        }
        _ => text[start..end].is_ascii(),
    }
}

/// One side of a crossing as a token shows it: a whole character, or the bytes of it that the token has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Item {
    Whole(u16),
    /// The last one or two bytes of a left character, the first one or two of a right one; 0 stands for no byte.
    Bytes([u8; 2]),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Side {
    Left,
    Right,
}

/// Every pair of neighbours that some token spans.
#[derive(Debug, Default)]
struct Crossings {
    pairs: FxHashSet<(Item, Item)>,
}

impl Crossings {
    fn of(vocabulary: &Vocabulary) -> Self {
        let mut crossings = Self::default();
        for (id, bytes) in vocabulary.tokens() {
            if vocabulary.is_opaque(id) {
                continue;
            }
            for at in 1..bytes.len() {
                if !is_continuation(bytes[at])
                    && let (Some(left), Some(right)) = (left_item(&bytes[..at]), right_item(&bytes[at..]))
                {
                    crossings.pairs.insert((left, right));
                }
            }
        }
        crossings
    }
}

/// The character that `bytes` end in, or `None` if it is beyond the plane or no valid text ends so.
fn left_item(bytes: &[u8]) -> Option<Item> {
    let tail = bytes.iter().rev().take_while(|byte| is_continuation(**byte)).count();
    if tail == bytes.len() {
        return match *bytes {
            [one] => Some(Item::Bytes([0, one])),
            [one, two] => Some(Item::Bytes([one, two])),
            _ => None,
        };
    }
    whole(&bytes[bytes.len() - tail - 1..])
}

/// The character that `bytes` begin with, or `None` if it is beyond the plane or no valid text begins so.
fn right_item(bytes: &[u8]) -> Option<Item> {
    let length = 1 + bytes[1..].iter().take_while(|byte| is_continuation(**byte)).count();
    let expected = match bytes[0] {
        0x00..=0x7F => 1,
        0xC2..=0xDF => 2,
        0xE0..=0xEF => 3,
        _ => return None,
    };
    match (length, bytes.len() == length) {
        (length, _) if length == expected => whole(&bytes[..length]),
        (1, true) => Some(Item::Bytes([bytes[0], 0])),
        (2, true) => Some(Item::Bytes([bytes[0], bytes[1]])),
        _ => None,
    }
}

fn whole(bytes: &[u8]) -> Option<Item> {
    let mut characters = std::str::from_utf8(bytes).ok()?.chars();
    let character = characters.next()?;
    Some(Item::Whole(u16::try_from(character as u32).ok()?))
}

fn is_continuation(byte: u8) -> bool {
    byte & 0xC0 == 0x80
}

/// Characters with the same items, on one side.
struct Classes {
    of_char: Vec<u32>,
    /// The items of each class.
    members: Vec<[Option<Item>; 3]>,
}

impl Classes {
    fn of(crossings: &Crossings, side: Side) -> Self {
        let items = crossings.pairs.iter().map(|(left, right)| if side == Side::Left { *left } else { *right });
        let (mut whole, mut bytes) = (vec![false; PLANE], FxHashSet::default());
        for item in items {
            match item {
                Item::Whole(character) => whole[usize::from(character)] = true,
                Item::Bytes(part) => {
                    bytes.insert(part);
                }
            }
        }
        let mut classes = Self { of_char: vec![ANY; PLANE], members: vec![[None; 3]] };
        let mut known = FxHashMap::default();
        for (code, is_whole) in whole.iter().enumerate() {
            let Some(character) = char::from_u32(code as u32) else { continue };
            let mut buffer = [0; 4];
            let utf8 = character.encode_utf8(&mut buffer).as_bytes();
            let shown = |part: [u8; 2]| bytes.contains(&part).then_some(Item::Bytes(part));
            let [short, long] = match (side, utf8) {
                (_, [_]) => [None, None],
                (Side::Left, [_, last]) => [shown([0, *last]), None],
                (Side::Left, [.., middle, last]) => [shown([0, *last]), shown([*middle, *last])],
                (Side::Right, [first, _]) => [shown([*first, 0]), None],
                (Side::Right, [first, middle, ..]) => [shown([*first, 0]), shown([*first, *middle])],
                (_, []) => [None, None],
            };
            let items = [is_whole.then_some(Item::Whole(code as u16)), short, long];
            let class = *known.entry(items).or_insert_with(|| {
                classes.members.push(items);
                classes.members.len() as u32 - 1
            });
            classes.of_char[code] = class;
        }
        classes
    }

    fn by_item(&self) -> FxHashMap<Item, Vec<u32>> {
        let mut classes: FxHashMap<Item, Vec<u32>> = FxHashMap::default();
        for (class, items) in self.members.iter().enumerate() {
            for item in items.iter().flatten() {
                classes.entry(*item).or_default().push(class as u32);
            }
        }
        classes
    }
}

/// Keep one of each distinct row; the second result maps old rows to new ones.
fn merge_equal_rows(rows: &[u64], words: usize) -> (Vec<u64>, Vec<u32>) {
    let mut known: FxHashMap<&[u64], u32> = FxHashMap::default();
    let mut kept = Vec::new();
    let row_of = rows
        .chunks_exact(words)
        .map(|row| {
            let next = known.len() as u32;
            *known.entry(row).or_insert_with(|| {
                kept.extend_from_slice(row);
                next
            })
        })
        .collect();
    (kept, row_of)
}
