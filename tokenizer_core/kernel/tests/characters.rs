//! Characters to UTF-8 against the standard library.

use proptest::prelude::*;
use tokd_kernel::simd::level::SimdLevel;
use tokd_kernel::unicode::from_utf32::Utf8;

fn utf8(characters: usize) -> impl Iterator<Item = Utf8> {
    SimdLevel::available().map(move |level| Utf8::with_room(characters, level).unwrap())
}

#[test]
fn room_that_no_memory_has_is_not_given() {
    assert!(SimdLevel::available().all(|level| Utf8::with_room(1 << 58, level).is_none()));
}

#[test]
fn every_character_has_its_bytes_wherever_it_stands() {
    let all: Vec<char> = (0..=0x10FFFF).filter_map(char::from_u32).collect();
    for shift in 0..5 {
        let characters: Vec<char> = std::iter::repeat_n('x', shift).chain(all.iter().copied()).collect();
        let (text, numbers) = (characters.iter().collect::<String>(), characters.iter().map(|of| u32::from(*of)));
        let numbers: Vec<u32> = numbers.collect();
        for mut utf8 in utf8(characters.len()) {
            utf8.push(&numbers).unwrap();
            assert!(*utf8 == *text);
        }
    }
}

/// Eight characters of one to three bytes in every order, each eight where a vector of eight is.
#[test]
fn every_mixture_of_lengths_has_its_bytes() {
    let kinds = ['a', 'é', '中'];
    let count = kinds.len().pow(8);
    let all: Vec<char> =
        (0..count).flat_map(|number| (0..8).map(move |digit| kinds[number / kinds.len().pow(digit) % 3])).collect();
    let (text, numbers) = (all.iter().collect::<String>(), all.iter().map(|of| u32::from(*of)).collect::<Vec<_>>());
    for mut utf8 in utf8(0) {
        utf8.push(&numbers).unwrap();
        assert!(*utf8 == *text);
    }
}

#[test]
fn what_is_no_character_is_refused_wherever_it_stands() {
    for wrong in (0xD800..0xE000).chain([0x11_0000, 0x11_FFFF, 0x7FFF_FFFF, 0x8000_0000, u32::MAX]) {
        let at = wrong as usize % 130;
        let mut characters = [0; 130];
        characters[at] = wrong;
        for other in ['é', 'a', '中', '👍'].map(u32::from) {
            let characters = characters.map(|character| if character == wrong { wrong } else { other });
            for mut utf8 in utf8(0) {
                utf8.push_str("before");
                assert!(utf8.push(&characters).is_none() && *utf8 == *"before", "{wrong:#x}");
                assert!(utf8.push(&characters[..at]).is_some());
            }
        }
    }
}

proptest! {
    #[test]
    fn characters_have_the_bytes_of_the_standard_library(
        parts in prop::collection::vec(prop::sample::select(vec![
            "a", "plain text of some length, more than a window of sixty-four characters holds at once",
            "é", "中", "日本語", "👍",
            "\u{7F}", "\u{80}", "\u{7FF}", "\u{800}", "\u{FFFF}", "\u{D7FF}", "\u{E000}", "\u{10000}", "\0",
        ]), 0..60),
        cut in any::<prop::sample::Index>(), between in "[a-z]{0,40}",
    ) {
        let characters: Vec<char> = parts.concat().chars().collect();
        let (first, second) = characters.split_at(cut.index(characters.len() + 1));
        let units = |part: &[char]| part.iter().map(|character| u32::from(*character)).collect::<Vec<_>>();
        let expected: String = first.iter().copied().chain(between.chars()).chain(second.iter().copied()).collect();
        for mut utf8 in utf8(first.len()) {
            prop_assert!(utf8.push(&units(first)).is_some());
            utf8.push_str(&between);
            prop_assert!(utf8.push(&units(second)).is_some());
            prop_assert_eq!(&*utf8, &expected);
        }
    }
}
