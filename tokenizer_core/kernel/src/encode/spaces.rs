//! Text in which a space is written `▁`: the pipeline runs on the text as it is, and the entries of the model are
//! respelled instead.
//!
//! SentencePiece's models want `▁` where the text has a space. To write it there costs three bytes for one, a copy of
//! the text and a map back. Where nothing can tell the two characters apart, they may as well change places everywhere:
//! in the entries, and, which is rare, in a text that has `▁` itself.

use memchr::memmem::Finder;

use crate::config::{
    AddedToken, Behavior, Config, ModelConfig, NormalizerStage, Pattern, Prepend, PretokenizerStage, UnigramSums,
};
use crate::error::Result;
use crate::normalize::Rewriter;
use crate::output::Moved;
use crate::vocabulary::{Spelling, Vocabulary};

/// The character written for a space.
const MARK: char = '▁';

/// Stages of which text has spaces for spaces.
#[derive(Debug)]
pub(super) struct Spaced {
    pub(super) normalizer: Vec<NormalizerStage>,
    pub(super) pretokenizer: Vec<PretokenizerStage>,
    /// The rewriting of each stretch of text between added tokens.
    pub(super) start: Start,
}

/// Before which stretches of text between added tokens a space is put.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Prefix {
    /// Those that do not begin with one, as far as they are meant.
    Unless(Prepend),
    /// All that are not empty.
    Before,
}

/// The rewriting of a stretch of text between added tokens.
#[derive(Debug)]
pub(super) struct Start {
    /// Marks in it become spaces.
    marks: Option<Finder<'static>>,
    prefix: Prefix,
}

/// A stretch that was rewritten, and the way back.
pub(super) struct Rewritten {
    pub(super) text: String,
    pub(super) moved: Moved,
}

impl Start {
    pub(super) fn new(marks: bool, prefix: Prefix) -> Self {
        Self { marks: marks.then(|| Finder::new(MARK.encode_utf8(&mut [0; 4])).into_owned()), prefix }
    }

    /// Rewrite a stretch, mostly in `room`; `None` when nothing changes. `begins_text` says whether the whole text
    /// begins with it.
    #[inline]
    pub(super) fn rewrite(&self, text: &str, begins_text: bool, room: &mut String) -> Option<Rewritten> {
        let prefix = match self.prefix {
            Prefix::Unless(Prepend::Never) => false,
            Prefix::Unless(Prepend::First) if !begins_text => false,
            Prefix::Unless(_) => !(text.starts_with(' ') || self.marks.is_some() && text.starts_with(MARK)),
            Prefix::Before => true,
        };
        let prefix = prefix && !text.is_empty();
        if let Some(marks) = self.marks.as_ref().filter(|marks| marks.find(text.as_bytes()).is_some()) {
            return Self::replace(marks, text, prefix);
        }
        prefix.then(|| {
            let mut spaced = std::mem::take(room);
            spaced.clear();
            spaced.reserve(text.len() + 1);
            spaced.push(' ');
            spaced.push_str(text);
            Rewritten { text: spaced, moved: Moved::By(1) }
        })
    }

    #[cold]
    fn replace(marks: &Finder<'_>, text: &str, prefix: bool) -> Option<Rewritten> {
        let mut rewriter = Rewriter::new(text);
        if prefix {
            rewriter.insert(" ");
        }
        for at in marks.find_iter(text.as_bytes()) {
            rewriter.keep(at);
            rewriter.replace(at + MARK.len_utf8(), " ");
        }
        rewriter.finish().map(|done| Rewritten { text: done.text, moved: Moved::Along(done.alignment) })
    }
}

impl Spaced {
    /// The same pipeline with spaces, if it writes them as marks and nothing else in it tells one from the other.
    pub(super) fn new(config: &Config, vocabulary: &Vocabulary) -> Option<Self> {
        let is_whole = match &config.model {
            ModelConfig::CharBpe { prefix, suffix, .. } => prefix.is_empty() && suffix.is_empty(),
            ModelConfig::Unigram(model) => model.sums == UnigramSums::Double,
            ModelConfig::ByteBpe
            | ModelConfig::WordLevel { .. }
            | ModelConfig::WordPiece { .. }
            | ModelConfig::Symbols(_) => false,
        };
        if vocabulary.spelling() != Spelling::Text || !is_whole || config.prefix_space {
            return None;
        }
        let mut utf8 = [0; 4];
        let mark: &[u8] = MARK.encode_utf8(&mut utf8).as_bytes();
        // A mark that is no entry would become other bytes than a space.
        let (id, _) = vocabulary.tokens().find(|(_, entry)| *entry == mark)?;
        if config.added_tokens.iter().any(|token| token.special && token.id == id) {
            return None;
        }
        Self::of_stages(config)
    }

    /// The stages as they are.
    pub(super) fn unchanged(config: &Config) -> Self {
        let prefix = Prefix::Unless(if config.prefix_space { Prepend::Always } else { Prepend::Never });
        let (normalizer, pretokenizer) = (config.normalizer.clone(), config.pretokenizer.clone());
        Self { normalizer, pretokenizer, start: Start::new(false, prefix) }
    }

    fn of_stages(config: &Config) -> Option<Self> {
        let is_mark = |stage: &NormalizerStage| writes_mark(stage) || puts_mark(stage);
        let others = config.normalizer.iter().rposition(|stage| !is_mark(stage)).map_or(0, |last| last + 1);
        let (before, last) = config.normalizer.split_at(others);
        let marked = last.iter().any(writes_mark);
        let mut pretokenizer = config.pretokenizer.as_slice();
        let (mut prefix, mut cuts, mut is_metaspace) = (Prepend::Never, Vec::new(), false);
        if let Some(PretokenizerStage::Metaspace { replacement: MARK, prepend, split }) = pretokenizer.first() {
            (prefix, is_metaspace) = (*prepend, true);
            pretokenizer = &pretokenizer[1..];
            if *split {
                let pattern = Pattern::String(String::from(' '));
                cuts.push(PretokenizerStage::Split { pattern, behavior: Behavior::MergedWithNext, invert: false });
            }
        }
        for stage in pretokenizer {
            match stage {
                // It finds none.
                PretokenizerStage::Split { pattern: Pattern::String(literal), invert: false, .. } if literal == " " => {
                }
                PretokenizerStage::Digits { .. } => cuts.push(stage.clone()),
                _ => return None,
            }
        }
        if !marked {
            // Added tokens are found before spaces are written as marks.
            let start = Start::new(true, Prefix::Unless(prefix));
            return is_metaspace.then(|| Self { normalizer: config.normalizer.clone(), pretokenizer: cuts, start });
        }
        // An added token takes spaces beside it along, and no marks.
        let takes_spaces = |token: &AddedToken| token.normalized && (token.lstrip || token.rstrip);
        if config.added_tokens.iter().any(takes_spaces) {
            return None;
        }
        let puts = last.iter().filter(|stage| puts_mark(stage)).count();
        if others == 0 && puts < 2 && !config.added_tokens.iter().any(|token| token.normalized) {
            // Nobody sees the normalized text but the model: there is no need of a normalizer.
            let prefix = if puts == 0 { Prefix::Unless(prefix) } else { Prefix::Before };
            return Some(Self { normalizer: Vec::new(), pretokenizer: cuts, start: Start::new(true, prefix) });
        }
        let mut normalizer = before.to_vec();
        let space = String::from(' ');
        normalizer.push(NormalizerStage::Replace { pattern: Pattern::String(String::from(MARK)), content: space });
        normalizer.extend((0..puts).map(|_| NormalizerStage::Prepend { prefix: String::from(' ') }));
        Some(Self { normalizer, pretokenizer: cuts, start: Start::new(false, Prefix::Unless(prefix)) })
    }
}

/// The vocabulary with entries in which spaces and marks have changed places.
///
/// # Errors
/// None that the vocabulary did not have.
pub(super) fn swapped_entries(vocabulary: &Vocabulary) -> Result<Vocabulary> {
    let entries = vocabulary.tokens().map(|(id, entry)| (id, swapped(entry)));
    // Where the last entries are literals of added tokens, there are scores behind the last one that is left.
    let scores = vocabulary.scores().iter().copied().take(vocabulary.id_limit() as usize).collect();
    Vocabulary::of_texts(entries.collect(), vocabulary.merges().to_vec(), scores)
}

/// The text that a model of swapped entries sees, as it is with marks.
pub(super) fn marked(text: &str) -> String {
    text.replace(' ', MARK.encode_utf8(&mut [0; 4]))
}

/// An entry in which spaces and marks have changed places.
fn swapped(entry: &[u8]) -> String {
    let swap = |character| match character {
        ' ' => MARK,
        MARK => ' ',
        other => other,
    };
    String::from_utf8_lossy(entry).chars().map(swap).collect()
}

/// Tell whether every space becomes a mark.
fn writes_mark(stage: &NormalizerStage) -> bool {
    matches!(stage, NormalizerStage::Replace { pattern: Pattern::String(literal), content }
        if literal == " " && content.chars().eq([MARK]))
}

/// Tell whether a mark is put before the text.
fn puts_mark(stage: &NormalizerStage) -> bool {
    matches!(stage, NormalizerStage::Prepend { prefix } if prefix.chars().eq([MARK]))
}
