//! Find the file index of an entry by its text, many at a time.
//!
//! A file of 280,000 merges needs 840,000 lookups, each a miss of the processor's cache: a hash map took 80 of 120 ms.
//! Here each step is done for a whole batch before the next one, so that the misses of a batch overlap.

use std::borrow::Cow;

use crate::hashing::KeyedHash;

/// Finds entries by their text. The hash is keyed anew each time, so no file can be made to collide.
pub struct Lookup<'a> {
    entries: &'a [(Cow<'a, str>, u32)],
    /// The upper half of the hash, and one more than the index of the entry; 0 is free. Half of them are free.
    slots: Vec<(u32, u32)>,
    hash: KeyedHash,
}

impl<'a> Lookup<'a> {
    /// Index the entries; the error is the index of the first one that repeats the text of another.
    pub fn new(entries: &'a [(Cow<'a, str>, u32)]) -> Result<Self, usize> {
        let slots = vec![(0, 0); (entries.len() * 2).next_power_of_two().max(2)];
        let mut lookup = Self { entries, slots, hash: KeyedHash::new() };
        let mut hashes = Vec::with_capacity(entries.len());
        hashes.extend(entries.iter().map(|(text, _)| lookup.hash.of(text.as_bytes())));
        for (index, (hash, (text, _))) in hashes.into_iter().zip(entries).enumerate() {
            match lookup.probe(hash, |other| other == text) {
                Ok(_) => return Err(index),
                Err(free) => lookup.slots[free] = (tag(hash), index as u32 + 1),
            }
        }
        Ok(lookup)
    }

    /// Find the index of the entry of each text, which is given in parts.
    pub fn find<const N: usize>(&self, texts: &[[&str; N]], found: &mut Vec<Option<usize>>) {
        let mut joined = Vec::new();
        let hashes: Vec<u64> = texts
            .iter()
            .map(|parts| {
                if let [whole] = parts.as_slice() {
                    return self.hash.of(whole.as_bytes());
                }
                joined.clear();
                parts.iter().for_each(|part| joined.extend_from_slice(part.as_bytes()));
                self.hash.of(&joined)
            })
            .collect();
        let first: Vec<(u32, u32)> = hashes.iter().map(|hash| self.slots[self.home(*hash)]).collect();
        let likely: Vec<Option<(usize, &Cow<'a, str>)>> = hashes
            .iter()
            .zip(first)
            .map(|(hash, slot)| {
                let index = (slot.1 as usize).wrapping_sub(1);
                self.entries.get(index).filter(|_| slot.0 == tag(*hash)).map(|(text, _)| (index, text))
            })
            .collect();
        let likely: Vec<Option<(usize, &str)>> =
            likely.into_iter().map(|entry| entry.map(|(index, text)| (index, text.as_ref()))).collect();
        found.clear();
        found.extend(likely.iter().zip(texts).zip(hashes).map(|((likely, parts), hash)| match likely {
            Some((index, text)) if is_joined(text, parts) => Some(*index),
            _ => {
                let slot = self.probe(hash, |text| is_joined(text, parts)).ok()?;
                Some(self.slots[slot].1 as usize - 1)
            }
        }));
    }

    /// `guess` if that is the index of the entry of these parts; consecutive guesses cost no cache miss.
    pub fn is_at(&self, guess: usize, parts: &[&str]) -> Option<usize> {
        self.entries.get(guess).filter(|(text, _)| is_joined(text, parts)).map(|_| guess)
    }

    /// The slot of the text that `is` the one looked for, or else the free slot where it would stand.
    fn probe(&self, hash: u64, is: impl Fn(&str) -> bool) -> Result<usize, usize> {
        let mut at = self.home(hash);
        loop {
            let (other, index) = self.slots[at];
            if index == 0 {
                return Err(at);
            }
            if other == tag(hash) && is(&self.entries[index as usize - 1].0) {
                return Ok(at);
            }
            at = (at + 1) & (self.slots.len() - 1);
        }
    }

    fn home(&self, hash: u64) -> usize {
        hash as usize & (self.slots.len() - 1)
    }
}

fn tag(hash: u64) -> u32 {
    (hash >> 32) as u32
}

fn is_joined(text: &str, parts: &[&str]) -> bool {
    let mut rest = text;
    for part in parts {
        match rest.strip_prefix(part) {
            Some(after) => rest = after,
            None => return false,
        }
    }
    rest.is_empty()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn find<const N: usize>(entries: &[&str], texts: &[[&str; N]]) -> Vec<Option<usize>> {
        let entries: Vec<(Cow<'_, str>, u32)> = entries.iter().map(|text| (Cow::Borrowed(*text), 10)).collect();
        let mut found = vec![Some(0)];
        Lookup::new(&entries).unwrap_or_else(|index| panic!("{index} stands twice")).find(texts, &mut found);
        found
    }

    #[test]
    fn joined_parts_are_found_as_one_text() {
        let entries = ["a", "ab", "abcdefgh", "abcdefghi", "Ġt", "a\0", ""];
        let texts = [["a", "b"], ["abcdefg", "h"], ["", "a"], ["Ġ", "t"], ["a", "\0"], ["b", "a"], ["", ""]];
        let expected = [Some(1), Some(2), Some(0), Some(4), Some(5), None, Some(6)];
        assert_eq!(find(&entries, &texts), expected);
        assert_eq!(find(&[], &[["a"]]), [None]);
    }

    #[test]
    fn every_entry_of_a_large_table_is_found_and_nothing_else() {
        let texts: Vec<String> = (0..50_000).map(|number| format!("{number:x}")).collect();
        let entries: Vec<&str> = texts.iter().map(String::as_str).collect();
        let asked: Vec<[&str; 1]> = entries.iter().map(|text| [*text]).collect();
        assert!(find(&entries, &asked).into_iter().zip(0..).all(|(id, expected)| id == Some(expected)));
        assert!(find(&entries[..1000], &asked[1000..]).iter().all(Option::is_none));
    }

    #[test]
    fn a_text_that_stands_twice_is_told_by_its_index() {
        let entries: Vec<(Cow<'_, str>, u32)> = ["a", "b", "a"].map(|text| (Cow::Borrowed(text), 0)).to_vec();
        assert_eq!(Lookup::new(&entries).err(), Some(2));
    }
}
