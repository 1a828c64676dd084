//! Filters that make one item after the other, as Python's generators do: nothing before they are asked.

use std::collections::HashMap;
use std::rc::Rc;

use super::held::{Action, FilterStep, Given, Source};
use super::state::Run;
use crate::template::syntax::failure::{Failure, Result};
use crate::template::syntax::lexer::too_many_digits;
use crate::template::values::budget::{OBJECT, no_memory};
use crate::template::values::compare::{equal, truth};
use crate::template::values::dict::hash;
use crate::template::values::number::integer;
use crate::template::values::value::{Value, View};

impl<'t> Run<'t> {
    /// A generator, which does nothing before it is asked for its first item; but its arguments have to be right.
    pub fn later(&mut self, name: &'static str, value: &Value<'t>, given: Given<'t>) -> Result<Value<'t>> {
        self.generator(Source::Later(Box::new((name, value.clone(), given))))
    }

    /// Return the source that such a generator goes over.
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
            _ => self.stepwise(name, value, given),
        }
    }

    /// The parts of an attribute's path.
    pub fn path(&mut self, attribute: Option<&Value<'t>>) -> Result<Vec<Value<'t>>> {
        Ok(match attribute {
            None | Some(Value::None) => Vec::new(),
            Some(Value::Str(text)) => {
                let mut parts = Vec::new();
                for part in text.as_str().split('.') {
                    let is_number = !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
                    let part = if is_number {
                        integer(part, 0).ok_or_else(|| too_many_digits(part.len()))?
                    } else {
                        Value::Str(text.part(part))
                    };
                    self.budget.push(&mut parts, part, OBJECT)?;
                }
                parts
            }
            Some(other) => vec![other.clone()],
        })
    }

    /// The paths of several attributes, with commas between.
    pub fn paths(&mut self, attribute: Option<&Value<'t>>) -> Result<Vec<Vec<Value<'t>>>> {
        let Some(Value::Str(text)) = attribute else { return Ok(vec![self.path(attribute)?]) };
        let mut paths = Vec::new();
        for part in text.as_str().split(',') {
            let path = self.path(Some(&Value::Str(text.part(part))))?;
            self.budget.push(&mut paths, path, OBJECT)?;
        }
        Ok(paths)
    }

    /// Return the source that `map`, `select` and their like go over, one item after the other.
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
                    FilterStep { path: self.path(Some(&attribute))?, action: Action::Attribute(default) }
                }
                Some(filter) => {
                    let filter = text_of_name(filter)?;
                    let given = Given { positional: positional.collect(), named };
                    FilterStep { path: Vec::new(), action: Action::Filter(filter, given) }
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
            FilterStep { path, action: Action::Keep(name.starts_with("select"), test) }
        };
        let source = self.iterate(value)?;
        Ok(Source::Filtered(Box::new(source), Rc::new(step)))
    }

    fn unique(&mut self, value: &Value<'t>, path: &[Value<'t>], sensitive: bool) -> Result<Source<'t>> {
        let mut seen: HashMap<u64, Vec<Value<'t>>> = HashMap::new();
        let mut kept = Vec::new();
        for item in self.collect(value)? {
            self.budget.charge(2 * OBJECT)?;
            let key = self.follow(item.clone(), path)?;
            let key = self.sort_key(key, sensitive)?;
            seen.try_reserve(1).map_err(|_| no_memory())?;
            let alike = seen.entry(hash(&key, &self.budget)?).or_default();
            let mut known = false;
            for other in alike.iter() {
                known = known || equal(other, &key, &self.budget)?;
            }
            if !known {
                alike.push(key);
                self.budget.push(&mut kept, item, 0)?;
            }
        }
        Ok(Source::Values(kept.into_iter()))
    }
}
