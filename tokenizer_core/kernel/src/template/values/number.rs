//! Numbers as Python computes and writes them.

use std::rc::Rc;

use super::text::{Origin, TEMPLATE};
use super::value::Value;
use crate::template::syntax::ast::Operator;
use crate::template::syntax::failure::{Failure, Result};
use crate::template::syntax::lexer::MAX_DIGITS;

/// Whole numbers up to here are floats without loss.
const EXACT: u64 = 1 << 53;

/// A number of either type.
#[derive(Debug, Clone, Copy)]
enum Number {
    Int(i64),
    Float(f64),
}

fn too_large() -> Box<Failure> {
    Failure::limit("computes a number that is larger than any chat needs")
}

/// A float as `repr` writes it: the shortest digits, with an exponent where Python has one.
pub fn write_float(number: f64) -> String {
    if number.is_nan() {
        return "nan".to_owned();
    }
    if number.is_infinite() {
        return if number > 0.0 { "inf" } else { "-inf" }.to_owned();
    }
    let scientific = format!("{number:e}");
    let (digits, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    if (-4..16).contains(&exponent) {
        let text = format!("{number}");
        return if text.contains('.') { text } else { text + ".0" };
    }
    let sign = if exponent < 0 { '-' } else { '+' };
    format!("{digits}e{sign}{:02}", exponent.abs())
}

/// A whole number in decimal digits, as Python reads it; `None` if there are more than [`MAX_DIGITS`].
pub fn integer<'t>(digits: &str, origin: Origin) -> Option<Value<'t>> {
    let number = digits.strip_prefix('+').unwrap_or(digits);
    let (sign, digits) = number.strip_prefix('-').map_or(("", number), |digits| ("-", digits));
    if digits.len() > MAX_DIGITS {
        return None;
    }
    Some(match number.parse() {
        Ok(small) => Value::Int(small, origin),
        Err(_) => Value::Big(Rc::from(format!("{sign}{}", digits.trim_start_matches('0'))), origin),
    })
}

fn number(value: &Value<'_>) -> Result<Option<Number>> {
    Ok(Some(match value {
        Value::Int(int, _) => Number::Int(*int),
        Value::Bool(flag) => Number::Int(i64::from(*flag)),
        Value::Float(float, _) => Number::Float(*float),
        Value::Big(..) => return Err(too_large()),
        _ => return Ok(None),
    }))
}

fn float(number: Number) -> f64 {
    match number {
        Number::Int(int) => int as f64,
        Number::Float(float) => float,
    }
}

/// Compute with two numbers; `None` if one of the values is none.
pub fn compute<'t>(operator: Operator, left: &Value<'t>, right: &Value<'t>) -> Result<Option<Value<'t>>> {
    let (Some(a), Some(b)) = (number(left)?, number(right)?) else { return Ok(None) };
    let origin = match left.own_origin() {
        TEMPLATE => right.own_origin(),
        origin => origin,
    };
    Ok(Some(match (a, b) {
        (Number::Int(a), Number::Int(b)) => whole(operator, a, b, origin)?,
        _ => Value::Float(floats(operator, float(a), float(b))?, origin),
    }))
}

fn whole<'t>(operator: Operator, a: i64, b: i64, origin: Origin) -> Result<Value<'t>> {
    let int = |number: Option<i64>| number.map(|number| Value::Int(number, origin)).ok_or_else(too_large);
    match operator {
        Operator::Add => int(a.checked_add(b)),
        Operator::Sub => int(a.checked_sub(b)),
        Operator::Mul => int(a.checked_mul(b)),
        Operator::Div | Operator::FloorDiv | Operator::Mod if b == 0 => {
            let message =
                if operator == Operator::Div { "division by zero" } else { "integer division or modulo by zero" };
            Err(Failure::failed(message))
        }
        Operator::Div if a.unsigned_abs() <= EXACT && b.unsigned_abs() <= EXACT => {
            Ok(Value::Float(a as f64 / b as f64, origin))
        }
        Operator::Div => Err(too_large()),
        Operator::FloorDiv => int(a.checked_div(b).map(|q| if a % b != 0 && (a < 0) != (b < 0) { q - 1 } else { q })),
        Operator::Mod => {
            int(a.checked_rem(b).map(|rest| if rest != 0 && (rest < 0) != (b < 0) { rest + b } else { rest }))
        }
        Operator::Pow if b < 0 => Ok(Value::Float(floats(Operator::Pow, a as f64, b as f64)?, origin)),
        Operator::Pow => int(u32::try_from(b).ok().map_or_else(
            || (a.unsigned_abs() <= 1).then(|| if b % 2 == 0 { a * a } else { a }),
            |exponent| a.checked_pow(exponent),
        )),
    }
}

fn floats(operator: Operator, a: f64, b: f64) -> Result<f64> {
    Ok(match operator {
        Operator::Add => a + b,
        Operator::Sub => a - b,
        Operator::Mul => a * b,
        Operator::Div | Operator::FloorDiv | Operator::Mod if b == 0.0 => {
            let what = if operator == Operator::Mod { "float modulo" } else { "float division by zero" };
            let what = if operator == Operator::FloorDiv { "float floor division by zero" } else { what };
            return Err(Failure::failed(what));
        }
        Operator::Div => a / b,
        Operator::FloorDiv => divide(a, b).0,
        Operator::Mod => divide(a, b).1,
        Operator::Pow if a == 0.0 && b < 0.0 => {
            return Err(Failure::failed("0.0 cannot be raised to a negative power"));
        }
        Operator::Pow if a < 0.0 && a.is_finite() && b.is_finite() && b.fract() != 0.0 => {
            return Err(Failure::untrackable("computes a complex number, whose parts are not tracked"));
        }
        Operator::Pow => {
            let power = a.powf(b);
            if power.is_infinite() && a.is_finite() && b.is_finite() {
                return Err(too_large());
            }
            power
        }
    })
}

/// The whole quotient and the rest, as Python's `divmod` of floats has them.
fn divide(a: f64, b: f64) -> (f64, f64) {
    let mut rest = a % b;
    let mut quotient = (a - rest) / b;
    if rest == 0.0 {
        rest = 0.0_f64.copysign(b);
    } else if (b < 0.0) != (rest < 0.0) {
        rest += b;
        quotient -= 1.0;
    }
    if quotient == 0.0 {
        return (0.0_f64.copysign(a / b), rest);
    }
    let floor = quotient.floor();
    (if quotient - floor > 0.5 { floor + 1.0 } else { floor }, rest)
}

/// A number with its sign turned, or as it is.
pub fn signed<'t>(value: &Value<'t>, negative: bool) -> Result<Option<Value<'t>>> {
    let origin = value.own_origin();
    Ok(Some(match number(value)? {
        None => return Ok(None),
        Some(Number::Float(float)) => Value::Float(if negative { -float } else { float }, origin),
        Some(Number::Int(int)) if negative => Value::Int(int.checked_neg().ok_or_else(too_large)?, origin),
        Some(Number::Int(int)) => Value::Int(int, origin),
    }))
}

/// A float as a whole number, without what stands behind the point.
pub fn truncated<'t>(number: f64, origin: Origin) -> Result<Value<'t>> {
    if !number.is_finite() {
        return Err(Failure::failed(format!("cannot convert float {} to integer", write_float(number))));
    }
    if number.abs() >= 9.2e18 { Err(too_large()) } else { Ok(Value::Int(number as i64, origin)) }
}
