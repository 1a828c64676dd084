//! GPT-2's bijection between bytes and printable characters (`bytes_to_unicode` in its `encoder.py`).
//!
//! The printable bytes of Latin-1 are themselves; the other 68 are, in order, the characters from U+0100 on.

/// One more than the last character of the alphabet.
const CHAR_LIMIT: usize = 0x100 + 68;
const NO_BYTE: u16 = u16::MAX;

const CHAR_OF_BYTE: [char; 256] = build().0;
const BYTE_OF_CHAR: [u16; CHAR_LIMIT] = build().1;

const fn build() -> ([char; 256], [u16; CHAR_LIMIT]) {
    let (mut chars, mut bytes) = (['\0'; 256], [NO_BYTE; CHAR_LIMIT]);
    let (mut byte, mut moved) = (0_u16, 0_u16);
    while byte < 256 {
        let code = if matches!(byte, 0x21..=0x7E | 0xA1..=0xAC | 0xAE..=0xFF) {
            byte
        } else {
            moved += 1;
            0xFF + moved
        };
        if let Some(char) = char::from_u32(code as u32) {
            chars[byte as usize] = char;
        }
        bytes[code as usize] = byte;
        byte += 1;
    }
    (chars, bytes)
}

/// The bytes of a string in the byte alphabet, or `None` if a character is outside it.
pub fn text_to_bytes(text: &str) -> Option<Vec<u8>> {
    let mut bytes = Vec::with_capacity(text.len());
    append_bytes(text, &mut bytes).then_some(bytes)
}

/// Append the bytes of a string in the byte alphabet; `false`, and nothing appended, if a character is outside it.
pub fn append_bytes(text: &str, bytes: &mut Vec<u8>) -> bool {
    let start = bytes.len();
    for char in text.chars() {
        let byte = BYTE_OF_CHAR.get(char as usize).and_then(|byte| u8::try_from(*byte).ok());
        let Some(byte) = byte else {
            bytes.truncate(start);
            return false;
        };
        bytes.push(byte);
    }
    true
}

/// The character of a byte.
pub fn char_of(byte: u8) -> char {
    CHAR_OF_BYTE[usize::from(byte)]
}

/// The string of the byte alphabet for `bytes`.
pub fn bytes_to_text(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| CHAR_OF_BYTE[*byte as usize]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_byte_has_its_own_printable_character() {
        let all: Vec<u8> = (0..=255).collect();
        let text = bytes_to_text(&all);
        assert_eq!(text.chars().collect::<std::collections::BTreeSet<_>>().len(), 256);
        assert!(!text.contains(|char: char| char.is_whitespace() || char.is_control()));
        assert_eq!(text_to_bytes(&text), Some(all));
    }

    #[test]
    fn the_known_characters_stand_where_gpt2_has_them() {
        assert_eq!(bytes_to_text(b" \n\t\x00\xAD\x7FaA"), "ĠĊĉĀŃġaA");
        assert_eq!(bytes_to_text("é".as_bytes()), "Ã©");
    }

    #[test]
    fn characters_outside_the_alphabet_have_no_bytes() {
        for text in [" ", "\u{AD}", "\u{144}", "a\u{10FFFF}", "\u{7F}", "\0"] {
            assert_eq!(text_to_bytes(text), None, "{text:?}");
        }
        assert_eq!(text_to_bytes(""), Some(Vec::new()));
    }
}
