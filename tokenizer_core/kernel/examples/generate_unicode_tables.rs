//! Write the character classes of the pinned `regex-syntax` as `src/unicode/classes.txt`.
//!
//! `cargo run --example generate_unicode_tables > src/unicode/classes.txt`; `tests/unicode_tables.rs` holds the file to
//! it.

use std::fmt::Write as _;
use std::io::Write as _;

use regex_syntax::hir::{Class, HirKind};
use tokd_kernel::unicode;

/// Characters a block, and blocks a plane.
const BLOCK: usize = 256;
/// What each bit of a class means, as a regular expression.
const BITS: [(&str, u8); 8] = [
    (r"[\p{Lu}\p{Lt}]", unicode::UPPER),
    (r"\p{Ll}", unicode::LOWER),
    (r"[\p{Lm}\p{Lo}]", unicode::CASELESS),
    (r"\p{M}", unicode::MARK),
    (r"\p{N}", unicode::NUMBER),
    (r"\s", unicode::SPACE),
    (r"\w", unicode::WORD),
    (r"[\r\n]", unicode::NEWLINE),
];

type Failure = Box<dyn std::error::Error>;

/// The class of every code point.
fn classes() -> Result<Vec<u8>, Failure> {
    let mut classes = vec![0_u8; char::MAX as usize + 1];
    for (pattern, bit) in BITS {
        let hir = regex_syntax::parse(pattern)?;
        let HirKind::Class(Class::Unicode(class)) = hir.kind() else {
            return Err(format!("{pattern} is no class of characters").into());
        };
        for range in class.ranges() {
            for class in &mut classes[range.start() as usize..=range.end() as usize] {
                *class |= bit;
            }
        }
    }
    Ok(classes)
}

/// The whole file.
pub fn source() -> Result<String, Failure> {
    let letters: Vec<u8> = classes()?
        .into_iter()
        .map(|class| {
            unicode::letter_of_class(class).ok_or_else(|| format!("no letter stands for the class {class:#x}"))
        })
        .collect::<Result<_, _>>()?;
    let mut blocks: Vec<&[u8]> = Vec::new();
    let mut file = String::new();
    for plane in letters.chunks(BLOCK * BLOCK) {
        for block in plane.chunks(BLOCK) {
            let number = blocks.iter().position(|known| *known == block).unwrap_or_else(|| {
                blocks.push(block);
                blocks.len() - 1
            });
            write!(file, "{:02x}", u8::try_from(number)?)?;
        }
        file.push('\n');
    }
    for block in blocks {
        writeln!(file, "{}", std::str::from_utf8(block)?)?;
    }
    Ok(file)
}

#[allow(dead_code, reason = "the test that includes this file calls `source`")]
fn main() -> Result<(), Failure> {
    std::io::stdout().write_all(source()?.as_bytes())?;
    Ok(())
}
