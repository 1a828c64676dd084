//! A strict reader of JSON that never recurses, and gives up without an error message.

use std::borrow::Cow;
use std::ops::Range;

use super::decimal::leading_number;
use super::numbers::read_numbers;
use super::special::{plain_run, string_run};
use super::string::unescape;
use crate::capacity::reserve;
use crate::simd::byte_vector::WINDOW;
use crate::simd::words::padded;

/// The most keys of an object that may come only once each.
const MAX_FIELDS: usize = 64;

/// The place of a string: in the body, or in the scanner's own text with its escapes resolved.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Place {
    /// Bytes of the body.
    Body(Range<usize>),
    /// Bytes of what strings with escapes stand for; see [`Scanner::into_texts`].
    Unescaped(Range<usize>),
}

/// A list or an object that was not looked into.
#[derive(Debug, Clone, Copy)]
pub struct Skipped<'a> {
    /// Its bytes; they are JSON only if somebody reads them as such.
    pub json: &'a str,
    /// The number of values in it, if it is JSON.
    pub items: usize,
}

/// Reads a body from its beginning to its end.
#[derive(Debug)]
pub struct Scanner<'a> {
    pub(crate) body: &'a str,
    pub(crate) at: usize,
    /// The texts of strings with escapes, one after the other.
    pub(super) unescaped: Vec<u8>,
}

impl<'a> Scanner<'a> {
    /// Begin a body; only UTF-8 is read.
    pub fn new(body: &'a [u8]) -> Option<Self> {
        simdutf8::basic::from_utf8(body).ok().map(Self::of)
    }

    /// Begin a text.
    pub fn of(body: &'a str) -> Self {
        Self { body, at: 0, unescaped: Vec::new() }
    }

    /// The bytes that are taken.
    pub fn place(&self) -> usize {
        self.at
    }

    /// The body, and what its strings that held escapes stand for: what [`Place`] points into. Every string was read to
    /// its end.
    pub fn into_texts(self) -> Option<(&'a str, String)> {
        Some((self.body, String::from_utf8(self.unescaped).ok()?))
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

    /// As [`Self::object`], of few keys, none of which comes twice.
    pub fn fields(&mut self, mut field: impl FnMut(&mut Self, &'a str) -> Option<()>) -> Option<()> {
        let (mut seen, mut count) = ([""; MAX_FIELDS], 0);
        self.object(|scanner, key| {
            (!seen[..count].contains(&key)).then_some(())?;
            *seen.get_mut(count)? = key;
            count += 1;
            field(scanner, key)
        })
    }

    /// Take an object: `field` reads the value of each key.
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
    pub fn array(&mut self, item: impl FnMut(&mut Self) -> Option<()>) -> Option<()> {
        self.expect(b'[')?;
        self.rest_of_array(item)
    }

    /// Take the rest of an array whose bracket is taken.
    pub fn rest_of_array(&mut self, mut item: impl FnMut(&mut Self) -> Option<()>) -> Option<()> {
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

    /// `true`, `false` or `null`.
    pub fn boolean_or_null(&mut self) -> Option<Option<bool>> {
        if self.peek()? == b'n' { self.word("null").map(|()| None) } else { self.boolean().map(Some) }
    }

    /// Take a list or an object unread.
    pub fn skip(&mut self) -> Option<Skipped<'a>> {
        self.peek().filter(|first| matches!(first, b'[' | b'{'))?;
        let (bytes, start) = (self.body.as_bytes(), self.at);
        let (mut depth, mut items) = (0_usize, 1);
        loop {
            match bytes.get(self.at)? {
                b'"' => self.skip_string()?,
                b'[' | b'{' => depth += 1,
                b']' | b'}' => depth -= 1,
                b',' if depth == 1 => items += 1,
                _ => {}
            }
            self.at += 1;
            if depth == 0 {
                return Some(Skipped { json: self.body.get(start..self.at)?, items });
            }
        }
    }

    /// Go from the quotation mark that begins a string to the one that ends it.
    fn skip_string(&mut self) -> Option<()> {
        let bytes = self.body.as_bytes();
        self.at += 1;
        self.at += string_run(bytes.get(self.at..)?);
        (*bytes.get(self.at)? == b'"').then_some(())
    }

    /// Take any value unread.
    pub fn skip_any(&mut self) -> Option<&'a str> {
        let first = self.peek()?;
        let start = self.at;
        match first {
            b'[' | b'{' => return self.skip().map(|skipped| skipped.json),
            b'"' => {
                self.skip_string()?;
                self.at += 1;
            }
            _ => {
                let rest = &self.body.as_bytes()[start..];
                self.at +=
                    rest.iter().take_while(|byte| !matches!(byte, b',' | b'}' | b' ' | b'\n' | b'\r' | b'\t')).count();
            }
        }
        self.body.get(start..self.at).filter(|value| !value.is_empty())
    }

    /// Take a list or an object unread, or `null`.
    pub fn skip_or_null(&mut self) -> Option<Option<&'a str>> {
        if self.peek()? == b'n' { self.word("null").map(|()| None) } else { self.skip().map(|value| Some(value.json)) }
    }

    /// Take this word, or give up.
    pub fn word(&mut self, word: &str) -> Option<()> {
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

    /// Any string that is Unicode, alone.
    pub fn text(&mut self) -> Option<Cow<'a, str>> {
        match self.string()? {
            Place::Body(range) => self.body.get(range).map(Cow::Borrowed),
            Place::Unescaped(range) => {
                let text = self.unescaped[range].to_vec();
                self.unescaped.clear();
                String::from_utf8(text).ok().map(Cow::Owned)
            }
        }
    }

    /// Any string that is Unicode.
    pub fn string(&mut self) -> Option<Place> {
        self.expect(b'"')?;
        let start = self.at;
        let end = start + plain_run(&self.body.as_bytes()[start..]);
        match self.body.as_bytes().get(end)? {
            b'"' => {
                self.at = end + 1;
                return Some(Place::Body(start..end));
            }
            b'\\' => {}
            _ => return None,
        }
        // What is escaped is longer than what it stands for.
        if self.unescaped.is_empty() {
            reserve(&mut self.unescaped, self.body.len() - start + WINDOW);
        }
        let first = self.unescaped.len();
        self.unescaped.extend_from_slice(&self.body.as_bytes()[start..end]);
        self.at = unescape(self.body, end, &mut self.unescaped)?;
        Some(Place::Unescaped(first..self.unescaped.len()))
    }

    /// Take an array of [numbers](Self::number) of which the bracket is taken, and append them to `numbers`, which then
    /// are at most `most`.
    pub fn rest_of_numbers(&mut self, numbers: &mut Vec<u32>, most: usize) -> Option<()> {
        self.rest_of_array(|scanner| {
            scanner.at += read_numbers(&scanner.body.as_bytes()[scanner.at..], numbers, most);
            numbers.push(scanner.number()?);
            (numbers.len() <= most).then_some(())
        })
    }

    /// A whole number below 2^32, without sign, fraction or leading zeros. What follows it is read by the caller.
    #[inline]
    pub fn number(&mut self) -> Option<u32> {
        let first = self.peek()?;
        let rest = &self.body.as_bytes()[self.at..];
        let word = rest.first_chunk().map_or_else(|| padded(rest) as u64, |word| u64::from_le_bytes(*word));
        let (number, digits) = leading_number(word.to_le_bytes());
        self.at += digits;
        let zero_leads = digits > 1 && first == b'0';
        if digits == 0 || zero_leads {
            return None;
        }
        if digits < 8 { Some(number) } else { self.more_digits(number) }
    }

    /// A number of which eight digits are read.
    #[cold]
    fn more_digits(&mut self, number: u32) -> Option<u32> {
        let mut number = u64::from(number);
        while let Some(digit) = self.body.as_bytes().get(self.at).filter(|byte| byte.is_ascii_digit()) {
            number = number * 10 + u64::from(digit - b'0');
            self.at += 1;
            if number > u64::from(u32::MAX) {
                return None;
            }
        }
        u32::try_from(number).ok()
    }
}
