//! A caller's JSON as values that know where they come from, with keys in their order.

use super::places::{Part, Places};
use crate::json::special::plain_run;
use crate::json::string::unescape;
use crate::template::syntax::failure::{Failure, Kind, Result};
use crate::template::syntax::lexer::MAX_DIGITS;
use crate::template::values::budget::Budget;
use crate::template::values::number::integer;
use crate::template::values::text::{Origin, Text};
use crate::template::values::value::{Dict, Value};

/// Values nested deeper than this are refused: no JSON of a chat is.
const MAX_DEPTH: usize = 100;
/// Bytes of the JSON of messages, or of an option.
const MAX_JSON: usize = 1 << 30;
/// Bytes that a string with escapes has room for beyond twice those before the first.
const MORE: usize = 512;

impl<'t> Places<'t> {
    /// Read an option.
    pub fn option(&mut self, json: &'t str, name: &'static str) -> Result<Value<'t>> {
        let place = self.add(0, Part::Root(None, name));
        self.nested(json, place, 0)
    }

    /// Read JSON as the value of a place that stands so deep.
    pub fn nested(&mut self, json: &'t str, place: u32, depth: usize) -> Result<Value<'t>> {
        check_length(json)?;
        let mut reader = Reader { json, at: 0, places: self, budget: Budget::of_steps(u64::MAX) };
        let value = reader.value(place, depth)?;
        reader.end()?;
        Ok(value)
    }

    /// Read messages, each of which has a place of its own.
    pub fn messages(&mut self, json: &'t str) -> Result<Vec<Value<'t>>> {
        check_length(json)?;
        let mut reader = Reader { json, at: 0, places: self, budget: Budget::of_steps(u64::MAX) };
        let mut messages = Vec::new();
        reader.space();
        if !reader.take(b'[') {
            return Err(Failure::new(Kind::Input, "messages is a list with at least one message"));
        }
        reader.space();
        while !reader.take(b']') {
            if !messages.is_empty() {
                reader.expect(b',')?;
            }
            let place = reader.places.add(0, Part::Root(Some(messages.len() as u32), ""));
            messages.push(reader.value(place, 0)?);
            reader.space();
        }
        reader.end()?;
        Ok(messages)
    }
}

/// Places are numbers of 31 bits, and each takes two bytes of JSON at least.
fn check_length(json: &str) -> Result<()> {
    if json.len() > MAX_JSON {
        return Err(Failure::new(Kind::Input, format!("a chat has at most {MAX_JSON} bytes of JSON")));
    }
    Ok(())
}

struct Reader<'p, 't> {
    json: &'t str,
    at: usize,
    places: &'p mut Places<'t>,
    budget: Budget,
}

impl<'t> Reader<'_, 't> {
    fn byte(&self) -> u8 {
        self.json.as_bytes().get(self.at).copied().unwrap_or(0)
    }

    fn space(&mut self) {
        while matches!(self.byte(), b' ' | b'\n' | b'\r' | b'\t') {
            self.at += 1;
        }
    }

    fn take(&mut self, byte: u8) -> bool {
        let found = self.byte() == byte;
        self.at += usize::from(found);
        found
    }

    fn malformed(&self) -> Box<Failure> {
        Failure::new(Kind::Input, format!("not JSON from byte {} on", self.at))
    }

    fn expect(&mut self, byte: u8) -> Result<()> {
        self.space();
        if self.take(byte) { Ok(()) } else { Err(self.malformed()) }
    }

    fn end(&mut self) -> Result<()> {
        self.space();
        if self.at == self.json.len() { Ok(()) } else { Err(self.malformed()) }
    }

    fn value(&mut self, place: u32, depth: usize) -> Result<Value<'t>> {
        self.space();
        let origin = place * 2;
        if depth >= MAX_DEPTH && matches!(self.byte(), b'{' | b'[') {
            return Err(self.places.invalid(format!("values are nested deeper than {MAX_DEPTH} levels"), place));
        }
        match self.byte() {
            b'"' => Ok(Value::Str(self.string(origin)?)),
            b'{' => self.object(place, depth),
            b'[' => self.list(place, depth),
            b'-' | b'0'..=b'9' => self.number(place),
            _ => {
                let literals = [("null", Value::None), ("true", Value::Bool(true)), ("false", Value::Bool(false))];
                for (literal, value) in literals {
                    if self.json[self.at..].starts_with(literal) {
                        self.at += literal.len();
                        return Ok(value);
                    }
                }
                let rest = &self.json[self.at..];
                if ["NaN", "Infinity"].iter().any(|name| rest.starts_with(name)) {
                    return Err(self.places.invalid("not a number of JSON", place));
                }
                Err(self.malformed())
            }
        }
    }

    fn list(&mut self, place: u32, depth: usize) -> Result<Value<'t>> {
        self.at += 1;
        let mut items = Vec::new();
        self.space();
        while !self.take(b']') {
            if !items.is_empty() {
                self.expect(b',')?;
            }
            let index = self.places.add(place, Part::Index(items.len() as u32));
            items.push(self.value(index, depth + 1)?);
            self.space();
        }
        Value::list(items, &self.budget)
    }

    fn object(&mut self, place: u32, depth: usize) -> Result<Value<'t>> {
        self.at += 1;
        let mut entries = Vec::with_capacity(4);
        self.space();
        while !self.take(b'}') {
            if !entries.is_empty() {
                self.expect(b',')?;
                self.space();
            }
            if self.byte() != b'"' {
                return Err(self.malformed());
            }
            let origin = self.places.next() * 2;
            let key = self.string(origin)?;
            let inner = self.places.add(place, Part::Key(key.clone()));
            self.expect(b':')?;
            entries.push((Value::Str(key), self.value(inner, depth + 1)?));
            self.space();
        }
        Ok(Value::Dict(Dict::of(entries, &self.budget)?))
    }

    fn number(&mut self, place: u32) -> Result<Value<'t>> {
        let rest = &self.json.as_bytes()[self.at..];
        let length =
            rest.iter().take_while(|byte| matches!(byte, b'-' | b'+' | b'.' | b'e' | b'E' | b'0'..=b'9')).count();
        let text = &self.json[self.at..self.at + length];
        let digits = text.strip_prefix('-').unwrap_or(text);
        let whole = digits.bytes().take_while(u8::is_ascii_digit).count();
        if whole == 0 || (whole > 1 && digits.starts_with('0')) {
            if text == "-" && self.json[self.at + 1..].starts_with("Infinity") {
                return Err(self.places.invalid("not a number of JSON", place));
            }
            return Err(self.malformed());
        }
        let value = if whole == digits.len() {
            let too_long = || self.places.invalid(format!("a number has more than {MAX_DIGITS} digits"), place);
            integer(text, place * 2).ok_or_else(too_long)?
        } else {
            if digits.ends_with('.') || digits.contains(".e") || digits.contains(".E") {
                return Err(self.malformed());
            }
            let number: f64 = text.parse().map_err(|_| self.malformed())?;
            if !number.is_finite() {
                return Err(self.places.invalid(format!("{text} is not a number of JSON"), place));
            }
            Value::Float(number, place * 2)
        };
        self.at += length;
        Ok(value)
    }

    fn string(&mut self, origin: Origin) -> Result<Text<'t>> {
        let start = self.at + 1;
        let end = start + plain_run(&self.json.as_bytes()[start..]);
        if self.json.as_bytes().get(end) == Some(&b'"') {
            self.at = end + 1;
            return Ok(Text::Plain(&self.json[start..end], origin));
        }
        let mut text = Vec::with_capacity(2 * (end - start) + MORE);
        text.extend_from_slice(&self.json.as_bytes()[start..end]);
        self.at = end;
        self.at = unescape(self.json, end, &mut text).ok_or_else(|| self.malformed())?;
        let text = String::from_utf8(text).map_err(|_| self.malformed())?;
        Ok(Text::made(text, origin))
    }
}
