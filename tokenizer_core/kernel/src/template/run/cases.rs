//! Text that is written anew: in another case, character by character, so that each keeps its author.

use crate::template::syntax::strings::{is_cased, is_decimal, push_title};
use crate::template::values::text::{Builder, Text};

/// Apply the method of that name to a text.
pub fn mapped<'t>(text: &Text<'t>, method: &str) -> Text<'t> {
    let whole = text.as_str();
    if whole.is_ascii() && matches!(method, "upper" | "lower") && text.uniform().is_some() {
        let mapped = if method == "upper" { whole.to_ascii_uppercase() } else { whole.to_ascii_lowercase() };
        return Text::made(mapped, text.uniform().unwrap_or(0));
    }
    // A sigma at the end of a word has a form of its own, for which the whole text counts.
    let lowered = whole.to_lowercase();
    let mut lowered = lowered.as_str();
    let mut made = Builder::with_capacity(whole.len());
    let mut before_is_cased = false;
    let mut first = true;
    let mut piece = String::new();
    text.each_run(|part, origin| {
        for character in part.chars() {
            let length: usize = character.to_lowercase().map(char::len_utf8).sum();
            let (lower, rest) = lowered.split_at(length.min(lowered.len()));
            lowered = rest;
            piece.clear();
            match method {
                "upper" => piece.extend(character.to_uppercase()),
                "lower" => piece.push_str(lower),
                "title" if before_is_cased => piece.push_str(lower),
                "capitalize" if !first => piece.push_str(lower),
                _ => push_title(character, &mut piece),
            }
            made.push(&piece, origin);
            before_is_cased = is_cased(character);
            first = false;
        }
    });
    made.finish()
}

/// `str.isdigit` of one character: decimal digits, and those that stand for one digit in another form.
pub fn is_digit(character: char) -> bool {
    is_decimal(character)
        || matches!(u32::from(character), 0xB2 | 0xB3 | 0xB9 | 0x1369..=0x1371 | 0x19DA | 0x2070 | 0x2074..=0x2079
            | 0x2080..=0x2089 | 0x2460..=0x2468 | 0x2474..=0x247C | 0x2488..=0x2490 | 0x24EA | 0x24F5..=0x24FD
            | 0x24FF | 0x2776..=0x277E | 0x2780..=0x2788 | 0x278A..=0x2792 | 0x10A40..=0x10A43 | 0x10E60..=0x10E68
            | 0x11052..=0x1105A | 0x1F100..=0x1F10A)
}
