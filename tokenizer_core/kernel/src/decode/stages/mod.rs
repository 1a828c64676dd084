//! The decoders of Hugging Face, one after the other: each makes of a list of texts another one. Here texts come in
//! parts, so that a stream has its text as soon as no later token can change it.
//!
//! A text is given in any number of parts, and then ended. What a stage knows of the parts before is in its [`Held`].

mod byte_fallback;
mod ctc;
mod replace;
mod strip;

use self::replace::Replacement;
use super::stream::StreamDecoder;
use super::word_piece;
use crate::byte_level::text_to_bytes;
use crate::config::DecoderStage;
use crate::error::{Code, Error, Result};

/// The most stages of a chain: each calls the next.
const MOST: usize = 64;

/// A compiled stage.
#[derive(Debug)]
pub(super) enum DecodeStage {
    Spaced,
    WordPiece { prefix: String, cleanup: bool },
    Ctc { pad: String, delimiter: String, cleanup: bool },
    Fuse,
    ByteFallback,
    ByteLevel,
    Metaspace { replacement: char, drops_first: bool },
    Bpe { suffix: String },
    Replace(Replacement),
    Strip { content: char, start: usize, stop: usize },
}

/// The data that a stage holds back, and its position.
#[derive(Debug, Clone, Default)]
pub struct Held {
    /// A text has ended before.
    begun: bool,
    /// Parts of this text have been given on.
    passing: bool,
    /// The number of characters that were dropped at the beginning of this text.
    dropped: usize,
    text: String,
    bytes: Vec<u8>,
    utf8: StreamDecoder,
}

/// The stages behind one, and where the last gives its texts.
pub(super) struct Next<'a> {
    stages: &'a [DecodeStage],
    held: &'a mut [Held],
    out: &'a mut Vec<u8>,
}

/// Compile a chain.
///
/// # Errors
/// `invalid_option` for too many stages, or for an expression that would need all of the text; `invalid_pattern`.
pub(super) fn compile(stages: &[DecoderStage]) -> Result<Vec<DecodeStage>> {
    if stages.len() > MOST {
        let message = format!("a decoder has at most {MOST} stages, not {}", stages.len());
        return Err(Error::new(Code::InvalidOption, message).at_field("decoder"));
    }
    let (mut compiled, mut fused) = (Vec::new(), false);
    for (index, stage) in stages.iter().enumerate() {
        compiled
            .push(DecodeStage::new(stage, fused).map_err(|error| error.at_field(format!("decoder[{index}].pattern")))?);
        fused |= matches!(stage, DecoderStage::Fuse | DecoderStage::ByteLevel);
    }
    Ok(compiled)
}

impl DecodeStage {
    /// `fused` says whether the stage sees one text only.
    fn new(stage: &DecoderStage, fused: bool) -> Result<Self> {
        Ok(match stage {
            DecoderStage::Spaced => Self::Spaced,
            DecoderStage::WordPiece { prefix, cleanup } => {
                Self::WordPiece { prefix: prefix.clone(), cleanup: *cleanup }
            }
            DecoderStage::Ctc { pad, delimiter, cleanup } => {
                Self::Ctc { pad: pad.clone(), delimiter: delimiter.clone(), cleanup: *cleanup }
            }
            DecoderStage::SentencePiece(_) => {
                return Err(Error::new(Code::InvalidOption, "the decoder of SentencePiece stands alone"));
            }
            DecoderStage::Fuse => Self::Fuse,
            DecoderStage::ByteFallback => Self::ByteFallback,
            DecoderStage::ByteLevel => Self::ByteLevel,
            DecoderStage::Metaspace { replacement, drops_first } => {
                Self::Metaspace { replacement: *replacement, drops_first: *drops_first }
            }
            // The only text is the last one, in which the suffix is dropped.
            DecoderStage::Bpe { suffix } if fused && suffix.is_empty() => Self::Fuse,
            DecoderStage::Bpe { suffix } if fused => Self::Replace(Replacement::literal(suffix, "")),
            DecoderStage::Bpe { suffix } => Self::Bpe { suffix: suffix.clone() },
            DecoderStage::Replace { pattern, content } => Self::Replace(Replacement::new(pattern, content, fused)?),
            DecoderStage::Strip { content, start, stop } => {
                Self::Strip { content: *content, start: *start, stop: *stop }
            }
        })
    }

    /// Tell whether a text can be too much for it.
    pub(super) fn can_fail(&self) -> bool {
        matches!(self, Self::Replace(Replacement::Whole(_)))
    }

    fn text(&self, text: &str, held: &mut Held, next: &mut Next<'_>) -> Result<()> {
        match self {
            Self::Spaced => {
                space(held, next)?;
                next.text(text)
            }
            Self::Fuse => next.text(text),
            Self::ByteFallback => byte_fallback::text(text, held, next),
            Self::ByteLevel | Self::WordPiece { .. } | Self::Ctc { .. } => {
                held.text.push_str(text);
                Ok(())
            }
            Self::Metaspace { replacement, drops_first } => {
                let space = if *drops_first && !held.begun { "" } else { " " };
                for (at, part) in text.split(*replacement).enumerate() {
                    next.text(if at > 0 { space } else { "" })?;
                    next.text(part)?;
                }
                Ok(())
            }
            Self::Bpe { suffix } => {
                give_word(suffix, " ", held, next)?;
                held.text.push_str(text);
                Ok(())
            }
            Self::Replace(replacement) => replacement.text(text, held, next),
            Self::Strip { content, start, stop } => strip::text(*content, *start, *stop, text, held, next),
        }
    }

    /// The text ends here.
    fn end(&self, held: &mut Held, next: &mut Next<'_>) -> Result<()> {
        match self {
            Self::Spaced => {
                space(held, next)?;
                (held.begun, held.passing) = (true, false);
                next.end()
            }
            Self::Ctc { pad, delimiter, cleanup } => ctc::end(pad, delimiter, *cleanup, held, next),
            Self::WordPiece { prefix, cleanup } => {
                let token = std::mem::take(&mut held.text);
                next.text(&word_piece::decode(prefix, *cleanup, token, !held.begun))?;
                held.begun = true;
                next.end()
            }
            Self::Fuse => Ok(()),
            Self::ByteFallback => byte_fallback::end(held, next),
            Self::ByteLevel => {
                let bytes = text_to_bytes(&held.text);
                let text = held.utf8.push(bytes.as_deref().unwrap_or(held.text.as_bytes()));
                held.text.clear();
                next.text(&text)
            }
            Self::Metaspace { .. } => {
                held.begun = true;
                next.end()
            }
            Self::Bpe { suffix } => {
                give_word(suffix, " ", held, next)?;
                held.begun = true;
                Ok(())
            }
            Self::Replace(replacement) => replacement.end(held, next),
            Self::Strip { .. } => strip::end(held, next),
        }
    }

    /// No text follows.
    fn finish(&self, held: &mut Held, next: &mut Next<'_>) -> Result<()> {
        match self {
            Self::Fuse => next.end(),
            Self::ByteFallback => byte_fallback::give_run(held, next),
            Self::ByteLevel => {
                next.text(&held.utf8.finish())?;
                next.end()
            }
            Self::Bpe { suffix } => give_word(suffix, "", held, next),
            _ => Ok(()),
        }
    }
}

/// Put a space where a text begins that is not the first one.
fn space(held: &mut Held, next: &mut Next<'_>) -> Result<()> {
    if held.begun && !held.passing {
        next.text(" ")?;
    }
    held.passing = true;
    Ok(())
}

/// Give the word that waits, if there is one, with `with` in place of the suffix.
fn give_word(suffix: &str, with: &str, held: &mut Held, next: &mut Next<'_>) -> Result<()> {
    if !std::mem::take(&mut held.begun) {
        return Ok(());
    }
    next.text(&std::mem::take(&mut held.text).replace(suffix, with))?;
    next.end()
}

impl<'a> Next<'a> {
    /// All stages, each of which has its own part of `held`.
    pub(super) fn new(stages: &'a [DecodeStage], held: &'a mut [Held], out: &'a mut Vec<u8>) -> Self {
        Self { stages, held, out }
    }

    /// Do `work` with the first stage, or return `None` behind the last one.
    fn first<T>(&mut self, work: impl FnOnce(&DecodeStage, &mut Held, &mut Next<'_>) -> T) -> Option<T> {
        let (stage, stages) = self.stages.split_first()?;
        let (own, held) = self.held.split_first_mut()?;
        Some(work(stage, own, &mut Next { stages, held, out: self.out }))
    }

    /// The next part of a text.
    pub(super) fn text(&mut self, text: &str) -> Result<()> {
        if text.is_empty() {
            return Ok(());
        }
        match self.first(|stage, held, next| stage.text(text, held, next)) {
            Some(done) => done,
            None => {
                crate::capacity::reserve(self.out, text.len());
                self.out.extend_from_slice(text.as_bytes());
                Ok(())
            }
        }
    }

    /// The text ends here.
    pub(super) fn end(&mut self) -> Result<()> {
        self.first(|stage, held, next| stage.end(held, next)).unwrap_or(Ok(()))
    }

    /// No text follows: each stage gives what it held back.
    pub(super) fn finish(&mut self) -> Result<()> {
        let finished = self.first(|stage, held, next| {
            stage.finish(held, next)?;
            next.finish()
        });
        finished.unwrap_or(Ok(()))
    }
}
