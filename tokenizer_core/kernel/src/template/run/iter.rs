//! Iterating: over what values hold, and over what filters make one by one, as Python's generators do.

use std::rc::Rc;

use super::held::{Action, FilterStep, Object, Source};
use super::state::Run;
use crate::template::syntax::failure::{Failure, Result};
use crate::template::values::budget::ITEM;
use crate::template::values::compare::truth;
use crate::template::values::value::{Value, View};

impl<'t> Run<'t> {
    /// Iterate over a value.
    pub fn iterate(&mut self, value: &Value<'t>) -> Result<Source<'t>> {
        Ok(match value {
            Value::List(items) | Value::Tuple(items) => Source::Items(Rc::clone(items), 0),
            Value::Dict(dict) => Source::View(View::Keys, Rc::clone(dict), 0),
            Value::View(view, dict) => Source::View(*view, Rc::clone(dict), 0),
            Value::Str(text) => {
                self.budget.charge(text.len() >> 4)?;
                Source::Characters(text.clone(), 0)
            }
            Value::Range(range) => Source::Counted(**range, 0),
            Value::Undefined(_) => Source::Empty,
            Value::Iter(number) => Source::Other(*number),
            Value::Loop(_) => return Err(Failure::untrackable("iterates over 'loop'")),
            other => {
                let failure = Failure::failed(format!("'{}' object is not iterable", other.type_name()));
                return Err(failure.about(other));
            }
        })
    }

    /// The next item.
    pub fn next(&mut self, source: &mut Source<'t>) -> Result<Option<Value<'t>>> {
        self.budget.charge(1)?;
        Ok(match source {
            Source::Empty => None,
            Source::Busy => return Err(Failure::failed("generator already executing")),
            Source::Later(later) => {
                let (name, value, given) = &**later;
                *source = self.begin(name, value, given.clone()).map_err(|failure| failure.about(value))?;
                return self.next(source);
            }
            Source::Items(items, at) => {
                *at += 1;
                items.values.get(*at - 1).cloned()
            }
            Source::Reversed(items, left) => left.checked_sub(1).and_then(|next| {
                *left = next;
                items.values.get(next).cloned()
            }),
            Source::Characters(text, at) => {
                let length = text.as_str()[*at..].chars().next().map(char::len_utf8);
                length.map(|length| {
                    *at += length;
                    Value::Str(text.slice(*at - length..*at))
                })
            }
            Source::View(view, dict, at) => {
                *at += 1;
                match (dict.entries().get(*at - 1), view) {
                    (None, _) => None,
                    (Some((key, _)), View::Keys) => Some(key.clone()),
                    (Some((_, value)), View::Values) => Some(value.clone()),
                    (Some((key, value)), View::Items) => {
                        Some(Value::tuple(vec![key.clone(), value.clone()], &self.budget)?)
                    }
                }
            }
            Source::Counted(range, gone) => (*gone < range.len()).then(|| {
                *gone += 1;
                Value::Int(range.at(*gone - 1), range.origin)
            }),
            Source::Values(values) => values.next(),
            Source::Other(number) => {
                let number = *number as usize;
                let Some(Object::Iter(inner)) = self.objects.get_mut(number) else { return Ok(None) };
                let mut inner = std::mem::replace(inner, Source::Busy);
                self.deeper()?;
                let item = self.next(&mut inner)?;
                self.higher();
                self.objects[number] = Object::Iter(if item.is_none() { Source::Empty } else { inner });
                item
            }
            Source::Tested(inner, each, base) => loop {
                let Some(item) = self.next(inner)? else { break None };
                if let Some(item) = self.passing(each, item, *base)? {
                    break Some(item);
                }
            },
            Source::Filtered(inner, step) => loop {
                let Some(item) = self.next(inner)? else { break None };
                if let Some(item) = self.step(step, item)? {
                    break Some(item);
                }
            },
        })
    }

    fn step(&mut self, step: &FilterStep<'t>, item: Value<'t>) -> Result<Option<Value<'t>>> {
        self.budget.charge(4)?;
        let looked = self.follow(item.clone(), &step.path)?;
        Ok(match &step.action {
            Action::Attribute(default) => Some(match looked {
                Value::Undefined(_) if !matches!(default, Value::None) => default.clone(),
                looked => looked,
            }),
            Action::Filter(name, given) => Some(self.filter(name.as_str(), looked, given.clone())?),
            Action::Keep(wanted, test) => {
                let holds = match test {
                    Some((name, given)) => self.test(name.as_str(), looked, given.clone())?,
                    None => truth(&looked),
                };
                (holds == *wanted).then_some(item)
            }
        })
    }

    /// An attribute of an attribute of a value.
    pub fn follow(&mut self, mut value: Value<'t>, path: &[Value<'t>]) -> Result<Value<'t>> {
        for part in path {
            self.budget.charge(4)?;
            value = self.item(&value, part)?;
        }
        Ok(value)
    }

    /// All items of a value.
    pub fn collect(&mut self, value: &Value<'t>) -> Result<Vec<Value<'t>>> {
        if let Value::List(items) | Value::Tuple(items) = value {
            let mut copied = self.budget.room(items.values.len(), ITEM)?;
            copied.extend_from_slice(&items.values);
            return Ok(copied);
        }
        let mut source = self.iterate(value)?;
        // Room for all at once: a list that grows to a million takes three times its place on the way.
        let (count, steps) = source.length().map_or((0, ITEM), |length| (length, 0));
        let mut items = self.budget.room(count, ITEM)?;
        while let Some(item) = self.next(&mut source)? {
            self.budget.push(&mut items, item, steps)?;
        }
        Ok(items)
    }

    /// An iterator as a value.
    pub fn generator(&mut self, source: Source<'t>) -> Result<Value<'t>> {
        Ok(Value::Iter(self.object(Object::Iter(source))?))
    }
}
