//! Encode documents one after the other, each with the end-of-text token beside it.

use std::sync::Arc;

use super::ids::{Documents, Width};
use crate::encode::{EncodeOptions, Pipeline};
use crate::error::{Code, Error, Result};
use crate::scratch::Scratch;
use crate::train::jsonl::{Lines, each_document};
use crate::train::skipped::{OnError, Skipped};
use crate::train::stream::InvalidUtf8;

/// Bytes of text for which one id is expected.
const BYTES_AN_ID: usize = 3;

/// The place of the end-of-text token of a document.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EndOfText {
    /// There is none.
    None,
    /// This id stands before the document.
    Before(u32),
    /// This id stands after the document.
    After(u32),
}

/// Encodes documents, each by itself.
#[derive(Debug)]
pub struct DocumentEncoder {
    /// The tokenizer.
    pub pipeline: Arc<Pipeline>,
    /// The meaning of literals of special tokens.
    pub options: EncodeOptions,
    /// A document without ids gets none.
    pub end_of_text: EndOfText,
    /// Bytes of an id.
    pub width: Width,
    /// The treatment of a document that cannot be read or encoded.
    pub on_error: OnError,
}

impl DocumentEncoder {
    /// Encode the documents of a block of lines.
    ///
    /// # Errors
    /// Of the first line that cannot be read or encoded, which is its row, unless such lines are left out; and
    /// `id_out_of_range`.
    pub fn encode_lines(&self, lines: Lines<'_>) -> Result<(Documents, Skipped)> {
        self.encode(lines.bytes.len(), |run| {
            each_document(lines, InvalidUtf8::Refuse, |line, document| {
                run.take(line, document.as_ref().map(|document| &*document.text))
            })
        })
    }

    /// Encode texts, of which each has its index as number.
    ///
    /// # Errors
    /// As [`Self::encode_lines`].
    pub fn encode_texts(&self, texts: &[&str]) -> Result<(Documents, Skipped)> {
        let bytes = texts.iter().map(|text| text.len()).sum();
        self.encode(bytes, |run| (0..).zip(texts).try_for_each(|(row, text)| run.take(row, Ok(text))))
    }

    fn encode(&self, bytes: usize, feed: impl FnOnce(&mut ShardRun<'_>) -> Result<()>) -> Result<(Documents, Skipped)> {
        self.pipeline.scratch().with(|scratch| {
            let documents = Documents::with_room(self.width, bytes / BYTES_AN_ID);
            let mut run = ShardRun { encoder: self, scratch, ids: Vec::new(), documents, skipped: Skipped::default() };
            feed(&mut run)?;
            Ok((run.documents, run.skipped))
        })
    }
}

/// The encoding of one block.
struct ShardRun<'r> {
    encoder: &'r DocumentEncoder,
    scratch: &'r mut Scratch,
    /// Of one document.
    ids: Vec<u32>,
    documents: Documents,
    skipped: Skipped,
}

impl ShardRun<'_> {
    fn take(&mut self, number: u64, text: std::result::Result<&str, &Error>) -> Result<()> {
        match text.map_err(Error::clone).and_then(|text| self.encode(text)) {
            Ok(()) => self.documents.push(&self.ids).map_err(|error| error.in_row(number as usize)),
            Err(error) if self.encoder.on_error == OnError::Skip && is_of_the_document(error.code) => {
                self.skipped.add(0, number, error.message);
                Ok(())
            }
            Err(error) => Err(error.in_row(number as usize)),
        }
    }

    fn encode(&mut self, text: &str) -> Result<()> {
        let encoder = self.encoder;
        self.ids.clear();
        if let EndOfText::Before(id) = encoder.end_of_text {
            self.ids.push(id);
        }
        let before = self.ids.len();
        encoder.pipeline.encode_with(self.scratch, text, encoder.options, &mut self.ids)?;
        match encoder.end_of_text {
            _ if self.ids.len() == before => self.ids.clear(),
            EndOfText::After(id) => self.ids.push(id),
            _ => {}
        }
        Ok(())
    }
}

/// Tell whether a document alone is at fault.
fn is_of_the_document(code: Code) -> bool {
    matches!(
        code,
        Code::InvalidCorpus | Code::InvalidUtf8 | Code::ReservedLiteral | Code::StepLimit | Code::UncoveredText
    )
}
