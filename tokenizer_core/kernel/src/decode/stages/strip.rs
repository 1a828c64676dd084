//! Drop up to so many characters of one kind at the beginning and at the end of a text.

use super::{Held, Next};
use crate::error::Result;

pub(super) fn text(
    content: char,
    start: usize,
    stop: usize,
    text: &str,
    held: &mut Held,
    next: &mut Next<'_>,
) -> Result<()> {
    let mut rest = text;
    while held.dropped < start
        && !held.passing
        && let Some(after) = rest.strip_prefix(content)
    {
        held.dropped += 1;
        rest = after;
    }
    if rest.is_empty() {
        return Ok(());
    }
    held.passing = true;
    if stop == 0 {
        return next.text(rest);
    }
    // The last characters may be those of the end.
    let before = rest.trim_end_matches(content);
    if !before.is_empty() {
        next.text(&std::mem::take(&mut held.text))?;
        next.text(before)?;
    }
    held.text.push_str(&rest[before.len()..]);
    let certain = (held.text.len() / content.len_utf8()).saturating_sub(stop) * content.len_utf8();
    next.text(&held.text[..certain])?;
    held.text.drain(..certain);
    Ok(())
}

pub(super) fn end(held: &mut Held, next: &mut Next<'_>) -> Result<()> {
    *held = Held::default();
    next.end()
}
