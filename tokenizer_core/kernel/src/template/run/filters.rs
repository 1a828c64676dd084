//! Filters, by their names. Those of lists stand in `sequences`.

use super::attributes::missing;
use super::calls::int_or;
use super::held::Given;
use super::json_out;
use super::state::Run;
use crate::template::syntax::failure::{Failure, Result};
use crate::template::syntax::strings::is_space;
use crate::template::values::budget::ITEM;
use crate::template::values::compare::truth;
use crate::template::values::repr::text_of;
use crate::template::values::text::{Builder, Text};
use crate::template::values::value::{Dict, Value};

impl<'t> Run<'t> {
    /// Apply a filter.
    pub fn filter(&mut self, name: &str, value: Value<'t>, given: Given<'t>) -> Result<Value<'t>> {
        self.budget.charge(8)?;
        self.budget.charge_given(&given)?;
        match name {
            "tojson" => json_out::tojson(self, &value, given),
            "length" | "count" => {
                given.nothing(name)?;
                self.length(&value)
            }
            "trim" => {
                let [set] = given.bind(name, ["chars"], 0)?;
                let text = text_of(&value, &self.budget)?;
                Ok(Value::Str(self.strip(&text, "strip", set.as_ref())?))
            }
            "default" | "d" => {
                let [default, boolean] = given.bind(name, ["default_value", "boolean"], 0)?;
                let replaced = matches!(value, Value::Undefined(_))
                    || (boolean.is_some_and(|boolean| truth(&boolean)) && !truth(&value));
                Ok(if replaced { default.unwrap_or(Value::literal("")) } else { value })
            }
            // Jinja's `safe` makes a type that escapes what is added to it for HTML. A prompt is no page.
            "string" | "safe" => {
                given.nothing(name)?;
                Ok(Value::Str(text_of(&value, &self.budget)?))
            }
            "upper" | "lower" | "capitalize" => {
                let text = text_of(&value, &self.budget)?;
                let name = if name == "upper" {
                    "upper"
                } else if name == "lower" {
                    "lower"
                } else {
                    "capitalize"
                };
                self.string_method(&text, name, given)
            }
            "replace" => {
                let [old, new, count] = given.bind(name, ["old", "new", "count"], 2)?;
                let text = text_of(&value, &self.budget)?;
                let old = text_of(&old.unwrap_or(Value::None), &self.budget)?;
                let new = text_of(&new.unwrap_or(Value::None), &self.budget)?;
                self.budget.charge(text.len() >> 3)?;
                let count = usize::try_from(int_or(count.as_ref(), -1)?).ok();
                Ok(Value::Str(self.replace(&text, old.as_str(), &new, count)?))
            }
            "join" => self.filter_join(&value, given),
            "indent" => self.indent(&value, given),
            "int" | "float" | "abs" => self.number_filter(name, &value, given),
            "title" => {
                given.nothing(name)?;
                let text = text_of(&value, &self.budget)?;
                self.budget.charge(4 * text.len())?;
                Ok(Value::Str(titled(&text)))
            }
            "format" => {
                let text = text_of(&value, &self.budget)?;
                if !given.positional.is_empty() && !given.named.is_empty() {
                    let message = "can't handle positional and keyword arguments at the same time";
                    return Err(Failure::failed(message));
                }
                let values = if given.named.is_empty() {
                    Value::tuple(given.positional, &self.budget)?
                } else {
                    let pairs = given.named.into_iter().map(|(name, value)| (Value::Str(name), value));
                    Value::Dict(Dict::of(pairs.collect(), &self.budget)?)
                };
                self.percent(&text, &values)
            }
            "attr" => {
                let [attribute] = given.bind(name, ["name"], 1)?;
                let attribute = attribute.unwrap_or(Value::None);
                let Value::Str(attribute) = &attribute else {
                    return Err(Failure::failed("attribute name must be string"));
                };
                let found = self.own_attribute(&value, attribute)?;
                Ok(found.unwrap_or_else(|| missing(&value, attribute)))
            }
            _ => self.sequence_filter(name, &value, given),
        }
    }

    /// A text of so many spaces.
    pub fn spaces(&self, count: usize) -> Result<Text<'t>> {
        let mut spaces = self.budget.room(count, 1)?;
        spaces.resize(count, b' ');
        Ok(Text::made(String::from_utf8(spaces).unwrap_or_default(), crate::template::values::text::TEMPLATE))
    }

    /// `len`.
    pub fn length(&mut self, value: &Value<'t>) -> Result<Value<'t>> {
        Ok(Value::int(match value {
            Value::Str(text) => {
                self.budget.charge(text.len() >> 4)?;
                text.count()
            }
            Value::List(items) | Value::Tuple(items) => items.values.len(),
            Value::Dict(dict) | Value::View(_, dict) => dict.len(),
            Value::Range(range) => range.len(),
            Value::Undefined(_) => 0,
            Value::Loop(number) => match self.loop_attribute(*number, "length")? {
                Some(Value::Int(length, _)) => usize::try_from(length).unwrap_or(0),
                _ => 0,
            },
            other => return Err(Failure::failed(format!("object of type '{}' has no len()", other.type_name()))),
        } as i64))
    }

    fn filter_join(&mut self, value: &Value<'t>, given: Given<'t>) -> Result<Value<'t>> {
        let [separator, attribute] = given.bind("join", ["d", "attribute"], 0)?;
        let separator = text_of(&separator.unwrap_or(Value::literal("")), &self.budget)?;
        let path = self.path(attribute.as_ref())?;
        let mut source = self.iterate(value)?;
        let mut parts = Vec::new();
        while let Some(item) = self.next(&mut source)? {
            let item = self.follow(item, &path)?;
            let part = Value::Str(text_of(&item, &self.budget)?);
            self.budget.push(&mut parts, part, ITEM)?;
        }
        self.join_values(&separator, &parts)
    }

    fn indent(&mut self, value: &Value<'t>, given: Given<'t>) -> Result<Value<'t>> {
        let [width, first, blank] = given.bind("indent", ["width", "first", "blank"], 0)?;
        let is_set = |flag: Option<Value<'t>>| flag.is_some_and(|flag| truth(&flag));
        let (first, blank) = (is_set(first), is_set(blank));
        let Value::Str(text) = value else {
            Self::defined(value)?;
            let message = format!("unsupported operand type(s) for +=: '{}' and 'str'", value.type_name());
            return Err(Failure::failed(message));
        };
        let margin = match width {
            Some(Value::Str(margin)) => margin,
            width => {
                let width = usize::try_from(int_or(width.as_ref(), 4)?).unwrap_or(0);
                self.spaces(width)?
            }
        };
        // A text that ends in a line break keeps it: one more stands behind it while the lines are cut.
        let Value::Str(text) = self.join(&[text.clone(), Text::literal("\n")], text.len() + 1)? else {
            return Ok(Value::None);
        };
        let mut made = Builder::default();
        let mut ended: Option<Text<'t>> = None;
        for (at, (line, whole)) in self.lines(&text)?.into_iter().enumerate() {
            self.budget.charge(margin.len() + whole.len())?;
            made.reserve(margin.len() + whole.len() + 1)?;
            if let Some(ended) = &ended {
                // Whoever ended the line wrote the break, whatever it is written as.
                made.push("\n", ended.origin());
            }
            if (at > 0 && (!line.is_empty() || blank)) || (at == 0 && first) {
                made.push_text(&margin);
            }
            made.push_text(&line);
            ended = Some(whole.slice(line.len()..whole.len()));
        }
        Ok(Value::Str(made.finish()))
    }
}

/// As the filter `title` has it: words begin behind white space, hyphens and opening brackets.
fn titled<'t>(text: &Text<'t>) -> Text<'t> {
    let is_border = |character: char| is_space(character) || matches!(character, '-' | '(' | '{' | '[' | '<');
    let mut made = Builder::with_capacity(text.len());
    let mut rest = text.as_str();
    while !rest.is_empty() {
        let borders = rest.starts_with(is_border);
        let end = rest.find(|character| is_border(character) != borders).unwrap_or(rest.len());
        let first = rest.chars().next().map_or(0, char::len_utf8);
        made.push_text(&super::cases::mapped(&text.part(&rest[..first]), "upper"));
        made.push_text(&super::cases::mapped(&text.part(&rest[first..end]), "lower"));
        rest = &rest[end..];
    }
    made.finish()
}
