//! SentencePiece's table of rewrites: a double array trie over UTF-8, and the texts that its values point to.

use crate::error::{Code, Error, Result};

/// Units of the trie that belong together: a node and its children lie in one block.
pub(super) const BLOCK: usize = 256;

/// The longest key, in bytes: what is looked at for every character of a text.
const MAX_KEY: usize = 256;

/// The most keys of one text that are looked at, as in SentencePiece.
const MAX_KEYS: usize = 32;

/// A precompiled map from short texts to others.
#[derive(Debug)]
pub(super) struct Charsmap {
    units: Vec<CharsmapUnit>,
    /// Every replacement ends with a zero.
    texts: String,
}

/// One unit of the double array, as the Darts library lays it out.
#[derive(Debug, Clone, Copy)]
struct CharsmapUnit(u32);

impl CharsmapUnit {
    /// Tell whether a key ends here; then the unit at the offset has its value.
    fn ends_key(self) -> bool {
        self.0 >> 8 & 1 == 1
    }

    /// The value, of the unit behind the end of a key.
    fn value(self) -> usize {
        (self.0 & 0x7FFF_FFFF) as usize
    }

    /// The byte that leads here; no byte at all for a value.
    fn label(self) -> u32 {
        self.0 & 0x8000_00FF
    }

    /// The distance to the children, by exclusive or.
    fn offset(self) -> usize {
        ((self.0 >> 10) << ((self.0 & 1 << 9) >> 6)) as usize
    }

    fn is_value(self) -> bool {
        self.label() > 0xFF
    }
}

impl Charsmap {
    /// Read a map: the size of the trie in bytes, the trie, the texts; all numbers little-endian.
    ///
    /// # Errors
    /// `invalid_file` for a map that leads out of the trie or of the texts, or whose texts are not UTF-8.
    pub(super) fn new(bytes: &[u8]) -> Result<Self> {
        let broken = |message: &str| Error::new(Code::InvalidFile, format!("the charsmap is broken: {message}"));
        let (size, rest) = bytes.split_first_chunk().ok_or_else(|| broken("it has no size"))?;
        let size = u32::from_le_bytes(*size) as usize;
        let (trie, texts) = rest.split_at_checked(size).ok_or_else(|| broken("its trie is longer than the map"))?;
        if size == 0 || !size.is_multiple_of(4 * BLOCK) {
            return Err(broken("the size of its trie is not a multiple of 1024"));
        }
        let units: Vec<CharsmapUnit> =
            trie.as_chunks().0.iter().map(|unit| CharsmapUnit(u32::from_le_bytes(*unit))).collect();
        let texts = std::str::from_utf8(texts).map_err(|_| broken("its texts are not UTF-8"))?;
        if !texts.ends_with('\0') {
            return Err(broken("its last text has no end"));
        }
        let root = units[0];
        if root.label() != 0 || root.ends_key() || root.offset() == 0 {
            return Err(broken("its trie has no root"));
        }
        for (at, unit) in units.iter().enumerate() {
            if unit.is_value() {
                if !texts.is_char_boundary(unit.value()) || unit.value() >= texts.len() {
                    return Err(broken("a value points outside of the texts"));
                }
                continue;
            }
            let children = at ^ unit.offset();
            if children | (BLOCK - 1) >= units.len() {
                return Err(broken("a node points outside of the trie"));
            }
            if unit.ends_key() && !units[children].is_value() {
                return Err(broken("a key has no value"));
            }
        }
        let map = Self { units, texts: texts.to_owned() };
        if !map.has_short_keys() {
            return Err(broken(&format!("its trie goes round in a circle, or has a key of more than {MAX_KEY} bytes")));
        }
        Ok(map)
    }

    /// Tell whether no path through the trie exceeds [`MAX_KEY`]. Paths may meet: equal ends of keys share their nodes.
    fn has_short_keys(&self) -> bool {
        // By node: how long its longest way is; none for a node on the way at hand.
        let mut heights: Vec<Option<usize>> = vec![None; self.units.len()];
        let mut is_known = vec![false; self.units.len()];
        let mut way: Vec<(usize, u32, usize)> = vec![(0, 0, 0)];
        is_known[0] = true;
        while let Some((node, byte, height)) = way.pop() {
            let children = node ^ self.units[node].offset();
            let child_of = |byte: &u32| self.units[children ^ *byte as usize].label() == *byte;
            let Some(byte) = (byte + 1..=0xFF).find(child_of) else {
                heights[node] = Some(height);
                if let Some((_, _, above)) = way.last_mut() {
                    *above = (*above).max(height + 1);
                }
                continue;
            };
            way.push((node, byte, height));
            let child = children ^ byte as usize;
            let length = way.len();
            match heights[child] {
                Some(below) if length + below <= MAX_KEY => way[length - 1].2 = height.max(below + 1),
                None if !is_known[child] && length <= MAX_KEY => {
                    is_known[child] = true;
                    way.push((child, 0, 0));
                }
                _ => return false,
            }
        }
        true
    }

    /// The longest key that `text` begins with: its length and its replacement. A key that ends within a character is
    /// none.
    pub(super) fn longest(&self, text: &str) -> Option<(usize, &str)> {
        let (mut longest, mut keys) = (None, 0);
        self.keys(text.as_bytes(), |length, value| {
            if text.is_char_boundary(length) {
                longest = Some((length, value));
            }
            keys += 1;
            keys < MAX_KEYS
        });
        longest.map(|(length, value)| (length, self.text(value)))
    }

    /// The replacement of the shortest key that `text` begins with.
    pub(super) fn shortest(&self, text: &str) -> Option<&str> {
        let mut shortest = None;
        self.keys(text.as_bytes(), |_, value| {
            shortest = Some(value);
            false
        });
        shortest.map(|value| self.text(value))
    }

    /// Tell whether a key begins with these bytes, none of them 0.
    pub(super) fn has_key_from(&self, bytes: &[u8]) -> bool {
        let mut node = 0;
        bytes.iter().all(|byte| {
            node ^= self.units[node].offset() ^ usize::from(*byte);
            self.units[node].label() == u32::from(*byte)
        })
    }

    /// Tell whether no key begins with this byte of ASCII and ends there, or goes on in ASCII.
    pub(super) fn keeps_before_ascii(&self, byte: u8) -> bool {
        let node = self.units[0].offset() ^ usize::from(byte);
        if byte == 0 || self.units[node].label() != u32::from(byte) {
            return true;
        }
        let children = node ^ self.units[node].offset();
        !self.units[node].ends_key() && (1..0x80).all(|byte| self.units[children ^ byte as usize].label() != byte)
    }

    /// Give the length and the value of each key that `text` begins with, shortest first, as long as `go_on` says so.
    #[inline(always)]
    fn keys(&self, text: &[u8], mut go_on: impl FnMut(usize, usize) -> bool) {
        let mut node = self.units[0].offset();
        for (at, byte) in text.iter().enumerate() {
            node ^= usize::from(*byte);
            let unit = self.units[node];
            // A zero would be taken for the value of its parent.
            if unit.label() != u32::from(*byte) || *byte == 0 {
                return;
            }
            node ^= unit.offset();
            if unit.ends_key() && !go_on(at + 1, self.units[node].value()) {
                return;
            }
        }
    }

    fn text(&self, start: usize) -> &str {
        let text = &self.texts[start..];
        text.split_once('\0').map_or(text, |(text, _)| text)
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// A map with one block a node: enough for a few rules.
    pub(crate) fn build(rules: &[(&str, &str)]) -> Vec<u8> {
        let mut nodes: Vec<(Vec<u8>, usize)> = vec![(Vec::new(), 0)];
        let mut units = vec![0x8000_0000_u32; BLOCK];
        let mut texts = String::new();
        let mut at = 0;
        let is_open =
            |prefix: &[u8]| rules.iter().any(|(key, _)| key.len() > prefix.len() && key.as_bytes().starts_with(prefix));
        while at < nodes.len() {
            let (prefix, place) = nodes[at].clone();
            at += 1;
            let rule = rules.iter().find(|(key, _)| key.as_bytes() == prefix && !key.is_empty());
            let block = units.len();
            units.extend([0x8000_0000_u32; BLOCK]);
            let offset = (place ^ block) as u32;
            assert!(offset < 1 << 21);
            let label = prefix.last().map_or(0, |byte| u32::from(*byte));
            units[place] = offset << 10 | u32::from(rule.is_some()) << 8 | label;
            if let Some((_, text)) = rule {
                units[block] = 0x8000_0000 | texts.len() as u32;
                texts += text;
                texts.push('\0');
            }
            for byte in 1..=255_u8 {
                let child = [&prefix[..], &[byte]].concat();
                if rules.iter().any(|(key, _)| key.as_bytes() == child) || is_open(&child) {
                    nodes.push((child, block ^ usize::from(byte)));
                }
            }
        }
        let trie: Vec<u8> = units.iter().flat_map(|unit| unit.to_le_bytes()).collect();
        [&(trie.len() as u32).to_le_bytes()[..], &trie, texts.as_bytes()].concat()
    }

    #[test]
    fn the_longest_key_wins_and_the_shortest_is_found_too() {
        let map = Charsmap::new(&build(&[("a", "1"), ("ab", "22"), ("é", ""), ("Ａ", "A")])).unwrap();
        assert_eq!(map.longest("abc"), Some((2, "22")));
        assert_eq!(map.longest("ac"), Some((1, "1")));
        assert_eq!(map.longest("é"), Some((2, "")));
        assert_eq!(map.longest("Ａb"), Some((3, "A")));
        assert_eq!(map.longest("b"), None);
        assert_eq!(map.longest(""), None);
        assert_eq!(map.longest("\0"), None);
        assert_eq!(map.shortest("abc"), Some("1"));
        assert!(map.keeps_before_ascii(b'b') && !map.keeps_before_ascii(b'a') && map.keeps_before_ascii(0));
        let map = Charsmap::new(&build(&[("e\u{301}", "é"), ("ab", "x")])).unwrap();
        assert!(map.keeps_before_ascii(b'e') && !map.keeps_before_ascii(b'a'));
    }

    #[test]
    fn a_map_that_leads_out_of_itself_is_refused() {
        let good = build(&[("ab", "xy"), ("é", "e")]);
        assert!(Charsmap::new(&good).is_ok());
        let refused = |bytes: &[u8]| {
            let error = Charsmap::new(bytes).unwrap_err();
            assert_eq!(error.code, Code::InvalidFile);
            error.message
        };
        for length in [0, 3, 4, 8, 1024, 2048] {
            refused(&good[..length]);
        }
        assert!(refused(&good[..good.len() - 1]).contains("has no end"));
        let size = u32::from_le_bytes(good[..4].try_into().unwrap()) as usize;
        for (at, unit) in good[4..4 + size].chunks(4).enumerate().map(|(at, unit)| (4 + 4 * at, unit)) {
            let unit = u32::from_le_bytes(unit.try_into().unwrap());
            let mutant = |unit: u32| [&good[..at], &unit.to_le_bytes(), &good[at + 4..]].concat();
            if CharsmapUnit(unit).is_value() && unit != 0x8000_0000 {
                assert!(refused(&mutant(0xFFFF_FFFF)).contains("outside of the texts"));
            } else if !CharsmapUnit(unit).is_value() {
                assert!(refused(&mutant(unit | 0x7FFF_FC00)).contains("outside of the trie"));
            }
        }
    }

    #[test]
    fn a_map_that_goes_round_in_a_circle_is_refused_and_one_whose_ways_meet_is_not() {
        let mut map = Charsmap::new(&build(&[("ab", "x"), ("cb", "x")])).unwrap();
        let child = |map: &Charsmap, node: usize, byte: u8| node ^ map.units[node].offset() ^ usize::from(byte);
        let (a, c) = (child(&map, 0, b'a'), child(&map, 0, b'c'));
        // The children of `c` are those of `a`.
        let shared = (c ^ a ^ map.units[a].offset()) as u32;
        map.units[c] = CharsmapUnit(shared << 10 | u32::from(b'c'));
        assert!(map.has_short_keys());
        assert_eq!(map.longest("cb"), Some((2, "x")));
        let ab = child(&map, a, b'b');
        map.units[ab] = CharsmapUnit(((ab ^ map.units[0].offset()) as u32) << 10 | u32::from(b'b'));
        assert!(!map.has_short_keys());
        let long = "a".repeat(MAX_KEY);
        assert!(Charsmap::new(&build(&[(&long, "x")])).is_ok());
        assert!(Charsmap::new(&build(&[(&(long + "a"), "x")])).is_err());
    }
}
