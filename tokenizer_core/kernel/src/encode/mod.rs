//! The pipeline: added tokens, normalizer, pretokenizer, model, in one pass over the text and into any sink.

mod agreement;
mod long_text;
mod pieces;
pub mod sampled;
mod segments;
mod spaces;
mod summed;
mod words;

use std::collections::HashSet;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use self::spaces::{Spaced, Start};
use self::summed::rules_of;
use self::words::words_of;
use crate::added_tokens::{AddedTokens, Pass, SpecialPolicy};
use crate::block::PIECES;
use crate::config::{Config, ModelConfig};
use crate::decode::{AnyDecoder, TextStream, TokenBytes};
use crate::error::{Code, Error, Result};
use crate::model::{AnyModel, char_bpe};
use crate::normalize::Normalizer;
use crate::normalize::bert::Bert;
use crate::normalize::sentencepiece::SentencePiece;
use crate::output::Sink;
use crate::output::word_ids::WordIds;
use crate::piece_cache::CacheStatistics;
use crate::pretokenize::Pretokenizer;
use crate::provenance::Guard;
use crate::regex::{BASE_STEPS, StepBudget};
use crate::scratch::{Scratch, ScratchPool};
use crate::segment_cache::Segments;
use crate::simd::level::SimdLevel;
use crate::simd::prefetch::prefetch_bytes;
use crate::vocabulary::token_table::TokenTable;
use crate::vocabulary::{MissingBytes, Vocabulary};

/// Bytes of a text that are prefetched before the first is read.
const READ_AHEAD: usize = 1024;

/// Options of encoding a text.
#[derive(Debug, Clone, Copy)]
pub struct EncodeOptions {
    /// The meaning of special tokens' literals.
    pub policy: SpecialPolicy,
    /// Put the post-processor's ids around the text.
    pub add_special_tokens: bool,
}

/// The state of one call.
struct Call<'c> {
    options: EncodeOptions,
    /// The number of threads; 0 means one a core.
    threads: usize,
    /// Present for a chat.
    guard: Option<Guard<'c>>,
    /// The steps that expressions may still take.
    steps: StepBudget,
    /// The segments that are kept, for a caller who may find them.
    segments: Option<Segments<'c>>,
    scratch: &'c mut Scratch,
}

/// Ids that come in parts, on their way to text.
pub type PipelineStream = TextStream<AnyDecoder>;

/// A whole tokenizer except its files: immutable, shared between threads.
#[derive(Debug)]
pub struct Pipeline {
    tokens: TokenBytes,
    /// The bytes of text that each token stands for, where the model tiles and they are not those of its entry.
    stands_for: Option<TokenBytes>,
    model: AnyModel,
    decoder: AnyDecoder,
    level: SimdLevel,
    /// Absent where every byte has a token, as nearly everywhere.
    missing_bytes: Option<MissingBytes>,
    added_tokens: AddedTokens,
    normalizer: Normalizer,
    pretokenizer: Pretokenizer,
    /// The one pass that does the work of normalizer and pretokenizer, where one can.
    words: Option<Box<Bert<true>>>,
    /// SentencePiece's rules, where they are all that is before the model.
    rules: Option<Box<SentencePiece>>,
    start: Start,
    /// Entries have spaces for marks, and so has the text that the model sees.
    is_spaced: bool,
    prefix_ids: Vec<u32>,
    suffix_ids: Vec<u32>,
    has_expressions: bool,
    /// Steps that the expressions may take for any text, however short.
    expression_steps: u64,
    scratch: ScratchPool,
    /// Unlike that of any other pipeline of the process.
    number: u64,
    /// True if the ids of a text between two added tokens depend on that text alone, and on whether it comes first.
    /// Tokens that are looked for in normalized text depend on who wrote it, and expressions share one budget of steps.
    keeps_segments: bool,
}

static PIPELINES: AtomicU64 = AtomicU64::new(0);

impl Pipeline {
    /// Compile a pipeline. `cache_bytes` bounds the piece cache of each thread that encodes at the same time.
    ///
    /// # Errors
    /// As [`Self::on_level`], and those of [`SimdLevel::chosen`].
    pub fn new(vocabulary: Arc<Vocabulary>, config: &Config, cache_bytes: usize) -> Result<Self> {
        Self::on_level(vocabulary, config, cache_bytes, SimdLevel::chosen()?)
    }

    /// As [`Self::new`], for the instructions of `path`, or the portable ones if the machine lacks it.
    ///
    /// # Errors
    /// `id_conflict`, `duplicate_id`, `id_out_of_range`, `unknown_token_id` and what the stages refuse.
    pub fn on_level(
        vocabulary: Arc<Vocabulary>,
        config: &Config,
        cache_bytes: usize,
        level: SimdLevel,
    ) -> Result<Self> {
        agreement::check(config, &vocabulary)?;
        // No text may merge into a control token: only its literal makes one. A single byte must stay a token.
        let specials = config.added_tokens.iter().filter(|token| token.special && token.content.len() > 1);
        let specials: HashSet<u32> = specials.map(|token| token.id).collect();
        let original = Normalizer::new(&config.normalizer)?;
        let tokens = TokenBytes::new(&vocabulary, &agreement::decoded_literals(config, &original)?)?;
        for (field, ids) in [("prefix_ids", &config.prefix_ids), ("suffix_ids", &config.suffix_ids)] {
            for (at, id) in ids.iter().enumerate() {
                if tokens.get(*id).is_none() {
                    let message = format!("no token has the id {id}");
                    return Err(Error::new(Code::UnknownTokenId, message).at_field(format!("{field}[{at}]")));
                }
            }
        }
        let spaced = Spaced::new(config, &vocabulary);
        let is_spaced = spaced.is_some();
        let entries = if is_spaced { Arc::new(spaces::swapped_entries(&vocabulary)?) } else { Arc::clone(&vocabulary) };
        let Spaced { normalizer, pretokenizer, start } = spaced.unwrap_or_else(|| Spaced::unchanged(config));
        let normalizer = Normalizer::new(&normalizer)?;
        let missing_bytes = Some(vocabulary.missing_bytes()).filter(|missing| !missing.is_empty());
        let model = match &missing_bytes {
            None => AnyModel::new(config, &entries, tokens.table(), &specials, level)?,
            Some(missing) => {
                let complete = vocabulary.completed(missing)?;
                let table = Arc::new(TokenTable::new(&complete, &[])?);
                AnyModel::new(config, &complete, &table, &specials, level)?
            }
        };
        let stands_for = match model {
            AnyModel::CharBpe(_) => Some(TokenBytes::new(&char_bpe::with_bytes(&entries)?, &[])?),
            _ => None,
        };
        let added_tokens = AddedTokens::new(&config.added_tokens, &normalizer)?;
        Ok(Self {
            number: PIPELINES.fetch_add(1, Relaxed),
            keeps_segments: added_tokens.is_empty(Pass::Normalized, SpecialPolicy::Parse) && !config.has_expressions(),
            tokens,
            stands_for,
            model,
            decoder: AnyDecoder::new(&config.decoder)?,
            level,
            missing_bytes,
            added_tokens,
            normalizer,
            pretokenizer: match config.model {
                ModelConfig::ByteBpe => Pretokenizer::on_level(&pretokenizer, level)?,
                _ => Pretokenizer::dropping(&pretokenizer, level)?,
            },
            words: words_of(config),
            rules: rules_of(config)?,
            start,
            is_spaced,
            prefix_ids: config.prefix_ids.clone(),
            suffix_ids: config.suffix_ids.clone(),
            has_expressions: config.has_expressions(),
            expression_steps: BASE_STEPS,
            scratch: ScratchPool::new(cache_bytes),
        })
    }

    /// The same pipeline with another model.
    #[cfg(test)]
    pub(crate) fn with_model(self, model: AnyModel) -> Self {
        Self { model, ..self }
    }

    #[cfg(test)]
    pub(crate) fn model(&self) -> &AnyModel {
        &self.model
    }

    /// The same pipeline, whose expressions may take so many steps for any text, however short.
    #[must_use]
    pub fn with_expression_steps(self, expression_steps: u64) -> Self {
        Self { expression_steps, ..self }
    }

    fn steps(&self) -> StepBudget {
        StepBudget::of(self.expression_steps)
    }

    /// The level of instructions.
    pub fn level(&self) -> SimdLevel {
        self.level
    }

    /// Tell whether a regular expression without a scanner is run on every text; then even a short text may take long.
    pub fn has_expressions(&self) -> bool {
        self.has_expressions
    }

    /// The bytes of every id, added tokens included.
    pub fn tokens(&self) -> &TokenBytes {
        &self.tokens
    }

    /// The bytes of text that every id stands for, if the model tiles.
    pub fn stands_for(&self) -> &TokenBytes {
        self.stands_for.as_ref().unwrap_or(&self.tokens)
    }

    /// Return the decoder, which turns ids into text again.
    pub fn decoder(&self) -> &AnyDecoder {
        &self.decoder
    }

    /// The literals that are matched before everything else.
    pub fn added_tokens(&self) -> &AddedTokens {
        &self.added_tokens
    }

    /// The statistics of the piece caches, except of calls that have not ended.
    pub fn cache_statistics(&self) -> CacheStatistics {
        self.scratch.statistics()
    }

    pub(crate) fn scratch(&self) -> &ScratchPool {
        &self.scratch
    }

    /// Encode `text` into `sink`.
    ///
    /// # Errors
    /// `reserved_literal`, `step_limit`, `uncovered_text`, with the byte range in `text`; `invalid_option` for a text
    /// of 4 GiB or more.
    pub fn encode(&self, text: &str, options: EncodeOptions, sink: &mut impl Sink) -> Result<()> {
        self.encode_with_threads(text, options, 1, sink)
    }

    /// As [`Self::encode`], with the caller's scratch.
    pub(crate) fn encode_with(
        &self,
        scratch: &mut Scratch,
        text: &str,
        options: EncodeOptions,
        sink: &mut impl Sink,
    ) -> Result<()> {
        self.encode_as(text, &mut self.call(options, scratch), sink)
    }

    /// Encode `text` with the number of the piece, or added token, that each id is of.
    ///
    /// # Errors
    /// As [`Self::encode`], and `invalid_option` of a model that sees a text as a whole.
    pub fn word_ids(&self, text: &str, policy: SpecialPolicy) -> Result<WordIds> {
        if matches!(&self.model, AnyModel::Unigram(model) if model.sums_over_text()) {
            let message = "this model cuts no text into words; send words, or leave word_ids out";
            return Err(Error::new(Code::InvalidOption, message).at_field("word_ids"));
        }
        let mut sink = WordIds::default();
        self.encode(text, EncodeOptions { policy, add_special_tokens: false }, &mut sink)?;
        Ok(sink)
    }

    /// Encode `text` over `threads` threads, 0 meaning one a core; what `sink` gets does not depend on their number.
    ///
    /// # Errors
    /// As [`Self::encode`].
    pub fn encode_with_threads(
        &self,
        text: &str,
        options: EncodeOptions,
        threads: usize,
        sink: &mut impl Sink,
    ) -> Result<()> {
        self.scratch.with(|scratch| self.encode_as(text, &mut Call { threads, ..self.call(options, scratch) }, sink))
    }

    /// Encode a rendered chat: an added token, special or not, matches only where no byte of its literal, in bytes of
    /// `text`, stands in one of the caller's ranges. These are on borders of characters, in order and disjoint. Returns
    /// the literals that were refused, with the id each would have had. `segments` are those that are kept.
    ///
    /// # Errors
    /// As [`Self::encode`], but for `reserved_literal`.
    pub fn encode_chat(
        &self,
        text: &str,
        caller: &[Range<usize>],
        add_special_tokens: bool,
        segments: Option<Segments<'_>>,
        sink: &mut impl Sink,
    ) -> Result<Vec<(Range<usize>, u32)>> {
        self.scratch.with(|scratch| {
            let options = EncodeOptions { policy: SpecialPolicy::Parse, add_special_tokens };
            let mut call = Call { guard: Some(Guard::new(caller)), segments, ..self.call(options, scratch) };
            self.encode_as(text, &mut call, sink)?;
            Ok(call.guard.map(Guard::refused).unwrap_or_default())
        })
    }

    /// Give `sink` the ids of a rendered chat as [`Self::encode_chat`] does, or without `caller` those of one in which
    /// every literal is its token. What is kept of its segments is taken, and the rest is kept.
    ///
    /// # Errors
    /// As [`Self::encode_chat`].
    pub fn encode_rendered(
        &self,
        text: &str,
        caller: Option<&[Range<usize>]>,
        segments: Option<Segments<'_>>,
        sink: &mut impl Sink,
    ) -> Result<()> {
        self.scratch.with(|scratch| {
            let options = EncodeOptions { policy: SpecialPolicy::Parse, add_special_tokens: false };
            let mut call = Call { guard: caller.map(Guard::silent), segments, ..self.call(options, scratch) };
            self.encode_as(text, &mut call, sink)
        })
    }

    fn call<'c>(&self, options: EncodeOptions, scratch: &'c mut Scratch) -> Call<'c> {
        Call { options, threads: 1, guard: None, steps: self.steps(), segments: None, scratch }
    }

    fn encode_as(&self, text: &str, call: &mut Call<'_>, sink: &mut impl Sink) -> Result<()> {
        if u32::try_from(text.len()).is_err() {
            return Err(Error::new(Code::InvalidOption, "the text is 4 GiB or longer; cut it into documents"));
        }
        // A short text is read to its end before the processor's own prefetcher notices that it is read in order.
        prefetch_bytes(text.as_ptr(), text.len().min(READ_AHEAD));
        let EncodeOptions { add_special_tokens, .. } = call.options;
        if add_special_tokens {
            self.prefix_ids.iter().for_each(|id| sink.added(*id, 0..0));
        }
        self.encode_text(text, call, sink)?;
        if add_special_tokens {
            self.suffix_ids.iter().for_each(|id| sink.added(*id, text.len()..text.len()));
        }
        Ok(())
    }

    /// The pieces that the pretokenizer cuts the normalized text into; added tokens are not looked for.
    ///
    /// # Errors
    /// As [`Self::encode`].
    pub fn pieces(&self, text: &str) -> Result<Vec<String>> {
        let mut steps = self.steps();
        let normalized = self.normalizer.normalize(text, &mut steps)?;
        let text = normalized.as_ref().map_or(text, |normalized| &normalized.text);
        let spaced = self.start.rewrite(text, true, &mut String::new());
        let text = spaced.as_ref().map_or(text, |spaced| &spaced.text);
        let recut = self.pretokenizer.recut(text, true, &mut steps)?;
        let text = recut.as_ref().map_or(text, |recut| &recut.text);
        let ends = match &recut {
            Some(recut) => recut.ends.iter().map(|end| *end as usize).collect(),
            None => self.pretokenizer.pieces(text, &mut steps)?.ends(PIECES)?,
        };
        let starts = std::iter::once(0).chain(ends.iter().copied());
        let pieces = starts.zip(&ends).map(|(start, end)| &text[start..*end]);
        Ok(pieces.map(|piece| if self.is_spaced { spaces::marked(piece) } else { piece.to_owned() }).collect())
    }
}

fn shift(range: Range<usize>, by: usize) -> Range<usize> {
    range.start + by..range.end + by
}
