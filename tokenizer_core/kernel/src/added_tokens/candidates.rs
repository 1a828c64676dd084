//! Places where a literal may begin, by its first two bytes: most texts have the first, but few with the second after
//! it.

use memchr::{memchr, memchr2, memchr3};

/// Bits of all pairs of bytes.
const WORDS: usize = (1 << 16) / 64;

/// Up to three first bytes, and every pair of a first and a second byte.
#[derive(Debug)]
pub(super) struct Candidates {
    firsts: Vec<u8>,
    pairs: Box<[u64; WORDS]>,
}

impl Candidates {
    /// Collect the beginnings of literals; `None` if there are too many to look for, or a literal is one byte.
    pub(super) fn new<'l>(literals: impl Iterator<Item = &'l str>) -> Option<Self> {
        let (mut firsts, mut pairs) = (Vec::new(), Box::new([0; WORDS]));
        for literal in literals {
            let [first, second, ..] = *literal.as_bytes() else { return None };
            if !firsts.contains(&first) {
                firsts.push(first);
            }
            let pair = pair(first, second);
            pairs[pair / 64] |= 1 << (pair % 64);
        }
        (firsts.len() <= 3).then_some(Self { firsts, pairs })
    }

    /// The first place at or after `at` where a literal may begin.
    pub(super) fn next(&self, text: &[u8], mut at: usize) -> Option<usize> {
        loop {
            let rest = text.get(at..)?;
            at += match *self.firsts.as_slice() {
                [one] => memchr(one, rest),
                [one, two] => memchr2(one, two, rest),
                [one, two, three] => memchr3(one, two, three, rest),
                _ => None,
            }?;
            let pair = pair(text[at], *text.get(at + 1)?);
            if self.pairs[pair / 64] & (1 << (pair % 64)) != 0 {
                return Some(at);
            }
            at += 1;
        }
    }
}

fn pair(first: u8, second: u8) -> usize {
    usize::from(first) << 8 | usize::from(second)
}
