//! The objects that change while a template is rendered: namespaces, loops, iterators. They are known by numbers.

use super::held::{Loop, Object, Source};
use super::state::Run;
use crate::template::syntax::failure::{AtHand, Failure, Result};
use crate::template::values::budget::{ITEM, OBJECT};
use crate::template::values::text::Text;
use crate::template::values::value::{Undefined, Value};

impl<'t> Run<'t> {
    fn the_loop(&mut self, number: u32) -> Result<&mut Loop<'t>> {
        match self.objects.get_mut(number as usize) {
            Some(Object::Loop(state)) => Ok(state),
            _ => Err(Failure::failed("a loop is used while it goes on")),
        }
    }

    fn pull(&mut self, number: u32) -> Result<Option<Value<'t>>> {
        let mut source = std::mem::replace(&mut self.the_loop(number)?.source, Source::Busy);
        let item = self.next(&mut source)?;
        self.the_loop(number)?.source = source;
        Ok(item)
    }

    /// Begin the next item of a loop.
    pub fn advance_loop(&mut self, number: u32) -> Result<Option<Value<'t>>> {
        let item = match self.the_loop(number)?.after.take() {
            Some(item) => item,
            None => self.pull(number)?,
        };
        let state = self.the_loop(number)?;
        if let Some(item) = &item {
            state.begun += 1;
            state.before = state.current.replace(item.clone());
        } else {
            state.after = Some(None);
        }
        Ok(item)
    }

    fn peek(&mut self, number: u32) -> Result<Option<Value<'t>>> {
        if self.the_loop(number)?.after.is_none() {
            let item = self.pull(number)?;
            self.the_loop(number)?.after = Some(item);
        }
        Ok(self.the_loop(number)?.after.clone().flatten())
    }

    fn loop_length(&mut self, number: u32) -> Result<usize> {
        if let Some(length) = self.the_loop(number)?.length {
            return Ok(length);
        }
        let mut rest = Vec::new();
        while let Some(item) = self.pull(number)? {
            self.budget.push(&mut rest, item, ITEM)?;
        }
        let left = rest.len();
        let rest = Source::Values(rest.into_iter());
        let state = self.the_loop(number)?;
        state.source = rest;
        let ahead = usize::from(matches!(state.after, Some(Some(_))));
        let length = left + state.begun + ahead;
        state.length = Some(length);
        Ok(length)
    }

    /// An attribute of `loop`; `None` if there is no such.
    pub fn loop_attribute(&mut self, number: u32, name: &str) -> Result<Option<Value<'t>>> {
        let begun = self.the_loop(number)?.begun as i64;
        let depth = self.the_loop(number)?.recursion.map_or(0, |(_, _, depth)| depth as i64);
        Ok(Some(match name {
            "index" => Value::int(begun),
            "index0" => Value::int(begun - 1),
            "first" => Value::Bool(begun == 1),
            "last" => Value::Bool(self.peek(number)?.is_none()),
            "length" => Value::int(self.loop_length(number)? as i64),
            "revindex" => Value::int(self.loop_length(number)? as i64 - begun + 1),
            "revindex0" => Value::int(self.loop_length(number)? as i64 - begun),
            "depth" => Value::int(depth + 1),
            "depth0" => Value::int(depth),
            "previtem" => match self.the_loop(number)? {
                state if state.begun == 1 => Value::undefined("there is no previous item"),
                state => state.before.clone().unwrap_or(Value::None),
            },
            "nextitem" => self.peek(number)?.unwrap_or_else(|| Value::undefined("there is no next item")),
            _ => return Ok(None),
        }))
    }

    /// `loop.cycle`.
    pub fn cycle(&mut self, number: u32, values: &[Value<'t>]) -> Result<Value<'t>> {
        let begun = self.the_loop(number)?.begun;
        if values.is_empty() {
            return Err(Failure::failed("no items for cycling given"));
        }
        Ok(values[begun.saturating_sub(1) % values.len()].clone())
    }

    /// `loop.changed`.
    pub fn changed(&mut self, number: u32, values: Vec<Value<'t>>) -> Result<Value<'t>> {
        let last = self.the_loop(number)?.changed.take();
        let mut same = last.as_ref().is_some_and(|last| last.len() == values.len());
        for (a, b) in last.iter().flatten().zip(&values) {
            same = same && crate::template::values::compare::equal(a, b, &self.budget)?;
        }
        self.the_loop(number)?.changed = Some(if same { last.unwrap_or_default() } else { values });
        Ok(Value::Bool(!same))
    }

    /// `loop(items)`.
    pub fn call_loop(&mut self, number: u32, over: &Value<'t>) -> Result<Text<'t>> {
        let Some((each, parent, depth)) = self.the_loop(number)?.recursion else {
            let message = "The loop must have the 'recursive' marker to be called recursively.";
            return Err(Failure::failed(message));
        };
        self.recurse(each, over, parent, depth + 1)
    }

    /// An attribute of a namespace.
    pub fn field(&self, number: u32, name: &str) -> Result<Option<Value<'t>>> {
        let Some(Object::Namespace(fields)) = self.objects.get(number as usize) else { return Ok(None) };
        // They are looked through: a namespace has a few.
        self.budget.charge(fields.len() >> 2)?;
        Ok(fields.iter().find(|(known, _)| known.as_str() == name).map(|(_, value)| value.clone()))
    }

    /// Set an attribute of a namespace.
    pub fn set_field(&mut self, number: u32, name: Text<'t>, value: Value<'t>) -> Result<()> {
        if let Some(Object::Namespace(fields)) = self.objects.get_mut(number as usize) {
            self.budget.charge(4 + (fields.len() >> 2))?;
            match fields.iter_mut().find(|(known, _)| known.as_str() == name.as_str()) {
                Some((_, old)) => *old = value,
                None => self.budget.push(fields, (name, value), OBJECT)?,
            }
        }
        Ok(())
    }

    /// The next item of a `cycler`, the present one, or none as it begins anew.
    pub fn call_cycler(&mut self, number: u32, name: &str) -> Option<Value<'t>> {
        let Some(Object::Cycler(items, at)) = self.objects.get_mut(number as usize) else { return None };
        let item = items.get(*at).cloned()?;
        match name {
            "next" => *at = (*at + 1) % items.len(),
            "current" => {}
            "reset" => {
                *at = 0;
                return Some(Value::None);
            }
            _ => return None,
        }
        Some(item)
    }

    /// Nothing the first time, and the separator then.
    pub fn call_joiner(&mut self, number: u32) -> Value<'t> {
        match self.objects.get_mut(number as usize) {
            Some(Object::Joiner(separator, used)) => {
                if std::mem::replace(used, true) {
                    separator.clone()
                } else {
                    Value::literal("")
                }
            }
            _ => Value::literal(""),
        }
    }

    /// The failure for using what is undefined.
    pub fn undefined_failure(undefined: &Undefined<'t>) -> Box<Failure> {
        Failure::failed(match undefined {
            Undefined::Name(name) => format!("'{name}' is undefined"),
            Undefined::Parameter(name) => format!("parameter '{name}' was not provided"),
            Undefined::Item(owner, key) => format!("{} has no element {}", told(owner), key.as_str()),
            Undefined::Unsafe(owner, name) => {
                format!("access to attribute '{}' of '{owner}' object is unsafe.", name.as_str())
            }
            Undefined::NoElse(line) => {
                format!("the inline if-expression on line {line} evaluated to false and no else section was defined.")
            }
            Undefined::Hint(message) => (*message).to_owned(),
            Undefined::Attribute(owner, name, place) => {
                let message = format!("'{}' has no attribute '{}'", told(owner), name.as_str());
                let mut failure = Failure::failed(message);
                failure.at_hand = place.map(|(origin, holds)| AtHand { origin, holds, kind: owner });
                failure.missing = place.filter(|_| *owner == "dict").map(|_| name.as_str().to_owned());
                return failure;
            }
        })
    }
}

/// As Jinja names a value of a type in its messages.
fn told(type_name: &str) -> String {
    match type_name {
        "NoneType" => "None".to_owned(),
        "Namespace" => "jinja2.utils.Namespace object".to_owned(),
        "LoopContext" => "jinja2.runtime.LoopContext object".to_owned(),
        other => format!("{other} object"),
    }
}
