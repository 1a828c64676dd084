//! SentencePiece's own normalization: a charsmap, the white space around and between words, and what stands for it.

use std::collections::{HashMap, HashSet};
use std::ops::Range;

use super::charsmap::Charsmap;
use super::written::{Trace, Written};
use super::{Alignment, Normalized};
use crate::config::SentencePieceRules;
use crate::error::Result;
use crate::unicode::utf8::decode;

/// Characters for which it is known whether they are plain.
const PLANE: usize = 1 << 16;

/// The replacement of a space.
const ESCAPED: &str = "▁";

/// The rules of a model, compiled.
#[derive(Debug)]
pub(crate) struct SentencePiece {
    charsmap: Option<Charsmap>,
    symbols: UserSymbols,
    /// The text that a space becomes.
    space: &'static str,
    prefix: bool,
    suffix: bool,
    folds: bool,
    /// By byte of ASCII: true if, before another one, it is neither rewritten nor the start of a symbol, nor a space.
    plain: [bool; 128],
    /// True if a space before a byte of ASCII is neither rewritten nor the start of a symbol.
    plain_space: bool,
    /// By character beyond ASCII: whether no rule and no symbol begins with it, nor has it in the middle.
    others: Vec<u64>,
}

/// Texts that are kept as they are.
#[derive(Debug)]
struct UserSymbols {
    /// By their first byte: the lengths that there are, longest first.
    lengths: HashMap<u8, Vec<usize>>,
    texts: HashSet<String>,
}

impl UserSymbols {
    fn new(texts: &[String]) -> Self {
        let mut lengths: HashMap<u8, Vec<usize>> = HashMap::new();
        for text in texts {
            if let Some(first) = text.bytes().next() {
                lengths.entry(first).or_default().push(text.len());
            }
        }
        for lengths in lengths.values_mut() {
            lengths.sort_unstable_by(|left, right| right.cmp(left));
            lengths.dedup();
        }
        Self { lengths, texts: texts.iter().cloned().collect() }
    }

    /// The length of the longest symbol that `text` begins with.
    fn longest(&self, text: &str) -> Option<usize> {
        let lengths = self.lengths.get(text.as_bytes().first()?)?;
        lengths.iter().copied().find(|length| text.get(..*length).is_some_and(|start| self.texts.contains(start)))
    }
}

impl SentencePiece {
    /// Compile the rules.
    ///
    /// # Errors
    /// `invalid_file` for a broken charsmap.
    pub(crate) fn new(rules: &SentencePieceRules) -> Result<Self> {
        let charsmap = rules.charsmap.0.as_slice();
        let charsmap = (!charsmap.is_empty()).then(|| Charsmap::new(charsmap)).transpose()?;
        let symbols = UserSymbols::new(&rules.symbols);
        let is_kept = |byte: u8| {
            charsmap.as_ref().is_none_or(|map| map.keeps_before_ascii(byte)) && !symbols.lengths.contains_key(&byte)
        };
        let plain = std::array::from_fn(|byte| byte != usize::from(b' ') && is_kept(byte as u8));
        let plain_space = is_kept(b' ');
        Ok(Self {
            others: plain_others(charsmap.as_ref(), &symbols),
            charsmap,
            symbols,
            plain_space,
            space: if rules.escape { ESCAPED } else { " " },
            prefix: rules.dummy_prefix && !rules.suffix,
            suffix: rules.dummy_prefix && rules.suffix,
            folds: rules.fold,
            plain,
        })
    }

    /// Rewrite a text; `None` when nothing changes.
    pub(super) fn rewrite(&self, text: &str) -> Option<Normalized> {
        let mut written = Written::<Alignment>::default();
        self.run(text, &mut written);
        Some(Normalized { text: written.text, alignment: written.trace }).filter(|new| new.text != text)
    }

    /// Write the text as the model sees it.
    pub(crate) fn run<T: Trace>(&self, text: &str, written: &mut Written<T>) {
        let mut at = 0;
        while self.folds && at < text.len() {
            if self.is_plain_space(&text.as_bytes()[at..]) {
                at += 1;
                continue;
            }
            let (length, with) = self.next(&text[at..]);
            if with != " " {
                break;
            }
            at += length;
        }
        if at == text.len() {
            return;
        }
        written.text.reserve(text.len() + text.len() / 2);
        let put = |with: &str, source: Range<usize>, written: &mut Written<T>| {
            written.text.push_str(with);
            written.trace.whole(with.len(), source);
        };
        if self.prefix {
            put(self.space, at..at, written);
        }
        let mut after_space = self.folds;
        while at < text.len() {
            let run = self.plain_run(&text.as_bytes()[at..]);
            if run > 0 {
                written.text.push_str(&text[at..at + run]);
                written.trace.copied(run, at);
                at += run;
                after_space = false;
            } else if self.is_plain_space(&text.as_bytes()[at..]) {
                if !after_space {
                    put(self.space, at..at + 1, written);
                }
                at += 1;
                after_space = self.folds;
            } else {
                let (length, with) = self.next(&text[at..]);
                let kept = if after_space { with.trim_start_matches(' ') } else { with };
                after_space = if kept.is_empty() { after_space } else { self.folds && kept.ends_with(' ') };
                let source = at..at + length;
                at += length;
                if kept.len() == length && !kept.contains(' ') && text[source.clone()] == *kept {
                    written.text.push_str(kept);
                    written.trace.copied(length, source.start);
                    continue;
                }
                let mut words = kept.split(' ');
                put(words.next().unwrap_or_default(), source.clone(), written);
                for word in words {
                    put(self.space, source.clone(), written);
                    put(word, source.clone(), written);
                }
            }
        }
        if self.folds {
            let end = written.text.trim_end_matches(self.space).len();
            written.text.truncate(end);
            written.trace.truncate(end);
        }
        if self.suffix {
            let end = written.trace.end();
            put(self.space, end..end, written);
        }
    }

    /// Count the bytes that stay as they are, whatever follows.
    #[inline]
    fn plain_run(&self, bytes: &[u8]) -> usize {
        let mut at = 0;
        loop {
            while bytes.get(at).is_some_and(|byte| byte.is_ascii() && self.plain[usize::from(*byte)]) {
                at += 1;
            }
            match bytes.get(at) {
                Some(first) if !first.is_ascii() => {
                    let (character, length) = decode(bytes, at, *first);
                    let is_plain =
                        self.others.get(character as usize / 64).is_some_and(|bits| bits >> (character % 64) & 1 == 1);
                    if !is_plain {
                        // It may be rewritten with the character of ASCII before it.
                        let before = at.checked_sub(1).filter(|before| bytes[*before].is_ascii());
                        return before.unwrap_or(at);
                    }
                    at += length;
                }
                _ => return at,
            }
        }
    }

    /// Tell whether the text begins with a space that no rule rewrites with what follows.
    #[inline]
    fn is_plain_space(&self, bytes: &[u8]) -> bool {
        self.plain_space && bytes[0] == b' ' && bytes.get(1).is_none_or(u8::is_ascii)
    }

    /// Return the first unit of the text: its length, and its replacement.
    #[inline]
    fn next<'a>(&'a self, text: &'a str) -> (usize, &'a str) {
        if let Some(length) = self.symbols.longest(text) {
            return (length, &text[..length]);
        }
        self.charsmap.as_ref().and_then(|map| map.longest(text)).unwrap_or_else(|| {
            let length = text.chars().next().map_or(0, char::len_utf8);
            (length, &text[..length])
        })
    }
}

/// By character of the first plane beyond ASCII: whether no rule and no symbol begins with it, nor with it behind a
/// character of ASCII.
fn plain_others(charsmap: Option<&Charsmap>, symbols: &UserSymbols) -> Vec<u64> {
    let begins = |bytes: &[u8]| charsmap.is_some_and(|map| map.has_key_from(bytes));
    let follows: Vec<u8> = (1..0x80).filter(|first| (0x80..=0xFF).any(|lead| begins(&[*first, lead]))).collect();
    let mut plain = vec![0; PLANE / 64];
    for character in (0x80..PLANE as u32).filter_map(char::from_u32) {
        let mut bytes = [0; 5];
        let length = 1 + character.encode_utf8(&mut bytes[1..]).len();
        let is_touched = symbols.lengths.contains_key(&bytes[1])
            || begins(&bytes[1..length])
            || follows.iter().any(|first| {
                bytes[0] = *first;
                begins(&bytes[..length])
            });
        plain[character as usize / 64] |= u64::from(!is_touched) << (character as usize % 64);
    }
    plain
}
