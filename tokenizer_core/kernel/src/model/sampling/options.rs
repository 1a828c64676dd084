//! The sampling options of a call to a model: the segmentation that it draws.

use crate::error::{Code, Error, Result};
use crate::model::AnyModel;

/// The most segmentations that are listed or drawn from.
pub const MAX_NBEST: usize = 512;

/// The largest exponent of a probability: beyond, every draw is the best segmentation.
const MAX_ALPHA: f64 = 1000.0;

/// The way of drawing a segmentation.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Sampling {
    /// BPE-dropout: before each merge, each pair that could be merged is left out with this probability; of the others
    /// the first in order is merged, and where all are left out the piece is done.
    Dropout(f64),
    /// Of all segmentations, each with its probability to the power `alpha`.
    Alpha(f64),
    /// As `Alpha`, of the `count` most probable of a text.
    AmongBest {
        /// The exponent.
        alpha: f64,
        /// The number of segmentations.
        count: usize,
    },
}

impl Sampling {
    /// Check options; `nbest` is a number of segmentations, or -1 for all.
    ///
    /// # Errors
    /// `invalid_option` at `dropout`, `alpha` or `nbest`.
    pub fn new(dropout: Option<f64>, alpha: Option<f64>, nbest: Option<i64>) -> Result<Option<Self>> {
        let wrong = |field: &str, message: String| Err(Error::new(Code::InvalidOption, message).at_field(field));
        match (dropout, alpha, nbest) {
            (None, None, None) => Ok(None),
            (None, None, Some(_)) => wrong("nbest", String::from("nbest goes with alpha; give both")),
            (Some(_), Some(_), _) => {
                wrong("alpha", String::from("dropout is for BPE and alpha for Unigram; give one of them"))
            }
            (Some(_), None, Some(_)) => wrong("nbest", String::from("nbest goes with alpha, not with dropout")),
            (Some(dropout), None, None) if !(0.0..=1.0).contains(&dropout) => {
                wrong("dropout", format!("dropout is a probability from 0 to 1, not {dropout}"))
            }
            (Some(dropout), None, None) => Ok(Some(Self::Dropout(dropout))),
            (None, Some(alpha), _) if !(0.0..=MAX_ALPHA).contains(&alpha) => {
                wrong("alpha", format!("alpha is a number from 0 to {MAX_ALPHA}, not {alpha}"))
            }
            (None, Some(alpha), None | Some(-1)) => Ok(Some(Self::Alpha(alpha))),
            (None, Some(alpha), Some(count)) => {
                Ok(Some(Self::AmongBest { alpha, count: checked_nbest(count, "nbest", ", or -1 for all")? }))
            }
        }
    }

    /// Check that a model has what is asked for.
    ///
    /// # Errors
    /// `invalid_option` at `dropout` or `alpha`.
    pub fn check(self, model: &AnyModel) -> Result<()> {
        let (field, way_out) = match (self, model) {
            (Self::Dropout(_), AnyModel::Bpe(_) | AnyModel::CharBpe(_) | AnyModel::WordBpe(_)) => return Ok(()),
            (Self::Alpha(_) | Self::AmongBest { .. }, AnyModel::Unigram(_)) => return Ok(()),
            (Self::Dropout(_), AnyModel::Unigram(_)) => ("dropout", "give alpha"),
            (Self::Dropout(_), _) => ("dropout", "leave it out"),
            (_, AnyModel::Bpe(_) | AnyModel::CharBpe(_) | AnyModel::WordBpe(_)) => ("alpha", "give dropout"),
            _ => ("alpha", "leave it out"),
        };
        Err(refused(field, model, way_out))
    }
}

/// Check that a model has segmentations to be listed.
///
/// # Errors
/// `invalid_option` at `n`.
pub fn check_listed(model: &AnyModel, count: i64) -> Result<usize> {
    match model {
        AnyModel::Unigram(_) => checked_nbest(count, "n", ""),
        _ => Err(refused("n", model, "encode gives its only segmentation")),
    }
}

fn checked_nbest(count: i64, field: &str, or: &str) -> Result<usize> {
    let checked = usize::try_from(count).ok().filter(|count| (1..=MAX_NBEST).contains(count));
    checked.ok_or_else(|| {
        let message = format!("{field} is a number from 1 to {MAX_NBEST}{or}, not {count}");
        Error::new(Code::InvalidOption, message).at_field(field)
    })
}

fn refused(field: &str, model: &AnyModel, way_out: &str) -> Error {
    let name = match model {
        AnyModel::Bpe(_) | AnyModel::CharBpe(_) | AnyModel::WordBpe(_) => "BPE, whose tokens have no probabilities",
        AnyModel::Unigram(_) => "Unigram, which merges nothing",
        AnyModel::WordPiece(_) => "WordPiece, which cuts every word in one way",
        AnyModel::WordLevel(_) | AnyModel::Symbols(_) => "one of whole words or characters, which has nothing to draw",
        #[cfg(test)]
        AnyModel::Words(_) => "one of a test",
    };
    Error::new(Code::InvalidOption, format!("this model is {name}; {way_out}")).at_field(field)
}
