//! Strings and lists of numbers, read and written as serde does it: of all lengths, with whatever stands between them.

use proptest::prelude::*;
use proptest::sample::select;
use tokd_kernel::json::numbers::{write_ids, write_spans};
use tokd_kernel::json::scan::{Place, Scanner};
use tokd_kernel::json::string::write_string;

/// Texts of several windows of 64 bytes, with much or little in them that has an escape.
fn texts() -> impl Strategy<Value = String> {
    let dense = "[\\PC\u{0}-\u{1F}\"\\\\\u{7F}]{0,120}";
    let sparse = prop::collection::vec("[a-zé漢🙂]{0,70}[\n\"\\\\\u{1}]?", 0..6).prop_map(|parts| parts.concat());
    prop_oneof![dense, sparse]
}

/// What a string of JSON stands for, if it is one, with something behind it.
fn read(json: &str) -> Option<String> {
    let body = format!("{json}:");
    let mut scanner = Scanner::new(body.as_bytes())?;
    let place = scanner.string()?;
    assert!(scanner.take(b':'), "{json}");
    let (body, unescaped) = scanner.into_texts()?;
    Some(match place {
        Place::Body(range) => body[range].to_owned(),
        Place::Unescaped(range) => unescaped[range].to_owned(),
    })
}

/// The same string with an escape for each unit that `escapes` names.
fn escaped(text: &str, escapes: impl Fn(char) -> bool) -> String {
    let escape = |character: char| {
        let mut units = [0; 2];
        character.encode_utf16(&mut units).iter().map(|unit| format!("\\u{unit:04x}")).collect::<String>()
    };
    let must = |character: char| character < ' ' || character == '"' || character == '\\';
    let parts = text.chars().map(|one| if must(one) || escapes(one) { escape(one) } else { one.to_string() });
    format!("\"{}\"", parts.collect::<String>())
}

/// The numbers of an array, of which there are at most so many.
fn read_list(json: &str, most: usize) -> Option<Vec<u32>> {
    let mut scanner = Scanner::new(json.as_bytes())?;
    let mut numbers = vec![7];
    scanner.expect(b'[')?;
    scanner.rest_of_numbers(&mut numbers, most + 1)?;
    scanner.end()?;
    assert_eq!(numbers.remove(0), 7);
    Some(numbers)
}

#[test]
fn halves_of_surrogates_are_no_text() {
    let halves = [0xD7FF, 0xD800, 0xDBFF, 0xDC00, 0xDFFF, 0xE000_u16];
    for (high, low) in halves.iter().flat_map(|high| halves.iter().map(move |low| (high, low))) {
        let json = format!("\"\\u{high:04x}\\u{low:04X}\"");
        assert_eq!(read(&json), serde_json::from_str(&json).ok(), "{json}");
    }
}

proptest! {
    #[test]
    fn a_string_is_written_as_serde_writes_it(text in texts()) {
        let mut json = b"before".to_vec();
        write_string(&text, &mut json);
        prop_assert_eq!(String::from_utf8(json).unwrap(), format!("before{}", serde_json::to_string(&text).unwrap()));
    }

    #[test]
    fn a_string_is_read_however_it_is_written(text in texts(), least in select(vec!['\0', 'a', 'é', '🙂'])) {
        prop_assert_eq!(read(&serde_json::to_string(&text).unwrap()), Some(text.clone()));
        let upper = escaped(&text, |one| !one.is_ascii()).to_uppercase().replace("\\U", "\\u");
        for json in [escaped(&text, |one| one >= least), upper] {
            prop_assert_eq!(read(&json), serde_json::from_str(&json).ok(), "{}", json);
        }
    }

    #[test]
    fn what_is_no_string_is_none(
        text in texts(),
        at in 0_usize..400,
        byte in select(b"\"\\u0dDxn\n\x1F".to_vec()),
    ) {
        let mut json = escaped(&text, |one| one > 'm').into_bytes();
        let at = 1 + at % json.len().max(2);
        if json.get(at).is_some_and(|old| old.is_ascii()) && at + 1 < json.len() {
            json[at] = byte;
        }
        let json = String::from_utf8(json).unwrap();
        // A string that ends before the last byte has something behind it that is none of its own.
        if let Ok(expected) = serde_json::from_str::<String>(&json) {
            prop_assert_eq!(read(&json), Some(expected));
        } else {
            let mut scanner = Scanner::new(json.as_bytes()).unwrap();
            let mut values = serde_json::Deserializer::from_str(&json).into_iter::<String>();
            let first = values.next().and_then(Result::ok);
            prop_assert_eq!(scanner.string().is_some(), first.is_some(), "{}", json);
        }
    }

    #[test]
    fn numbers_are_read_whatever_stands_between_them(
        numbers in prop::collection::vec((0_u32..10, any::<u32>()), 0..60),
        separator in select(vec![",", ", ", ",  ", " ,", ",\n  ", "\t,\r"]),
        most in 0_usize..70,
    ) {
        let numbers: Vec<u32> = numbers.iter().map(|(digits, number)| number % 10_u32.pow(*digits).max(1)).collect();
        let texts: Vec<String> = numbers.iter().map(u32::to_string).collect();
        let json = format!("[{}]", texts.join(separator));
        prop_assert_eq!(read_list(&json, most), (numbers.len() <= most).then_some(numbers));
    }

    #[test]
    fn what_is_no_list_of_ids_is_none(
        numbers in prop::collection::vec(0_u32..20_000, 1..60),
        at in 0_usize..400,
        byte in select(b"0,.e-+ ]a9\x00\"".to_vec()),
        instead in any::<bool>(),
    ) {
        let mut json = serde_json::to_vec(&numbers).unwrap();
        let at = 1 + at % (json.len() - 1);
        if instead { json[at] = byte } else { json.insert(at, byte) }
        let json = String::from_utf8(json).unwrap();
        // As serde reads it: what has a fraction or an exponent is not an id.
        prop_assert_eq!(read_list(&json, 100), serde_json::from_str::<Vec<u32>>(&json).ok(), "{}", json);
    }

    #[test]
    fn lists_are_written_as_serde_writes_them(
        numbers in prop::collection::vec((0_u32..10, any::<u32>(), any::<u32>()), 0..200),
    ) {
        let below = |digits: u32| move |number| number % 10_u32.pow(digits).max(1);
        let spans: Vec<[u32; 2]> = numbers.iter().map(|(digits, a, b)| [*a, *b].map(below(*digits))).collect();
        let ids: Vec<u32> = spans.iter().map(|[id, _]| *id).collect();
        let (mut written, mut written_spans) = (Vec::new(), Vec::new());
        write_ids(&ids, &mut written);
        write_spans(&spans, &mut written_spans);
        prop_assert_eq!(String::from_utf8(written).unwrap(), serde_json::to_string(&ids).unwrap());
        prop_assert_eq!(String::from_utf8(written_spans).unwrap(), serde_json::to_string(&spans).unwrap());
    }
}
