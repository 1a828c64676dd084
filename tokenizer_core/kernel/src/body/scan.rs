//! A strict reader of JSON that never recurses and gives up instead of explaining.

use std::ops::Range;

use super::plain::plain_run;

/// Where a string stands: in the body, or with its escapes resolved in the scanner's own text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Place {
    /// Bytes of the body.
    Body(Range<usize>),
    /// Bytes of [`Scanner::unescaped`].
    Unescaped(Range<usize>),
}

/// Reads a body from its beginning to its end.
#[derive(Debug)]
pub struct Scanner<'a> {
    body: &'a str,
    at: usize,
    /// The strings that held escapes, one after the other.
    unescaped: String,
}

impl<'a> Scanner<'a> {
    /// Begin a body; only UTF-8 is read.
    pub fn new(body: &'a [u8]) -> Option<Self> {
        Some(Self { body: std::str::from_utf8(body).ok()?, at: 0, unescaped: String::new() })
    }

    /// The strings that held escapes: what [`Place::Unescaped`] points into.
    pub fn into_unescaped(self) -> String {
        self.unescaped
    }

    /// The next byte that is no white space.
    pub fn peek(&mut self) -> Option<u8> {
        let bytes = self.body.as_bytes();
        while let Some(byte) = bytes.get(self.at) {
            match byte {
                b' ' | b'\t' | b'\n' | b'\r' => self.at += 1,
                byte => return Some(*byte),
            }
        }
        None
    }

    /// Take this byte, or give up.
    pub fn expect(&mut self, byte: u8) -> Option<()> {
        self.take(byte).then_some(())
    }

    /// Take this byte if it comes next.
    pub fn take(&mut self, byte: u8) -> bool {
        let found = self.peek() == Some(byte);
        self.at += usize::from(found);
        found
    }

    /// Take an object: `field` reads the value of each key, and every key comes once.
    pub fn object(&mut self, mut field: impl FnMut(&mut Self, &'a str) -> Option<()>) -> Option<()> {
        self.expect(b'{')?;
        if self.take(b'}') {
            return Some(());
        }
        loop {
            let key = self.plain_string()?;
            self.expect(b':')?;
            field(self, key)?;
            if !self.take(b',') {
                return self.expect(b'}');
            }
        }
    }

    /// Take an array: `item` reads each value.
    pub fn array(&mut self, mut item: impl FnMut(&mut Self) -> Option<()>) -> Option<()> {
        self.expect(b'[')?;
        if self.take(b']') {
            return Some(());
        }
        loop {
            item(self)?;
            if !self.take(b',') {
                return self.expect(b']');
            }
        }
    }

    /// The body holds nothing more.
    pub fn end(&mut self) -> Option<()> {
        self.peek().is_none().then_some(())
    }

    /// `true` or `false`.
    pub fn boolean(&mut self) -> Option<bool> {
        match self.peek()? {
            b't' => self.word("true").map(|()| true),
            _ => self.word("false").map(|()| false),
        }
    }

    /// A short string without escapes, or `null`.
    pub fn plain_string_or_null(&mut self) -> Option<Option<&'a str>> {
        if self.peek()? == b'n' { self.word("null").map(|()| None) } else { self.plain_string().map(Some) }
    }

    fn word(&mut self, word: &str) -> Option<()> {
        self.peek()?;
        let found = self.body.as_bytes()[self.at..].starts_with(word.as_bytes());
        self.at += word.len();
        found.then_some(())
    }

    /// A string without escapes.
    pub fn plain_string(&mut self) -> Option<&'a str> {
        match self.string()? {
            Place::Body(range) => self.body.get(range),
            Place::Unescaped(_) => None,
        }
    }

    /// Any string that is Unicode.
    pub fn string(&mut self) -> Option<Place> {
        self.expect(b'"')?;
        let body: &'a str = self.body;
        let first = self.unescaped.len();
        let mut escaped = false;
        loop {
            let start = self.at;
            let end = start + plain_run(&body.as_bytes()[start..]);
            let run = body.get(start..end)?;
            self.at = end + 1;
            let closed = match body.as_bytes().get(end)? {
                b'"' => true,
                b'\\' => false,
                _ => return None,
            };
            if closed && !escaped {
                return Some(Place::Body(start..end));
            }
            self.unescaped.push_str(run);
            if closed {
                return Some(Place::Unescaped(first..self.unescaped.len()));
            }
            escaped = true;
            let character = self.escape()?;
            self.unescaped.push(character);
        }
    }

    /// What follows a backslash.
    fn escape(&mut self) -> Option<char> {
        let byte = *self.body.as_bytes().get(self.at)?;
        self.at += 1;
        Some(match byte {
            b'"' | b'\\' | b'/' => char::from(byte),
            b'n' => '\n',
            b't' => '\t',
            b'r' => '\r',
            b'b' => '\u{8}',
            b'f' => '\u{C}',
            b'u' => {
                let unit = self.four_digits()?;
                match unit {
                    0xD800..0xDC00 => {
                        let low = self.body.as_bytes().get(self.at..self.at + 2)?;
                        self.at += 2;
                        let low = if low == b"\\u" { self.four_digits()? } else { return None };
                        // A high surrogate that another one follows stands alone.
                        let low = low.checked_sub(0xDC00).filter(|low| *low < 0x400)?;
                        char::from_u32(0x10000 + ((unit - 0xD800) << 10) + low)?
                    }
                    _ => char::from_u32(unit)?,
                }
            }
            _ => return None,
        })
    }

    fn four_digits(&mut self) -> Option<u32> {
        let digits = self.body.as_bytes().get(self.at..self.at + 4)?;
        self.at += 4;
        digits.iter().try_fold(0, |number, digit| Some(number * 16 + char::from(*digit).to_digit(16)?))
    }

    /// A whole number below 2^32, without sign, fraction or leading zeros. What follows it is read by the caller.
    pub fn number(&mut self) -> Option<u32> {
        self.peek()?;
        let bytes = self.body.as_bytes();
        let start = self.at;
        let mut number = 0_u64;
        while let Some(digit) = bytes.get(self.at).filter(|byte| byte.is_ascii_digit()) {
            number = number * 10 + u64::from(digit - b'0');
            self.at += 1;
            if self.at - start > 10 {
                return None;
            }
        }
        let digits = self.at - start;
        let zero_leads = digits > 1 && bytes[start] == b'0';
        if digits == 0 || zero_leads { None } else { u32::try_from(number).ok() }
    }
}

/// Keys that came, for no key may come twice.
#[derive(Debug, Default)]
pub struct Seen(u32);

impl Seen {
    /// Note key number `key`, or give up on a second one.
    pub fn once(&mut self, key: u32) -> Option<()> {
        let new = self.0 & 1 << key == 0;
        self.0 |= 1 << key;
        new.then_some(())
    }
}
