//! The label before a piece whose language is known: the name of the language, then U+0000, which no name has.
//!
//! So pieces of several languages are counted in one table, and lie in one file, as those of one language do.

use std::borrow::Cow;

use crate::error::{Code, Error, Result};

/// Ends a label.
const END: u8 = 0;

/// Before the end of the label of a piece that is measured, and not learned from.
const MEASURED: u8 = 1;

/// Most bytes of a name: it stands before every piece of its language.
const MAX_NAME: usize = 255;

/// A piece with its label.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Labelled<'p> {
    /// The language.
    pub name: &'p [u8],
    /// Measured, and not learned from.
    pub is_measured: bool,
    /// Without the label.
    pub piece: &'p [u8],
}

/// Make the label of a language.
///
/// # Errors
/// `invalid_corpus` for a name that is empty, long, or has one of these characters.
pub fn label(name: &str, is_measured: bool) -> Result<String> {
    if !(1..=MAX_NAME).contains(&name.len()) || name.bytes().any(|byte| byte == END || byte == MEASURED) {
        let start: String = name.chars().take(80).collect();
        let message =
            format!("the name of a language has 1 to {MAX_NAME} bytes and no U+0000 and U+0001, but one is {start:?}");
        return Err(Error::new(Code::InvalidCorpus, message));
    }
    Ok(format!("{name}{}\0", if is_measured { "\u{1}" } else { "" }))
}

/// Take the label from a piece; `None` if it has none.
pub fn labelled(piece: &[u8]) -> Option<Labelled<'_>> {
    let end = memchr::memchr(END, piece)?;
    let (label, piece) = (&piece[..end], &piece[end + 1..]);
    let name = label.strip_suffix(&[MEASURED]).unwrap_or(label);
    (!name.is_empty()).then_some(Labelled { name, is_measured: name.len() < label.len(), piece })
}

/// A piece without the label that it has if `has_labels`.
pub fn bare(piece: &[u8], has_labels: bool) -> &[u8] {
    let labelled = if has_labels { labelled(piece) } else { None };
    labelled.map_or(piece, |labelled| labelled.piece)
}

/// Tell whether a labelled piece is measured and not learned from.
pub fn is_measured(piece: &[u8]) -> bool {
    labelled(piece).is_some_and(|labelled| labelled.is_measured)
}

/// The name of a label, as messages have it.
pub fn shown(name: &[u8]) -> Cow<'_, str> {
    String::from_utf8_lossy(name)
}
