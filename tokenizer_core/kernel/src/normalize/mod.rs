//! Rewrites of the text before it is cut, with the way back to the caller's bytes.

mod alignment;
pub(crate) mod bert;
mod characters;
mod charsmap;
pub mod charsmap_write;
mod forms;
mod precompiled;
mod replace;
mod rewriter;
pub(crate) mod sentencepiece;
#[cfg(test)]
#[path = "../../tests/unit/normalize.rs"]
mod tests;
pub(crate) mod written;

pub use alignment::Alignment;
pub(crate) use replace::Replace;
pub(crate) use rewriter::Rewriter;

use self::bert::Bert;
use self::written::Written;
use crate::config::NormalizerStage;
use crate::error::{Error, Result};
use crate::regex::StepBudget;
use forms::{Form, FormRewrite};
use precompiled::Precompiled;
use sentencepiece::SentencePiece;

/// Replacements may make a text this many times as long, and [`GROWTH_GRACE`] bytes more: a chain of them could fill
/// any memory.
const MAX_GROWTH: usize = 64;
/// See [`MAX_GROWTH`].
const GROWTH_GRACE: usize = 1 << 16;

/// A compiled sequence of rewrites.
#[derive(Debug, Default)]
pub struct Normalizer {
    stages: Vec<RewriteStage>,
}

/// A rewritten text and where each of its bytes came from.
#[derive(Debug)]
pub struct Normalized {
    /// The text that the next stage sees.
    pub text: String,
    /// From its byte ranges to the source's.
    pub alignment: Alignment,
}

#[derive(Debug)]
enum RewriteStage {
    Form(FormRewrite),
    Lowercase,
    Replace(Replace),
    Prepend(String),
    Strip { left: bool, right: bool },
    StripAccents,
    Bert(Box<Bert<false>>),
    ByteLevel,
    Precompiled(Precompiled),
    Nmt,
    SentencePiece(SentencePiece),
}

impl Normalizer {
    /// Compile the stages.
    ///
    /// # Errors
    /// `invalid_pattern` for a regular expression that does not compile, at `normalizer[i].pattern`; `invalid_file` for
    /// a charsmap that leads nowhere.
    pub fn new(stages: &[NormalizerStage]) -> Result<Self> {
        let compile = |(index, stage): (usize, &NormalizerStage)| {
            let field = if matches!(stage, NormalizerStage::Replace { .. }) { "pattern" } else { "charsmap" };
            RewriteStage::new(stage).map_err(|error| error.at_field(format!("normalizer[{index}].{field}")))
        };
        Ok(Self { stages: stages.iter().enumerate().map(compile).collect::<Result<_>>()? })
    }

    /// Tell whether there is no rewrite at all.
    pub fn is_empty(&self) -> bool {
        self.stages.is_empty()
    }

    /// Rewrite `text`, a whole text or a stretch of one, within the `steps` of the whole; `None` when nothing changes
    /// (the common case, decided without an allocation).
    ///
    /// # Errors
    /// `step_limit` when a regular expression takes too long or the result is absurdly long, at a byte range of `text`.
    pub fn normalize(&self, text: &str, steps: &mut StepBudget) -> Result<Option<Normalized>> {
        if self.stages.is_empty() {
            return Ok(None);
        }
        let max_len = text.len().saturating_mul(MAX_GROWTH).saturating_add(GROWTH_GRACE);
        let mut whole: Option<Normalized> = None;
        for stage in &self.stages {
            let before = whole.as_ref().map_or(text, |before| before.text.as_str());
            let Some(later) =
                stage.rewrite(before, max_len, steps).map_err(|error| to_source(error, whole.as_ref()))?
            else {
                continue;
            };
            whole = Some(match whole {
                None => later,
                Some(before) => Normalized { alignment: before.alignment.then(&later.alignment), text: later.text },
            });
        }
        // Stages may undo each other, such as `NFD` and then `NFC`.
        Ok(whole.filter(|whole| whole.text != text))
    }
}

impl RewriteStage {
    fn new(stage: &NormalizerStage) -> Result<Self> {
        Ok(match stage {
            NormalizerStage::Nfc => Self::Form(FormRewrite::new(Form::Nfc)),
            NormalizerStage::Nfd => Self::Form(FormRewrite::new(Form::Nfd)),
            NormalizerStage::Nfkc => Self::Form(FormRewrite::new(Form::Nfkc)),
            NormalizerStage::Nfkd => Self::Form(FormRewrite::new(Form::Nfkd)),
            NormalizerStage::Lowercase => Self::Lowercase,
            NormalizerStage::Replace { pattern, content } => Self::Replace(Replace::new(pattern, content)?),
            NormalizerStage::Prepend { prefix } => Self::Prepend(prefix.clone()),
            NormalizerStage::Strip { left, right } => Self::Strip { left: *left, right: *right },
            NormalizerStage::StripAccents => Self::StripAccents,
            NormalizerStage::Bert(rules) => Self::Bert(Box::new(Bert::new(*rules))),
            NormalizerStage::ByteLevel => Self::ByteLevel,
            NormalizerStage::Precompiled { charsmap } => Self::Precompiled(Precompiled::new(&charsmap.0)?),
            NormalizerStage::Nmt => Self::Nmt,
            NormalizerStage::SentencePiece(rules) => Self::SentencePiece(SentencePiece::new(rules)?),
        })
    }

    fn rewrite(&self, text: &str, max_len: usize, steps: &mut StepBudget) -> Result<Option<Normalized>> {
        Ok(match self {
            Self::Form(form) => form.rewrite(text),
            Self::Lowercase => characters::lowercase(text),
            Self::Replace(replace) => replace.rewrite(text, max_len, steps)?,
            Self::Prepend(prefix) => characters::prepend(text, prefix),
            Self::Strip { left, right } => characters::strip(text, *left, *right),
            Self::StripAccents => characters::strip_accents(text),
            Self::Bert(bert) => {
                let mut written = Written::<Alignment>::default();
                bert.run(text, 0, &mut written);
                Some(Normalized { text: written.text, alignment: written.trace }).filter(|new| new.text != text)
            }
            Self::ByteLevel => characters::byte_level(text),
            Self::Precompiled(precompiled) => precompiled.rewrite(text),
            Self::Nmt => characters::nmt(text),
            Self::SentencePiece(rules) => rules.rewrite(text),
        })
    }
}

/// Put a space before a text that is not empty and does not begin with one (U+0020; no other white space counts);
/// `None` when nothing changes.
pub fn prefix_space(text: &str) -> Option<Normalized> {
    if text.starts_with(' ') { None } else { characters::prepend(text, " ") }
}

/// The error with its place in the text as it was before all stages.
fn to_source(error: Error, before: Option<&Normalized>) -> Error {
    match before {
        Some(before) => error.moved(|bytes| before.alignment.source(bytes)),
        None => error,
    }
}
