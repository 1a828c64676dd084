//! A trie of the tokens that are white space alone: most long pieces are white space, and such tokens are prefixes of
//! one another.

/// The bytes of white space: those of ASCII, and those of the no-break space.
const LETTERS: [u8; 6] = *b" \n\t\r\xC2\xA0";

/// The index of a byte among these; [`OTHER`] for all other bytes.
static LETTER_OF: [u8; 256] = {
    let mut letters = [OTHER; 256];
    let mut letter = 0;
    while letter < LETTERS.len() {
        letters[LETTERS[letter] as usize] = letter as u8;
        letter += 1;
    }
    letters
};

const OTHER: u8 = u8::MAX;

const NO_TOKEN: u32 = u32::MAX;

/// A prefix of some token.
#[derive(Debug, Clone, Copy)]
struct Node {
    /// By letter: the child, or 0, since no node has the root as its child.
    longer: [u16; LETTERS.len()],
    /// The longest shorter token that the prefix begins with, or 0.
    shorter: u16,
    length: u16,
    /// The token that the prefix is, or [`NO_TOKEN`].
    id: u32,
}

/// A node of the trie whose prefix is a token; the root stands for no token.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct NodeIndex(u16);

/// The trie.
#[derive(Debug)]
pub(crate) struct WhiteSpaceTokens(Vec<Node>);

impl WhiteSpaceTokens {
    /// Build it from tokens of white space; `None` if it has more nodes than can be numbered.
    pub(crate) fn new(tokens: &[(u32, &[u8])]) -> Option<Self> {
        let empty = Node { longer: [0; LETTERS.len()], shorter: 0, length: 0, id: NO_TOKEN };
        let mut nodes = vec![empty];
        for (id, bytes) in tokens {
            let mut at = 0;
            for byte in *bytes {
                let letter = usize::from(LETTER_OF[usize::from(*byte)]);
                if nodes[at].longer[letter] == 0 {
                    nodes[at].longer[letter] = u16::try_from(nodes.len()).ok()?;
                    nodes.push(Node { length: nodes[at].length.checked_add(1)?, ..empty });
                }
                at = usize::from(nodes[at].longer[letter]);
            }
            nodes[at].id = *id;
        }
        // Children come after their parents.
        for at in 0..nodes.len() {
            let Node { longer, shorter, id, .. } = nodes[at];
            let own = if id == NO_TOKEN { shorter } else { at as u16 };
            longer.into_iter().filter(|node| *node != 0).for_each(|node| nodes[usize::from(node)].shorter = own);
        }
        Some(Self(nodes))
    }

    /// Whether all bytes are letters of the trie.
    #[inline]
    pub(crate) fn is_all(bytes: &[u8]) -> bool {
        bytes.iter().fold(0, |all, byte| all | LETTER_OF[usize::from(*byte)]) != OTHER
    }

    /// The longest token that bytes of white space begin with.
    #[inline]
    pub(crate) fn longest(&self, bytes: &[u8]) -> NodeIndex {
        let Self(nodes) = self;
        let mut node = &nodes[0];
        let mut at = 0;
        for byte in bytes {
            let Some(next) = node.longer.get(usize::from(LETTER_OF[usize::from(*byte)])).filter(|next| **next != 0)
            else {
                break;
            };
            at = *next;
            node = &nodes[usize::from(at)];
        }
        NodeIndex(if node.id == NO_TOKEN { node.shorter } else { at })
    }

    /// The longest other token that a token begins with.
    #[inline]
    pub(crate) fn shorter(&self, NodeIndex(at): NodeIndex) -> NodeIndex {
        NodeIndex(self.0[usize::from(at)].shorter)
    }

    /// The id of a token and how long it is, if it is one.
    #[inline]
    pub(crate) fn token(&self, NodeIndex(at): NodeIndex) -> Option<(u32, u16)> {
        let Node { id, length, .. } = self.0[usize::from(at)];
        (id != NO_TOKEN).then_some((id, length))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_token_is_found_and_each_that_it_begins_with() {
        let tokens: [(u32, &[u8]); 6] =
            [(0, b" "), (1, b"\n"), (7, b"    \n"), (5, b"   "), (9, b" \n\xC2\xA0"), (8, b"\t")];
        let trie = WhiteSpaceTokens::new(&tokens).unwrap();
        let all = |bytes: &[u8]| {
            let first = trie.longest(bytes);
            std::iter::successors(Some(first), |node| Some(trie.shorter(*node)))
                .map_while(|node| trie.token(node))
                .collect::<Vec<_>>()
        };
        assert_eq!(all(b"    \n "), [(7, 5), (5, 3), (0, 1)]);
        assert_eq!(all(b"    \t"), [(5, 3), (0, 1)]);
        assert_eq!(all(b"  \n"), [(0, 1)]);
        assert_eq!(all(b" \n\xC2\xA0\xC2"), [(9, 4), (0, 1)]);
        assert_eq!(all(b"\t\t"), [(8, 1)]);
        assert_eq!(all(b"\xA0 "), []);
        assert!(WhiteSpaceTokens::is_all(b" \r\n\t\xC2\xA0") && !WhiteSpaceTokens::is_all(b"  a"));
    }

    #[test]
    fn more_tokens_than_nodes_can_be_numbered_are_refused() {
        let letter = |number: u32, at: u32| LETTERS[(number / 6_u32.pow(at) % 6) as usize];
        let tokens: Vec<Vec<u8>> = (0..60_000).map(|number| (0..7).map(|at| letter(number, at)).collect()).collect();
        let numbered: Vec<(u32, &[u8])> = (0..).zip(tokens.iter().map(Vec::as_slice)).collect();
        assert!(WhiteSpaceTokens::new(&numbered).is_none());
        assert!(WhiteSpaceTokens::new(&numbered[..5_000]).is_some());
    }
}
