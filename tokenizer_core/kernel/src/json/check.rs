//! JSON that is checked and not read: what every reader of it takes, and no other.

use super::scan::Scanner;

/// Lists and objects in an object of a list, and characters of a number, that are not more than any reader takes.
const MAX_LEVELS: usize = 99;
const MAX_NUMBER: usize = 300;

/// A list of objects that is JSON.
#[derive(Debug, PartialEq, Eq)]
pub struct Objects<'a> {
    /// Its bytes.
    pub json: &'a str,
    /// The end of each object in them.
    pub ends: Vec<usize>,
}

impl<'a> Objects<'a> {
    /// A list that is all of a text.
    pub fn of(json: &'a [u8]) -> Option<Self> {
        Scanner::new(json)?.objects()
    }
}

impl<'a> Scanner<'a> {
    /// Tell whether the list that comes next begins with another list.
    pub fn is_nested(&mut self) -> bool {
        let start = self.at;
        let nested = self.take(b'[') && self.peek() == Some(b'[');
        self.at = start;
        nested
    }

    /// Take a list of objects, and check that it is JSON which every reader takes; where each object ends.
    pub fn objects(&mut self) -> Option<Objects<'a>> {
        self.expect(b'[')?;
        let start = self.at - 1;
        let mut ends = Vec::new();
        self.rest_of_array(|scanner| {
            (scanner.peek()? == b'{').then_some(())?;
            scanner.check()?;
            ends.push(scanner.at - start);
            Some(())
        })?;
        Some(Objects { json: self.body.get(start..self.at)?, ends })
    }

    /// Take a value, and check that it is JSON which every reader takes: no deeper than [`MAX_LEVELS`].
    pub fn check(&mut self) -> Option<()> {
        // A bit for each list or object that is open, the innermost last: set if it is an object.
        let (mut open, mut levels) = (0_u128, 0);
        loop {
            match self.peek()? {
                first @ (b'{' | b'[') => {
                    self.at += 1;
                    let is_object = first == b'{';
                    if !self.take(if is_object { b'}' } else { b']' }) {
                        (open, levels) = (open << 1 | u128::from(is_object), levels + 1);
                        (levels <= MAX_LEVELS).then_some(())?;
                        if is_object {
                            self.check_key()?;
                        }
                        continue;
                    }
                }
                b'"' => self.check_string()?,
                b'-' | b'0'..=b'9' => self.check_number()?,
                b'n' => self.word("null")?,
                b't' => self.word("true")?,
                _ => self.word("false")?,
            }
            loop {
                if levels == 0 {
                    return Some(());
                }
                let is_object = open & 1 == 1;
                if self.take(b',') {
                    if is_object {
                        self.check_key()?;
                    }
                    break;
                }
                self.expect(if is_object { b'}' } else { b']' })?;
                (open, levels) = (open >> 1, levels - 1);
            }
        }
    }

    fn check_key(&mut self) -> Option<()> {
        (self.peek()? == b'"').then_some(())?;
        self.check_string()?;
        self.expect(b':')
    }

    fn check_string(&mut self) -> Option<()> {
        self.string()?;
        self.unescaped.clear();
        Some(())
    }

    /// A number that is finite, and short enough for every reader.
    fn check_number(&mut self) -> Option<()> {
        let text = self.number_text()?;
        let has_exponent = text.contains(['e', 'E']);
        (text.len() < MAX_NUMBER && (!has_exponent || text.parse::<f64>().ok()?.is_finite())).then_some(())
    }

    /// Any number.
    pub fn number_text(&mut self) -> Option<&'a str> {
        let rest = &self.body.as_bytes()[self.at..];
        let is_part = |byte: &&u8| matches!(byte, b'-' | b'+' | b'.' | b'e' | b'E' | b'0'..=b'9');
        let text = self.body.get(self.at..self.at + rest.iter().take_while(is_part).count())?;
        let digits = |text: &str| text.bytes().take_while(u8::is_ascii_digit).count();
        let whole = text.strip_prefix('-').unwrap_or(text);
        let size = digits(whole);
        let mut end = &whole[size..];
        if let Some(fraction) = end.strip_prefix('.') {
            end = &fraction[digits(fraction)..];
            (end.len() < fraction.len()).then_some(())?;
        }
        if let Some(exponent) = end.strip_prefix(['e', 'E']) {
            let exponent = exponent.strip_prefix(['+', '-']).unwrap_or(exponent);
            end = &exponent[digits(exponent)..];
            (end.len() < exponent.len()).then_some(())?;
        }
        self.at += text.len();
        let zero_leads = size > 1 && whole.starts_with('0');
        (size > 0 && !zero_leads && end.is_empty()).then_some(text)
    }
}
