//! Filters that make numbers; these are a caller's if what they are made of is.

use super::held::Given;
use super::state::Run;
use crate::template::syntax::failure::{Failure, Kind, Result};
use crate::template::syntax::lexer::MAX_DIGITS;
use crate::template::syntax::strings::{is_decimal, is_space};
use crate::template::values::number::{integer, truncated};
use crate::template::values::text::{Origin, TEMPLATE};
use crate::template::values::value::Value;

impl<'t> Run<'t> {
    /// Apply a filter of numbers.
    pub fn number_filter(&mut self, name: &str, value: &Value<'t>, given: Given<'t>) -> Result<Value<'t>> {
        self.budget.charge_reading([value])?;
        let mut origin = value.origin(&self.budget)?;
        for other in given.positional.iter().chain(given.named.iter().map(|(_, value)| value)) {
            origin = if origin == TEMPLATE { other.own_origin() } else { origin };
        }
        Ok(match name {
            "int" => {
                let [default, base] = given.bind(name, ["default", "base"], 0)?;
                // A base that is no whole number leaves the way over a float.
                let base = base.map_or(Some(10), |base| base.as_int());
                match self.int_of_value(value, base) {
                    Ok(Some(number)) => number.with_origin(origin),
                    Ok(None) => default.unwrap_or(Value::int(0)).with_origin(origin),
                    Err(failure) => return Err(failure),
                }
            }
            "float" => {
                let [default] = given.bind(name, ["default"], 0)?;
                match float_of(value)? {
                    Some(number) => Value::Float(number, origin),
                    None => default.unwrap_or(Value::Float(0.0, 0)).with_origin(origin),
                }
            }
            _ => {
                given.nothing(name)?;
                match value {
                    Value::Int(number, origin) => Value::Int(number.checked_abs().unwrap_or(i64::MAX), *origin),
                    Value::Float(number, origin) => Value::Float(number.abs(), *origin),
                    Value::Bool(flag) => Value::int(i64::from(*flag)),
                    Value::Big(digits, origin) => Value::Big(digits.trim_start_matches('-').into(), *origin),
                    other => {
                        Self::defined(other)?;
                        return Err(Failure::failed(format!("bad operand type for abs(): '{}'", other.type_name())));
                    }
                }
            }
        })
    }

    /// `int(value)`, or `int(float(value))`, or nothing.
    fn int_of_value(&mut self, value: &Value<'t>, base: Option<i64>) -> Result<Option<Value<'t>>> {
        let from_float = |number: f64| match truncated(number, 0) {
            Ok(number) => Ok(Some(number)),
            Err(failure) if failure.kind == Kind::Failed => Ok(None),
            Err(failure) => Err(failure),
        };
        match value {
            Value::Int(..) | Value::Big(..) => Ok(Some(value.clone())),
            Value::Bool(flag) => Ok(Some(Value::int(i64::from(*flag)))),
            Value::Float(number, _) => from_float(*number),
            Value::Str(text) => {
                let digits = text.as_str().trim_matches(is_space);
                if !digits.is_ascii() {
                    return if digits.chars().any(is_decimal) {
                        Err(Failure::untrackable("reads a number whose digits are not ASCII"))
                    } else {
                        Ok(None)
                    };
                }
                if let Some(number) = base.map_or(Ok(None), |base| parse_int(digits, base))? {
                    return Ok(Some(number));
                }
                float_of(value)?.map_or(Ok(None), from_float)
            }
            Value::Undefined(undefined) => Err(Self::undefined_failure(undefined)),
            _ => Ok(None),
        }
    }
}

impl Value<'_> {
    /// A number or a text that was made, as a caller's; what has an origin keeps it.
    #[must_use]
    pub fn with_origin(self, origin: Origin) -> Self {
        match self {
            Self::Int(number, 0) => Self::Int(number, origin),
            Self::Float(number, 0) => Self::Float(number, origin),
            Self::Big(digits, 0) => Self::Big(digits, origin),
            other => other,
        }
    }
}

/// `float(value)`, or nothing where that is no number.
fn float_of(value: &Value<'_>) -> Result<Option<f64>> {
    Ok(match value {
        Value::Int(number, _) => Some(*number as f64),
        Value::Bool(flag) => Some(f64::from(u8::from(*flag))),
        Value::Float(number, _) => Some(*number),
        Value::Big(digits, _) => digits.parse().ok(),
        Value::Str(text) => {
            let text = text.as_str().trim_matches(is_space);
            if text.contains('_') {
                return Err(Failure::untrackable("reads a number with underscores"));
            }
            text.parse().ok()
        }
        Value::Undefined(undefined) => return Err(Run::undefined_failure(undefined)),
        _ => None,
    })
}

/// `int(text, base)`.
fn parse_int<'t>(text: &str, base: i64) -> Result<Option<Value<'t>>> {
    let digits = text.strip_prefix(['+', '-']).unwrap_or(text);
    if digits.contains('_') {
        return Err(Failure::untrackable("reads a number with underscores"));
    }
    if base == 10 {
        let is_number = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
        return Ok(if is_number { integer(text, 0) } else { None });
    }
    let prefix = digits.get(..2).map(str::to_ascii_lowercase).unwrap_or_default();
    let of_prefix = match prefix.as_str() {
        "0x" => 16,
        "0o" => 8,
        "0b" => 2,
        _ => 0,
    };
    let (base, digits) = match base {
        0 if of_prefix > 0 => (of_prefix, &digits[2..]),
        0 if digits.starts_with('0') && digits.bytes().any(|byte| byte != b'0') => return Ok(None),
        0 => (10, digits),
        2..=36 if of_prefix == base => (base, &digits[2..]),
        2..=36 => (base, digits),
        _ => return Ok(None),
    };
    if digits.is_empty()
        || digits.starts_with(['+', '-'])
        || digits.bytes().any(|byte| !char::from(byte).is_digit(base as u32))
    {
        return Ok(None);
    }
    if digits.len() > MAX_DIGITS && !(base as u32).is_power_of_two() {
        return Ok(None);
    }
    let number = i64::from_str_radix(digits, base as u32);
    let number = number.map_err(|_| Failure::limit("computes a number that is larger than any chat needs"))?;
    Ok(Some(Value::int(if text.starts_with('-') { -number } else { number })))
}
