//! Text as words.

/// Sixteen bytes from `start` on, with zeros behind the end of the text.
#[inline(always)]
pub fn sixteen(text: &[u8], start: usize) -> u128 {
    match text.get(start..).and_then(<[u8]>::first_chunk::<16>) {
        Some(bytes) => u128::from_le_bytes(*bytes),
        None => {
            let rest = text.get(start..).unwrap_or_default();
            let mut bytes = [0; 16];
            bytes[..rest.len()].copy_from_slice(rest);
            u128::from_le_bytes(bytes)
        }
    }
}

/// The places of the bits of a word, the lowest first.
#[inline(always)]
pub(crate) fn places(mut word: u32) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        let at = word.trailing_zeros() as usize;
        (word != 0).then(|| {
            word &= word - 1;
            at
        })
    })
}
