//! Write SentencePiece's table of rewrites from stages that rewrite characters one by one, or with the marks on them.
//!
//! A table has finitely many keys: characters, and all ways to write what composes. Marks that are out of order, or
//! more of them than any character is composed of, are left as SentencePiece's own tables leave them.

use std::collections::hash_map::Entry;

use rustc_hash::{FxHashMap, FxHashSet};
use unicode_normalization::char::{compose, decompose_canonical};

use super::Normalizer;
use super::charsmap::BLOCK;
use crate::config::NormalizerStage;
use crate::error::Result;
use crate::regex::{BASE_STEPS, StepBudget};

/// A unit that nothing leads to.
const EMPTY: u32 = 0x8000_0000;

/// Return the table of the rewrites of `stages`, or nothing if they change no text.
///
/// # Errors
/// Those of [`Normalizer::new`].
pub fn charsmap(stages: &[NormalizerStage]) -> Result<Vec<u8>> {
    let normalizer = Normalizer::new(stages)?;
    let mut rules = Rules::default();
    let mut alike: FxHashMap<char, Vec<char>> = FxHashMap::default();
    for character in characters() {
        let text = character.to_string();
        let new = rewritten(&normalizer, &text)?;
        if new == text {
            continue;
        }
        let mut only = new.chars();
        if let (Some(one), None) = (only.next(), only.next()) {
            alike.entry(one).or_default().push(character);
        }
        rules.add(vec![character], new);
    }
    let mut written: Vec<Vec<char>> = characters().flat_map(|character| spellings(character, &alike)).collect();
    // A key is needed if shorter ones do not make the same.
    written.sort_unstable_by(|one, other| one.len().cmp(&other.len()).then_with(|| one.cmp(other)));
    written.dedup();
    for key in written {
        let new = rewritten(&normalizer, &key.iter().collect::<String>())?;
        if rules.apply(&key) != new {
            rules.add(key, new);
        }
    }
    Ok(rules.table())
}

fn rewritten(normalizer: &Normalizer, text: &str) -> Result<String> {
    let new = normalizer.normalize(text, &mut StepBudget::of(BASE_STEPS))?;
    Ok(new.map_or_else(|| text.to_owned(), |new| new.text))
}

/// All characters but NUL, which ends texts in a table.
fn characters() -> impl Iterator<Item = char> {
    (1..=u32::from(char::MAX)).filter_map(char::from_u32)
}

/// All ways to write a character that is composed of others, `alike` being those that become a character.
fn spellings(whole: char, alike: &FxHashMap<char, Vec<char>>) -> Vec<Vec<char>> {
    let mut parts = Vec::new();
    decompose_canonical(whole, |part| parts.push(part));
    if parts.len() < 2 {
        return Vec::new();
    }
    // Of a syllable with a final consonant only this: there are too many.
    let like = |one: char| -> Vec<char> {
        let others = if parts.len() > 2 && ('가'..='힣').contains(&whole) { None } else { alike.get(&one) };
        std::iter::once(one).chain(others.into_iter().flatten().copied()).collect()
    };
    let mut found = Vec::new();
    for order in orders(&parts[1..]) {
        // Ways to write the first parts: as one character if they compose, and part by part.
        let mut ways: Vec<Vec<char>> = like(parts[0]).into_iter().map(|one| vec![one]).collect();
        let mut composed = Some(parts[0]);
        for mark in order {
            ways = ways.iter().flat_map(|way| like(mark).into_iter().map(|one| [&way[..], &[one]].concat())).collect();
            composed = composed.and_then(|first| compose(first, mark));
            if let Some(composed) = composed.filter(|composed| *composed != whole) {
                ways.extend(like(composed).into_iter().map(|one| vec![one]));
            }
        }
        found.extend(ways.into_iter().filter(|way| way.len() > 1));
    }
    found
}

/// All orders of a few marks.
fn orders(marks: &[char]) -> Vec<Vec<char>> {
    if marks.len() < 2 {
        return vec![marks.to_vec()];
    }
    let each = |at: usize| {
        let rest = [&marks[..at], &marks[at + 1..]].concat();
        orders(&rest).into_iter().map(move |order| [&[marks[at]], &order[..]].concat())
    };
    (0..marks.len()).flat_map(each).collect()
}

/// The rewrites by key.
#[derive(Debug, Default)]
struct Rules {
    texts: FxHashMap<Vec<char>, String>,
    longest: usize,
}

impl Rules {
    fn add(&mut self, key: Vec<char>, text: String) {
        self.longest = self.longest.max(key.len());
        self.texts.insert(key, text);
    }

    /// Rewrite by the longest key at each place.
    fn apply(&self, mut rest: &[char]) -> String {
        let mut new = String::new();
        while let Some(first) = rest.first() {
            let lengths = (1..=self.longest.min(rest.len())).rev();
            match lengths.filter_map(|length| Some((length, self.texts.get(&rest[..length])?))).next() {
                Some((length, text)) => {
                    new.push_str(text);
                    rest = &rest[length..];
                }
                None => {
                    new.push(*first);
                    rest = &rest[1..];
                }
            }
        }
        new
    }

    /// Write the table: the size of the trie in bytes, the trie, the texts.
    fn table(self) -> Vec<u8> {
        if self.texts.is_empty() {
            return Vec::new();
        }
        let mut keys: Vec<(String, String)> =
            self.texts.into_iter().map(|(key, text)| (key.into_iter().collect(), text)).collect();
        keys.sort_unstable();
        let (mut pool, mut places) = (String::new(), FxHashMap::default());
        let values: Vec<(&[u8], u32)> = keys
            .iter()
            .map(|(key, text)| {
                let place = match places.entry(text.as_str()) {
                    Entry::Occupied(known) => *known.get(),
                    Entry::Vacant(new) => {
                        let place = pool.len() as u32;
                        pool.push_str(text);
                        pool.push('\0');
                        *new.insert(place)
                    }
                };
                (key.as_bytes(), place)
            })
            .collect();
        let mut trie = Trie::default();
        trie.lay(&values, 0, 0);
        trie.units.resize(trie.units.len().next_multiple_of(BLOCK), EMPTY);
        let units: Vec<u8> = trie.units.iter().flat_map(|unit| unit.to_le_bytes()).collect();
        [&(units.len() as u32).to_le_bytes()[..], &units, pool.as_bytes()].concat()
    }
}

/// A double array under construction; the children of a node lie at its base, by exclusive or with their bytes.
#[derive(Debug, Default)]
struct Trie {
    units: Vec<u32>,
    is_taken: Vec<bool>,
    bases: FxHashSet<usize>,
    /// No unit before it is free.
    first_free: usize,
}

impl Trie {
    /// Lay out the children of the node at `place`, whose keys, sorted, are alike in their first `depth` bytes.
    fn lay(&mut self, keys: &[(&[u8], u32)], depth: usize, place: usize) {
        self.take(place);
        let value = keys.first().filter(|(key, _)| key.len() == depth).map(|(_, value)| *value);
        let longer = &keys[usize::from(value.is_some())..];
        let children: Vec<&[(&[u8], u32)]> =
            longer.chunk_by(|(one, _), (other, _)| one[depth] == other[depth]).collect();
        let byte = |child: &[(&[u8], u32)]| usize::from(child[0].0[depth]);
        let mut slots: Vec<usize> = children.iter().map(|child| byte(child)).collect();
        slots.extend(value.map(|_| 0));
        let base = self.base(&slots);
        self.units[place] |= ((place ^ base) as u32) << 10 | u32::from(value.is_some()) << 8;
        if let Some(value) = value {
            self.take(base);
            self.units[base] = EMPTY | value;
        }
        for child in &children {
            let at = base ^ byte(child);
            self.take(at);
            self.units[at] = byte(child) as u32;
        }
        for child in children {
            self.lay(child, depth + 1, base ^ byte(child));
        }
    }

    /// Find a base at which all these slots are free, and which no other node has.
    fn base(&mut self, slots: &[usize]) -> usize {
        while self.is_taken(self.first_free) {
            self.first_free += 1;
        }
        let candidates = (self.first_free..).filter(|at| !self.is_taken(*at)).map(|at| at ^ slots[0]);
        let fits = |base: &usize| !self.bases.contains(base) && slots.iter().all(|slot| !self.is_taken(base ^ slot));
        let base = candidates.filter(|base| *base > 0).find(fits).unwrap_or_default();
        self.bases.insert(base);
        base
    }

    fn is_taken(&self, at: usize) -> bool {
        self.is_taken.get(at).is_some_and(|is_taken| *is_taken)
    }

    fn take(&mut self, at: usize) {
        let end = (at + 1).next_multiple_of(BLOCK).max(self.units.len());
        self.units.resize(end, EMPTY);
        self.is_taken.resize(end, false);
        if !self.is_taken[at] {
            self.is_taken[at] = true;
            self.units[at] = 0;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::charsmap::Charsmap;
    use super::*;

    fn map(stages: &[NormalizerStage]) -> Charsmap {
        Charsmap::new(&charsmap(stages).unwrap()).unwrap()
    }

    #[test]
    fn a_table_rewrites_as_the_stages_do() {
        let stages = [NormalizerStage::Nmt, NormalizerStage::Nfkc, NormalizerStage::Lowercase];
        let (map, normalizer) = (map(&stages), Normalizer::new(&stages).unwrap());
        let texts =
            ["ＡÅ", "e\u{301}", "ｶﾞ", "か\u{3099}", "A\u{323}\u{302}", "A\u{302}\u{323}", "\t\u{200B}ﬁ", "각", "\u{1}"];
        for text in texts {
            let (mut new, mut rest) = (String::new(), text);
            while let Some(first) = rest.chars().next() {
                let (length, with) = map.longest(rest).unwrap_or((first.len_utf8(), &rest[..first.len_utf8()]));
                new += with;
                rest = &rest[length..];
            }
            assert_eq!(new, rewritten(&normalizer, text).unwrap(), "{text:?}");
        }
    }

    #[test]
    fn stages_that_rewrite_nothing_have_no_table() {
        assert_eq!(charsmap(&[]).unwrap(), Vec::<u8>::new());
    }
}
