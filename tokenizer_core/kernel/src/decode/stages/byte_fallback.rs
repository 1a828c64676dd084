//! Texts `<0xNN>` are bytes: a run of them becomes the text of its bytes, or U+FFFD for each byte if that is no UTF-8.
//!
//! Any later byte can make the whole run invalid, so a run is held back to its end; one that is invalid already is not.

use super::{Held, Next};
use crate::error::Result;

/// The length of a text that may be a byte.
const LENGTH: usize = "<0xNN>".len();

pub(super) fn text(text: &str, held: &mut Held, next: &mut Next<'_>) -> Result<()> {
    if held.passing {
        return next.text(text);
    }
    held.text.push_str(text);
    if held.text.len() <= LENGTH {
        return Ok(());
    }
    give_run(held, next)?;
    held.passing = true;
    next.text(&std::mem::take(&mut held.text))
}

pub(super) fn end(held: &mut Held, next: &mut Next<'_>) -> Result<()> {
    if std::mem::take(&mut held.passing) {
        return next.end();
    }
    let Some(byte) = byte_of(&held.text) else {
        give_run(held, next)?;
        next.text(&std::mem::take(&mut held.text))?;
        return next.end();
    };
    held.text.clear();
    held.bytes.push(byte);
    // Only a character that has begun may still become valid.
    if held.begun || std::str::from_utf8(&held.bytes).is_err_and(|error| error.error_len().is_some()) {
        held.begun = true;
        give_invalid(held, next)?;
    }
    Ok(())
}

/// Give the run, which ends here.
pub(super) fn give_run(held: &mut Held, next: &mut Next<'_>) -> Result<()> {
    held.begun = false;
    if held.bytes.is_empty() {
        return Ok(());
    }
    if let Ok(text) =
        String::from_utf8(std::mem::take(&mut held.bytes)).map_err(|error| held.bytes = error.into_bytes())
    {
        next.text(&text)?;
        return next.end();
    }
    give_invalid(held, next)
}

fn give_invalid(held: &mut Held, next: &mut Next<'_>) -> Result<()> {
    for _ in held.bytes.drain(..) {
        next.text("\u{FFFD}")?;
        next.end()?;
    }
    Ok(())
}

/// The byte that a text is, read as in Hugging Face: `<0x+A>` is one too.
fn byte_of(text: &str) -> Option<u8> {
    let digits = text.strip_prefix("<0x")?.strip_suffix('>')?;
    if digits.len() == 2 { u8::from_str_radix(digits, 16).ok() } else { None }
}
