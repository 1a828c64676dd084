//! `%` and `format`: values in a text, each with its origin.

use super::held::Given;
use super::spec::{Directive, Spec, float, signed, whole};
use super::state::Run;
use crate::template::syntax::failure::{Failure, Result};
use crate::template::syntax::names::is_plain_field;
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
        let padding = self.spaces(spec.width.saturating_sub(text.count()))?;
        let (left, right) = if spec.left { (text, &padding) } else { (&padding, text) };
        self.joined(&[left.clone(), right.clone()], text.len() + padding.len())
    }

    /// `format.format(...)`: fields by their numbers or names, without attributes, items and widths.
    pub fn braces(&mut self, format: &Text<'t>, given: &Given<'t>) -> Result<Value<'t>> {
        self.budget.charge(2 * format.len() + OBJECT)?;
        let source = format.as_str();
        let mut made = Builder::with_capacity(format.len());
        let (mut from, mut next) = (0, 0);
        while let Some(at) = source[from..].find(['{', '}']).map(|at| from + at) {
            made.push_text(&format.slice(from..at));
            let rest = &source[at..];
            if rest.starts_with("{{") || rest.starts_with("}}") {
                made.push_text(&format.slice(at..at + 1));
                from = at + 2;
                continue;
            }
            let Some(end) = rest.find('}').filter(|end| *end > 0) else {
                return Err(Failure::failed(format!("Single '{}' encountered in format string", &rest[..1])));
            };
            let field = &rest[1..end];
            from = at + end + 1;
            if !is_plain_field(field) {
                return Err(Failure::untrackable(format!("fills the field {{{field}}}, which is more than a name")));
            }
            let (name, is_repr) = field.strip_suffix("!r").map_or((field, false), |name| (name, true));
            let value = self.field_value(name.strip_suffix("!s").unwrap_or(name), &mut next, given)?;
            self.budget.charge(OBJECT)?;
            let text = if is_repr { repr_of(&value, &self.budget)? } else { text_of(&value, &self.budget)? };
            self.budget.charge(text.len())?;
            // Who wrote the field may have chosen what it writes.
            made.push_text(&owned(text, format.slice(at..from).origin()));
        }
        made.push_text(&format.slice(from..format.len()));
        self.budget.charge(made.len())?;
        Ok(Value::Str(made.finish()))
    }

    fn field_value(&mut self, name: &str, next: &mut usize, given: &Given<'t>) -> Result<Value<'t>> {
        if !name.is_empty() && !name.bytes().all(|byte| byte.is_ascii_digit()) {
            self.budget.charge(given.named.len() + (name.len() >> 4))?;
            let found = given.named.iter().find(|(known, _)| known.as_str() == name);
            return found.map(|(_, value)| value.clone()).ok_or_else(|| Failure::failed(format!("'{name}'")));
        }
        let at = if name.is_empty() { *next } else { name.parse().unwrap_or(usize::MAX) };
        *next += 1;
        given
            .positional
            .get(at)
            .cloned()
            .ok_or_else(|| Failure::failed(format!("Replacement index {at} out of range for positional args tuple")))
    }
}

/// Tell whether `%` takes keys from the values, and so never has too many of them.
fn is_mapping(values: &Value<'_>) -> bool {
    matches!(values, Value::Dict(_) | Value::List(_) | Value::Range(_) | Value::Undefined(_))
}

/// A text that counts as whoever's chose how it is written, if that is a caller.
fn owned<'t>(text: Text<'t>, chooser: Origin) -> Text<'t> {
    if chooser == TEMPLATE { text } else { Text::made(text.as_str().to_owned(), chooser) }
}
