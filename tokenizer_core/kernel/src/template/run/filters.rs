//! Filters, by their names. Those of lists stand in `sequences`.

use super::attributes::missing;
use super::calls::{Given, int_or};
use super::json_out;
use super::statements::Run;
use crate::template::syntax::failure::{Failure, Result};
use crate::template::syntax::strings::is_space;
use crate::template::values::budget::ITEM;
use crate::template::values::compare::truth;
use crate::template::values::repr::text_of;
use crate::template::values::text::{Builder, Text};
use crate::template::values::value::Value;

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
                match &value {
                    Value::Markup(text) => Ok(Value::Markup(self.strip(text, "strip", set.as_ref())?)),
                    _ => {
                        let text = text_of(&value, &self.budget)?;
                        Ok(Value::Str(self.strip(&text, "strip", set.as_ref())?))
                    }
                }
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
                if matches!(value, Value::Markup(_)) {
                    Ok(value)
                } else {
                    Ok(Value::Str(text_of(&value, &self.budget)?))
                }
            }
            "upper" | "lower" | "capitalize" => {
                let text = self.soft(&value)?;
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
            "int" | "float" | "abs" | "round" | "filesizeformat" => self.number_filter(name, &value, given),
            "title" | "center" | "truncate" | "wordcount" | "format" => self.text_filter(name, &value, given),
            "e" | "escape" | "forceescape" => {
                given.nothing(name)?;
                if name != "forceescape" && matches!(value, Value::Markup(_)) {
                    return Ok(value);
                }
                let text = text_of(&value, &self.budget)?;
                self.escape(&text)
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

    /// The text that a filter of texts works on.
    fn soft(&mut self, value: &Value<'t>) -> Result<Text<'t>> {
        match value {
            Value::Markup(_) => Err(Failure::untrackable("changes text that is safe for HTML")),
            _ => text_of(value, &self.budget),
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
            Value::Str(text) | Value::Markup(text) => {
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

    fn text_filter(&mut self, name: &str, value: &Value<'t>, given: Given<'t>) -> Result<Value<'t>> {
        match name {
            "title" => {
                given.nothing(name)?;
                let text = self.soft(value)?;
                self.budget.charge(4 * text.len())?;
                Ok(Value::Str(titled(&text)))
            }
            "center" => {
                let [width] = given.bind(name, ["width"], 0)?;
                let text = self.soft(value)?;
                self.pad(&text, "center", int_or(width.as_ref(), 80)?, &Text::literal(" "))
            }
            "wordcount" => {
                given.nothing(name)?;
                let text = self.soft(value)?;
                self.budget.charge(text.len())?;
                let mut words = 0;
                let mut inside = false;
                for character in text.as_str().chars() {
                    let is_word = character == '_'
                        || crate::template::syntax::strings::is_letter(character)
                        || character.is_numeric();
                    words += i64::from(is_word && !inside);
                    inside = is_word;
                }
                Ok(Value::Int(words, text.origin()))
            }
            "format" => {
                let text = self.soft(value)?;
                if !given.positional.is_empty() && !given.named.is_empty() {
                    let message = "can't handle positional and keyword arguments at the same time";
                    return Err(Failure::failed(message));
                }
                let values = if given.named.is_empty() {
                    Value::tuple(given.positional, &self.budget)?
                } else {
                    let pairs = given.named.into_iter().map(|(name, value)| (Value::Str(name), value));
                    Value::Dict(crate::template::values::dict::Dict::of(pairs.collect(), &self.budget)?)
                };
                self.percent(&text, &values)
            }
            _ => self.truncate(value, given),
        }
    }

    fn truncate(&mut self, value: &Value<'t>, given: Given<'t>) -> Result<Value<'t>> {
        let [length, kill, end, leeway] = given.bind("truncate", ["length", "killwords", "end", "leeway"], 0)?;
        let Value::Str(text) = value else {
            return Err(Failure::untrackable("truncates what is not text"));
        };
        let (length, leeway) = (int_or(length.as_ref(), 255)?, int_or(leeway.as_ref(), 5)?);
        let end = end.unwrap_or(Value::literal("..."));
        let end = super::methods::text_arg(&end, "truncate")?;
        self.budget.charge(text.len() >> 3)?;
        if length < end.count() as i64 || leeway < 0 {
            return Err(Failure::failed(format!("expected length >= {}, got {length}", end.count())));
        }
        if text.count() as i64 <= length.saturating_add(leeway) {
            return Ok(value.clone());
        }
        let bytes = super::attributes::bytes_of(text.as_str(), 0, length as usize - end.count());
        let mut kept = text.slice(bytes);
        if !kill.is_some_and(|kill| truth(&kill))
            && let Some(space) = kept.as_str().rfind(' ')
        {
            kept = kept.slice(0..space);
        }
        let together = kept.len() + end.len();
        self.join(&[kept, end.clone()], together)
    }

    fn escape(&mut self, text: &Text<'t>) -> Result<Value<'t>> {
        self.budget.charge(6 * text.len())?;
        let mut made = Builder::with_capacity(text.len());
        text.each_run(|part, origin| {
            let mut from = 0;
            for (at, byte) in part.bytes().enumerate() {
                let escaped = match byte {
                    b'&' => "&amp;",
                    b'<' => "&lt;",
                    b'>' => "&gt;",
                    b'\'' => "&#39;",
                    b'"' => "&#34;",
                    _ => continue,
                };
                made.push(&part[from..at], origin);
                made.push(escaped, origin);
                from = at + 1;
            }
            made.push(&part[from..], origin);
        });
        Ok(Value::Markup(made.finish()))
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
