//! Text as SentencePiece decodes it.

use std::collections::HashSet;

use super::{Decoder, LoadId, SequenceIds};
use crate::capacity::reserve;
use crate::config::SentencePieceDecoding;
use crate::error::Result;
use crate::vocabulary::byte_entry::byte_of;

/// The character written for a space.
const SPACE: &[u8] = "▁".as_bytes();

/// The replacement of a byte that is no part of a character.
const INVALID: &[u8] = "\u{FFFD}".as_bytes();

/// The settings, ready to be asked.
#[derive(Debug)]
pub struct SentencePiece {
    settings: SentencePieceDecoding,
    control: HashSet<u32>,
}

/// The state that the tokens before have left.
#[derive(Debug, Clone, Default)]
pub struct SentencePieceState {
    /// There is text, or the first `▁` has been taken off.
    begun: bool,
    /// The beginning of a character: at most three bytes.
    held: Vec<u8>,
}

impl SentencePiece {
    /// The decoder with these settings.
    pub(super) fn new(settings: &SentencePieceDecoding) -> Self {
        Self { control: settings.control.iter().copied().collect(), settings: settings.clone() }
    }

    fn put(&self, token: &[u8], id: u32, state: &mut SentencePieceState, bytes: &mut Vec<u8>) {
        if let Some(byte) = byte_of(token).filter(|_| self.settings.byte_fallback) {
            state.held.push(byte);
            release(&mut state.held, false, bytes);
            return;
        }
        let before = bytes.len();
        release(&mut state.held, true, bytes);
        state.begun |= bytes.len() > before;
        if self.control.contains(&id) {
            return;
        }
        let start = bytes.len();
        if Some(id) == self.settings.unk {
            bytes.extend_from_slice(self.settings.unk_surface.as_bytes());
        } else {
            let strips = !state.begun && (self.settings.dummy_prefix || self.settings.fold);
            let rest = token.strip_prefix(SPACE).filter(|_| strips);
            // Where spaces are folded, each one at the beginning is taken off, however many tokens they are.
            state.begun |= rest.is_some() && !self.settings.fold;
            append(rest.unwrap_or(token), bytes);
        }
        state.begun |= bytes.len() > start;
    }
}

impl Decoder for SentencePiece {
    type State = SentencePieceState;

    fn push(
        &self,
        ids: SequenceIds<'_, impl LoadId>,
        state: &mut SentencePieceState,
        bytes: &mut Vec<u8>,
    ) -> Result<()> {
        for (id, token) in ids.decoded()? {
            reserve(bytes, token.len() + self.settings.unk_surface.len() + INVALID.len() * 4);
            let length = bytes.len();
            self.put(token, id, state, bytes);
            state.begun |= bytes.len() > length;
        }
        Ok(())
    }

    fn finish(&self, state: &mut SentencePieceState, bytes: &mut Vec<u8>) -> Result<()> {
        release(&mut state.held, true, bytes);
        Ok(())
    }
}

/// Append an entry with spaces as they are in text.
fn append(entry: &[u8], bytes: &mut Vec<u8>) {
    let mut rest = entry;
    while let Some(at) = memchr::memmem::find(rest, SPACE) {
        bytes.extend_from_slice(&rest[..at]);
        bytes.push(b' ');
        rest = &rest[at + SPACE.len()..];
    }
    bytes.extend_from_slice(rest);
}

/// Append the characters of held bytes, and U+FFFD for each byte of none; what may become a character is kept, unless
/// this `is_end`.
fn release(held: &mut Vec<u8>, is_end: bool, bytes: &mut Vec<u8>) {
    let mut at = 0;
    while at < held.len() {
        match std::str::from_utf8(&held[at..]) {
            Ok(text) => {
                bytes.extend_from_slice(text.as_bytes());
                at = held.len();
            }
            Err(error) if error.valid_up_to() > 0 => {
                bytes.extend_from_slice(&held[at..at + error.valid_up_to()]);
                at += error.valid_up_to();
            }
            Err(error) if error.error_len().is_none() && !is_end => break,
            Err(_) => {
                bytes.extend_from_slice(INVALID);
                at += 1;
            }
        }
    }
    held.drain(..at);
}
