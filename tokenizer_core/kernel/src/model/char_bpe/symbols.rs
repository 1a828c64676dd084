//! The first symbols of a piece: the token of each character, or those of its bytes, or an unknown one.

use std::collections::HashSet;
use std::ops::Range;

use crate::error::Result;
use crate::model::byte_pieces::BytePieces;
use crate::model::trie::Trie;
use crate::model::{Covered, Token, Uncovered};
use crate::unicode::utf8::decode;
use crate::vocabulary::Vocabulary;

/// No token.
const NONE: u32 = u32::MAX;

/// Characters of a page, and pages of all characters.
const PAGE: usize = 1 << 8;
const PAGES: usize = 0x11_0000 / PAGE;

/// The affixes of the characters of a piece in the entries: `prefix` of all but the first, `suffix` of the last one.
#[derive(Debug, Clone, Copy, Default)]
pub struct Affixes<'a> {
    /// As `##`.
    pub prefix: &'a str,
    /// As `</w>`.
    pub suffix: &'a str,
}

impl Affixes<'_> {
    /// Tell whether both are empty.
    pub(super) fn are_none(&self) -> bool {
        self.prefix.is_empty() && self.suffix.is_empty()
    }

    fn around(&self, later: bool, last: bool) -> [&str; 2] {
        [if later { self.prefix } else { "" }, if last { self.suffix } else { "" }]
    }
}

/// The settings for writing unknown characters.
#[derive(Debug, Clone, Copy, Default)]
pub struct Unknown {
    /// The token of an unknown character.
    pub unk: Option<u32>,
    /// Neighbours become one token.
    pub fuse: bool,
    /// Characters become the tokens `<0xNN>` of their bytes, if there are all of them.
    pub byte_fallback: bool,
}

/// The tokens of characters and bytes.
#[derive(Debug)]
pub(super) struct CharSymbols {
    /// By whether a character is not the first (2) and whether it is the last (1); the same where that is all one.
    tables: Vec<CharTable>,
    table_of: [usize; 4],
    affixes: [String; 2],
    /// Entries that are found before characters, and by what they begin with.
    first: Option<(Trie, [bool; 256])>,
    /// Absent without byte fallback.
    bytes: Option<BytePieces>,
    unknown: Unknown,
}

/// The symbols of one piece: ids, and the bytes of the text that each stands for.
#[derive(Debug, Default)]
pub(super) struct Sequence {
    pub(super) ids: Vec<u32>,
    pub(super) bytes: Vec<u32>,
}

impl Sequence {
    fn push(&mut self, id: u32, bytes: usize) {
        self.ids.push(id);
        self.bytes.push(bytes as u32);
    }

    pub(super) fn tokens(&self) -> impl Iterator<Item = Token> {
        self.ids.iter().zip(&self.bytes).map(|(id, bytes)| Token { id: *id, bytes: *bytes })
    }

    /// Forget all symbols.
    pub(super) fn clear(&mut self) {
        self.ids.clear();
        self.bytes.clear();
    }

    /// Give back the memory of long pieces.
    pub(super) fn shrink(&mut self, entries: usize) {
        self.clear();
        self.ids.shrink_to(entries);
        self.bytes.shrink_to(entries);
    }
}

impl CharSymbols {
    /// The symbols of a vocabulary, none of which is one of `never`.
    pub(super) fn new(vocabulary: &Vocabulary, never: &HashSet<u32>, affixes: Affixes<'_>, unknown: Unknown) -> Self {
        let (mut tables, mut table_of) = (Vec::new(), [0; 4]);
        let mut kinds: Vec<[&str; 2]> = Vec::new();
        for (later, last) in [(false, false), (false, true), (true, false), (true, true)] {
            let around = affixes.around(later, last);
            let known = kinds.iter().position(|kind| *kind == around);
            table_of[usize::from(later) << 1 | usize::from(last)] = known.unwrap_or(kinds.len());
            if known.is_none() {
                kinds.push(around);
                tables.push(CharTable::new(vocabulary, never, around));
            }
        }
        let bytes = unknown.byte_fallback.then(|| BytePieces::new(vocabulary));
        let affixes = [affixes.prefix.to_owned(), affixes.suffix.to_owned()];
        Self { tables, table_of, affixes, first: None, bytes, unknown }
    }

    /// Find these entries before any character.
    ///
    /// # Errors
    /// `duplicate_token`.
    pub(super) fn find_first(&mut self, vocabulary: &Vocabulary, ids: &[u32]) -> Result<()> {
        if !ids.is_empty() {
            let entries: Vec<_> = ids.iter().filter_map(|id| Some((vocabulary.bytes(*id)?, *id))).collect();
            let mut begins = [false; 256];
            entries.iter().for_each(|(entry, _)| begins[usize::from(entry[0])] = true);
            self.first = Some((Trie::new(entries)?, begins));
        }
        Ok(())
    }

    /// Give characters without an entry ids from `first` on, as if they had one.
    pub(super) fn stand_in(&mut self, first: u32, characters: &[char]) {
        let table = &mut self.tables[self.table_of[2]];
        (first..).zip(characters).for_each(|(id, character)| table.insert(*character as usize, id));
    }

    /// The longest of the entries that are found first: its length and its id.
    #[inline]
    fn whole(&self, text: &[u8]) -> Option<(usize, u32)> {
        let (trie, _) = self.first.as_ref().filter(|(_, begins)| begins[usize::from(text[0])])?;
        let mut longest = None;
        trie.entries(text, |length, id| longest = Some((length, id)));
        longest
    }

    /// Tell whether every character has tokens without an unknown one.
    pub(super) fn cover_all(&self) -> bool {
        self.bytes.as_ref().is_some_and(|bytes| bytes.ids().count() == 256)
    }

    /// Tell whether a character has a token of its own in the middle of a piece.
    pub(super) fn has(&self, character: u32) -> bool {
        self.tables[self.table_of[2]].get(character) != NONE
    }

    /// The tokens of bytes, and the unknown one.
    pub(super) fn makeshift(&self) -> HashSet<u32> {
        self.bytes.iter().flat_map(BytePieces::ids).chain(self.unknown.unk).collect()
    }

    /// Read the symbols of the piece `text[range]`.
    ///
    /// # Errors
    /// The first character for which there is no token.
    pub(super) fn read(&self, text: &[u8], range: Range<usize>, sequence: &mut Sequence) -> Covered {
        sequence.clear();
        let mut fused: Option<usize> = None;
        let (mut at, end) = (range.start, range.end);
        while at < end {
            let (character, size) = match text[at] {
                ascii @ ..0x80 => (u32::from(ascii), 1),
                first => decode(text, at, first),
            };
            if let Some((length, id)) = self.whole(&text[at..end]) {
                if let Some(bytes) = fused.take() {
                    self.push_unknown(bytes, sequence);
                }
                sequence.push(id, length);
                at += length;
                continue;
            }
            let (later, last) = (at > range.start, at + size >= end);
            let kind = usize::from(later) << 1 | usize::from(last);
            let id = self.tables[self.table_of[kind]].get(character);
            if id != NONE {
                if let Some(bytes) = fused.take() {
                    self.push_unknown(bytes, sequence);
                }
                sequence.push(id, size);
            } else if !self.push_bytes(&text[at..at + size], kind, sequence) {
                if self.unknown.unk.is_none() {
                    return Err(Uncovered(at..at + size));
                }
                match fused {
                    Some(before) if self.unknown.fuse => fused = Some(before + size),
                    before => {
                        before.into_iter().for_each(|bytes| self.push_unknown(bytes, sequence));
                        fused = Some(size);
                    }
                }
            }
            at += size;
        }
        if let Some(bytes) = fused {
            self.push_unknown(bytes, sequence);
        }
        Ok(())
    }

    /// Append a token behind all others; unknown neighbours become one if they are to.
    pub(super) fn push(&self, token: Token, sequence: &mut Sequence) {
        let fuses = self.unknown.fuse && self.unknown.unk == Some(token.id);
        match (sequence.ids.last(), sequence.bytes.last_mut()) {
            (Some(id), Some(bytes)) if fuses && *id == token.id => *bytes += token.bytes,
            _ => sequence.push(token.id, token.bytes as usize),
        }
    }

    /// Append what becomes of a character without an entry. Returns whether anything does.
    pub(super) fn push_character(&self, character: char, sequence: &mut Sequence) -> bool {
        let mut utf8 = [0; 4];
        let bytes = character.encode_utf8(&mut utf8).as_bytes();
        if self.push_bytes(bytes, 0, sequence) {
            return true;
        }
        let unknown = self.unknown.unk.map(|id| Token { id, bytes: bytes.len() as u32 });
        unknown.into_iter().for_each(|token| self.push(token, sequence));
        unknown.is_some()
    }

    fn push_unknown(&self, bytes: usize, sequence: &mut Sequence) {
        if let Some(unk) = self.unknown.unk {
            sequence.push(unk, bytes);
        }
    }

    /// The tokens of the bytes of a character and of what surrounds it, if there are all of them. As in Hugging Face,
    /// they come before an unknown character that is waiting for its neighbours.
    fn push_bytes(&self, character: &[u8], kind: usize, sequence: &mut Sequence) -> bool {
        let Some(bytes) = &self.bytes else { return false };
        let [prefix, suffix] = self.affixes.each_ref().map(String::as_bytes);
        let prefix = if kind & 2 != 0 { prefix } else { b"" };
        let suffix = if kind & 1 != 0 { suffix } else { b"" };
        let parts = [(prefix, 0), (character, 1), (suffix, 0)];
        if !parts.iter().all(|(part, _)| bytes.cover(part)) {
            return false;
        }
        for (part, each) in parts {
            bytes.tokens(part).for_each(|token| sequence.push(token.id, each));
        }
        true
    }
}

/// From characters to ids, a page for those that have any.
#[derive(Debug)]
struct CharTable {
    /// By the upper bits of a character: the number of its page. The page 0 is empty.
    pages: Box<[u16]>,
    ids: Vec<u32>,
}

impl CharTable {
    /// The entries that are one character between two affixes.
    fn new(vocabulary: &Vocabulary, never: &HashSet<u32>, [before, after]: [&str; 2]) -> Self {
        let mut table = Self { pages: vec![0; PAGES].into(), ids: vec![NONE; PAGE] };
        for (id, entry) in vocabulary.tokens() {
            let inner = entry.strip_prefix(before.as_bytes()).and_then(|rest| rest.strip_suffix(after.as_bytes()));
            let Some(inner) = inner.filter(|inner| (1..=4).contains(&inner.len()) && !never.contains(&id)) else {
                continue;
            };
            let mut characters = std::str::from_utf8(inner).unwrap_or_default().chars();
            if let (Some(character), None) = (characters.next(), characters.next()) {
                table.insert(character as usize, id);
            }
        }
        table
    }

    fn insert(&mut self, character: usize, id: u32) {
        let page = &mut self.pages[character / PAGE];
        if *page == 0 {
            *page = (self.ids.len() / PAGE) as u16;
            self.ids.resize(self.ids.len() + PAGE, NONE);
        }
        self.ids[usize::from(*page) * PAGE + character % PAGE] = id;
    }

    #[inline(always)]
    fn get(&self, character: u32) -> u32 {
        let character = character as usize;
        let page = self.pages.get(character / PAGE).copied().unwrap_or(0);
        self.ids[usize::from(page) * PAGE + character % PAGE]
    }
}
