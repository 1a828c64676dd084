//! Loops and macros are run: bodies that have variables and perhaps an output of their own.

use super::held::{Given, Loop, Object, Source};
use super::state::{Flow, Run, Turn};
use crate::template::syntax::ast::{For, Macro, Target};
use crate::template::syntax::failure::Result;
use crate::template::values::budget::{OBJECT, ROUND};
use crate::template::values::text::Text;
use crate::template::values::value::{Undefined, Value};

impl<'t> Run<'t> {
    /// Run a loop.
    pub fn each(&mut self, each: &'t For) -> Result<Flow> {
        let iterable = self.eval(&each.iter)?;
        if !each.recursive {
            return self.loop_over(each, &iterable, None);
        }
        let text = self.recurse(each, &iterable, self.base as u32, 0)?;
        self.write_text(&text)?;
        Ok(Flow::Normal)
    }

    /// Run a recursive loop, which is a function.
    pub fn recurse(&mut self, each: &'t For, over: &Value<'t>, parent: u32, depth: usize) -> Result<Text<'t>> {
        self.deeper()?;
        self.budget.charge(4 * OBJECT)?;
        let (outer, base) = (self.base, self.slots.len());
        self.reserve(parent, each.slots)?;
        self.base = base;
        let out = std::mem::take(&mut self.out);
        self.inner += 1;
        self.loop_over(each, over, Some((parent, depth)))?;
        self.inner -= 1;
        let text = std::mem::replace(&mut self.out, out).finish();
        self.release(base, outer);
        self.higher();
        Ok(text)
    }

    fn release(&mut self, base: usize, outer: usize) {
        self.slots.truncate(base.max(self.pinned));
        self.base = outer;
    }

    fn loop_over(&mut self, each: &'t For, over: &Value<'t>, recursion: Option<(u32, usize)>) -> Result<Flow> {
        let mut source = self.iterate(over)?;
        let mut length = source.length();
        if each.test.is_some() {
            source = Source::Tested(Box::new(source), each, self.base as u32);
            length = None;
        }
        let number = match each.loop_slot {
            Some(_) => Some(self.object(Object::Loop(Box::new(Loop::over(
                std::mem::replace(&mut source, Source::Empty),
                length,
                recursion.map(|(parent, depth)| (each, parent, depth)),
            ))))?),
            None => None,
        };
        let mut completed = false;
        loop {
            let item = match number {
                Some(number) => self.advance_loop(number)?,
                None => self.next(&mut source)?,
            };
            let Some(item) = item else { break };
            self.budget.charge(ROUND)?;
            let message = match &item {
                Value::Dict(dict) if self.inner == 0 => dict.message(),
                _ => None,
            };
            let start = self.out.len();
            self.assign(&each.target, item)?;
            if let (Some(number), Some(index)) = (number, each.loop_slot) {
                self.set_own(index, Value::Loop(number));
            }
            self.enter(&each.scope)?;
            let flow = self.block(&each.body)?;
            if let Some(message) = message.filter(|_| start < self.out.len()) {
                self.turns.push(Turn { message, bytes: start..self.out.len() });
            }
            match flow {
                Flow::Normal => completed = true,
                // What Jinja notes at the end of a run is not noted then, so that `else` may follow.
                Flow::Continue => {}
                Flow::Break => break,
            }
        }
        self.leave(&each.scope);
        if !each.has_otherwise || completed {
            return Ok(Flow::Normal);
        }
        self.enter(&each.otherwise_scope)?;
        let flow = self.block(&each.otherwise)?;
        self.leave(&each.otherwise_scope);
        Ok(flow)
    }

    /// An item that passes the condition of a loop, whose variables stand at `base`. It is put together anew from what
    /// it was taken apart into, as Jinja does: a pair in a list becomes a tuple.
    pub fn passing(&mut self, each: &'t For, item: Value<'t>, base: u32) -> Result<Option<Value<'t>>> {
        let Some((test, target)) = &each.test else { return Ok(Some(item)) };
        let outer = std::mem::replace(&mut self.base, base as usize);
        self.enter(&each.test_scope)?;
        self.assign(target, item)?;
        let passing = if self.eval_truth(test)? { Some(self.assigned(target)?) } else { None };
        self.base = outer;
        Ok(passing)
    }

    /// The value of a target.
    fn assigned(&mut self, target: &'t Target) -> Result<Value<'t>> {
        match target {
            Target::Name(name) | Target::Field(name, _) => Ok(self.variable(name.slot).clone()),
            Target::Tuple(items) => {
                let values = items.iter().map(|item| self.assigned(item)).collect::<Result<_>>()?;
                Value::tuple(values, &self.budget)
            }
        }
    }

    /// Call a macro, and return what it writes.
    pub fn call_macro(&mut self, called: &'t Macro, parent: u32, given: Given<'t>) -> Result<Text<'t>> {
        self.deeper()?;
        let line = self.line;
        let (outer, base) = (self.base, self.slots.len());
        let (mut values, special) = self.bind_macro(called, given)?;
        self.reserve(parent, called.slots)?;
        self.base = base;
        for (param, value) in called.params.iter().zip(&mut values) {
            self.set(param.slot, std::mem::replace(value, Value::Unset));
        }
        for (slot, value) in called.special.iter().zip(special) {
            if let Some(index) = slot {
                self.set_own(*index, value);
            }
        }
        self.enter(&called.scope)?;
        let first_default = called.params.len() - called.defaults.len();
        for (at, param) in called.params.iter().enumerate() {
            if !matches!(self.variable(param.slot), Value::Unset) {
                continue;
            }
            let value = match at.checked_sub(first_default).and_then(|at| called.defaults.get(at)) {
                Some(default) => self.eval(default)?,
                None => Value::Undefined(Undefined::Parameter(&param.name)),
            };
            self.set(param.slot, value);
        }
        let (text, _) = self.captured(&called.body)?;
        self.release(base, outer);
        self.line = line;
        self.higher();
        Ok(text)
    }
}
