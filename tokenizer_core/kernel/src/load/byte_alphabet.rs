//! GPT-2's bijection between bytes and printable characters.

/// The bytes behind a string of the byte alphabet, or `None` if a character is outside it.
pub fn text_to_bytes(_text: &str) -> Option<Vec<u8>> {
    None
}

/// The string of the byte alphabet for `bytes`.
pub fn bytes_to_text(_bytes: &[u8]) -> String {
    String::new()
}
