//! A trie of tokens that are prefixes of one another in dozens of lengths: white space, runs of one byte, and all that
//! are long.

use rustc_hash::FxHashMap;

/// The prefix of no byte.
const ROOT: u32 = 0;

/// A token of the trie, or none.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct TrieToken(u16);

impl TrieToken {
    /// Its number; that of none is zero.
    pub(crate) fn number(self) -> u16 {
        self.0
    }
}

#[derive(Debug, Clone, Copy)]
struct TrieEntry {
    id: u32,
    length: u16,
    /// The longest other token that it begins with.
    shorter: TrieToken,
}

/// The trie. Nodes are numbered so that each comes after the one it continues.
#[derive(Debug)]
pub(crate) struct TokenTrie {
    /// By node and next byte.
    edges: FxHashMap<(u32, u8), u32>,
    /// By a byte: the nodes of one of it, two, three and so on.
    runs: Vec<Vec<u32>>,
    /// By node: the longest token that its prefix begins with.
    longest: Vec<TrieToken>,
    /// By token; that of none is not used.
    entries: Vec<TrieEntry>,
}

impl TokenTrie {
    /// Build it from tokens of less than 64 KB, of which none is empty; `None` if there are more than can be numbered.
    /// Of two with the same bytes the first counts.
    pub(crate) fn new(tokens: &[(u32, &[u8])]) -> Option<Self> {
        let none = TrieEntry { id: 0, length: 0, shorter: TrieToken::default() };
        let (runs, longest) = (Vec::new(), vec![TrieToken::default()]);
        let mut trie = Self { edges: FxHashMap::default(), runs, longest, entries: vec![none] };
        let mut before = vec![ROOT];
        for (id, bytes) in tokens {
            let mut node = ROOT;
            for byte in *bytes {
                let fresh = u32::try_from(before.len()).ok()?;
                let next = *trie.edges.entry((node, *byte)).or_insert(fresh);
                if next == fresh {
                    before.push(node);
                    trie.longest.push(TrieToken::default());
                }
                node = next;
            }
            let own = &mut trie.longest[node as usize];
            if own.0 == 0 {
                *own = TrieToken(u16::try_from(trie.entries.len()).ok()?);
                trie.entries.push(TrieEntry { id: *id, length: u16::try_from(bytes.len()).ok()?, ..none });
            }
        }
        for (node, before) in before.into_iter().enumerate().skip(1) {
            let inherited = trie.longest[before as usize];
            match trie.longest[node] {
                TrieToken(0) => trie.longest[node] = inherited,
                TrieToken(own) => trie.entries[usize::from(own)].shorter = inherited,
            }
        }
        let edges = &trie.edges;
        let run = |byte| std::iter::successors(Some(ROOT), move |node| edges.get(&(*node, byte)).copied()).skip(1);
        trie.runs = (0..=u8::MAX).map(|byte| run(byte).collect()).collect();
        Some(trie)
    }

    /// The longest token that a text begins with.
    #[inline]
    pub(crate) fn longest(&self, text: &[u8]) -> TrieToken {
        let Some(first) = text.first() else { return TrieToken::default() };
        let runs = &self.runs[usize::from(*first)];
        // Every place of a long run is asked about, so the run is counted and not walked.
        let run = run(*first, &text[..text.len().min(runs.len())]);
        let start = run.checked_sub(1).map_or(ROOT, |last| runs[last]);
        let nodes = text[run..].iter().scan(start, |node, byte| {
            *node = *self.edges.get(&(*node, *byte))?;
            Some(*node)
        });
        self.longest[nodes.last().unwrap_or(start) as usize]
    }

    /// The id of a token, its length, and the longest other token that it begins with; `None` for no token.
    #[inline]
    pub(crate) fn get(&self, TrieToken(token): TrieToken) -> Option<(u32, u16, TrieToken)> {
        let TrieEntry { id, length, shorter } = self.entries[usize::from(token)];
        (token != 0).then_some((id, length, shorter))
    }
}

/// Count the bytes at the start of `text` that are all `byte`.
pub(crate) fn run(byte: u8, text: &[u8]) -> usize {
    let (words, _) = text.as_chunks::<8>();
    let whole = words.iter().take_while(|word| **word == [byte; 8]).count() * 8;
    whole + text[whole..].iter().take_while(|next| **next == byte).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_token_is_found_and_each_that_it_begins_with() {
        let tokens: [(u32, &[u8]); 7] =
            [(1, b"\n"), (7, b"    \n"), (5, b"   "), (0, b" "), (9, b" \n\xC2\xA0"), (8, b"\t"), (6, b"   ")];
        let trie = TokenTrie::new(&tokens).unwrap();
        let all = |text: &[u8]| {
            let mut next = trie.longest(text);
            std::iter::from_fn(|| {
                let (id, length, shorter) = trie.get(next)?;
                next = shorter;
                Some((id, length))
            })
            .collect::<Vec<_>>()
        };
        assert_eq!(all(b"    \n "), [(7, 5), (5, 3), (0, 1)]);
        assert_eq!(all(b"    \t"), [(5, 3), (0, 1)]);
        assert_eq!(all(b"  \n"), [(0, 1)]);
        assert_eq!(all(b" \n\xC2\xA0\xC2"), [(9, 4), (0, 1)]);
        assert_eq!(all(b"\t\t"), [(8, 1)]);
        assert_eq!([all(b"\xA0 "), all(b"")], [[], []]);
    }

    #[test]
    fn more_tokens_than_can_be_numbered_are_refused() {
        let tokens: Vec<[u8; 4]> = (0..=1_u32 << 16).map(u32::to_le_bytes).collect();
        let numbered: Vec<(u32, &[u8])> = (0..).zip(tokens.iter().map(<[u8; 4]>::as_slice)).collect();
        assert!(TokenTrie::new(&numbered).is_none());
        assert!(TokenTrie::new(&numbered[..(1 << 16) - 1]).is_some());
    }
}
