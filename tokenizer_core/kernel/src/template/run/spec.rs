//! The format of a value that `%` and `format` write: flags, widths, and numbers in their ways.

use super::state::Run;
use crate::template::syntax::failure::{Failure, Result};
use crate::template::values::number::{truncated, write_float};
use crate::template::values::value::Value;

/// No number is wider than so many characters.
const MAX_WIDTH: usize = 1 << 20;

/// The format of a value.
#[derive(Debug, Default)]
#[allow(missing_docs, reason = "as in Python")]
pub struct Spec {
    pub left: bool,
    pub plus: bool,
    pub space: bool,
    pub zero: bool,
    pub alternate: bool,
    pub width: usize,
    pub precision: Option<usize>,
}

/// Reads a directive behind its sign.
pub struct Directive<'s> {
    /// The text that is not read yet.
    pub rest: &'s str,
}

impl<'s> Directive<'s> {
    /// The key in brackets, if there is one.
    pub fn key(&mut self) -> Result<Option<&'s str>> {
        let Some(inner) = self.rest.strip_prefix('(') else { return Ok(None) };
        let mut open = 1;
        for (at, byte) in inner.bytes().enumerate() {
            open += i32::from(byte == b'(') - i32::from(byte == b')');
            if open == 0 {
                self.rest = &inner[at + 1..];
                return Ok(Some(&inner[..at]));
            }
        }
        Err(Failure::failed("incomplete format key"))
    }

    /// Flags, width and precision.
    pub fn spec(&mut self) -> Result<Spec> {
        let mut spec = Spec::default();
        while let Some(flag) = self.rest.chars().next() {
            match flag {
                '-' => spec.left = true,
                '+' => spec.plus = true,
                ' ' => spec.space = true,
                '0' => spec.zero = true,
                '#' => spec.alternate = true,
                _ => break,
            }
            self.rest = &self.rest[1..];
        }
        spec.width = self.number()?.unwrap_or(0);
        if let Some(rest) = self.rest.strip_prefix('.') {
            self.rest = rest;
            spec.precision = Some(self.number()?.unwrap_or(0));
        }
        self.rest = self.rest.strip_prefix(['h', 'l', 'L']).unwrap_or(self.rest);
        if spec.alternate {
            return Err(Failure::untrackable("formats a number in a way that is not tracked"));
        }
        Ok(spec)
    }

    fn number(&mut self) -> Result<Option<usize>> {
        if self.rest.starts_with('*') {
            return Err(Failure::untrackable("takes the width of a text from an argument"));
        }
        let digits = self.rest.bytes().take_while(u8::is_ascii_digit).count();
        let (number, rest) = self.rest.split_at(digits);
        self.rest = rest;
        if digits == 0 {
            return Ok(None);
        }
        let number = number.parse().ok().filter(|number| *number <= MAX_WIDTH);
        number.map(Some).ok_or_else(|| Failure::limit("makes more text or takes more steps than a chat can need"))
    }
}

/// With a sign, and zeros up to the width.
pub fn signed(text: String, spec: &Spec) -> String {
    let (sign, digits) = match text.strip_prefix('-') {
        Some(digits) => ("-", digits),
        None if spec.plus => ("+", text.as_str()),
        None if spec.space => (" ", text.as_str()),
        None => ("", text.as_str()),
    };
    let is_number =
        digits.starts_with(|character: char| character.is_ascii_alphanumeric()) && digits != "inf" && digits != "nan";
    let zeros =
        if spec.zero && !spec.left && is_number { spec.width.saturating_sub(sign.len() + digits.len()) } else { 0 };
    format!("{sign}{}{digits}", "0".repeat(zeros))
}

/// A whole number in the way of `kind`.
pub fn whole(kind: char, spec: &Spec, value: &Value<'_>) -> Result<String> {
    let number = match value {
        Value::Float(number, _) if matches!(kind, 'd' | 'i' | 'u') => match truncated(*number, 0)? {
            Value::Int(number, _) => number,
            _ => 0,
        },
        Value::Big(digits, _) if kind == 'd' && spec.precision.is_none() => return Ok(digits.to_string()),
        Value::Big(..) => return Err(Failure::limit("computes a number that is larger than any chat needs")),
        Value::Undefined(undefined) => return Err(Run::undefined_failure(undefined)),
        other => other.as_int().ok_or_else(|| {
            Failure::failed(format!("%{kind} format: a real number is required, not {}", other.type_name()))
        })?,
    };
    let magnitude = number.unsigned_abs();
    let digits = match kind {
        'x' => format!("{magnitude:x}"),
        'X' => format!("{magnitude:X}"),
        'o' => format!("{magnitude:o}"),
        _ => magnitude.to_string(),
    };
    let sign = if number < 0 { "-" } else { "" };
    Ok(format!("{sign}{digits:0>precision$}", precision = spec.precision.unwrap_or(0)))
}

/// A float in the way of `kind`.
pub fn float(kind: char, spec: &Spec, value: &Value<'_>) -> Result<String> {
    let number = match value {
        Value::Float(number, _) => *number,
        Value::Big(digits, _) => digits.parse().unwrap_or(f64::INFINITY),
        Value::Undefined(undefined) => return Err(Run::undefined_failure(undefined)),
        other => other
            .as_int()
            .map(|number| number as f64)
            .ok_or_else(|| Failure::failed(format!("must be real number, not {}", other.type_name())))?,
    };
    if !number.is_finite() {
        let text = write_float(number);
        return Ok(if kind.is_ascii_uppercase() { text.to_uppercase() } else { text });
    }
    let precision = spec.precision.unwrap_or(6);
    let text = match kind {
        'f' | 'F' => format!("{number:.precision$}"),
        'e' | 'E' => exponent(number, precision),
        _ => general(number, precision.max(1)),
    };
    Ok(if kind.is_ascii_uppercase() { text.to_uppercase() } else { text })
}

/// With an exponent of two digits at least.
fn exponent(number: f64, precision: usize) -> String {
    let text = format!("{number:.precision$e}");
    let (digits, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    let sign = if exponent < 0 { '-' } else { '+' };
    format!("{digits}e{sign}{:02}", exponent.abs())
}

/// `%g`: as short as it is with so many digits.
fn general(number: f64, digits: usize) -> String {
    let scientific = exponent(number, digits - 1);
    let (mantissa, power) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    let power: i32 = power.parse().unwrap_or(0);
    let trim = |text: &str| {
        if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_owned() } else { text.to_owned() }
    };
    if power < -4 || power >= digits as i32 {
        let sign = if power < 0 { '-' } else { '+' };
        return format!("{}e{sign}{:02}", trim(mantissa), power.abs());
    }
    trim(&format!("{number:.precision$}", precision = (digits as i32 - 1 - power).max(0) as usize))
}
