//! The number of code points or UTF-16 units before any byte of a text, by one lookup: a bit for each unit, and the
//! number of bits before each word, as in succinct data structures.

/// Bytes for each word of bits.
const BLOCK: usize = 64;

/// The index of one text.
#[derive(Debug)]
pub struct UnitIndex<'a> {
    text: &'a [u8],
    blocks: Vec<MarkBlock>,
}

#[derive(Debug, Clone, Copy)]
struct MarkBlock {
    /// A bit for the first byte of each character, and if units are those of UTF-16, for the second byte of characters
    /// of two units.
    marks: u64,
    /// The number of bits of all earlier blocks.
    before: u32,
}

impl<'a> UnitIndex<'a> {
    /// Index valid UTF-8 of less than 4 GiB.
    pub fn new(text: &'a [u8], utf16: bool) -> Self {
        let mut blocks = Vec::with_capacity(text.len() / BLOCK + 1);
        let (mut before, mut carried) = (0, 0);
        for bytes in text.chunks(BLOCK) {
            if bytes.len() == BLOCK && bytes.is_ascii() {
                blocks.push(MarkBlock { marks: u64::MAX, before });
                before += BLOCK as u32;
                continue;
            }
            let mut block = [0x80; BLOCK];
            block[..bytes.len()].copy_from_slice(bytes);
            let mut marks = bits(&block, |word| !(word & !(word << 1)));
            if utf16 {
                let four = bits(&block, |word| word & word << 1 & word << 2 & word << 3);
                marks |= four << 1 | carried;
                carried = four >> (BLOCK - 1);
            }
            blocks.push(MarkBlock { marks, before });
            before += marks.count_ones();
        }
        blocks.push(MarkBlock { marks: 0, before });
        Self { text, blocks }
    }

    /// Units before the character that holds the byte at `position`, and those up to its end; on the border of a
    /// character both are the units before.
    #[inline(always)]
    pub fn around(&self, position: usize) -> [u32; 2] {
        if !self.is_inside(position) {
            return [self.before(position); 2];
        }
        let (mut first, mut end) = (position - 1, position + 1);
        while self.is_inside(first) {
            first -= 1;
        }
        while self.is_inside(end) {
            end += 1;
        }
        [self.before(first), self.before(end)]
    }

    #[inline(always)]
    fn before(&self, position: usize) -> u32 {
        let MarkBlock { marks, before } = self.blocks[position / BLOCK];
        before + (marks & !(u64::MAX << (position % BLOCK))).count_ones()
    }

    #[inline(always)]
    fn is_inside(&self, position: usize) -> bool {
        self.text.get(position).is_some_and(|byte| byte & 0xC0 == 0x80)
    }
}

/// The highest bit of each byte of what `look` makes of the words of a block, in the order of the bytes.
#[inline(always)]
fn bits(block: &[u8; BLOCK], look: impl Fn(u64) -> u64) -> u64 {
    const HIGHEST: u64 = u64::from_ne_bytes([0x80; 8]);
    // Moves the bit of the byte `n` to the bit `56 + n`.
    const GATHER: u64 = 0x0102_0408_1020_4080;
    let words = block.as_chunks::<8>().0.iter().map(|word| look(u64::from_le_bytes(*word)) & HIGHEST);
    words.rev().fold(0, |bits, word| bits << 8 | (word >> 7).wrapping_mul(GATHER) >> 56)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn units(text: &str, utf16: bool) -> u32 {
        text.chars().map(|char| if utf16 { char.len_utf16() as u32 } else { 1 }).sum()
    }

    proptest! {
        #[test]
        fn every_byte_has_the_characters_before_and_around_it(
            parts in prop::collection::vec(prop::sample::select(vec!["a", "sixteen ASCII ch", "é", "中", "👍"]), 0..120),
            utf16 in any::<bool>(),
        ) {
            let text = parts.concat();
            let index = UnitIndex::new(text.as_bytes(), utf16);
            for position in 0..=text.len() {
                let (start, end) = (text.floor_char_boundary(position), text.ceil_char_boundary(position));
                let expected = [units(&text[..start], utf16), units(&text[..end], utf16)];
                prop_assert_eq!(index.around(position), expected, "{}", position);
            }
        }
    }
}
