//! All entries as one trie over bytes, laid out as a double array: a step is one load.

use crate::error::{Code, Error, Result};

/// Units that share the upper bits of their place. The children of a node lie in one block.
const BLOCK: usize = 256;

/// Blocks that are searched for room: the last ones; those before are full enough.
const OPEN: usize = 16;

/// Free places that are tried for the children of a node before there is another block.
const TRIES: usize = 512;

/// No entry ends here; above any id.
const NONE: u64 = 0x7F_FFFF;

/// Nothing leads to this place.
const FREE: u64 = 1 << 31;

/// A node: the base of its children in the upper half, then the entry that ends here, and the byte that leads here.
#[derive(Debug, Clone, Copy)]
struct TrieUnit(u64);

impl TrieUnit {
    fn new(label: u8) -> Self {
        Self(NONE << 8 | u64::from(label))
    }

    /// Tell whether `byte` leads here from the base that was asked.
    #[inline(always)]
    fn is_at(self, byte: u8) -> bool {
        self.0 & (FREE | 0xFF) == u64::from(byte)
    }

    #[inline(always)]
    fn base(self) -> usize {
        (self.0 >> 32) as usize
    }

    #[inline(always)]
    fn id(self) -> Option<u32> {
        let id = self.0 >> 8 & NONE;
        (id != NONE).then_some(id as u32)
    }

    fn with_base(self, base: u32) -> Self {
        Self(self.0 & 0xFFFF_FFFF | u64::from(base) << 32)
    }

    fn with_id(self, id: u32) -> Self {
        Self(self.0 & !(NONE << 8) | u64::from(id) << 8)
    }
}

/// The entries.
#[derive(Debug)]
pub struct Trie {
    units: Vec<TrieUnit>,
}

impl Trie {
    /// Build the trie of `(entry, id)`; ids are below `MAX_IDS`.
    ///
    /// # Errors
    /// `duplicate_token`; `invalid_file` for an empty entry, and for more nodes than have a place.
    pub fn new(mut entries: Vec<(&[u8], u32)>) -> Result<Self> {
        entries.sort_unstable();
        if let Some(pair) = entries.windows(2).find(|pair| pair[0].0 == pair[1].0) {
            let message =
                format!("{:?} has the ids {} and {}", String::from_utf8_lossy(pair[0].0), pair[0].1, pair[1].1);
            return Err(Error::new(Code::DuplicateToken, message));
        }
        if let Some((_, id)) = entries.first().filter(|(entry, _)| entry.is_empty()) {
            return Err(Error::new(Code::InvalidFile, format!("the entry {id} is empty")));
        }
        let mut trie = Self { units: vec![TrieUnit(FREE | NONE << 8); BLOCK] };
        let mut builder = TrieBuilder::default();
        // Node, its entries, and how many of their bytes lead to it.
        let mut waiting = vec![(0, 0..entries.len(), 0)];
        while let Some((node, range, depth)) = waiting.pop() {
            let mut rest = &entries[range.clone()];
            let mut start = range.start;
            if let Some((_, id)) = rest.first().filter(|(entry, _)| entry.len() == depth) {
                trie.units[node] = trie.units[node].with_id(*id);
                (rest, start) = (&rest[1..], start + 1);
            }
            let children: Vec<_> = rest.chunk_by(|left, right| left.0[depth] == right.0[depth]).collect();
            if children.is_empty() {
                continue;
            }
            let labels: Vec<u8> = children.iter().map(|child| child[0].0[depth]).collect();
            let base = builder.place(&labels, &mut trie.units)?;
            trie.units[node] = trie.units[node].with_base(base);
            for (child, label) in children.iter().zip(labels) {
                let place = base as usize ^ usize::from(label);
                waiting.push((place, start..start + child.len(), depth + 1));
                start += child.len();
            }
        }
        Ok(trie)
    }

    /// Give the length and the id of each entry that `text` begins with, shortest first.
    #[inline(always)]
    pub fn entries(&self, text: &[u8], mut give: impl FnMut(usize, u32)) {
        let mut base = self.units[0].base();
        if base == 0 {
            return;
        }
        for (at, byte) in text.iter().enumerate() {
            let Some(unit) = self.units.get(base ^ usize::from(*byte)).filter(|unit| unit.is_at(*byte)) else { return };
            if let Some(id) = unit.id() {
                give(at + 1, id);
            }
            base = unit.base();
            if base == 0 {
                return;
            }
        }
    }

    /// The entry that is `text`.
    pub fn get(&self, text: &[u8]) -> Option<u32> {
        let mut found = None;
        self.entries(text, |length, id| found = (length == text.len()).then_some(id).or(found));
        found
    }
}

/// Finds places for the children of nodes.
#[derive(Default)]
struct TrieBuilder {
    /// By the place of a unit: taken by a node, or the base of one.
    is_taken: Vec<bool>,
    is_base: Vec<bool>,
    /// Places in the last blocks that were free when they were last looked at, and the next of them to look at.
    free: Vec<usize>,
    next: usize,
}

impl TrieBuilder {
    /// Make a base at which all `labels` are free, and take their places.
    fn place(&mut self, labels: &[u8], units: &mut Vec<TrieUnit>) -> Result<u32> {
        let base = match self.find(labels) {
            Some(base) => base,
            None => self.add_block(units),
        };
        self.is_base[base] = true;
        for label in labels {
            let place = base ^ usize::from(*label);
            self.is_taken[place] = true;
            units[place] = TrieUnit::new(*label);
        }
        u32::try_from(base).map_err(|_| Error::new(Code::InvalidFile, "the entries are too many for one trie"))
    }

    fn find(&mut self, labels: &[u8]) -> Option<usize> {
        for _ in 0..TRIES {
            if self.next >= self.free.len() {
                self.next = 0;
            }
            let place = *self.free.get(self.next)?;
            if self.is_taken[place] {
                self.free.swap_remove(self.next);
                continue;
            }
            let base = place ^ usize::from(labels[0]);
            if !self.is_base[base] && labels.iter().all(|label| !self.is_taken[base ^ usize::from(*label)]) {
                return Some(base);
            }
            self.next += 1;
        }
        None
    }

    /// Add a block, and return a base in it.
    fn add_block(&mut self, units: &mut Vec<TrieUnit>) -> usize {
        // The root is alone in the first block, since a base of 0 is none.
        let start = units.len();
        units.resize(start + BLOCK, TrieUnit(FREE | NONE << 8));
        self.is_taken.resize(start + BLOCK, false);
        self.is_base.resize(start + BLOCK, false);
        self.free.retain(|place| place + OPEN * BLOCK >= start);
        self.free.extend(start..start + BLOCK);
        self.next = 0;
        start
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn every_entry_that_a_text_begins_with_is_found_and_no_other(
            entries in prop::collection::btree_map("[abcé▁\\x00]{1,6}", 0_u32..1000, 0..60),
            texts in prop::collection::vec("[abcé▁\\x00]{0,8}", 1..20),
        ) {
            let trie = Trie::new(entries.iter().map(|(entry, id)| (entry.as_bytes(), *id)).collect()).unwrap();
            for text in texts.iter().chain(entries.keys()) {
                let mut found = Vec::new();
                trie.entries(text.as_bytes(), |length, id| found.push((length, id)));
                let expected: Vec<_> = (1..=text.len())
                    .filter_map(|length| Some((length, *entries.get(text.get(..length)?)?)))
                    .collect();
                prop_assert_eq!(found, expected);
                prop_assert_eq!(trie.get(text.as_bytes()), entries.get(text).copied());
            }
        }
    }

    #[test]
    fn thousands_of_entries_are_found() {
        let entries: BTreeMap<String, u32> =
            (0..30_000_u32).map(|id| (format!("{:x}", id.wrapping_mul(2_654_435_761)), id)).collect();
        let trie = Trie::new(entries.iter().map(|(entry, id)| (entry.as_bytes(), *id)).collect()).unwrap();
        assert!(entries.iter().all(|(entry, id)| trie.get(entry.as_bytes()) == Some(*id)));
        assert!(trie.units.len() < 8 * entries.len());
    }

    #[test]
    fn entries_that_stand_twice_or_are_empty_are_refused() {
        let code = |entries: Vec<(&[u8], u32)>| Trie::new(entries).map_err(|error| error.code).err();
        assert_eq!(code(vec![(b"a", 1), (b"b", 2), (b"a", 3)]), Some(Code::DuplicateToken));
        assert_eq!(code(vec![(b"", 1)]), Some(Code::InvalidFile));
        assert_eq!(code(Vec::new()), None);
    }
}
