//! Filters of lists and objects.

use std::cmp::Ordering;
use std::rc::Rc;

use super::ast::Operator;
use super::calls::{Given, int_of};
use super::cases::mapped;
use super::compare::{equal, order, truth};
use super::dict::{Dict, hash};
use super::failure::{Failure, Kind, Result};
use super::iter::{Action, Source, Step};
use super::run::Run;
use super::text::Builder;
use super::value::{Items, Value, View};

impl<'t> Run<'t> {
    /// Apply a filter of sequences.
    pub fn sequence_filter(&mut self, name: &str, value: &Value<'t>, given: Given<'t>) -> Result<Value<'t>> {
        match name {
            "list" => {
                given.nothing(name)?;
                let items = self.collect(value)?;
                Value::list(items, &self.budget)
            }
            "first" | "last" => {
                given.nothing(name)?;
                let found = if name == "first" { self.first(value)? } else { self.last(value)? };
                Ok(found.unwrap_or_else(|| Value::undefined(format!("No {name} item, sequence was empty."))))
            }
            "map" => self.later("map", value, given),
            "select" => self.later("select", value, given),
            "reject" => self.later("reject", value, given),
            "selectattr" => self.later("selectattr", value, given),
            "rejectattr" => self.later("rejectattr", value, given),
            "unique" => self.later("unique", value, given),
            "batch" => self.later("batch", value, given),
            "slice" => self.later("slice", value, given),
            "items" => self.later("items", value, given),
            "reverse" => self.reversed(value, given),
            "dictsort" => self.dictsort(value, given),
            "sort" => {
                let [reverse, sensitive, attribute] =
                    given.bind(name, ["reverse", "case_sensitive", "attribute"], 0)?;
                let items = self.collect(value)?;
                let sensitive = sensitive.is_some_and(|flag| truth(&flag));
                let paths = self.paths(attribute.as_ref())?;
                let mut keys = Vec::with_capacity(items.len());
                for item in &items {
                    let mut key = Vec::with_capacity(paths.len());
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
            "groupby" => self.groupby(value, given),
            _ => Err(Failure::failed(format!("No filter named '{name}' found."))),
        }
    }

    /// A generator, which does nothing before it is asked for its first item; but its arguments have to be right.
    fn later(&mut self, name: &'static str, value: &Value<'t>, given: Given<'t>) -> Result<Value<'t>> {
        self.generator(Source::Later(Box::new((name, value.clone(), given))))
    }

    /// What such a generator goes over.
    pub fn begin(&mut self, name: &str, value: &Value<'t>, given: Given<'t>) -> Result<Source<'t>> {
        match name {
            "items" => {
                given.nothing(name)?;
                match value {
                    Value::Dict(dict) => Ok(Source::View(View::Items, Rc::clone(dict), 0)),
                    Value::Undefined(_) => Ok(Source::Empty),
                    _ => Err(Failure::failed("Can only get item pairs from a mapping.")),
                }
            }
            "unique" => {
                let [sensitive, attribute] = given.bind(name, ["case_sensitive", "attribute"], 0)?;
                let path = self.path(attribute.as_ref())?;
                self.unique(value, &path, sensitive.is_some_and(|flag| truth(&flag)))
            }
            "batch" => {
                let [size, fill] = given.bind(name, ["linecount", "fill_with"], 1)?;
                let size = usize::try_from(int_of(&size.unwrap_or(Value::None))?).unwrap_or(0);
                if size == 0 {
                    return Err(Failure::untrackable("makes batches of no items"));
                }
                let source = self.iterate(value)?;
                let fill = fill.filter(|fill| !matches!(fill, Value::None));
                Ok(Source::Batched(Box::new(source), size, fill))
            }
            "slice" => self.slices(value, given),
            _ => self.stepwise(name, value, given),
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

    /// The parts of an attribute's path.
    pub fn path(&mut self, attribute: Option<&Value<'t>>) -> Result<Vec<Value<'t>>> {
        Ok(match attribute {
            None | Some(Value::None) => Vec::new(),
            Some(Value::Str(text)) => {
                let parts = text.as_str().split('.').map(|part| {
                    let is_number = !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
                    if is_number { super::number::integer(part, 0) } else { Value::Str(text.part(part)) }
                });
                parts.collect()
            }
            Some(other) => vec![other.clone()],
        })
    }

    /// The paths of several attributes, with commas between.
    fn paths(&mut self, attribute: Option<&Value<'t>>) -> Result<Vec<Vec<Value<'t>>>> {
        let Some(Value::Str(text)) = attribute else { return Ok(vec![self.path(attribute)?]) };
        let parts: Vec<_> = text.as_str().split(',').map(|part| Value::Str(text.part(part))).collect();
        parts.iter().map(|part| self.path(Some(part))).collect()
    }

    /// What `map`, `select` and their like go over, one item after the other.
    fn stepwise(&mut self, name: &str, value: &Value<'t>, given: Given<'t>) -> Result<Source<'t>> {
        if !truth(value) {
            return Ok(Source::Empty);
        }
        let mut positional = given.positional.into_iter();
        let mut named = given.named;
        let text_of_name = |value: Value<'t>| match value {
            Value::Str(text) => Ok(text),
            other => Err(Failure::failed(format!("No filter named {} found.", other.type_name()))),
        };
        let step = if name == "map" {
            match positional.next() {
                None => {
                    let mut take = |wanted: &str| {
                        let at = named.iter().position(|(name, _)| name.as_str() == wanted);
                        at.map(|at| named.remove(at).1)
                    };
                    let Some(attribute) = take("attribute") else {
                        return Err(Failure::failed("map requires a filter argument"));
                    };
                    let default = take("default").unwrap_or(Value::None);
                    if let Some((extra, _)) = named.first() {
                        return Err(Failure::failed(format!("Unexpected keyword argument '{}'", extra.as_str())));
                    }
                    Step { path: self.path(Some(&attribute))?, action: Action::Attribute(default) }
                }
                Some(filter) => {
                    let filter = text_of_name(filter)?;
                    let given = Given { positional: positional.collect(), named };
                    Step { path: Vec::new(), action: Action::Filter(filter, given) }
                }
            }
        } else {
            let mut path = Vec::new();
            if name.ends_with("attr") {
                let Some(attribute) = positional.next() else {
                    return Err(Failure::failed("Missing parameter for attribute name"));
                };
                path = self.path(Some(&attribute))?;
            }
            let test = positional.next().map(text_of_name).transpose()?;
            let test = test.map(|test| (test, Given { positional: positional.collect(), named }));
            Step { path, action: Action::Keep(name.starts_with("select"), test) }
        };
        let source = self.iterate(value)?;
        Ok(Source::Filtered(Box::new(source), Rc::new(step)))
    }

    fn reversed(&mut self, value: &Value<'t>, given: Given<'t>) -> Result<Value<'t>> {
        given.nothing("reverse")?;
        match value {
            Value::Str(text) => {
                self.budget.charge_product(text.len(), 4)?;
                let mut made = Builder::with_capacity(text.len());
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
            Value::Markup(_) => Err(Failure::untrackable("takes text apart that is safe for HTML")),
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

    /// What a value is sorted by: strings without their case.
    fn sort_key(&mut self, value: Value<'t>, sensitive: bool) -> Result<Value<'t>> {
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
        let mut places: Vec<usize> = (0..items.len()).collect();
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
        let (mut items, mut keys) = (Vec::with_capacity(dict.len()), Vec::with_capacity(dict.len()));
        for (key, value) in dict.entries() {
            items.push(Value::tuple(vec![key.clone(), value.clone()], &self.budget)?);
            keys.push(self.sort_key(if at == 0 { key.clone() } else { value.clone() }, sensitive)?);
        }
        let items = self.sorted(items, keys, reverse.is_some_and(|reverse| truth(&reverse)))?;
        Value::list(items, &self.budget)
    }

    fn unique(&mut self, value: &Value<'t>, path: &[Value<'t>], sensitive: bool) -> Result<Source<'t>> {
        let mut seen: std::collections::HashMap<u64, Vec<Value<'t>>> = std::collections::HashMap::new();
        let mut kept = Vec::new();
        for item in self.collect(value)? {
            self.budget.charge(32)?;
            let key = self.follow(item.clone(), path)?;
            let key = self.sort_key(key, sensitive)?;
            let alike = seen.entry(hash(&key, &self.budget)?).or_default();
            let mut known = false;
            for other in alike.iter() {
                known = known || equal(other, &key, &self.budget)?;
            }
            if !known {
                alike.push(key);
                kept.push(item);
            }
        }
        Ok(Source::Values(kept.into_iter()))
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

    fn groupby(&mut self, value: &Value<'t>, given: Given<'t>) -> Result<Value<'t>> {
        let [attribute, default, sensitive] = given.bind("groupby", ["attribute", "default", "case_sensitive"], 1)?;
        let path = self.path(attribute.as_ref())?;
        let sensitive = sensitive.is_some_and(|flag| truth(&flag));
        let items = self.collect(value)?;
        let mut found = Vec::with_capacity(items.len());
        let mut keys = Vec::with_capacity(items.len());
        for item in &items {
            let mut key = self.follow(item.clone(), &path)?;
            if let (Value::Undefined(_), Some(default)) = (&key, &default)
                && !matches!(default, Value::None)
            {
                key = default.clone();
            }
            keys.push(self.sort_key(key.clone(), sensitive)?);
            found.push(Value::tuple(vec![item.clone(), key], &self.budget)?);
        }
        let pairs = found.into_iter().zip(&keys);
        let pairs = pairs.map(|(pair, key)| Value::tuple(vec![pair, key.clone()], &self.budget));
        let pairs = pairs.collect::<Result<Vec<_>>>()?;
        let mut groups: Vec<(Value<'t>, Value<'t>, Vec<Value<'t>>)> = Vec::new();
        for pair in self.sorted(pairs, keys, false)? {
            let (Value::Tuple(pair), true) = (&pair, true) else { continue };
            let (Value::Tuple(inner), key) = (&pair.values[0], &pair.values[1]) else { continue };
            let (item, real) = (&inner.values[0], &inner.values[1]);
            match groups.last_mut() {
                Some((known, _, items)) if equal(known, key, &self.budget)? => items.push(item.clone()),
                _ => groups.push((key.clone(), if sensitive { key.clone() } else { real.clone() }, vec![item.clone()])),
            }
        }
        let mut made = Vec::with_capacity(groups.len());
        for (_, grouper, items) in groups {
            let values = vec![grouper, Value::list(items, &self.budget)?];
            let nesting = super::value::nested(values.iter())?;
            made.push(Value::Tuple(Rc::new(Items { values, nesting, grouped: true })));
        }
        Value::list(made, &self.budget)
    }

    fn slices(&mut self, value: &Value<'t>, given: Given<'t>) -> Result<Source<'t>> {
        let [count, fill] = given.bind("slice", ["slices", "fill_with"], 1)?;
        let count = int_of(&count.unwrap_or(Value::None))?;
        let items = self.collect(value)?;
        if count == 0 {
            return Err(Failure::failed("integer division or modulo by zero"));
        }
        let count = usize::try_from(count).unwrap_or(0);
        self.budget.charge_product(count, 32)?;
        let (each, extra) = (items.len() / count.max(1), items.len() % count.max(1));
        let mut rest = items.into_iter();
        let mut slices = Vec::new();
        for number in 0..count {
            let mut slice: Vec<_> = rest.by_ref().take(each + usize::from(number < extra)).collect();
            if number >= extra {
                slice.extend(fill.clone().filter(|fill| !matches!(fill, Value::None)));
            }
            slices.push(Value::list(slice, &self.budget)?);
        }
        Ok(Source::Values(slices.into_iter()))
    }
}

/// The entries of a dictionary in the order of their keys.
pub fn sorted_entries<'t>(run: &mut Run<'t>, dict: &Dict<'t>) -> Result<Vec<(Value<'t>, Value<'t>)>> {
    let keys: Vec<_> = dict.entries().iter().map(|(key, _)| key.clone()).collect();
    let places = (0..keys.len()).map(|at| Value::int(at as i64)).collect();
    let places = run.sorted(places, keys, false)?;
    Ok(places.iter().filter_map(Value::as_int).map(|at| dict.entries()[at as usize].clone()).collect())
}
