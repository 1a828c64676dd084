//! Code points to UTF-8, on every path and however they come, against the standard library.

use tokd_kernel::simd::level::SimdLevel;
use tokd_kernel::unicode::from_utf32::Utf8;

use super::Reader;

/// Borders of what has so many bytes, and of what is not a character.
const CODES: [u32; 16] = [
    0x7F,
    0x80,
    0xFF,
    0x100,
    0x7FF,
    0x800,
    0xD7FF,
    0xD800,
    0xDFFF,
    0xE000,
    0xFFFF,
    0x1_0000,
    0x10_FFFF,
    0x11_0000,
    0x8000_0000,
    u32::MAX,
];

/// Take the input for code points, and for bytes of UTF-8 or of something else.
pub fn from_utf32(data: &[u8]) {
    let mut reader = Reader::new(data);
    let (width, part) = (reader.byte() % 4, 1 + reader.below(200));
    let bytes = reader.rest();
    let codes: Vec<u32> = match width {
        0 => bytes.iter().map(|byte| u32::from(*byte)).collect(),
        1 => bytes.chunks_exact(2).map(|pair| u32::from(u16::from_le_bytes([pair[0], pair[1]]))).collect(),
        // Mostly ASCII, and what is written as a border stands for one.
        2 => bytes.iter().map(|byte| if *byte < 0x80 { (*byte).into() } else { CODES[*byte as usize % 16] }).collect(),
        _ => String::from_utf8_lossy(bytes).chars().map(u32::from).collect(),
    };
    for level in SimdLevel::available() {
        to_utf8(&codes, part, level);
    }
}

fn to_utf8(codes: &[u32], part: usize, level: SimdLevel) {
    // Too little room is made, so that more is asked for; a word beyond ASCII may be cut between two parts.
    let mut utf8 = Utf8::with_room(part, level).unwrap();
    let mut truth = String::new();
    for part in codes.chunks(part) {
        // Alone on the heap, so that a sanitizer sees a character read too far.
        let part: Box<[u32]> = part.into();
        let characters: Option<String> = part.iter().map(|code| char::from_u32(*code)).collect();
        assert_eq!(utf8.push(&part).is_some(), characters.is_some(), "{} on {part:x?}", level.name());
        truth.push_str(&characters.unwrap_or_default());
        if truth.len().is_multiple_of(3) {
            utf8.push_str("as it is");
            truth.push_str("as it is");
        }
        assert_eq!(*utf8, *truth, "{}", level.name());
    }
}
