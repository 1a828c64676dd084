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
