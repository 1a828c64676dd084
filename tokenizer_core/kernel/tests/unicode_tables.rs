//! The committed class tables are what the generator makes, and they are Unicode 16.0.

#[path = "../examples/generate_unicode_tables.rs"]
mod generator;

use tokd_kernel::unicode::{self, CASELESS, LETTER, LOWER, MARK, NEWLINE, NUMBER, SPACE, UPPER, WORD};

#[test]
fn committed_tables_are_the_generated_ones() {
    let generated = generator::source().unwrap();
    let committed = include_str!("../src/unicode/classes.txt");
    assert!(generated == committed, "run `cargo run --example generate_unicode_tables > src/unicode/classes.txt`");
}

#[test]
fn tables_are_of_unicode_16() {
    assert_eq!(unicode::UNICODE_VERSION, "16.0.0");
    for (code, class) in [
        (0x1C89, UPPER | WORD),     // new in 16.0: Cyrillic capital letter tje
        (0x0897, MARK | WORD),      // new in 16.0: Arabic pepet
        (0x10D40, NUMBER | WORD),   // new in 16.0: Garay digit zero
        (0x105C0, CASELESS | WORD), // new in 16.0: Todhri letter a
        (0x088F, 0),                // new in 17.0: Arabic letter noon with ring above
        (0x323B0, 0),               // new in 17.0: ideographs extension J
        (0x0295, LOWER | WORD),     // became Lo in a later version
    ] {
        assert_eq!(unicode::class_of(code), class, "U+{code:04X}");
    }
}

#[test]
fn classes_are_what_their_names_say() {
    for (characters, class) in [
        ("AÀДǅ", UPPER | WORD),
        ("azßſ", LOWER | WORD),
        ("ªʰ中あ한", CASELESS | WORD),
        ("\u{301}\u{20dd}\u{fe0f}", MARK | WORD),
        ("07٠\u{2167}", NUMBER | WORD),
        ("²½①", NUMBER),
        (" \t\u{b}\u{85}\u{a0}\u{2028}\u{3000}", SPACE),
        ("\r\n", SPACE | NEWLINE),
        ("_\u{200c}\u{200d}Ⓐⓐ", WORD),
        ("!'~\u{1c}\u{200b}\u{180e}😀", 0),
    ] {
        for character in characters.chars() {
            assert_eq!(unicode::class(character), class, "{character:?}");
            assert_eq!(unicode::is_whitespace(character), class & SPACE != 0);
            assert_eq!(unicode::is_word(character), class & WORD != 0);
        }
    }
    assert_eq!(LETTER, UPPER | LOWER | CASELESS);
}

#[test]
fn no_code_has_a_class_beyond_the_last_character() {
    assert_eq!(unicode::class_of(0x11_0000), 0);
    assert_eq!(unicode::class_of(u32::MAX), 0);
}

#[test]
fn byte_table_is_the_first_128_classes() {
    for byte in 0..=255_u8 {
        let class = if byte < 128 { unicode::class(char::from(byte)) } else { 0 };
        assert_eq!(unicode::ASCII[byte as usize], class);
    }
}
