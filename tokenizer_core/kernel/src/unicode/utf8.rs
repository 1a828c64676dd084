//! Characters in text that is known to be UTF-8.

/// The code point at `at`, whose first byte is `first`, and its length in bytes.
#[inline(always)]
pub(crate) fn decode(text: &[u8], at: usize, first: u8) -> (u32, usize) {
    let low = |offset: usize| u32::from(text.get(at + offset).copied().unwrap_or(0) & 0x3F);
    let first = u32::from(first);
    match first {
        0..0x80 => (first, 1),
        0x80..0xE0 => ((first & 0x1F) << 6 | low(1), 2),
        0xE0..0xF0 => ((first & 0x0F) << 12 | low(1) << 6 | low(2), 3),
        _ => ((first & 0x07) << 18 | low(1) << 12 | low(2) << 6 | low(3), 4),
    }
}

/// The beginning of the character before `at`; `None` at the start of the text.
#[inline]
pub(crate) fn previous(text: &[u8], at: usize) -> Option<usize> {
    let mut start = at.checked_sub(1)?;
    while start > 0 && text.get(start).is_some_and(|byte| byte & 0xC0 == 0x80) {
        start -= 1;
    }
    Some(start)
}
