//! Where a string of JSON stops to be written as it is.

const ONES: u64 = u64::MAX / 255;
const HIGHS: u64 = ONES << 7;

/// How many bytes at the beginning are neither quotation marks, backslashes nor control characters.
pub fn plain_run(bytes: &[u8]) -> usize {
    let (blocks, _) = bytes.as_chunks::<32>();
    let plain_blocks = blocks.iter().position(|block| {
        let (words, _) = block.as_chunks::<8>();
        words.iter().fold(0, |found, word| found | special(*word)) != 0
    });
    let mut at = 32 * plain_blocks.unwrap_or(blocks.len());
    let (words, _) = bytes[at..].as_chunks::<8>();
    for word in words {
        let found = special(*word);
        if found != 0 {
            return at + (found.trailing_zeros() / 8) as usize;
        }
        at += 8;
    }
    at + bytes[at..].iter().position(|byte| is_special(*byte)).unwrap_or(bytes.len() - at)
}

fn is_special(byte: u8) -> bool {
    byte < b' ' || byte == b'"' || byte == b'\\'
}

/// The high bit of the first special byte, and perhaps of others behind it; 0 if there is none.
#[inline]
fn special(word: [u8; 8]) -> u64 {
    let word = u64::from_le_bytes(word);
    // A byte borrows from the next one only if it is below what is taken off, so the first bit found is right.
    let below = |word: u64, least: u8| word.wrapping_sub(ONES * u64::from(least)) & !word;
    let is = |byte: u8| below(word ^ (ONES * u64::from(byte)), 1);
    (below(word, b' ') | is(b'"') | is(b'\\')) & HIGHS
}

#[cfg(test)]
mod tests {
    use super::{is_special, plain_run};

    #[test]
    fn a_run_ends_at_the_first_special_byte_wherever_it_stands() {
        for length in 0..=44 {
            for at in 0..=length {
                for byte in 0..=255 {
                    for behind in [b'a', b'"', b'!', 0x80, 0xFF, 0] {
                        let mut bytes = vec![b'#'; at];
                        bytes.resize(length, behind);
                        if let Some(found) = bytes.get_mut(at) {
                            *found = byte;
                        }
                        let slow = bytes.iter().position(|byte| is_special(*byte)).unwrap_or(length);
                        assert_eq!(plain_run(&bytes), slow, "{bytes:?}");
                    }
                }
            }
        }
    }
}
