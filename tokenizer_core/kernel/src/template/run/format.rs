//! `%` and `format`: values in a text, each with its origin.

use super::calls::Given;
use super::spec::{Directive, Spec, float, signed, whole};
use super::statements::Run;
use crate::template::syntax::failure::{Failure, Result};
use crate::template::values::budget::OBJECT;
use crate::template::values::repr::{repr_of, text_of};
use crate::template::values::text::{Builder, Origin, TEMPLATE, Text};
use crate::template::values::value::Value;

impl<'t> Run<'t> {
    /// `format % values`.
    pub fn percent(&mut self, format: &Text<'t>, values: &Value<'t>) -> Result<Value<'t>> {
        self.budget.charge(2 * format.len() + OBJECT)?;
        let source = format.as_str();
        let mut made = Builder::with_capacity(format.len());
        let mut positional = match values {
            Value::Tuple(items) => items.values.as_slice(),
            other => std::slice::from_ref(other),
        }
        .iter();
        let (mut from, mut named) = (0, false);
        while let Some(at) = source[from..].find('%').map(|at| from + at) {
            made.push_text(&format.slice(from..at));
            let mut directive = Directive { rest: &source[at + 1..] };
            let key = directive.key()?;
            let spec = directive.spec()?;
            let kind = directive.rest.chars().next().ok_or_else(|| Failure::failed("incomplete format"))?;
            directive.rest = &directive.rest[kind.len_utf8()..];
            from = source.len() - directive.rest.len();
            if kind == '%' {
                made.push_text(&format.slice(from - 1..from));
                continue;
            }
            let value = match (key, values) {
                (Some(key), Value::Dict(dict)) => {
                    named = true;
                    let found = dict.get_str(key).cloned();
                    found.ok_or_else(|| Failure::failed(format!("'{key}'")))?
                }
                (Some(_), _) => return Err(Failure::failed("format requires a mapping")),
                (None, _) => {
                    let next = positional.next().cloned();
                    next.ok_or_else(|| Failure::failed("not enough arguments for format string"))?
                }
            };
            self.budget.charge(spec.width.max(spec.precision.unwrap_or(0)) + OBJECT)?;
            let text = self.directive(kind, &spec, &value)?;
            // Who wrote the directive may have chosen what it writes.
            let chooser = format.slice(at..from).origin();
            made.push_text(&owned(text, chooser));
        }
        made.push_text(&format.slice(from..format.len()));
        if positional.next().is_some() && !named && !is_mapping(values) {
            return Err(Failure::failed("not all arguments converted during string formatting"));
        }
        Ok(Value::Str(made.finish()))
    }

    fn directive(&mut self, kind: char, spec: &Spec, value: &Value<'t>) -> Result<Text<'t>> {
        let text = match kind {
            's' | 'r' | 'a' => {
                let text = if kind == 's' { text_of(value, &self.budget)? } else { repr_of(value, &self.budget)? };
                if kind == 'a' && !text.as_str().is_ascii() {
                    return Err(Failure::untrackable("writes a value as ASCII"));
                }
                let text = self.precise(&text, spec)?;
                return self.padded(&text, spec);
            }
            'd' | 'i' | 'u' | 'x' | 'X' | 'o' => whole(kind, spec, value)?,
            'f' | 'F' | 'e' | 'E' | 'g' | 'G' => float(kind, spec, value)?,
            'c' => return Err(Failure::untrackable("writes a character by its number")),
            other => return Err(Failure::failed(format!("unsupported format character '{other}'"))),
        };
        self.budget.charge(text.len())?;
        let text = Text::made(signed(text, spec), value.origin(&self.budget)?);
        self.padded(&text, spec)
    }

    /// The first characters of a text, if its precision is given.
    fn precise(&mut self, text: &Text<'t>, spec: &Spec) -> Result<Text<'t>> {
        let Some(precision) = spec.precision else { return Ok(text.clone()) };
        self.budget.charge(text.len() >> 3)?;
        Ok(text.slice(super::attributes::bytes_of(text.as_str(), 0, precision)))
    }

    fn padded(&mut self, text: &Text<'t>, spec: &Spec) -> Result<Text<'t>> {
        let side = if spec.left { "ljust" } else { "rjust" };
        match self.pad(text, side, spec.width as i64, &Text::literal(" "))? {
            Value::Str(text) => Ok(text),
            _ => Ok(text.clone()),
        }
    }

    /// `format.format(...)`: fields by their numbers or names, with attributes and items.
    pub fn braces(&mut self, format: &Text<'t>, given: &Given<'t>) -> Result<Value<'t>> {
        let mut next = 0;
        self.fill(format, given, &mut next, 1).map(Value::Str)
    }

    /// Fill the fields of a format; how one is written may have fields itself.
    fn fill(&mut self, format: &Text<'t>, given: &Given<'t>, next: &mut usize, deeper: u8) -> Result<Text<'t>> {
        self.budget.charge(2 * format.len() + OBJECT)?;
        let source = format.as_str();
        let mut made = Builder::with_capacity(format.len());
        let mut from = 0;
        while let Some(at) = source[from..].find(['{', '}']).map(|at| from + at) {
            made.push_text(&format.slice(from..at));
            let rest = &source[at..];
            if rest.starts_with("{{") || rest.starts_with("}}") {
                made.push_text(&format.slice(at..at + 1));
                from = at + 2;
                continue;
            }
            let Some(end) = closing(rest) else {
                return Err(Failure::failed(format!("Single '{}' encountered in format string", &rest[..1])));
            };
            let field = &rest[1..end];
            from = at + end + 1;
            let (field, spec) = field.split_once(':').unwrap_or((field, ""));
            let (field, conversion) = field.split_once('!').map_or((field, None), |(field, kind)| (field, Some(kind)));
            let mut value = self.field_value(field, next, given)?;
            match conversion {
                None => {}
                Some("s") => value = Value::Str(text_of(&value, &self.budget)?),
                Some("r") => value = Value::Str(repr_of(&value, &self.budget)?),
                Some(_) => return Err(Failure::untrackable("converts a field in a way that is not tracked")),
            }
            let mut spec = if spec.is_empty() { Text::literal("") } else { format.part(spec) };
            if spec.as_str().contains('{') {
                if deeper == 0 {
                    return Err(Failure::failed("Max string recursion exceeded"));
                }
                spec = self.fill(&spec, given, next, deeper - 1)?;
            }
            self.budget.charge(OBJECT)?;
            let text = self.formatted(&value, spec.as_str())?;
            self.budget.charge(text.len())?;
            // Who wrote how a field is written may have chosen what it writes.
            let chooser = match spec.origin() {
                TEMPLATE => format.slice(at..from).origin(),
                origin => origin,
            };
            made.push_text(&owned(text, chooser));
        }
        made.push_text(&format.slice(from..format.len()));
        self.budget.charge(made.len())?;
        Ok(made.finish())
    }

    fn field_value(&mut self, field: &str, next: &mut usize, given: &Given<'t>) -> Result<Value<'t>> {
        let end = field.find(['.', '[']).unwrap_or(field.len());
        let (name, mut path) = field.split_at(end);
        let mut value = if name.is_empty() || name.bytes().all(|byte| byte.is_ascii_digit()) {
            let at = if name.is_empty() { *next } else { name.parse().unwrap_or(usize::MAX) };
            *next += 1;
            given.positional.get(at).cloned().ok_or_else(|| {
                Failure::failed(format!("Replacement index {at} out of range for positional args tuple"))
            })?
        } else {
            self.budget.charge(given.named.len() + (name.len() >> 4))?;
            let found = given.named.iter().find(|(known, _)| known.as_str() == name);
            found.map(|(_, value)| value.clone()).ok_or_else(|| Failure::failed(format!("'{name}'")))?
        };
        while !path.is_empty() {
            let (part, rest) = if let Some(inner) = path.strip_prefix('[') {
                inner.split_once(']').ok_or_else(|| Failure::failed("Missing ']' in format string"))?
            } else {
                let inner = &path[1..];
                inner.split_at(inner.find(['.', '[']).unwrap_or(inner.len()))
            };
            if part.starts_with('_') {
                return Err(Failure::failed(format!("access to attribute '{part}' is unsafe.")));
            }
            self.budget.charge(OBJECT + part.len())?;
            let is_item = path.starts_with('[');
            value = match (is_item, part.parse()) {
                (true, Ok(index)) => self.item(&value, &Value::int(index))?,
                _ => self.item(&value, &Value::Str(Text::made(part.to_owned(), TEMPLATE)))?,
            };
            path = rest;
        }
        Ok(value)
    }

    /// `format(value, spec)`.
    fn formatted(&mut self, value: &Value<'t>, spec: &str) -> Result<Text<'t>> {
        if spec.is_empty() {
            return text_of(value, &self.budget);
        }
        let mut rest = spec;
        let mut characters = spec.chars();
        let (first, second) = (characters.next(), characters.next());
        let is_side = |side: Option<char>| matches!(side, Some('<' | '>' | '^' | '='));
        let (mut fill, mut side) = (" ", None);
        if is_side(second) {
            let length = first.map_or(0, char::len_utf8);
            fill = &spec[..length];
            side = second;
            rest = &spec[length + 1..];
        } else if is_side(first) {
            side = first;
            rest = &spec[1..];
        }
        let mut directive = Directive { rest };
        let parsed = directive.spec()?;
        let is_text = matches!(value, Value::Str(_));
        let grouped = directive.rest.starts_with([',', '_']);
        if side == Some('=') || grouped || (parsed.zero && (is_text || side.is_some())) || parsed.left || parsed.space {
            return Err(Failure::untrackable("formats a number in a way that is not tracked"));
        }
        self.budget.charge(parsed.width.max(parsed.precision.unwrap_or(0)) + OBJECT)?;
        let text = match (directive.rest, value) {
            ("" | "s", Value::Str(text)) => self.precise(text, &parsed)?,
            (kind, Value::Bool(_) | Value::Int(..) | Value::Big(..) | Value::Float(..)) => {
                let is_whole = !matches!(value, Value::Float(..));
                let text = match kind {
                    "" | "d" if is_whole => whole('d', &parsed, value)?,
                    "x" | "X" | "o" if is_whole => whole(kind.chars().next().unwrap_or('x'), &parsed, value)?,
                    "f" | "F" | "e" | "E" | "g" | "G" => float(kind.chars().next().unwrap_or('f'), &parsed, value)?,
                    _ => {
                        return Err(Failure::failed(format!(
                            "Unknown format code for object of type '{}'",
                            value.type_name()
                        )));
                    }
                };
                Text::made(signed(text, &parsed), value.own_origin())
            }
            (_, Value::Str(_)) => return Err(Failure::failed("Unknown format code for object of type 'str'")),
            (_, other) => {
                return Err(Failure::failed(format!(
                    "unsupported format string passed to {}.__format__",
                    other.type_name()
                )));
            }
        };
        let side = match side.unwrap_or(if is_text { '<' } else { '>' }) {
            '<' => "ljust",
            '>' => "rjust",
            _ => "center",
        };
        if side == "center" {
            return self.centred(&text, parsed.width, fill);
        }
        let fill = Text::made(fill.to_owned(), TEMPLATE);
        match self.pad(&text, side, parsed.width as i64, &fill)? {
            Value::Str(text) => Ok(text),
            _ => Ok(text),
        }
    }

    /// In the middle; unlike `center`, the odd character stands on the right.
    fn centred(&mut self, text: &Text<'t>, width: usize, fill: &str) -> Result<Text<'t>> {
        let padding = width.saturating_sub(text.count());
        self.budget.charge_product(padding, fill.len() + 1)?;
        let mut made = Builder::default();
        made.reserve(text.len() + padding * fill.len())?;
        (0..padding / 2).for_each(|_| made.push(fill, TEMPLATE));
        made.push_text(text);
        (padding / 2..padding).for_each(|_| made.push(fill, TEMPLATE));
        Ok(made.finish())
    }
}

/// What `%` takes keys from, and so never has too many of.
fn is_mapping(values: &Value<'_>) -> bool {
    matches!(values, Value::Dict(_) | Value::List(_) | Value::Range(_) | Value::Undefined(_))
}

/// A text that counts as whoever's chose how it is written, if that is a caller.
fn owned<'t>(text: Text<'t>, chooser: Origin) -> Text<'t> {
    if chooser == TEMPLATE { text } else { Text::made(text.as_str().to_owned(), chooser) }
}

/// Where the brace that opens a text is closed.
fn closing(text: &str) -> Option<usize> {
    let mut open = 0;
    for (at, byte) in text.bytes().enumerate() {
        open += i32::from(byte == b'{') - i32::from(byte == b'}');
        if open <= 0 {
            return (open == 0 && at > 0).then_some(at);
        }
    }
    None
}
