//! Attributes, items and slices, as Jinja's sandbox looks them up.

use std::rc::Rc;

use super::calls::int_of;
use super::state::Run;
use crate::template::syntax::failure::{Failure, Result};
use crate::template::syntax::names::{CHANGING_DICT, CHANGING_LIST, REFUSED_OF_NUMBERS, REFUSED_OF_STRINGS};
use crate::template::values::budget::{ITEM, OBJECT};
use crate::template::values::repr::repr_of;
use crate::template::values::text::{Builder, Text, count};
use crate::template::values::value::{Undefined, Value};

impl<'t> Run<'t> {
    /// `owner.name`: an attribute, or else an item.
    pub fn attribute(&mut self, owner: &Value<'t>, name: &'t str) -> Result<Value<'t>> {
        if let Value::Dict(dict) = owner {
            let is_attribute = Self::method_of(owner, name).is_some() || CHANGING_DICT.contains(&name);
            if !is_attribute && name != "fromkeys" && !is_pythons(name) {
                self.budget.charge(name.len() >> 4)?;
                let found = dict.get_str(name).cloned();
                return Ok(found.unwrap_or_else(|| missing(owner, &Text::literal(name))));
            }
        }
        let name = Text::literal(name);
        let found = self.own_attribute(owner, &name)?;
        Ok(found.unwrap_or_else(|| missing(owner, &name)))
    }

    /// An attribute that is none of the items.
    pub fn own_attribute(&mut self, owner: &Value<'t>, wanted: &Text<'t>) -> Result<Option<Value<'t>>> {
        let name = wanted.as_str();
        let hidden = || Some(Value::Undefined(Undefined::Unsafe(owner.type_name(), wanted.clone())));
        if is_pythons(name) && !matches!(owner, Value::Undefined(_)) {
            return Ok(hidden());
        }
        if let Some(method) = Self::method_of(owner, name) {
            self.budget.charge(OBJECT)?;
            return Ok(Some(Value::Method(Rc::new((owner.clone(), method)))));
        }
        Ok(match owner {
            Value::Undefined(undefined) => return Err(Self::undefined_failure(undefined)),
            Value::Namespace(number) => self.field(*number, name)?,
            Value::Loop(number) => self.loop_attribute(*number, name)?,
            Value::Cycler(number) if name == "current" => self.call_cycler(*number, name),
            Value::List(_) if CHANGING_LIST.contains(&name) => hidden(),
            Value::Dict(_) if CHANGING_DICT.contains(&name) => hidden(),
            Value::Int(number, origin) => match name {
                "real" | "numerator" => Some(Value::Int(*number, *origin)),
                "imag" => Some(Value::Int(0, *origin)),
                "denominator" => Some(Value::Int(1, *origin)),
                _ => return untracked(owner, name),
            },
            Value::Float(number, origin) => match name {
                "real" => Some(Value::Float(*number, *origin)),
                "imag" => Some(Value::Float(0.0, *origin)),
                _ => return untracked(owner, name),
            },
            Value::Range(range) => match name {
                "start" | "stop" | "step" if range.origin != crate::template::values::text::TEMPLATE => {
                    return Err(owner.hidden());
                }
                "start" => Some(Value::int(range.start)),
                "stop" => Some(Value::int(range.stop)),
                "step" => Some(Value::int(range.step)),
                _ => None,
            },
            Value::Macro(..) | Value::View(..) => {
                return Err(Failure::untrackable(format!(
                    "uses {name:?} of a {}, which is not tracked",
                    owner.type_name()
                )));
            }
            _ => return untracked(owner, name),
        })
    }

    /// `owner[key]`: an item, or else an attribute.
    pub fn item(&mut self, owner: &Value<'t>, key: &Value<'t>) -> Result<Value<'t>> {
        let found = match (owner, key) {
            (Value::Undefined(undefined), _) => return Err(Self::undefined_failure(undefined)),
            (Value::Dict(dict), _) => match dict.get(key, &self.budget) {
                Ok(found) => found.cloned(),
                // What has no hash is no key: Jinja takes that for an item that is not there.
                Err(failure) if failure.kind == crate::template::syntax::failure::Kind::Failed => None,
                Err(failure) => return Err(failure),
            },
            (Value::List(items) | Value::Tuple(items), _) => {
                key.as_int().and_then(|at| place(at, items.values.len())).map(|at| items.values[at].clone())
            }
            (Value::Str(text), _) => match key.as_int() {
                Some(at) => self.character(text, at)?.map(Value::Str),
                None => None,
            },
            (Value::Range(range), _) => {
                let at = key.as_int().and_then(|at| place(at, range.len()));
                at.map(|at| Value::Int(range.at(at), range.origin))
            }
            _ => None,
        };
        if let Some(found) = found {
            return Ok(found);
        }
        let Value::Str(name) = key else {
            self.budget.charge(OBJECT)?;
            return Ok(Value::Undefined(Undefined::Item(owner.type_name(), repr_of(key, &self.budget)?)));
        };
        Ok(self.own_attribute(owner, name)?.unwrap_or_else(|| missing(owner, name)))
    }

    fn character(&mut self, text: &Text<'t>, at: i64) -> Result<Option<Text<'t>>> {
        self.budget.charge(text.len() >> 3)?;
        let characters = text.as_str();
        if characters.is_ascii() {
            return Ok(place(at, characters.len()).map(|at| text.slice(at..at + 1)));
        }
        let Some(at) = place(at, count(characters)) else { return Ok(None) };
        let found = characters.char_indices().nth(at);
        Ok(found.map(|(at, character)| text.slice(at..at + character.len_utf8())))
    }

    /// `owner[start:stop:step]`.
    pub fn slice(&mut self, owner: &Value<'t>, bounds: &[Value<'t>; 3]) -> Result<Value<'t>> {
        let length = match owner {
            Value::Str(text) => {
                self.budget.charge(text.len() >> 3)?;
                text.count()
            }
            Value::List(items) | Value::Tuple(items) => items.values.len(),
            Value::Range(range) => range.len(),
            Value::Undefined(undefined) => return Err(Self::undefined_failure(undefined)),
            Value::Dict(_) => return Err(Failure::failed("unhashable type: 'slice'")),
            other => return Err(Failure::failed(format!("'{}' object is not subscriptable", other.type_name()))),
        };
        let (start, stop, step) = indices(bounds, length)?;
        if let (Value::Str(text), 1) = (owner, step) {
            self.budget.charge(OBJECT)?;
            return Ok(Value::Str(text.slice(bytes_of(text.as_str(), start as usize, start.max(stop) as usize))));
        }
        let distance = if step > 0 { stop - start } else { start - stop };
        let count = usize::try_from(distance).unwrap_or(0).div_ceil(step.unsigned_abs() as usize);
        let places = (0..count).map(|at| (start + step * at as i64) as usize);
        match owner {
            Value::List(items) | Value::Tuple(items) => {
                let mut cut = self.budget.room(count, ITEM)?;
                cut.extend(places.map(|at| items.values[at].clone()));
                if matches!(owner, Value::List(_)) {
                    Value::list(cut, &self.budget)
                } else {
                    Value::tuple(cut, &self.budget)
                }
            }
            Value::Str(text) => {
                let mut starts = self.budget.room(length, 4)?;
                starts.extend(text.as_str().char_indices().map(|(at, _)| at));
                self.budget.charge_product(count, 4)?;
                let mut cut = Builder::default();
                cut.reserve(count)?;
                for at in places {
                    let end = starts.get(at + 1).copied().unwrap_or(text.len());
                    cut.push_text(&text.slice(starts[at]..end));
                }
                Ok(Value::Str(cut.finish()))
            }
            _ => Err(Failure::untrackable("takes a part of a range")),
        }
    }
}

/// Names that Python gives a meaning, which the sandbox hides.
fn is_pythons(name: &str) -> bool {
    name.starts_with("__") && name.ends_with("__")
}

/// An index from either end, if it is one.
fn place(at: i64, length: usize) -> Option<usize> {
    let at = if at < 0 { at + length as i64 } else { at };
    usize::try_from(at).ok().filter(|at| *at < length)
}

/// `slice(...).indices(length)`.
fn indices(bounds: &[Value<'_>; 3], length: usize) -> Result<(i64, i64, i64)> {
    let bound = |value: &Value<'_>| match value {
        Value::None => Ok(None),
        Value::Big(digits, _) => Ok(Some(if digits.starts_with('-') { i64::MIN / 4 } else { i64::MAX / 4 })),
        Value::Undefined(_) | Value::Str(_) | Value::Float(..) => {
            Err(Failure::failed("slice indices must be integers or None or have an __index__ method"))
        }
        value => int_of(value).map(|at| Some(at.clamp(i64::MIN / 4, i64::MAX / 4))),
    };
    let step = bound(&bounds[2])?.unwrap_or(1);
    if step == 0 {
        return Err(Failure::failed("slice step cannot be zero"));
    }
    let length = length as i64;
    let (low, high) = if step < 0 { (-1, length - 1) } else { (0, length) };
    let clip = |at: i64| if at < 0 { (at + length).max(low) } else { at.min(high) };
    let (first, last) = if step < 0 { (high, low) } else { (low, high) };
    let start = bound(&bounds[0])?.map_or(first, clip);
    let stop = bound(&bounds[1])?.map_or(last, clip);
    Ok((start, stop, step))
}

/// The bytes of characters.
pub fn bytes_of(text: &str, start: usize, stop: usize) -> std::ops::Range<usize> {
    if text.is_ascii() {
        return start.min(text.len())..stop.min(text.len());
    }
    let byte = |at: usize| text.char_indices().nth(at).map_or(text.len(), |(at, _)| at);
    let begin = byte(start);
    let rest = &text[begin..];
    let length = rest.char_indices().nth(stop.saturating_sub(start)).map_or(rest.len(), |(at, _)| at);
    begin..begin + length
}

/// That a value has no such attribute.
pub fn missing<'t>(owner: &Value<'t>, name: &Text<'t>) -> Value<'t> {
    Value::Undefined(Undefined::Attribute(owner.type_name(), name.clone(), owner.place()))
}

fn untracked<'t>(owner: &Value<'t>, name: &str) -> Result<Option<Value<'t>>> {
    let refused: &[&str] = match owner {
        Value::Str(_) => &REFUSED_OF_STRINGS,
        Value::Int(..) | Value::Float(..) | Value::Bool(_) => &REFUSED_OF_NUMBERS,
        _ => &[],
    };
    if refused.contains(&name) {
        return Err(Failure::untrackable(format!("uses the method '{name}', which is not tracked")));
    }
    Ok(None)
}
