//! Statements are run: the variables, the output, and how both are entered and left.

use super::held::Given;
use super::state::{Flow, Run};
use crate::template::syntax::ast::{Expr, Macro, Operator, Scope, Stmt, StmtKind};
use crate::template::syntax::failure::{Failure, Result};
use crate::template::values::budget::OBJECT;
use crate::template::values::compare::truth;
use crate::template::values::repr::text_of;
use crate::template::values::text::{Builder, GENERATED, Text};
use crate::template::values::value::Value;

impl<'t> Run<'t> {
    /// Run a whole template.
    pub fn root(&mut self, body: &'t [Stmt], scope: &'t Scope, slots: u16) -> Result<Builder> {
        self.reserve(0, slots)?;
        self.enter(scope)?;
        self.block(body)?;
        Ok(std::mem::take(&mut self.out))
    }

    /// Write a value.
    pub fn write(&mut self, value: &Value<'t>) -> Result<()> {
        match value {
            Value::Str(text) => self.write_text(text),
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
            _ => {}
        }
        Ok(Flow::Normal)
    }

    /// A macro as a value; it reaches the variables of the function that makes it, which stay therefore.
    fn macro_value(&mut self, made: &'t Macro) -> Value<'t> {
        self.pinned = self.slots.len();
        Value::Macro(made, self.base as u32)
    }

    /// Tell whether an expression is true.
    pub fn eval_truth(&mut self, value: &'t Expr) -> Result<bool> {
        Ok(truth(&self.eval(value)?))
    }
}
