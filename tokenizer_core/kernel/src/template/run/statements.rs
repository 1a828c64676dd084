//! Statements are run: the variables, the output, and how both are entered and left.

use std::ops::Range;
use std::rc::Rc;

use super::calls::Given;
use super::clock::Clock;
use super::objects::Object;
use crate::template::syntax::ast::{Expr, Load, Macro, Operator, Scope, Slot, Stmt, StmtKind};
use crate::template::syntax::failure::{Failure, Result};
use crate::template::values::budget::{Budget, MAX_DEPTH, OBJECT, no_memory};
use crate::template::values::compare::truth;
use crate::template::values::dict::Dict;
use crate::template::values::repr::text_of;
use crate::template::values::text::{Builder, GENERATED, Text};
use crate::template::values::value::{Function, Undefined, Value};

/// How a block ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Flow {
    /// At its end.
    Normal,
    /// The loop around ends.
    Break,
    /// The loop around goes on with the next item.
    Continue,
}

/// What a run through a loop over messages wrote, in bytes of the text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Turn {
    /// The number of the message.
    pub message: u32,
    /// Where it stands.
    pub bytes: Range<usize>,
}

/// One rendering.
pub struct Run<'t> {
    /// What is left.
    pub budget: Budget,
    /// The variables of all functions that run, and of those that a macro still reaches.
    pub slots: Vec<Value<'t>>,
    /// Where those of the present function begin.
    pub base: usize,
    /// Up to where variables stay, since a macro stands among them.
    pub pinned: usize,
    depth: u32,
    /// The line that runs.
    pub line: u32,
    /// What is written.
    pub out: Builder,
    /// What runs through loops wrote about a message; one within another comes first.
    pub turns: Vec<Turn>,
    /// How many texts are made before they are written.
    pub inner: u32,
    /// What changes, by number.
    pub objects: Vec<Object<'t>>,
    variables: Rc<Dict<'t>>,
    /// What was cut out of a caller's texts.
    pub taken: super::taken::Taken,
    /// What `strftime_now` says.
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
            taken: super::taken::Taken::new(),
            clock,
        }
    }

    /// Run a whole template.
    pub fn root(&mut self, body: &'t [Stmt], scope: &'t Scope, slots: u16) -> Result<Builder> {
        self.reserve(0, slots)?;
        self.enter(scope)?;
        self.block(body)?;
        Ok(std::mem::take(&mut self.out))
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

    /// What the caller or Jinja gives by a name.
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

    /// Write a value.
    pub fn write(&mut self, value: &Value<'t>) -> Result<()> {
        match value {
            Value::Str(text) | Value::Markup(text) => self.write_text(text),
            Value::Undefined(_) => Ok(()),
            _ => {
                let text = text_of(value, &self.budget)?;
                self.write_text(&text)
            }
        }
    }

    /// Evaluate what is printed. A text is written, and a sum of texts without being put together before; any other
    /// value is returned.
    fn print(&mut self, value: &'t Expr) -> Result<Option<Value<'t>>> {
        let (written, value) = match value {
            Expr::Binary(Operator::Add, pair) => {
                self.budget.charge(1)?;
                self.deeper()?;
                let left = self.print(&pair.0)?;
                let right = self.eval(&pair.1)?;
                self.higher();
                match left {
                    Some(left) => return self.binary(Operator::Add, left, right).map(Some),
                    None => (true, right),
                }
            }
            value => (false, self.eval(value)?),
        };
        match value {
            Value::Str(text) => {
                self.write_text(&text)?;
                Ok(None)
            }
            // A text and a value that is none make no sum.
            value if written => self.binary(Operator::Add, Value::literal(""), value).map(Some),
            value => Ok(Some(value)),
        }
    }

    /// Write a text.
    pub fn write_text(&mut self, text: &Text<'t>) -> Result<()> {
        self.room(text.len())?;
        self.out.push_text(text);
        Ok(())
    }

    /// Charge for what is written next; places are numbers of 32 bits.
    fn room(&mut self, bytes: usize) -> Result<()> {
        self.budget.charge(bytes + 1)?;
        if self.out.len() + bytes > u32::MAX as usize {
            return Err(Failure::limit("makes more text than a chat can need"));
        }
        self.out.reserve(bytes)
    }

    /// Run a block whose output is a text; `None` if a loop around it is left.
    pub fn captured(&mut self, body: &'t [Stmt]) -> Result<(Text<'t>, Flow)> {
        let outer = std::mem::take(&mut self.out);
        self.inner += 1;
        let flow = self.block(body)?;
        self.inner -= 1;
        self.budget.charge(OBJECT)?;
        let text = std::mem::replace(&mut self.out, outer).finish();
        Ok((text, flow))
    }

    /// Run statements.
    pub fn block(&mut self, body: &'t [Stmt]) -> Result<Flow> {
        self.deeper()?;
        for statement in body {
            self.line = statement.line;
            self.budget.charge(1)?;
            let flow = match &statement.kind {
                StmtKind::Text(text) => {
                    self.room(text.len())?;
                    self.out.push(text, crate::template::values::text::TEMPLATE);
                    Flow::Normal
                }
                StmtKind::Print(value) => {
                    if let Some(value) = self.print(value)? {
                        self.write(&value)?;
                    }
                    Flow::Normal
                }
                StmtKind::If(branches, otherwise) => {
                    let mut taken = otherwise.as_slice();
                    for (test, body) in branches {
                        if self.eval_truth(test)? {
                            taken = body;
                            break;
                        }
                    }
                    if taken.is_empty() { Flow::Normal } else { self.block(taken)? }
                }
                StmtKind::Set(target, value) => {
                    self.check_namespaces(target)?;
                    let value = self.eval(value)?;
                    self.assign(target, value)?;
                    Flow::Normal
                }
                StmtKind::Break => Flow::Break,
                StmtKind::Continue => Flow::Continue,
                other => self.long_statement(other)?,
            };
            if flow != Flow::Normal {
                self.higher();
                return Ok(flow);
            }
        }
        self.higher();
        Ok(Flow::Normal)
    }

    fn long_statement(&mut self, statement: &'t StmtKind) -> Result<Flow> {
        match statement {
            StmtKind::For(each) => return self.each(each),
            StmtKind::SetBlock(set) => {
                let (target, filter, body, scope) = &**set;
                self.enter(scope)?;
                let (text, flow) = self.captured(body)?;
                if flow != Flow::Normal {
                    return Ok(flow);
                }
                let value = match filter {
                    Some(filter) => self.filter_of_block(filter, text)?,
                    None => Value::Str(text),
                };
                self.check_namespaces(target)?;
                self.assign(target, value)?;
                self.leave(scope);
            }
            StmtKind::Macro(made) => {
                let value = self.macro_value(&made.1);
                self.set(made.0.slot, value);
            }
            StmtKind::Call(call) => {
                let caller = self.macro_value(&call.2);
                let value = self.call_with(&call.0, &call.1, Some(caller))?;
                self.write(&value)?;
            }
            StmtKind::Generation(body) => {
                let text = self.call_macro(body, self.base as u32, Given::default())?;
                let mut marked = Builder::default();
                self.budget.charge(text.len())?;
                marked.reserve(text.len())?;
                text.each_run(|part, origin| marked.push(part, origin | GENERATED));
                self.write_text(&marked.finish())?;
            }
            StmtKind::Filter(filter) => {
                let (filter, body, scope) = &**filter;
                self.enter(scope)?;
                let (text, flow) = self.captured(body)?;
                if flow != Flow::Normal {
                    return Ok(flow);
                }
                let value = self.filter_of_block(filter, text)?;
                self.write(&value)?;
                self.leave(scope);
            }
            StmtKind::With(with) => {
                let (values, body, scope) = &**with;
                self.enter(scope)?;
                for (target, value) in values {
                    let value = self.eval(value)?;
                    self.assign(target, value)?;
                }
                let flow = self.block(body)?;
                self.leave(scope);
                return Ok(flow);
            }
            StmtKind::Autoescape(escape) => {
                let (flag, body, scope) = &**escape;
                self.enter(scope)?;
                if self.eval_truth(flag)? {
                    return Err(Failure::untrackable("escapes text by autoescape, which is not tracked"));
                }
                let flow = self.block(body)?;
                self.leave(scope);
                return Ok(flow);
            }
            _ => {}
        }
        Ok(Flow::Normal)
    }

    /// A macro as a value; it reaches the variables of the function that makes it, which stay therefore.
    fn macro_value(&mut self, made: &'t Macro) -> Value<'t> {
        self.pinned = self.slots.len();
        Value::Macro(made, self.base as u32)
    }

    /// A number for something that changes.
    pub fn object(&mut self, object: Object<'t>) -> Result<u32> {
        self.budget.push(&mut self.objects, object, 2 * OBJECT)?;
        Ok(self.objects.len() as u32 - 1)
    }

    /// The value of a variable, or that it is undefined.
    #[inline]
    pub fn named(&self, name: &'t crate::template::syntax::ast::Name) -> Value<'t> {
        match self.variable(name.slot) {
            Value::Unset => Value::Undefined(Undefined::Name(&name.name)),
            value => value.clone(),
        }
    }

    /// Whether an expression is true.
    pub fn eval_truth(&mut self, value: &'t Expr) -> Result<bool> {
        Ok(truth(&self.eval(value)?))
    }
}
