//! The output of a model of speech: a token for each moment, of which repeated ones count once.

use super::{Held, Next};
use crate::decode::word_piece::cleaned;
use crate::error::Result;

/// A whole text of the list, which is one token.
pub(super) fn end(pad: &str, delimiter: &str, cleanup: bool, held: &mut Held, next: &mut Next<'_>) -> Result<()> {
    let token = std::mem::take(&mut held.text);
    if held.begun && held.bytes == token.as_bytes() {
        return Ok(());
    }
    held.begun = true;
    held.bytes = token.as_bytes().to_vec();
    let mut text = if pad.is_empty() { token } else { token.replace(pad, "") };
    if cleanup {
        text = cleaned(text).replace(delimiter, " ");
    }
    if text.is_empty() {
        return Ok(());
    }
    next.text(&text)?;
    next.end()
}
