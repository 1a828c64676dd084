//! All that one rendering holds: variables, the output, arguments, and what changes.

use std::ops::Range;
use std::rc::Rc;

use super::clock::Clock;
use super::held::{Object, Taken};
use crate::template::syntax::ast::{Load, Name, Scope, Slot};
use crate::template::syntax::failure::{Failure, Result};
use crate::template::values::budget::{Budget, MAX_DEPTH, OBJECT, no_memory};
use crate::template::values::text::Builder;
use crate::template::values::value::{Dict, Function, Undefined, Value};

/// The way a block ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Flow {
    /// At its end.
    Normal,
    /// The loop around ends.
    Break,
    /// The loop around goes on with the next item.
    Continue,
}

/// The text that one run through a loop over messages wrote, in bytes of the whole text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Turn {
    /// The number of the message.
    pub message: u32,
    /// Its position.
    pub bytes: Range<usize>,
}

/// One rendering.
pub struct Run<'t> {
    /// The budget that is left.
    pub budget: Budget,
    /// The variables of all functions that run, and of those that a macro still reaches.
    pub slots: Vec<Value<'t>>,
    /// The start of the variables of the present function.
    pub base: usize,
    /// Up to where variables stay, since a macro stands among them.
    pub pinned: usize,
    depth: u32,
    /// The line that runs.
    pub line: u32,
    /// The text that is written.
    pub out: Builder,
    /// The turns that runs through loops wrote about a message; one within another comes first.
    pub turns: Vec<Turn>,
    /// The number of texts that are made before they are written.
    pub inner: u32,
    /// The objects that change, by number.
    pub objects: Vec<Object<'t>>,
    variables: Rc<Dict<'t>>,
    /// The literals that were cut out of a caller's texts.
    pub taken: Taken,
    /// The time that `strftime_now` tells.
    pub clock: &'t Clock,
}

impl<'t> Run<'t> {
    /// A rendering with these variables.
    pub fn new(variables: Rc<Dict<'t>>, clock: &'t Clock, budget: Budget) -> Self {
        Self {
            budget,
            slots: Vec::with_capacity(64),
            base: 0,
            pinned: 0,
            depth: 0,
            line: 0,
            out: Builder::with_capacity(4096),
            turns: Vec::new(),
            inner: 0,
            objects: Vec::new(),
            variables,
            taken: Taken::new(),
            clock,
        }
    }

    /// Go one level deeper.
    #[inline]
    pub fn deeper(&mut self) -> Result<()> {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return Err(Failure::limit("calls itself deeper than a chat can need"));
        }
        Ok(())
    }

    /// Come back.
    #[inline]
    pub fn higher(&mut self) {
        self.depth -= 1;
    }

    /// Make room for the variables of a function, which reaches those at `parent`.
    pub fn reserve(&mut self, parent: u32, slots: u16) -> Result<()> {
        // A slot stays where a macro is made beside it, and so it costs what it takes.
        self.budget.charge(OBJECT + 10 * usize::from(slots))?;
        self.slots.try_reserve(usize::from(slots) + 1).map_err(|_| no_memory())?;
        self.slots.push(Value::Frame(parent));
        self.slots.resize(self.slots.len() + usize::from(slots.saturating_sub(1)), Value::Unset);
        Ok(())
    }

    fn index(&self, slot: Slot) -> usize {
        let mut base = self.base;
        for _ in 0..slot.hops {
            let Value::Frame(outer) = self.slots[base] else { break };
            base = outer as usize;
        }
        base + usize::from(slot.index)
    }

    /// A variable.
    #[inline]
    pub fn variable(&self, slot: Slot) -> &Value<'t> {
        &self.slots[self.index(slot)]
    }

    /// Set a variable.
    pub fn set(&mut self, slot: Slot, value: Value<'t>) {
        let at = self.index(slot);
        self.slots[at] = value;
    }

    /// Set a variable of the present function.
    pub fn set_own(&mut self, index: u16, value: Value<'t>) {
        let at = self.base + usize::from(index);
        self.slots[at] = value;
    }

    /// Begin the variables of a scope.
    pub fn enter(&mut self, scope: &'t Scope) -> Result<()> {
        self.budget.charge(scope.loads.len() + scope.unset.len())?;
        for (index, load) in &scope.loads {
            let value = match load {
                Load::Unset => Value::Unset,
                Load::Alias(slot) => self.variable(*slot).clone(),
                Load::Resolve(name) => self.resolve(name)?,
            };
            self.set_own(*index, value);
        }
        Ok(())
    }

    /// End the variables of a scope.
    pub fn leave(&mut self, scope: &'t Scope) {
        for index in &scope.unset {
            self.set_own(*index, Value::Unset);
        }
    }

    /// Return the value that the caller or Jinja gives by a name.
    fn resolve(&mut self, name: &'t str) -> Result<Value<'t>> {
        self.budget.charge(2 + (name.len() >> 4))?;
        if let Some(value) = self.variables.get_str(name) {
            return Ok(value.clone());
        }
        Ok(Value::Function(match name {
            "range" => Function::Range,
            "dict" => Function::Dict,
            "namespace" => Function::Namespace,
            "cycler" => Function::Cycler,
            "joiner" => Function::Joiner,
            "raise_exception" => Function::RaiseException,
            "strftime_now" => Function::StrftimeNow,
            _ => return Ok(Value::Unset),
        }))
    }

    /// A number for something that changes.
    pub fn object(&mut self, object: Object<'t>) -> Result<u32> {
        self.budget.push(&mut self.objects, object, 2 * OBJECT)?;
        Ok(self.objects.len() as u32 - 1)
    }

    /// The value of a variable, or that it is undefined.
    #[inline]
    pub fn named(&self, name: &'t Name) -> Value<'t> {
        match self.variable(name.slot) {
            Value::Unset => Value::Undefined(Undefined::Name(&name.name)),
            value => value.clone(),
        }
    }
}
