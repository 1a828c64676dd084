//! A caller's JSON as values that know where they come from, with keys in their order.

use std::borrow::Cow;

use super::places::{Part, Places};
use crate::json::scan::Scanner;
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

impl<'t> Places<'t> {
    /// Read an option.
    pub fn option(&mut self, json: &'t str, name: &'static str) -> Result<Value<'t>> {
        let place = self.add(0, Part::Root(None, name));
        self.nested(json, place, 0)
    }

    /// Read JSON as the value of a place that stands so deep.
    pub fn nested(&mut self, json: &'t str, place: u32, depth: usize) -> Result<Value<'t>> {
        let mut reader = Reader::new(json, self)?;
        let value = reader.value(place, depth)?;
        reader.require(Scanner::end)?;
        Ok(value)
    }

    /// Read messages, each of which has a place of its own.
    pub fn messages(&mut self, json: &'t str) -> Result<Vec<Value<'t>>> {
        let mut reader = Reader::new(json, self)?;
        if reader.scanner.peek() != Some(b'[') {
            return Err(Failure::new(Kind::Input, "messages is a list with at least one message"));
        }
        let mut messages = Vec::new();
        reader.items(b'[', b']', |reader| {
            let place = reader.places.add(0, Part::Root(Some(messages.len() as u32), ""));
            messages.push(reader.value(place, 0)?);
            Ok(())
        })?;
        reader.require(Scanner::end)?;
        Ok(messages)
    }
}

/// Makes values of a text. Depth is bounded, so that it may recurse.
struct Reader<'p, 't> {
    scanner: Scanner<'t>,
    places: &'p mut Places<'t>,
    budget: Budget,
}

impl<'p, 't> Reader<'p, 't> {
    fn new(json: &'t str, places: &'p mut Places<'t>) -> Result<Self> {
        // Places are numbers of 31 bits, and each takes two bytes of JSON at least.
        if json.len() > MAX_JSON {
            return Err(Failure::new(Kind::Input, format!("a chat has at most {MAX_JSON} bytes of JSON")));
        }
        Ok(Self { scanner: Scanner::of(json), places, budget: Budget::of_steps(u64::MAX) })
    }

    /// Take what has to come next.
    fn require<T>(&mut self, take: impl FnOnce(&mut Scanner<'t>) -> Option<T>) -> Result<T> {
        let taken = take(&mut self.scanner);
        taken.ok_or_else(|| Failure::new(Kind::Input, format!("not JSON from byte {} on", self.scanner.place())))
    }

    /// Take a list or an object, each of whose items or fields `item` takes.
    fn items(&mut self, first: u8, last: u8, mut item: impl FnMut(&mut Self) -> Result<()>) -> Result<()> {
        self.require(|scanner| scanner.expect(first))?;
        if self.scanner.take(last) {
            return Ok(());
        }
        loop {
            item(self)?;
            if !self.scanner.take(b',') {
                return self.require(|scanner| scanner.expect(last));
            }
        }
    }

    fn value(&mut self, place: u32, depth: usize) -> Result<Value<'t>> {
        let first = self.require(Scanner::peek)?;
        if depth >= MAX_DEPTH && matches!(first, b'{' | b'[') {
            return Err(self.places.invalid(format!("values are nested deeper than {MAX_DEPTH} levels"), place));
        }
        match first {
            b'"' => Ok(Value::Str(self.string(place * 2)?)),
            b'{' => self.object(place, depth),
            b'[' => self.list(place, depth),
            b'-' | b'0'..=b'9' => self.number(place),
            b'n' => self.require(|scanner| scanner.word("null")).map(|()| Value::None),
            _ => self.require(Scanner::boolean).map(Value::Bool),
        }
    }

    fn list(&mut self, place: u32, depth: usize) -> Result<Value<'t>> {
        let mut items = Vec::new();
        self.items(b'[', b']', |reader| {
            let index = reader.places.add(place, Part::Index(items.len() as u32));
            items.push(reader.value(index, depth + 1)?);
            Ok(())
        })?;
        Value::list(items, &self.budget)
    }

    fn object(&mut self, place: u32, depth: usize) -> Result<Value<'t>> {
        let mut entries = Vec::with_capacity(4);
        self.items(b'{', b'}', |reader| {
            let origin = reader.places.next() * 2;
            let key = reader.string(origin)?;
            let inner = reader.places.add(place, Part::Key(key.clone()));
            reader.require(|scanner| scanner.expect(b':'))?;
            entries.push((Value::Str(key), reader.value(inner, depth + 1)?));
            Ok(())
        })?;
        Ok(Value::Dict(Dict::of(entries, &self.budget)?))
    }

    fn number(&mut self, place: u32) -> Result<Value<'t>> {
        let text = self.require(Scanner::number_text)?;
        if !text.contains(['.', 'e', 'E']) {
            let too_long = || self.places.invalid(format!("a number has more than {MAX_DIGITS} digits"), place);
            return integer(text, place * 2).ok_or_else(too_long);
        }
        match text.parse::<f64>() {
            Ok(number) if number.is_finite() => Ok(Value::Float(number, place * 2)),
            _ => Err(self.places.invalid(format!("{text} is not a number of JSON"), place)),
        }
    }

    fn string(&mut self, origin: Origin) -> Result<Text<'t>> {
        Ok(match self.require(Scanner::text)? {
            Cow::Borrowed(text) => Text::Plain(text, origin),
            Cow::Owned(text) => Text::made(text, origin),
        })
    }
}
