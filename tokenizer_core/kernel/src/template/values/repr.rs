//! Values as text: `str` and `repr`, whose characters are a caller's as a whole if a part of the value is.

use super::budget::{Budget, no_memory};
use super::number::write_float;
use super::text::{TEMPLATE, Text};
use super::value::{Value, View};
use crate::template::syntax::failure::Result;
use crate::template::syntax::strings::write_repr;

/// `str(value)` with its origins.
pub fn text_of<'t>(value: &Value<'t>, budget: &Budget) -> Result<Text<'t>> {
    match value {
        Value::Str(text) => Ok(text.clone()),
        Value::Unset | Value::Undefined(_) => Ok(Text::literal("")),
        Value::None => Ok(Text::literal("None")),
        Value::Bool(true) => Ok(Text::literal("True")),
        Value::Bool(false) => Ok(Text::literal("False")),
        _ => repr_of(value, budget),
    }
}

/// `repr(value)` with its origins.
pub fn repr_of<'t>(value: &Value<'t>, budget: &Budget) -> Result<Text<'t>> {
    let origin = value.origin(budget)?;
    let mut text = String::new();
    write(value, &mut text, budget)?;
    Ok(Text::made(text, origin))
}

fn write(value: &Value<'_>, into: &mut String, budget: &Budget) -> Result<()> {
    budget.charge(16)?;
    // For brackets and numbers, and then for what is long.
    let length = match value {
        Value::Big(digits, _) => digits.len(),
        Value::Str(text) => text.len(),
        _ => 0,
    };
    into.try_reserve(length + 64).map_err(|_| no_memory())?;
    match value {
        Value::Unset | Value::Undefined(_) => into.push_str("Undefined"),
        Value::None => into.push_str("None"),
        Value::Bool(true) => into.push_str("True"),
        Value::Bool(false) => into.push_str("False"),
        Value::Int(number, _) => into.push_str(&number.to_string()),
        Value::Big(digits, _) => {
            budget.charge(digits.len())?;
            into.push_str(digits);
        }
        Value::Float(number, _) => into.push_str(&write_float(*number)),
        Value::Str(text) => {
            // A character may become an escape of ten.
            budget.charge(text.len() * if text.as_str().is_ascii() { 4 } else { 5 })?;
            write_repr(text.as_str(), into);
        }
        Value::List(items) => write_all('[', items.values.iter(), "]", into, budget)?,
        Value::Tuple(items) => {
            let close = if items.values.len() == 1 { ",)" } else { ")" };
            write_all('(', items.values.iter(), close, into, budget)?;
        }
        Value::Dict(dict) => write_pairs('{', dict.entries(), ": ", "", "}", into, budget)?,
        Value::View(View::Keys, dict) => {
            into.push_str("dict_keys(");
            write_all('[', dict.entries().iter().map(|(key, _)| key), "])", into, budget)?;
        }
        Value::View(View::Values, dict) => {
            into.push_str("dict_values(");
            write_all('[', dict.entries().iter().map(|(_, value)| value), "])", into, budget)?;
        }
        Value::View(View::Items, dict) => {
            into.push_str("dict_items(");
            write_pairs('[', dict.entries(), ", ", "()", "])", into, budget)?;
        }
        Value::Range(range) if range.origin == TEMPLATE => {
            into.push_str(&match range.step {
                1 => format!("range({}, {})", range.start, range.stop),
                step => format!("range({}, {}, {step})", range.start, range.stop),
            });
        }
        _ => return Err(value.hidden()),
    }
    Ok(())
}

fn write_all<'v, 't: 'v>(
    open: char,
    values: impl Iterator<Item = &'v Value<'t>>,
    close: &str,
    into: &mut String,
    budget: &Budget,
) -> Result<()> {
    into.push(open);
    for (at, value) in values.enumerate() {
        if at > 0 {
            into.push_str(", ");
        }
        write(value, into, budget)?;
    }
    into.push_str(close);
    Ok(())
}

/// Pairs with `between` their parts, each in `around`, if that has two characters.
fn write_pairs(
    open: char,
    pairs: &[(Value<'_>, Value<'_>)],
    between: &str,
    around: &str,
    close: &str,
    into: &mut String,
    budget: &Budget,
) -> Result<()> {
    into.push(open);
    for (at, (key, value)) in pairs.iter().enumerate() {
        if at > 0 {
            into.push_str(", ");
        }
        into.push_str(around.get(..1).unwrap_or_default());
        write(key, into, budget)?;
        into.push_str(between);
        write(value, into, budget)?;
        into.push_str(around.get(1..).unwrap_or_default());
    }
    into.push_str(close);
    Ok(())
}
