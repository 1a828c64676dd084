//! A template's source as tokens, with Jinja's control of white space (`trim_blocks` and `lstrip_blocks` are on).

use super::failure::{Failure, Kind, Result};
use super::strings::{is_space, literal};

/// The most digits of a whole number that Python reads or writes.
pub const MAX_DIGITS: usize = 4300;

/// The failure for a whole number of more digits than [`MAX_DIGITS`].
pub fn too_many_digits(digits: usize) -> Box<Failure> {
    Failure::failed(format!(
        "Exceeds the limit ({MAX_DIGITS} digits) for integer string conversion: value has {digits} digits"
    ))
}

/// A token.
#[derive(Debug, Clone, PartialEq)]
pub enum Token {
    /// Text that is written as it is.
    Data(String),
    /// `{{`
    PrintBegin,
    /// `}}`
    PrintEnd,
    /// `{%`
    BlockBegin,
    /// `%}`
    BlockEnd,
    /// An identifier or a keyword.
    Name(String),
    /// A string literal.
    Str(String),
    /// A whole number in decimal digits.
    Int(String),
    /// A number with a point or an exponent.
    Float(f64),
    /// An operator or a bracket.
    Op(&'static str),
    /// The end.
    End,
}

/// A token and its place.
#[derive(Debug, Clone)]
pub struct Placed {
    /// The token itself.
    pub token: Token,
    /// From 1 on.
    pub line: u32,
    /// From 1 on, in characters.
    pub column: u32,
}

/// Longer ones first.
const OPERATORS: [&str; 26] = [
    "//", "**", "==", "!=", ">=", "<=", "+", "-", "/", "*", "%", "~", "[", "]", "(", ")", "{", "}", ">", "<", "=", ".",
    ":", "|", ",", ";",
];

/// Cut a source into tokens.
pub fn tokenize(source: &str) -> Result<Vec<Placed>> {
    let source = source.replace("\r\n", "\n").replace('\r', "\n");
    let source = source.strip_suffix('\n').unwrap_or(&source);
    let mut lexer = Lexer { source, at: 0, line: 1, line_start: 0, line_starting: true, tokens: Vec::new() };
    lexer.run()?;
    lexer.push(Token::End);
    Ok(lexer.tokens)
}

struct Lexer<'s> {
    source: &'s str,
    at: usize,
    line: u32,
    /// The start of the line that `line` counts.
    line_start: usize,
    /// True if the text read last ended in a line break.
    line_starting: bool,
    tokens: Vec<Placed>,
}

impl<'s> Lexer<'s> {
    fn rest(&self) -> &'s str {
        &self.source[self.at..]
    }

    fn push(&mut self, token: Token) {
        let column = self.source[self.line_start..self.at].chars().count() as u32 + 1;
        self.tokens.push(Placed { token, line: self.line, column });
    }

    fn fail(&self, message: impl Into<String>) -> Box<Failure> {
        let column = self.source[self.line_start..self.at].chars().count() as u32 + 1;
        Failure::new(Kind::Syntax, message).at(self.line, column)
    }

    fn advance(&mut self, bytes: usize) {
        let passed = &self.source[self.at..self.at + bytes];
        if let Some(last) = passed.rfind('\n') {
            self.line += passed.bytes().filter(|byte| *byte == b'\n').count() as u32;
            self.line_start = self.at + last + 1;
        }
        self.at += bytes;
        if bytes > 0 {
            self.line_starting = passed.ends_with('\n');
        }
    }

    fn run(&mut self) -> Result<()> {
        loop {
            let Some(found) = self.next_tag() else {
                self.data(self.source.len(), None);
                return Ok(());
            };
            let kind = self.source.as_bytes()[found + 1];
            let sign = self.sign(found + 2);
            self.data(found, (kind != b'{' || sign == Some('-')).then_some(sign).filter(|sign| *sign != Some('+')));
            if kind == b'%'
                && let Some(length) = self.raw_tag(found, "raw", false)
            {
                self.advance(length);
                self.raw()?;
                continue;
            }
            match kind {
                b'#' => {
                    self.advance(2 + sign.map_or(0, char::len_utf8));
                    self.comment()?;
                }
                _ => {
                    self.push(if kind == b'%' { Token::BlockBegin } else { Token::PrintBegin });
                    self.advance(2 + sign.map_or(0, char::len_utf8));
                    self.tag(kind == b'%')?;
                }
            }
        }
    }

    /// Find the start of the next `{{`, `{%` or `{#`.
    fn next_tag(&self) -> Option<usize> {
        let bytes = self.source.as_bytes();
        memchr::memchr_iter(b'{', &bytes[self.at..])
            .map(|at| self.at + at)
            .find(|at| matches!(bytes.get(at + 1), Some(b'{' | b'%' | b'#')))
    }

    fn sign(&self, at: usize) -> Option<char> {
        self.source[at..].chars().next().filter(|sign| matches!(sign, '-' | '+'))
    }

    /// Take text up to `end`. With `strip`, a tag follows that strips: all white space for a minus, else its margin.
    fn data(&mut self, end: usize, strip: Option<Option<char>>) {
        let text = &self.source[self.at..end];
        let kept = match strip {
            None => text,
            Some(Some('-')) => text.trim_end_matches(is_space),
            Some(_) => {
                let margin = text.rfind('\n').map_or(0, |at| at + 1);
                let blank = margin < text.len() && text[margin..].chars().all(is_space);
                if blank && (margin > 0 || self.line_starting) { &text[..margin] } else { text }
            }
        };
        if !kept.is_empty() {
            self.push(Token::Data(kept.to_owned()));
        }
        self.advance(end - self.at);
    }

    /// The length of `{% name %}` at `at`, if that stands there; the end trims a line break only for `endraw`.
    fn raw_tag(&self, at: usize, name: &str, trims: bool) -> Option<usize> {
        let rest = &self.source[at..];
        let inner = rest.strip_prefix("{%")?;
        let inner = inner.strip_prefix(['-', '+']).unwrap_or(inner).trim_start_matches(is_space);
        let inner = inner.strip_prefix(name)?.trim_start_matches(is_space);
        let behind = if let Some(behind) = inner.strip_prefix("-%}") {
            behind.trim_start_matches(is_space)
        } else if let Some(behind) = inner.strip_prefix("+%}").filter(|_| trims) {
            behind
        } else {
            let behind = inner.strip_prefix("%}")?;
            if trims { behind.strip_prefix('\n').unwrap_or(behind) } else { behind }
        };
        Some(rest.len() - behind.len())
    }

    fn raw(&mut self) -> Result<()> {
        let mut from = self.at;
        while let Some(found) = self.source[from..].find("{%").map(|at| from + at) {
            if let Some(length) = self.raw_tag(found, "endraw", true) {
                let sign = self.sign(found + 2);
                self.data(found, Some(sign).filter(|sign| *sign != Some('+')));
                self.advance(length);
                return Ok(());
            }
            from = found + 2;
        }
        Err(self.fail("Missing end of raw directive"))
    }

    fn comment(&mut self) -> Result<()> {
        let Some(found) = self.rest().find("#}") else {
            return Err(self.fail("Missing end of comment tag"));
        };
        let sign = self.rest()[..found].chars().next_back().filter(|sign| matches!(sign, '-' | '+'));
        self.advance(found);
        self.close(sign, true);
        Ok(())
    }

    /// Go past the two characters that close a tag, and the white space that belongs to them.
    fn close(&mut self, sign: Option<char>, trims: bool) {
        let behind = &self.rest()[2..];
        let space = match sign {
            Some('-') => behind.len() - behind.trim_start_matches(is_space).len(),
            None if trims => usize::from(behind.starts_with('\n')),
            _ => 0,
        };
        self.advance(2 + space);
    }

    /// The tokens of a tag up to its end.
    fn tag(&mut self, block: bool) -> Result<()> {
        let end = if block { "%}" } else { "}}" };
        let mut open: Vec<char> = Vec::new();
        loop {
            let space = self.rest().len() - self.rest().trim_start_matches(is_space).len();
            self.advance(space);
            let rest = self.rest();
            let Some(first) = rest.chars().next() else {
                return Ok(());
            };
            if open.is_empty() {
                let sign = Some(first).filter(|sign| *sign == '-' || (block && *sign == '+'));
                let closing = sign.map_or(rest, |_| &rest[1..]);
                if closing.starts_with(end) {
                    self.push(if block { Token::BlockEnd } else { Token::PrintEnd });
                    self.advance(usize::from(sign.is_some()));
                    self.close(sign, block);
                    return Ok(());
                }
            }
            let length = match first {
                '0'..='9' => self.number()?,
                '\'' | '"' => self.string(first)?,
                _ if first == '_' || first.is_alphabetic() => {
                    let length = rest.find(|c: char| c != '_' && !c.is_alphanumeric()).unwrap_or(rest.len());
                    self.push(Token::Name(rest[..length].to_owned()));
                    length
                }
                _ => self.operator(first, &mut open)?,
            };
            self.advance(length);
        }
    }

    fn operator(&mut self, first: char, open: &mut Vec<char>) -> Result<usize> {
        let Some(operator) = OPERATORS.iter().find(|known| self.rest().starts_with(**known)) else {
            return Err(self.fail(format!("unexpected char {first:?}")));
        };
        match first {
            '(' => open.push(')'),
            '[' => open.push(']'),
            '{' => open.push('}'),
            ')' | ']' | '}' => match open.pop() {
                None => return Err(self.fail(format!("unexpected '{first}'"))),
                Some(expected) if expected != first => {
                    return Err(self.fail(format!("unexpected '{first}', expected '{expected}'")));
                }
                Some(_) => {}
            },
            _ => {}
        }
        self.push(Token::Op(operator));
        Ok(operator.len())
    }

    fn string(&mut self, quote: char) -> Result<usize> {
        let rest = self.rest();
        let mut escaped = false;
        for (at, character) in rest.char_indices().skip(1) {
            if escaped {
                escaped = false;
            } else if character == '\\' {
                escaped = true;
            } else if character == quote {
                let value = literal(&rest[1..at]).map_err(|message| self.fail(message))?;
                self.push(Token::Str(value));
                return Ok(at + 1);
            }
        }
        Err(self.fail(format!("unexpected char {quote:?}")))
    }

    fn number(&mut self) -> Result<usize> {
        let rest = self.rest().as_bytes();
        let preceded = self.at > 0 && self.source.as_bytes()[self.at - 1] == b'.';
        let whole = digits(rest, 0);
        let mut end = whole;
        if !preceded {
            if rest.get(end) == Some(&b'.') && digits(rest, end + 1) > end + 1 {
                end = digits(rest, end + 1);
            }
            if matches!(rest.get(end), Some(b'e' | b'E')) {
                let from = end + 1 + usize::from(matches!(rest.get(end + 1), Some(b'+' | b'-')));
                if digits(rest, from) > from {
                    end = digits(rest, from);
                }
            }
        }
        let text = self.rest()[..end].replace('_', "");
        if end > whole {
            let value = text.parse().map_err(|_| self.fail("invalid number"))?;
            self.push(Token::Float(value));
            return Ok(end);
        }
        let base = match rest {
            [b'0', b'b' | b'B', ..] => 2,
            [b'0', b'o' | b'O', ..] => 8,
            [b'0', b'x' | b'X', ..] => 16,
            _ => 10,
        };
        if base != 10 {
            let length = 2 + rest[2..].iter().take_while(|b| **b == b'_' || char::from(**b).is_digit(base)).count();
            if let Ok(value) = i64::from_str_radix(&self.rest()[2..length].replace('_', ""), base) {
                self.push(Token::Int(value.to_string()));
                return Ok(length);
            }
        }
        // A number that begins with a zero is zeros only, as in Python.
        let length = if rest[0] == b'0' { rest.iter().take_while(|byte| **byte == b'0').count() } else { whole };
        let digits = &text[..text.len().min(length)];
        if digits.len() > MAX_DIGITS {
            return Err(self.fail(too_many_digits(digits.len()).message));
        }
        self.push(Token::Int(digits.to_owned()));
        Ok(length)
    }
}

/// Find the end of the digits from `at` on, which single underscores may part.
fn digits(text: &[u8], mut at: usize) -> usize {
    let is_digit = |at: usize| text.get(at).is_some_and(u8::is_ascii_digit);
    while is_digit(at) || (text.get(at) == Some(&b'_') && at > 0 && is_digit(at - 1) && is_digit(at + 1)) {
        at += 1;
    }
    at
}
