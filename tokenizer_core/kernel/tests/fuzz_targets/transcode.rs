//! Text from one encoding to another, on every path and however it comes, against the standard library.

use tokd_kernel::machine::path::Path;
use tokd_kernel::transcode::utf8::Utf8;
use tokd_kernel::transcode::utf16::Units;

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
pub fn transcode(data: &[u8]) {
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
    for path in Path::available() {
        to_utf8(&codes, part, path);
        to_utf16(bytes, part, path);
    }
}

fn to_utf8(codes: &[u32], part: usize, path: Path) {
    // Too little room is made, so that more is asked for; a word beyond ASCII may be cut between two parts.
    let mut utf8 = Utf8::with_room(part, path).unwrap();
    let mut truth = String::new();
    for part in codes.chunks(part) {
        // Alone on the heap, so that a sanitizer sees a character read too far.
        let part: Box<[u32]> = part.into();
        let characters: Option<String> = part.iter().map(|code| char::from_u32(*code)).collect();
        assert_eq!(utf8.push(&part).is_some(), characters.is_some(), "{} on {part:x?}", path.name());
        truth.push_str(&characters.unwrap_or_default());
        if truth.len().is_multiple_of(3) {
            utf8.push_str("as it is");
            truth.push_str("as it is");
        }
        assert_eq!(*utf8, *truth, "{}", path.name());
    }
}

fn to_utf16(bytes: &[u8], part: usize, path: Path) {
    let Some(mut units) = Units::with_room(part, path) else { return };
    let mut truth: Vec<u16> = Vec::new();
    // Whole characters, as far as there are any; and then as many bytes.
    let valid = std::str::from_utf8(bytes).map_or_else(|error| error.valid_up_to(), str::len);
    let (characters, rest) = bytes.split_at(valid);
    let characters = str::from_utf8(characters).unwrap();
    let mut at = 0;
    while at < valid {
        let end = characters.ceil_char_boundary(valid.min(at + part));
        truth.extend(characters[at..end].encode_utf16());
        let part: Box<[u8]> = characters.as_bytes()[at..end].into();
        units.push(&part).unwrap();
        assert_eq!(units.as_slice(), truth);
        at = end;
    }
    for part in rest.chunks(part) {
        let part: Box<[u8]> = part.into();
        let text = std::str::from_utf8(&part).ok();
        assert_eq!(units.push(&part).is_some(), text.is_some(), "{part:x?}");
        truth.extend(text.unwrap_or_default().encode_utf16());
        assert_eq!(units.as_slice(), truth);
    }
}
