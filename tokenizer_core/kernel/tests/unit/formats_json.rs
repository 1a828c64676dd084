//! Values come back, and what is not strict JSON is refused with its path.

use super::*;
use crate::error::Place;

fn check(text: &str) -> Result<Value> {
    read(text, |reader, deserializer| Checked(reader).deserialize(deserializer))
}

fn field(error: &Error) -> &str {
    match &error.place {
        Place::Field(field) => field,
        _ => "",
    }
}

#[test]
fn every_kind_of_value_comes_back() {
    let text = r#"{"a":[1,-2,2.5,"x\n",null,true,{}],"b":18446744073709551615}"#;
    assert_eq!(check(text).unwrap().to_string(), text);
}

#[test]
fn duplicate_keys_are_refused_with_their_path() {
    let error = check(r#"{"a":[{},{"b c":1,"b c":2}]}"#).unwrap_err();
    assert_eq!((error.code, field(&error)), (Code::InvalidFile, r#"a[1]["b c"]"#));
    // An escape does not hide that two keys are one.
    assert!(check("{\"a\":1,\"\\u0061\":2}").is_err());
}

#[test]
fn two_hundred_thousand_brackets_are_an_error() {
    for open in ["[", "{\"a\":"] {
        let error = check(&open.repeat(200_000)).unwrap_err();
        assert_eq!(error.code, Code::InvalidFile);
        assert!(error.message.contains("recursion limit"), "{}", error.message);
    }
}

#[test]
fn a_flood_of_values_is_refused() {
    let error = check(&format!("[{}0]", "0,".repeat(MAX_VALUES))).unwrap_err();
    assert_eq!((error.code, field(&error)), (Code::InvalidFile, "[1999999]"));
}

#[test]
fn what_is_not_json_is_refused() {
    for text in
        ["", "{", "NaN", "[1,]", "{}x", "{} {}", "[Infinity]", "\"\\ud800\"", "\"\u{1}\"", "1e999", "01", "{'a':1}"]
    {
        assert_eq!(check(text).unwrap_err().code, Code::InvalidFile, "{text:?}");
    }
}

#[test]
fn long_keys_are_cut_in_messages() {
    assert!(quote(&"k".repeat(1_000_000)).len() < 100);
    let error = check(&format!("{{\"{0}\":1,\"{0}\":2}}", "k".repeat(1000))).unwrap_err();
    assert!(field(&error).len() < 100);
}

#[test]
fn a_byte_order_mark_and_other_encodings_are_named() {
    assert!(utf8(b"\xEF\xBB\xBF{}").unwrap_err().message.contains("byte order mark"));
    assert!(utf8(b"{}\xFF").unwrap_err().message.contains("byte 2"));
    assert_eq!(utf8("é".as_bytes()).unwrap(), "é");
}
