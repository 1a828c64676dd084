//! Truth, equality and order, as Python has them.

use std::cmp::Ordering;
use std::rc::Rc;

use super::budget::Budget;
use super::value::{Value, View};
use crate::template::syntax::failure::{Failure, Result};

/// Tell whether a value counts as true.
pub fn truth(value: &Value<'_>) -> bool {
    match value {
        Value::Unset | Value::Undefined(_) | Value::None => false,
        Value::Bool(flag) => *flag,
        Value::Int(number, _) => *number != 0,
        Value::Float(number, _) => *number != 0.0,
        Value::Str(text) => !text.is_empty(),
        Value::List(items) | Value::Tuple(items) => !items.values.is_empty(),
        Value::Dict(dict) | Value::View(_, dict) => dict.len() > 0,
        Value::Range(range) => range.len() > 0,
        _ => true,
    }
}

/// `left == right`.
pub fn equal(left: &Value<'_>, right: &Value<'_>, budget: &Budget) -> Result<bool> {
    budget.charge(1)?;
    Ok(match (left, right) {
        (Value::Str(a), Value::Str(b)) => {
            budget.charge(a.len().min(b.len()) >> 4)?;
            a.as_str() == b.as_str()
        }
        (Value::None, Value::None) => true,
        (Value::Unset | Value::Undefined(_), Value::Unset | Value::Undefined(_)) => true,
        (Value::List(a), Value::List(b)) | (Value::Tuple(a), Value::Tuple(b)) => {
            if Rc::ptr_eq(a, b) {
                return Ok(true);
            }
            if a.values.len() != b.values.len() {
                return Ok(false);
            }
            for (a, b) in a.values.iter().zip(&b.values) {
                if !equal(a, b, budget)? {
                    return Ok(false);
                }
            }
            true
        }
        (Value::Dict(a), Value::Dict(b)) => {
            if a.len() != b.len() {
                return Ok(false);
            }
            for (key, value) in a.entries() {
                match b.get(key, budget)? {
                    Some(other) if equal(value, other, budget)? => {}
                    _ => return Ok(false),
                }
            }
            true
        }
        (Value::View(a, first), Value::View(b, second)) => {
            if a == b && Rc::ptr_eq(first, second) && *a != View::Values {
                return Ok(true);
            }
            return Err(Failure::untrackable("compares views of objects"));
        }
        (Value::Range(a), Value::Range(b)) => {
            let (m, n) = (a.len(), b.len());
            m == n && (m == 0 || (a.start == b.start && (m == 1 || a.step == b.step)))
        }
        (Value::Function(a), Value::Function(b)) => a == b,
        (Value::Macro(a, base), Value::Macro(b, other)) => a.number == b.number && base == other,
        (Value::Namespace(a), Value::Namespace(b)) | (Value::Loop(a), Value::Loop(b)) => a == b,
        (Value::Iter(a), Value::Iter(b)) | (Value::Cycler(a), Value::Cycler(b)) => a == b,
        (Value::Joiner(a), Value::Joiner(b)) => a == b,
        (Value::Method(a), Value::Method(b)) => Rc::ptr_eq(a, b),
        (Value::Big(a, _), Value::Big(b, _)) => {
            budget.charge(a.len().min(b.len()) >> 4)?;
            a == b
        }
        _ => order_of_numbers(left, right)?.is_some_and(|order| order == Some(Ordering::Equal)),
    })
}

/// The order of two numbers, `Some(None)` if one is not a number of floats, `None` if they are no numbers.
fn order_of_numbers(left: &Value<'_>, right: &Value<'_>) -> Result<Option<Option<Ordering>>> {
    let whole = |value: &Value<'_>| value.as_int();
    Ok(match (left, right) {
        (Value::Big(a, _), Value::Big(b, _)) => Some(Some(order_of_digits(a, b))),
        (Value::Big(a, _), other) if whole(other).is_some() => Some(Some(sign_of(a))),
        (other, Value::Big(b, _)) if whole(other).is_some() => Some(Some(sign_of(b).reverse())),
        (Value::Big(..), Value::Float(..)) | (Value::Float(..), Value::Big(..)) => {
            return Err(Failure::limit("computes a number that is larger than any chat needs"));
        }
        (Value::Float(a, _), Value::Float(b, _)) => Some(a.partial_cmp(b)),
        (Value::Float(a, _), other) => whole(other).map(|b| order_of_mixed(b, *a).map(Ordering::reverse)),
        (other, Value::Float(b, _)) => whole(other).map(|a| order_of_mixed(a, *b)),
        (left, right) => whole(left).zip(whole(right)).map(|(a, b)| Some(a.cmp(&b))),
    })
}

/// Of numbers beyond 64 bits and those within.
fn sign_of(digits: &str) -> Ordering {
    if digits.starts_with('-') { Ordering::Less } else { Ordering::Greater }
}

fn order_of_digits(a: &str, b: &str) -> Ordering {
    match (a.strip_prefix('-'), b.strip_prefix('-')) {
        (Some(a), Some(b)) => order_of_digits(b, a),
        (Some(_), None) => Ordering::Less,
        (None, Some(_)) => Ordering::Greater,
        (None, None) => a.len().cmp(&b.len()).then_with(|| a.cmp(b)),
    }
}

/// Exact, where turning the whole number into a float would round it.
fn order_of_mixed(a: i64, b: f64) -> Option<Ordering> {
    if b.is_nan() {
        return None;
    }
    if b.abs() >= 9.3e18 {
        return Some(if b > 0.0 { Ordering::Less } else { Ordering::Greater });
    }
    let whole = i128::from(b.trunc() as i64);
    Some(i128::from(a).cmp(&whole).then_with(|| 0.0_f64.partial_cmp(&b.fract()).unwrap_or(Ordering::Equal)))
}

/// Return the order of two values; `Ok(None)` if neither comes first, as with NaN.
pub fn order(left: &Value<'_>, right: &Value<'_>, sign: &str, budget: &Budget) -> Result<Option<Ordering>> {
    budget.charge(1)?;
    match (left, right) {
        (Value::Str(a), Value::Str(b)) => {
            budget.charge(a.len().min(b.len()) >> 4)?;
            Ok(Some(a.as_str().cmp(b.as_str())))
        }
        (Value::List(a), Value::List(b)) | (Value::Tuple(a), Value::Tuple(b)) => {
            for (a, b) in a.values.iter().zip(&b.values) {
                if !equal(a, b, budget)? {
                    return order(a, b, sign, budget);
                }
            }
            Ok(Some(a.values.len().cmp(&b.values.len())))
        }
        _ => order_of_numbers(left, right)?.ok_or_else(|| {
            let (left, right) = (left.type_name(), right.type_name());
            Failure::failed(format!("'{sign}' not supported between instances of '{left}' and '{right}'"))
        }),
    }
}

/// `left is right`, as far as that is decided by what the values are.
pub fn same(left: &Value<'_>, right: &Value<'_>, budget: &Budget) -> Result<bool> {
    if let (Value::Str(a), Value::Str(b)) = (left, right) {
        budget.charge(a.len().min(b.len()) >> 4)?;
    }
    let small = |number: i64| (-5..=256).contains(&number);
    Ok(match (left, right) {
        (Value::None, Value::None) => true,
        (Value::Bool(a), Value::Bool(b)) => a == b,
        (Value::Int(a, _), Value::Int(b, _)) if a != b || small(*a) => a == b,
        (Value::List(a), Value::List(b)) => Rc::ptr_eq(a, b),
        (Value::Tuple(a), Value::Tuple(b)) if !a.values.is_empty() => Rc::ptr_eq(a, b),
        (Value::Dict(a), Value::Dict(b)) => Rc::ptr_eq(a, b),
        (Value::Namespace(a), Value::Namespace(b)) | (Value::Loop(a), Value::Loop(b)) => a == b,
        (Value::Iter(a), Value::Iter(b)) | (Value::Cycler(a), Value::Cycler(b)) => a == b,
        (Value::Function(a), Value::Function(b)) => a == b,
        (Value::Str(a), Value::Str(b)) if a.as_str() != b.as_str() => false,
        _ if left.type_name() != right.type_name() => false,
        _ => return Err(Failure::untrackable("asks whether two equal values are the same object")),
    })
}
