//! The text of a line of JSON as nearly all are: an object of strings, short integers and words.
//!
//! Whatever is otherwise is left to the parser in `jsonl`, which also says what is wrong with a line. Where there is a
//! text here, the parser reads the same.

use crate::json::string::unescape;

/// Digits of an integer that is surely within all limits.
const DIGITS: usize = 18;

/// The string in `field`, unless the line is for the parser.
pub fn flat_text(line: &str, field: &str) -> Option<String> {
    let mut reader = LineReader { line, at: 0 };
    let (mut text, mut unread) = (None, Vec::new());
    reader.take(b'{')?;
    loop {
        let key = reader.key()?;
        reader.take(b':')?;
        match reader.next()? {
            b'"' if key == field => {
                // What is escaped is longer than what it stands for.
                let mut read = Vec::with_capacity(line.len() - reader.at);
                reader.string(&mut read)?;
                if text.replace(read).is_some() {
                    return None;
                }
            }
            _ if key == field => return None,
            b'"' => {
                unread.clear();
                reader.string(&mut unread)?;
            }
            b't' => reader.word("true")?,
            b'f' => reader.word("false")?,
            b'n' => reader.word("null")?,
            _ => reader.integer()?,
        }
        match reader.next()? {
            b',' => reader.at += 1,
            b'}' => break,
            _ => return None,
        }
    }
    reader.at += 1;
    match reader.next() {
        None => String::from_utf8(text?).ok(),
        Some(_) => None,
    }
}

struct LineReader<'l> {
    line: &'l str,
    at: usize,
}

impl<'l> LineReader<'l> {
    /// The next byte that is no white space.
    fn next(&mut self) -> Option<u8> {
        let rest = self.line.as_bytes().get(self.at..)?;
        let blank = rest.iter().take_while(|byte| matches!(byte, b' ' | b'\t' | b'\n' | b'\r')).count();
        self.at += blank;
        rest.get(blank).copied()
    }

    fn take(&mut self, byte: u8) -> Option<()> {
        (self.next()? == byte).then(|| self.at += 1)
    }

    /// A string without escapes.
    fn key(&mut self) -> Option<&'l str> {
        self.take(b'"')?;
        let rest = self.line.as_bytes().get(self.at..)?;
        let length = rest.iter().position(|byte| matches!(byte, b'"' | b'\\' | 0..0x20))?;
        let key = self.line.get(self.at..self.at + length).filter(|_| rest[length] == b'"')?;
        self.at += length + 1;
        Some(key)
    }

    /// The string that begins here.
    fn string(&mut self, text: &mut Vec<u8>) -> Option<()> {
        self.at = unescape(self.line, self.at + 1, text)?;
        Some(())
    }

    fn word(&mut self, word: &str) -> Option<()> {
        self.line.get(self.at..)?.starts_with(word).then(|| self.at += word.len())
    }

    fn integer(&mut self) -> Option<()> {
        let rest = self.line.as_bytes().get(self.at..)?;
        let sign = usize::from(rest.first() == Some(&b'-'));
        let digits = rest[sign..].iter().take(DIGITS + 1).take_while(|byte| byte.is_ascii_digit()).count();
        let begins_with_zero = digits > 1 && rest[sign] == b'0';
        if !(1..=DIGITS).contains(&digits) || begins_with_zero {
            return None;
        }
        self.at += sign + digits;
        Some(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_read_is_what_a_parser_reads_and_the_rest_is_left_to_it() {
        for (line, text) in [
            (r#"{"text": "a"}"#, Some("a")),
            (
                " {\"n\":-12 ,\"ok\":true,\"x\" : null, \"t\":\"\u{6f22}\",\"text\":\"a\\n\\u6f22\\ud83d\\ude42\"}\r",
                Some("a\n\u{6f22}\u{1f642}"),
            ),
            (r#"{"text": "", "n": 0}"#, Some("")),
            (r#"{"text": "a", "text": "b"}"#, None),
            (r#"{"text": 1}"#, None),
            (r#"{"n": 1}"#, None),
            (r#"{"n": [1], "text": "a"}"#, None),
            (r#"{"n": 01, "text": "a"}"#, None),
            (r#"{"n": 1.5, "text": "a"}"#, None),
            (r#"{"n": -, "text": "a"}"#, None),
            (r#"{"n": nul, "text": "a"}"#, None),
            (r#"{"te\u0078t": "a"}"#, None),
            (r#"{"text": "a\ud800"}"#, None),
            (r#"{"text": "a",}"#, None),
            (r#"{"text": "a"} x"#, None),
            (r#"{"text": "a"#, None),
            ("{\"text\": \"a\tb\"}", None),
            ("", None),
        ] {
            assert_eq!(flat_text(line, "text").as_deref(), text, "{line}");
            if let Some(text) = text {
                let value: serde_json::Value = serde_json::from_str(line).unwrap();
                assert_eq!(value["text"], text);
            }
        }
    }
}
