//! SentencePiece's own normalization: a charsmap, the white space around and between words, and what stands for it.

use std::collections::{HashMap, HashSet};

use super::Normalized;
use super::charsmap::Charsmap;
use super::rewriter::Rewriter;
use crate::config::SentencePieceRules;
use crate::error::Result;

/// What stands for a space.
const ESCAPED: &str = "▁";

/// The rules of a model, compiled.
#[derive(Debug)]
pub(super) struct SentencePiece {
    charsmap: Option<Charsmap>,
    symbols: Symbols,
    /// What a space becomes.
    space: &'static str,
    prefix: bool,
    suffix: bool,
    folds: bool,
    /// Whether a byte of ASCII before another one is neither rewritten nor the beginning of a symbol.
    plain: [bool; 128],
}

/// Texts that are kept as they are.
#[derive(Debug)]
struct Symbols {
    /// By their first byte: the lengths that there are, longest first.
    lengths: HashMap<u8, Vec<usize>>,
    texts: HashSet<String>,
}

impl Symbols {
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
    pub(super) fn new(rules: &SentencePieceRules) -> Result<Self> {
        let charsmap = rules.charsmap.0.as_slice();
        let charsmap = (!charsmap.is_empty()).then(|| Charsmap::new(charsmap)).transpose()?;
        let symbols = Symbols::new(&rules.symbols);
        let mut plain = [false; 128];
        for (byte, plain) in (0_u8..).zip(&mut plain) {
            let is_kept = charsmap.as_ref().is_none_or(|map| map.keeps_before_ascii(byte));
            *plain = byte != b' ' && is_kept && !symbols.lengths.contains_key(&byte);
        }
        Ok(Self {
            charsmap,
            symbols,
            space: if rules.escape { ESCAPED } else { " " },
            prefix: rules.dummy_prefix && !rules.suffix,
            suffix: rules.dummy_prefix && rules.suffix,
            folds: rules.fold,
            plain,
        })
    }

    /// Rewrite a text; `None` when nothing changes.
    pub(super) fn rewrite(&self, text: &str) -> Option<Normalized> {
        let mut output =
            Output { rewriter: Rewriter::new(text), held: Vec::new(), space: self.space, holds: self.folds };
        let mut at = 0;
        while self.folds && at < text.len() {
            let (length, with) = self.next(&text[at..]);
            if with != " " {
                break;
            }
            at += length;
        }
        output.rewriter.drop(at);
        if at == text.len() {
            return output.rewriter.finish();
        }
        if self.prefix {
            output.put(at, at, self.space);
        }
        let mut after_space = self.folds;
        let mut escaped = String::new();
        while at < text.len() {
            let plain = self.plain_run(&text.as_bytes()[at..]);
            if plain > 0 {
                at += plain;
                output.keep(at);
                after_space = false;
                continue;
            }
            let (length, with) = self.next(&text[at..]);
            let kept = if after_space { with.trim_start_matches(' ') } else { with };
            after_space = if kept.is_empty() { after_space } else { self.folds && kept.ends_with(' ') };
            let start = at;
            at += length;
            if kept == " " {
                output.put(start, at, self.space);
            } else if kept.contains(' ') {
                escaped.clear();
                escaped.extend(kept.split_inclusive(' ').flat_map(|word| match word.strip_suffix(' ') {
                    Some(word) => [word, self.space],
                    None => [word, ""],
                }));
                output.put(start, at, &escaped);
            } else {
                output.put(start, at, kept);
            }
        }
        output.finish(if self.suffix { self.space } else { "" })
    }

    /// How many bytes of ASCII stay as they are, whatever follows.
    #[inline]
    fn plain_run(&self, bytes: &[u8]) -> usize {
        let is_plain = |byte: &u8| self.plain.get(usize::from(*byte)).is_some_and(|plain| *plain);
        let run = bytes.iter().position(|byte| !is_plain(byte)).unwrap_or(bytes.len());
        // A character beyond ASCII may be rewritten with the one before it.
        if bytes.get(run).is_some_and(|byte| !byte.is_ascii()) { run.saturating_sub(1) } else { run }
    }

    /// What the text begins with, as one unit: its length, and what it becomes.
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

/// The output, of which spaces at the end are held back: at the end of the text they are dropped.
struct Output<'t> {
    rewriter: Rewriter<'t>,
    /// Where each begins and ends in the source, and what it becomes.
    held: Vec<(usize, usize, String)>,
    space: &'static str,
    holds: bool,
}

impl Output<'_> {
    /// Take the source up to `end` as it is; it does not end with a space.
    #[inline]
    fn keep(&mut self, end: usize) {
        self.release();
        self.rewriter.keep(end);
    }

    /// Put `with` in the place of the source from `start` to `end`; these are equal for what is inserted.
    fn put(&mut self, start: usize, end: usize, with: &str) {
        let held = if self.holds { with.trim_end_matches(self.space).len() } else { with.len() };
        if held > 0 || with.is_empty() && self.held.is_empty() {
            self.release();
            Self::write(&mut self.rewriter, start, end, &with[..held]);
        }
        if held < with.len() {
            let start = if held > 0 { end } else { start };
            self.held.push((start, end, with[held..].to_owned()));
        } else if with.is_empty() && !self.held.is_empty() {
            self.held.push((start, end, String::new()));
        }
    }

    #[inline]
    fn release(&mut self) {
        if !self.held.is_empty() {
            for (start, end, with) in self.held.drain(..) {
                Self::write(&mut self.rewriter, start, end, &with);
            }
        }
    }

    fn write(rewriter: &mut Rewriter<'_>, start: usize, end: usize, with: &str) {
        if start == end { rewriter.insert(with) } else { rewriter.replace(end, with) }
    }

    /// Drop the spaces at the end, and put a last one there.
    fn finish(mut self, suffix: &str) -> Option<Normalized> {
        self.rewriter.insert(suffix);
        if let Some((_, end, _)) = self.held.last() {
            self.rewriter.drop(*end);
        }
        self.rewriter.finish()
    }
}
