//! `tojson`: JSON as Python's `json.dumps` writes it, with the origins of strings, keys and numbers.

use simdutf8::basic::from_utf8;

use super::calls::int_of;
use super::held::Given;
use super::sequences::sorted_entries;
use super::state::Run;
use crate::json::special::plain_run;
use crate::json::string::write_string;
use crate::template::syntax::failure::{Failure, Result};
use crate::template::values::budget::OBJECT;
use crate::template::values::compare::truth;
use crate::template::values::number::write_float;
use crate::template::values::text::{Builder, TEMPLATE, Text};
use crate::template::values::value::Value;

/// The writer of JSON, with its options.
struct ValueWriter<'r, 't> {
    run: &'r mut Run<'t>,
    made: Builder,
    ensure_ascii: bool,
    indent: Option<Text<'t>>,
    item_separator: Text<'t>,
    key_separator: Text<'t>,
    sort_keys: bool,
}

/// The filter, as Hugging Face sets it up.
pub fn tojson<'t>(run: &mut Run<'t>, value: &Value<'t>, given: Given<'t>) -> Result<Value<'t>> {
    let names = ["ensure_ascii", "indent", "separators", "sort_keys"];
    let [ensure_ascii, indent, separators, sort_keys] = given.bind("tojson", names, 0)?;
    let is_set = |flag: Option<Value<'t>>| flag.is_some_and(|flag| truth(&flag));
    let indent = match indent {
        None | Some(Value::None) => None,
        // A string alone has no lines, and so nobody asks what the margin is.
        Some(_) if matches!(value, Value::Str(_)) => None,
        Some(Value::Str(margin)) => Some(margin),
        Some(width) => {
            let spaces = usize::try_from(int_of(&width)?).unwrap_or(0);
            Some(run.spaces(spaces)?)
        }
    };
    let (item_separator, key_separator) = match separators {
        None | Some(Value::None) => (Text::literal(if indent.is_none() { ", " } else { "," }), Text::literal(": ")),
        Some(separators) => match run.collect(&separators)?.as_slice() {
            [Value::Str(item), Value::Str(key)] => (item.clone(), key.clone()),
            _ => return Err(Failure::failed("separators has to be two strings")),
        },
    };
    let (ensure_ascii, sort_keys) = (is_set(ensure_ascii), is_set(sort_keys));
    let made = Builder::with_capacity(256);
    let mut writer = ValueWriter { run, made, ensure_ascii, indent, item_separator, key_separator, sort_keys };
    writer.write(value, 0)?;
    Ok(Value::Str(writer.made.finish()))
}

impl<'t> ValueWriter<'_, 't> {
    fn literal(&mut self, text: &str) {
        self.made.push(text, TEMPLATE);
    }

    fn write(&mut self, value: &Value<'t>, level: usize) -> Result<()> {
        self.run.budget.charge(OBJECT)?;
        // For brackets and numbers.
        self.made.reserve(2 * OBJECT)?;
        match value {
            Value::None => self.literal("null"),
            Value::Bool(flag) => self.literal(if *flag { "true" } else { "false" }),
            Value::Str(text) => self.string(text)?,
            Value::Int(number, origin) => self.made.push(&number.to_string(), *origin),
            Value::Big(digits, origin) => {
                self.run.budget.charge(digits.len())?;
                self.made.reserve(digits.len())?;
                self.made.push(digits, *origin);
            }
            Value::Float(number, origin) => self.made.push(&float(*number), *origin),
            Value::List(items) | Value::Tuple(items) => {
                if items.values.is_empty() {
                    self.literal("[]");
                    return Ok(());
                }
                self.literal("[");
                for (at, item) in items.values.iter().enumerate() {
                    self.between(at, level)?;
                    self.write(item, level + 1)?;
                }
                self.close("]", level)?;
            }
            Value::Dict(dict) => {
                if dict.len() == 0 {
                    self.literal("{}");
                    return Ok(());
                }
                self.literal("{");
                let sorted = if self.sort_keys { Some(sorted_entries(self.run, dict)?) } else { None };
                let entries = sorted.as_deref().unwrap_or(dict.entries());
                for (at, (key, value)) in entries.iter().enumerate() {
                    self.between(at, level)?;
                    self.key(key)?;
                    let separator = self.key_separator.clone();
                    self.run.budget.charge(separator.len())?;
                    self.made.reserve(separator.len())?;
                    self.made.push_text(&separator);
                    self.write(value, level + 1)?;
                }
                self.close("}", level)?;
            }
            other => {
                return Err(Failure::failed(format!("Object of type {} is not JSON serializable", other.type_name())));
            }
        }
        Ok(())
    }

    /// Write the text before an item.
    fn between(&mut self, at: usize, level: usize) -> Result<()> {
        if at > 0 {
            let separator = self.item_separator.clone();
            self.run.budget.charge(separator.len())?;
            self.made.reserve(separator.len())?;
            self.made.push_text(&separator);
        }
        self.line(level + 1)
    }

    fn line(&mut self, level: usize) -> Result<()> {
        let Some(margin) = self.indent.clone() else { return Ok(()) };
        self.run.budget.charge_product(level, margin.len() + 1)?;
        self.made.reserve(level * margin.len() + 1)?;
        self.literal("\n");
        for _ in 0..level {
            self.made.push_text(&margin);
        }
        Ok(())
    }

    fn close(&mut self, bracket: &str, level: usize) -> Result<()> {
        self.line(level)?;
        self.literal(bracket);
        Ok(())
    }

    fn key(&mut self, key: &Value<'t>) -> Result<()> {
        let (text, origin) = match key {
            Value::Str(text) => return self.string(text),
            Value::None => ("null".to_owned(), TEMPLATE),
            Value::Bool(flag) => (flag.to_string(), TEMPLATE),
            Value::Int(number, origin) => (number.to_string(), *origin),
            Value::Big(digits, origin) => (digits.to_string(), *origin),
            Value::Float(number, origin) => (float(*number), *origin),
            other => {
                let message = format!("keys must be str, int, float, bool or None, not {}", other.type_name());
                return Err(Failure::failed(message));
            }
        };
        self.literal("\"");
        self.made.push(&text, origin);
        self.literal("\"");
        Ok(())
    }

    fn string(&mut self, text: &Text<'t>) -> Result<()> {
        // A byte of ASCII may become six, and so may each of the two halves of a character of four.
        let is_plain = plain_run(text.as_str().as_bytes()) == text.len();
        let most = text.len() * if is_plain && !self.ensure_ascii { 1 } else { 6 };
        self.run.budget.charge(most)?;
        self.made.reserve(text.len())?;
        self.literal("\"");
        let (ensure_ascii, made, mut json) = (self.ensure_ascii, &mut self.made, Vec::new());
        text.each_run(|part, origin| {
            json.clear();
            write_string(part, &mut json);
            // It is UTF-8, as the part is.
            let written = from_utf8(&json[1..json.len() - 1]).unwrap_or_default();
            if !ensure_ascii {
                made.push(written, origin);
                return;
            }
            let mut from = 0;
            for (at, character) in written.char_indices().filter(|(_, character)| !character.is_ascii()) {
                made.push(&written[from..at], origin);
                for unit in character.encode_utf16(&mut [0; 2]) {
                    made.push(&format!("\\u{unit:04x}"), origin);
                }
                from = at + character.len_utf8();
            }
            made.push(&written[from..], origin);
        });
        self.literal("\"");
        Ok(())
    }
}

fn float(number: f64) -> String {
    if number.is_nan() {
        return "NaN".to_owned();
    }
    match number {
        f64::INFINITY => "Infinity".to_owned(),
        f64::NEG_INFINITY => "-Infinity".to_owned(),
        number => write_float(number),
    }
}
