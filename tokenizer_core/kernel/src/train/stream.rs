//! Documents that come in blocks of bytes, cut into texts that can be counted independently.

use super::cut::{CutPlaces, last_cut};
use super::separators::Separators;
use crate::error::{Code, Error, Result};

/// Texts are handed to a thread when they have this many bytes: much against the cost of that, little against a core's
/// share of a corpus.
const BLOCK: usize = 1 << 20;

/// The treatment of invalid UTF-8.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum InvalidUtf8 {
    /// Stop.
    Refuse,
    /// U+FFFD stands in their place, one for each maximal subpart.
    Replace,
}

/// Whole documents, or parts of one that no piece crosses.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Texts {
    /// One after the other.
    pub text: String,
    /// The end of each; the last at the end of `text`.
    pub ends: Vec<usize>,
}

/// A document being read.
#[derive(Debug)]
pub struct Stream {
    invalid_utf8: InvalidUtf8,
    places: Option<CutPlaces>,
    texts: Texts,
    /// Bytes that may be the beginning of a character.
    half: Vec<u8>,
    /// Bytes of the document, not counting `half`.
    document_bytes: u64,
    /// The open document has no cut before this place.
    searched: usize,
}

impl Stream {
    /// No document yet. `places` says where texts may be cut.
    pub fn new(invalid_utf8: InvalidUtf8, places: Option<CutPlaces>) -> Self {
        let texts = Texts::default();
        Self { invalid_utf8, places, texts, half: Vec::new(), document_bytes: 0, searched: 0 }
    }

    /// Say how many bytes of the document that comes next are not given.
    pub fn begin_at(&mut self, bytes: u64) {
        self.document_bytes = bytes;
    }

    /// Take the next bytes of the open document.
    ///
    /// # Errors
    /// `invalid_utf8` at the byte of the document.
    pub fn feed(&mut self, bytes: &[u8]) -> Result<()> {
        if self.half.is_empty() {
            return self.take(bytes);
        }
        let joined = [std::mem::take(&mut self.half).as_slice(), bytes].concat();
        self.take(&joined)
    }

    /// End the open document.
    ///
    /// # Errors
    /// `invalid_utf8` when it ends inside a character.
    pub fn end_document(&mut self) -> Result<()> {
        if !self.half.is_empty() {
            self.half.clear();
            self.replace(self.document_bytes)?;
        }
        if self.texts.ends.last().copied().unwrap_or(0) < self.texts.text.len() {
            self.texts.ends.push(self.texts.text.len());
        }
        self.document_bytes = 0;
        self.searched = self.texts.text.len();
        Ok(())
    }

    /// Return what is complete, if it is enough to be worth it or `all` of it is wanted.
    pub fn give(&mut self, separators: &Separators, all: bool) -> Option<Texts> {
        let length = self.texts.text.len();
        if length == 0 || (length < BLOCK && !all) {
            return None;
        }
        let ended = self.texts.ends.last().copied().unwrap_or(0);
        let cut = self.cut(ended, separators).unwrap_or(ended);
        if cut == 0 {
            return None;
        }
        let rest = self.texts.text.split_off(cut);
        if cut > ended {
            self.texts.ends.push(cut);
        }
        self.searched = self.searched.saturating_sub(cut);
        Some(std::mem::replace(&mut self.texts, Texts { text: rest, ends: Vec::new() }))
    }

    /// A place inside the open document, which begins at `start`.
    fn cut(&mut self, start: usize, separators: &Separators) -> Option<usize> {
        let places = self.places?;
        let known = self.texts.text.len().saturating_sub(separators.reach());
        let mut to = known;
        // A cut at the old end is found with the character before it.
        let from = self.searched.max(start);
        while let Some(cut) = last_cut(places, &self.texts.text, from, to) {
            if !separators.straddles(self.texts.text.as_bytes(), cut) {
                return Some(cut);
            }
            to = cut;
        }
        let mut searched = known.saturating_sub(8).max(from);
        while !self.texts.text.is_char_boundary(searched) {
            searched -= 1;
        }
        self.searched = searched;
        None
    }

    fn take(&mut self, bytes: &[u8]) -> Result<()> {
        let mut rest = bytes;
        loop {
            let (valid, behind) = match std::str::from_utf8(rest) {
                Ok(text) => (text, None),
                Err(error) => {
                    let (valid, behind) = rest.split_at(error.valid_up_to());
                    (std::str::from_utf8(valid).unwrap_or_default(), Some((behind, error.error_len())))
                }
            };
            self.texts.text.push_str(valid);
            self.document_bytes += valid.len() as u64;
            match behind {
                None => return Ok(()),
                Some((half, None)) => {
                    self.half.extend_from_slice(half);
                    return Ok(());
                }
                Some((behind, Some(length))) => {
                    self.replace(self.document_bytes)?;
                    self.document_bytes += length as u64;
                    rest = &behind[length..];
                }
            }
        }
    }

    fn replace(&mut self, at: u64) -> Result<()> {
        if self.invalid_utf8 == InvalidUtf8::Refuse {
            return Err(refused(at));
        }
        self.texts.text.push(char::REPLACEMENT_CHARACTER);
        Ok(())
    }
}

/// The error for a byte that is not UTF-8.
pub fn refused(at: u64) -> Error {
    let message = format!("byte {at} is not UTF-8; convert the text or set replace_invalid");
    Error::new(Code::InvalidUtf8, message).at_index(at as usize)
}
