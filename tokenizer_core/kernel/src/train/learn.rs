//! Learn merges from counts: the second half of a training run in one call.

use super::Learned;
use super::alphabet::{self, Characters};
use super::counts::Counts;
use super::languages::{Language, Languages};
use super::likelihood::Likelihood;
use super::merge_loop::{Goal, Learner, Score};
use super::parity::{Choice, Parity};
use super::progress::Reporter;
use super::replay::replay;
use super::symbols::TrainedTokens;
use super::word_pieces::{self, WordPieces};
use super::words::Words;
use crate::error::{Code, Error, Result};
use crate::vocabulary::Vocabulary;

/// The symbols of pieces before the first merge.
#[derive(Debug)]
pub enum Alphabet<'a> {
    /// The 256 bytes.
    Bytes,
    /// The tokens of an older vocabulary; whether a piece that is one of them is taken whole.
    Tokens(&'a Vocabulary, bool),
    /// Characters.
    Characters(Characters),
    /// Characters, marked where they do not begin a word.
    WordPieces(WordPieces),
}

/// The learned merges and tokens.
#[derive(Debug)]
pub struct Outcome {
    /// The alphabet, then the new tokens in the order in which they were made.
    pub symbols: TrainedTokens,
    /// The number of symbols of the alphabet.
    pub alphabet: usize,
    /// In the order in which they were made.
    pub merges: Vec<Learned>,
}

/// Learn merges, behind those of `known`: the first ones of the same run.
///
/// # Errors
/// `invalid_option` at `vocab_size` when there are fewer tokens asked for than the alphabet has; `corpus_too_large`;
/// what `reporter` returns.
pub fn learn(
    counts: &Counts,
    alphabet: &Alphabet<'_>,
    goal: Goal,
    known: &[Learned],
    reporter: &mut Reporter<'_>,
) -> Result<Outcome> {
    let Beginning { words, symbols, alphabet, known } = Beginning::of(counts, alphabet, &goal, known, reporter)?;
    let (symbols, merges) = match (goal.score, words.are_few()) {
        (Score::Count, true) => Learner::<u32>::new(words, symbols, goal, known).run(reporter)?,
        (Score::Count, false) => Learner::<u64>::new(words, symbols, goal, known).run(reporter)?,
        (Score::Likelihood, true) => Likelihood::<u32>::new(words, symbols, goal, known).run(reporter)?,
        (Score::Likelihood, false) => Likelihood::<u64>::new(words, symbols, goal, known).run(reporter)?,
    };
    Ok(Outcome { symbols, alphabet, merges })
}

/// Learn merges of bytes for the languages of labelled pieces, as [`learn`] does; return also each language with the
/// tokens of what it is measured on.
///
/// # Errors
/// As [`learn`], and `invalid_corpus` as [`Languages::of`].
pub fn learn_for_languages(
    counts: &Counts,
    alphabet: &Alphabet<'_>,
    goal: Goal,
    choice: Choice,
    known: &[Learned],
    reporter: &mut Reporter<'_>,
) -> Result<(Outcome, Vec<(Language, u64)>)> {
    let Languages { languages, counts, stretches } = Languages::of(counts)?;
    let Beginning { words, symbols, alphabet, known } = Beginning::of(&counts, alphabet, &goal, known, reporter)?;
    let of = (languages.clone(), stretches);
    let (symbols, merges, measured) = match words.are_few() {
        true => Parity::<u32>::new(words, symbols, goal, choice, of, known).run(reporter)?,
        false => Parity::<u64>::new(words, symbols, goal, choice, of, known).run(reporter)?,
    };
    Ok((Outcome { symbols, alphabet, merges }, languages.into_iter().zip(measured).collect()))
}

/// What a run begins with.
struct Beginning {
    words: Words,
    symbols: TrainedTokens,
    alphabet: usize,
    /// The merges that are made.
    known: Vec<Learned>,
}

impl Beginning {
    fn of(
        counts: &Counts,
        alphabet: &Alphabet<'_>,
        goal: &Goal,
        known: &[Learned],
        reporter: &mut Reporter<'_>,
    ) -> Result<Self> {
        // No pair occurs more often than there are bytes, so no sum below can leave 64 bits. Real text never comes
        // near; a file of counts can say anything.
        if counts.counted_bytes() > u128::from(u64::MAX) {
            let message = "the counts are those of more than 2 ** 64 bytes of text; divide them all by one number";
            return Err(Error::new(Code::CorpusTooLarge, message).at_field("corpus"));
        }
        let (mut symbols, mut words) = match alphabet {
            Alphabet::Bytes => alphabet::bytes(counts)?,
            Alphabet::Tokens(vocabulary, ignore_merges) => alphabet::tokens(counts, vocabulary, *ignore_merges)?,
            Alphabet::Characters(options) => alphabet::characters(counts, options, &goal.forbidden)?,
            Alphabet::WordPieces(options) => word_pieces::alphabet(counts, options)?,
        };
        let alphabet = symbols.len();
        if goal.tokens < alphabet {
            let message =
                format!("the alphabet alone has {alphabet} symbols and only {} tokens are wanted", goal.tokens);
            return Err(Error::new(Code::InvalidOption, message).at_field("vocab_size"));
        }
        let known = replay(&mut words, &mut symbols, known, goal.tokens, reporter)?;
        Ok(Self { words, symbols, alphabet, known })
    }
}
