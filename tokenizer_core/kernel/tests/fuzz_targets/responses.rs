//! Answers in parts against the same answers whole, by templates with every kind of delimiter and of content.

use std::sync::Arc;

use tokd_kernel::responses::{ResponseParser, ResponseTemplate, Tools};

use super::Reader;

const FIELDS: [&str; 5] = [
    r#""a": {"open": "<a>", "close_pattern": "</a>\\s*"}, "content": {"close_pattern": "<end>|$"}"#,
    r#""a": {"open_pattern": "(?=[\\s\\S]*?</a>)", "close": ["</a>", "</a>!"]}, "content": {"repeats": true}"#,
    r#""tool_calls": {"open_pattern": "\\s*<(?P<name>\\w+)>(?!!)", "close_pattern": "(?<=>)|</\\w+>|\\Z",
        "content": "json", "content_args": {"unquoted_keys": true, "string_delims": [["'", "'"]]}, "repeats": true,
        "transform": {"function": {"name": "{name}", "arguments": "{content}"}}}, "content": {}"#,
    r#""a": {"open": "<a>", "close": "</a>", "content": "xml-inline", "content_args":
        {"tag_pattern": "<(?P<key>\\w+)>(?P<value>.*?)</(?P=key)>", "value_parser": {"name": "json"}}}"#,
    r#""a": {"open_pattern": "", "close_pattern": "", "content": "x-python-calls"}, "content": {"content": "int"}"#,
];
const PARTS: [&str; 18] = [
    "<a>", "</a>", "</", "a>", "!", "<end>", "<", ">", " ", "\n", "{\"b\": ", "1", "}", "'é'", "🙂", "b: ", "[f(a=1)]",
    "\\",
];

/// Parse an answer whole and in parts.
pub fn responses(data: &[u8]) {
    let mut reader = Reader::new(data);
    let fields = reader.pick(&FIELDS);
    let template = format!(r#"{{"defaults": {{"role": "assistant"}}, "start_anchor": "@", "fields": {{{fields}}}}}"#);
    let template = Arc::new(ResponseTemplate::read(&template).unwrap());
    let (mut whole, mut parts) = (String::new(), vec![String::new()]);
    for byte in reader.rest() {
        let part = PARTS[usize::from(*byte) % PARTS.len()];
        whole.push_str(part);
        // A cut within the part, if that is no character of several bytes.
        let cut = usize::from(*byte) / PARTS.len() % (part.len() + 1);
        let (first, second) = part.split_at_checked(cut).unwrap_or((part, ""));
        parts.extend([first.to_owned(), second.to_owned()]);
    }
    let parsed = |texts: &[String]| {
        let mut parser = ResponseParser::new(Arc::clone(&template), "x@<", Tools::default());
        texts.iter().for_each(|text| parser.feed(text));
        String::from_utf8(parser.finish()).unwrap()
    };
    assert_eq!(parsed(&parts), parsed(&[whole]));
}
