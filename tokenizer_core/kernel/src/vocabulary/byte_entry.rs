//! Entries `<0x00>` to `<0xFF>`, which stand for single bytes in a vocabulary of texts.

/// The byte that an entry stands for.
pub fn byte_of(entry: &[u8]) -> Option<u8> {
    let [b'<', b'0', b'x', high, low, b'>'] = entry else { return None };
    let digit = |byte: &u8| match byte {
        b'0'..=b'9' => Some(byte - b'0'),
        b'A'..=b'F' => Some(byte - b'A' + 10),
        _ => None,
    };
    Some(digit(high)? << 4 | digit(low)?)
}

#[cfg(test)]
mod tests {
    use super::byte_of;

    #[test]
    fn only_two_capital_digits_name_a_byte() {
        assert_eq!(byte_of(b"<0x0A>"), Some(10));
        assert_eq!(byte_of(b"<0xFF>"), Some(255));
        for entry in ["<0x0a>", "<0xA>", "<0x100>", "0x0A", "<0x0G>", ""] {
            assert_eq!(byte_of(entry.as_bytes()), None);
        }
    }
}
