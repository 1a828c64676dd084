//! Filters of lists and objects.

use std::cmp::Ordering;
use std::rc::Rc;

use super::cases::mapped;
use super::held::{Given, Source};
use super::state::Run;
use crate::template::syntax::ast::Operator;
use crate::template::syntax::failure::{Failure, Kind, Result};
use crate::template::values::budget::ITEM;
use crate::template::values::compare::{order, truth};
use crate::template::values::text::Builder;
use crate::template::values::value::{Dict, Value};

impl<'t> Run<'t> {
    /// Apply a filter of sequences.
    pub fn sequence_filter(&mut self, name: &str, value: &Value<'t>, given: Given<'t>) -> Result<Value<'t>> {
        match name {
            "list" => {
                given.nothing(name)?;
                let items = self.collect(value)?;
                Value::list(items, &self.budget)
            }
            "first" => {
                given.nothing(name)?;
                Ok(self.first(value)?.unwrap_or(Value::undefined("No first item, sequence was empty.")))
            }
            "last" => {
                given.nothing(name)?;
                Ok(self.last(value)?.unwrap_or(Value::undefined("No last item, sequence was empty.")))
            }
            "map" => self.later("map", value, given),
            "select" => self.later("select", value, given),
            "reject" => self.later("reject", value, given),
            "selectattr" => self.later("selectattr", value, given),
            "rejectattr" => self.later("rejectattr", value, given),
            "unique" => self.later("unique", value, given),
            "items" => self.later("items", value, given),
            "reverse" => self.reversed(value, given),
            "dictsort" => self.dictsort(value, given),
            "sort" => {
                let [reverse, sensitive, attribute] =
                    given.bind(name, ["reverse", "case_sensitive", "attribute"], 0)?;
                let items = self.collect(value)?;
                let sensitive = sensitive.is_some_and(|flag| truth(&flag));
                let paths = self.paths(attribute.as_ref())?;
                let mut keys = self.budget.room(items.len(), ITEM)?;
                for item in &items {
                    let mut key = self.budget.room(paths.len(), ITEM)?;
                    for path in &paths {
                        let part = self.follow(item.clone(), path)?;
                        key.push(self.sort_key(part, sensitive)?);
                    }
                    keys.push(Value::list(key, &self.budget)?);
                }
                let items = self.sorted(items, keys, reverse.is_some_and(|reverse| truth(&reverse)))?;
                Value::list(items, &self.budget)
            }
            "min" | "max" => {
                let [sensitive, attribute] = given.bind(name, ["case_sensitive", "attribute"], 0)?;
                let path = self.path(attribute.as_ref())?;
                self.extreme(name, value, &path, sensitive.is_some_and(|flag| truth(&flag)))
            }
            "sum" => self.sum(value, given),
            _ => Err(Failure::failed(format!("No filter named '{name}' found."))),
        }
    }

    fn first(&mut self, value: &Value<'t>) -> Result<Option<Value<'t>>> {
        if let Value::Iter(number) = value {
            return self.next(&mut Source::Other(*number));
        }
        let mut source = self.iterate(value)?;
        self.next(&mut source)
    }

    fn last(&mut self, value: &Value<'t>) -> Result<Option<Value<'t>>> {
        match value {
            Value::List(items) | Value::Tuple(items) => Ok(items.values.last().cloned()),
            Value::Str(text) => {
                let last = text.as_str().chars().next_back().map(char::len_utf8);
                Ok(last.map(|length| Value::Str(text.slice(text.len() - length..text.len()))))
            }
            Value::Dict(_) | Value::View(..) | Value::Range(_) => Ok(self.collect(value)?.pop()),
            Value::Undefined(_) => Ok(None),
            other => Err(Failure::failed(format!("'{}' object is not reversible", other.type_name()))),
        }
    }

    fn reversed(&mut self, value: &Value<'t>, given: Given<'t>) -> Result<Value<'t>> {
        given.nothing("reverse")?;
        match value {
            Value::Str(text) => {
                self.budget.charge_product(text.len(), 4)?;
                let mut made = Builder::default();
                made.reserve(text.len())?;
                for (at, character) in text.as_str().char_indices().rev() {
                    made.push_text(&text.slice(at..at + character.len_utf8()));
                }
                Ok(Value::Str(made.finish()))
            }
            Value::List(items) | Value::Tuple(items) => {
                let length = items.values.len();
                self.generator(Source::Reversed(Rc::clone(items), length))
            }
            Value::Dict(_) | Value::View(..) | Value::Range(_) => {
                let mut items = self.collect(value)?;
                items.reverse();
                self.generator(Source::Values(items.into_iter()))
            }
            Value::Undefined(_) => self.generator(Source::Empty),
            _ => {
                let mut items = match self.collect(value) {
                    Err(failure) if failure.kind == Kind::Failed => {
                        return Err(Failure::failed("argument must be iterable"));
                    }
                    items => items?,
                };
                items.reverse();
                Value::list(items, &self.budget)
            }
        }
    }

    /// Return the key by which a value is sorted: strings without their case.
    pub fn sort_key(&mut self, value: Value<'t>, sensitive: bool) -> Result<Value<'t>> {
        match &value {
            Value::Str(text) if !sensitive => {
                self.budget.charge(3 * text.len())?;
                Ok(Value::Str(mapped(text, "lower")))
            }
            _ => Ok(value),
        }
    }

    /// Items in the order of their keys; equal ones stay as they are.
    fn sorted(&mut self, items: Vec<Value<'t>>, keys: Vec<Value<'t>>, reverse: bool) -> Result<Vec<Value<'t>>> {
        let mut places: Vec<usize> = self.budget.room(items.len(), ITEM)?;
        places.extend(0..items.len());
        let mut failure = None;
        let budget = &self.budget;
        let mut compare = |a: usize, b: usize| {
            if failure.is_some() {
                return Ordering::Equal;
            }
            let defined = Self::defined(&keys[a]).and_then(|()| Self::defined(&keys[b]));
            match defined.and_then(|()| order(&keys[a], &keys[b], "<", budget)) {
                Ok(order) => order.unwrap_or(Ordering::Equal),
                Err(error) => {
                    failure = Some(error);
                    Ordering::Equal
                }
            }
        };
        if reverse {
            places.sort_by(|a, b| compare(*b, *a));
        } else {
            places.sort_by(|a, b| compare(*a, *b));
        }
        match failure {
            Some(failure) => Err(failure),
            None => Ok(places.into_iter().map(|at| items[at].clone()).collect()),
        }
    }

    fn dictsort(&mut self, value: &Value<'t>, given: Given<'t>) -> Result<Value<'t>> {
        let [sensitive, by, reverse] = given.bind("dictsort", ["case_sensitive", "by", "reverse"], 0)?;
        let at = match by.as_ref().map_or(Some("key"), Value::as_str) {
            Some("key") => 0,
            Some("value") => 1,
            _ => return Err(Failure::failed("You can only sort by either \"key\" or \"value\"")),
        };
        let Value::Dict(dict) = value else {
            Self::defined(value)?;
            return Err(Failure::failed(format!("'{}' object has no attribute 'items'", value.type_name())));
        };
        let sensitive = sensitive.is_some_and(|flag| truth(&flag));
        let mut items = self.budget.room(dict.len(), ITEM)?;
        let mut keys = self.budget.room(dict.len(), ITEM)?;
        for (key, value) in dict.entries() {
            items.push(Value::tuple(vec![key.clone(), value.clone()], &self.budget)?);
            keys.push(self.sort_key(if at == 0 { key.clone() } else { value.clone() }, sensitive)?);
        }
        let items = self.sorted(items, keys, reverse.is_some_and(|reverse| truth(&reverse)))?;
        Value::list(items, &self.budget)
    }

    fn extreme(&mut self, name: &str, value: &Value<'t>, path: &[Value<'t>], sensitive: bool) -> Result<Value<'t>> {
        let mut best: Option<(Value<'t>, Value<'t>)> = None;
        let sign = if name == "min" { "<" } else { ">" };
        let mut source = self.iterate(value)?;
        while let Some(item) = self.next(&mut source)? {
            let key = self.follow(item.clone(), path)?;
            let key = self.sort_key(key, sensitive)?;
            let better = match &best {
                None => true,
                Some((known, _)) => {
                    Self::defined(known)?;
                    Self::defined(&key)?;
                    let wanted = if name == "min" { Ordering::Less } else { Ordering::Greater };
                    order(&key, known, sign, &self.budget)? == Some(wanted)
                }
            };
            if better {
                best = Some((key, item));
            }
        }
        Ok(best.map_or_else(|| Value::undefined("No aggregated item, sequence was empty."), |(_, item)| item))
    }

    fn sum(&mut self, value: &Value<'t>, given: Given<'t>) -> Result<Value<'t>> {
        let [attribute, start] = given.bind("sum", ["attribute", "start"], 0)?;
        let path = self.path(attribute.as_ref())?;
        let mut total = start.unwrap_or(Value::int(0));
        if !matches!(total, Value::Int(..) | Value::Float(..) | Value::Bool(_)) {
            return Err(Failure::untrackable("sums what are not numbers, which is not tracked"));
        }
        let mut source = self.iterate(value)?;
        while let Some(item) = self.next(&mut source)? {
            let item = self.follow(item, &path)?;
            if !matches!(item, Value::Int(..) | Value::Float(..) | Value::Bool(_)) {
                Self::defined(&item)?;
                let (left, right) = (total.type_name(), item.type_name());
                return Err(Failure::failed(format!("unsupported operand type(s) for +: '{left}' and '{right}'")));
            }
            total = self.binary(Operator::Add, total, item)?;
        }
        Ok(total)
    }
}

/// The entries of a dictionary in the order of their keys.
pub fn sorted_entries<'t>(run: &mut Run<'t>, dict: &Dict<'t>) -> Result<Vec<(Value<'t>, Value<'t>)>> {
    let (mut keys, mut places) = (run.budget.room(dict.len(), ITEM)?, run.budget.room(dict.len(), ITEM)?);
    keys.extend(dict.entries().iter().map(|(key, _)| key.clone()));
    places.extend((0..dict.len()).map(|at| Value::int(at as i64)));
    let places = run.sorted(places, keys, false)?;
    Ok(places.iter().filter_map(Value::as_int).map(|at| dict.entries()[at as usize].clone()).collect())
}
