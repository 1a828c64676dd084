//! Expressions are evaluated.

use super::state::Run;
use crate::template::syntax::ast::{Applied, Comparison, Expr, Operator};
use crate::template::syntax::failure::{Failure, Result};
use crate::template::syntax::lexer::too_many_digits;
use crate::template::values::budget::{ITEM, OBJECT};
use crate::template::values::compare::{equal, order, truth};
use crate::template::values::number::{compute, integer, signed};
use crate::template::values::repr::text_of;
use crate::template::values::text::{Builder, TEMPLATE, Text};
use crate::template::values::value::{Dict, Undefined, Value, View};

impl<'t> Run<'t> {
    /// The value of an expression.
    pub fn eval(&mut self, value: &'t Expr) -> Result<Value<'t>> {
        self.budget.charge(1)?;
        match value {
            Expr::Str(text) => Ok(Value::literal(text)),
            Expr::Name(name) => Ok(self.named(name)),
            Expr::None => Ok(Value::None),
            Expr::Bool(flag) => Ok(Value::Bool(*flag)),
            Expr::Int(number) => Ok(Value::int(*number)),
            Expr::Float(number) => Ok(Value::Float(*number, TEMPLATE)),
            Expr::Big(digits) => integer(digits, TEMPLATE).ok_or_else(|| too_many_digits(digits.len())),
            _ => {
                self.deeper()?;
                let value = self.eval_inner(value)?;
                self.higher();
                Ok(value)
            }
        }
    }

    fn eval_inner(&mut self, value: &'t Expr) -> Result<Value<'t>> {
        match value {
            Expr::Attribute(owner, name) => {
                let owner = self.eval(owner)?;
                self.attribute(&owner, name).map_err(|failure| failure.about(&owner))
            }
            Expr::Item(pair) => {
                let owner = self.eval(&pair.0)?;
                let key = self.eval(&pair.1)?;
                self.item(&owner, &key).map_err(|failure| failure.about(&owner))
            }
            Expr::Call(call) => self.call_with(&call.0, &call.1, None),
            Expr::Filter(filter) => self.eval_filter(filter, None),
            Expr::Test(test) => self.eval_test(test),
            Expr::Not(inner) => Ok(Value::Bool(!self.eval_truth(inner)?)),
            Expr::And(pair) => {
                let left = self.eval(&pair.0)?;
                if truth(&left) { self.eval(&pair.1) } else { Ok(left) }
            }
            Expr::Or(pair) => {
                let left = self.eval(&pair.0)?;
                if truth(&left) { Ok(left) } else { self.eval(&pair.1) }
            }
            Expr::Binary(operator, pair) => {
                let left = self.eval(&pair.0)?;
                let right = self.eval(&pair.1)?;
                self.binary(*operator, left, right)
            }
            Expr::Compare(compare) => self.eval_comparison(&compare.0, &compare.1),
            Expr::Concat(parts) => self.eval_concat(parts),
            Expr::Condition(condition) => {
                let (test, then, otherwise, line) = &**condition;
                if self.eval_truth(test)? {
                    return self.eval(then);
                }
                match otherwise {
                    Some(otherwise) => self.eval(otherwise),
                    None => Ok(Value::Undefined(Undefined::NoElse(*line))),
                }
            }
            _ => self.eval_rare(value),
        }
    }

    fn eval_rare(&mut self, value: &'t Expr) -> Result<Value<'t>> {
        match value {
            Expr::List(items) => {
                let items = self.eval_all(items)?;
                Value::list(items, &self.budget)
            }
            Expr::Tuple(items) => {
                let items = self.eval_all(items)?;
                Value::tuple(items, &self.budget)
            }
            Expr::Dict(items) => {
                let mut entries = self.budget.room(items.len(), ITEM)?;
                for (key, value) in items {
                    let key = self.eval(key)?;
                    entries.push((key, self.eval(value)?));
                }
                Ok(Value::Dict(Dict::of(entries, &self.budget)?))
            }
            Expr::Slice(slice) => {
                let owner = self.eval(&slice.0)?;
                let mut bounds = [Value::None, Value::None, Value::None];
                for (bound, given) in bounds.iter_mut().zip(&slice.1) {
                    if let Some(given) = given {
                        *bound = self.eval(given)?;
                    }
                }
                self.slice(&owner, &bounds)
            }
            Expr::Neg(inner) | Expr::Pos(inner) => {
                let negative = matches!(value, Expr::Neg(_));
                let inner = self.eval(inner)?;
                if let Value::Undefined(undefined) = &inner {
                    return Err(Self::undefined_failure(undefined));
                }
                let signed = signed(&inner, negative)?;
                let sign = if negative { '-' } else { '+' };
                signed.ok_or_else(|| {
                    Failure::failed(format!("bad operand type for unary {sign}: '{}'", inner.type_name()))
                })
            }
            _ => Ok(Value::None),
        }
    }

    fn eval_all(&mut self, items: &'t [Expr]) -> Result<Vec<Value<'t>>> {
        let mut values = self.budget.room(items.len(), 1)?;
        for item in items {
            values.push(self.eval(item)?);
        }
        Ok(values)
    }

    fn eval_concat(&mut self, parts: &'t [Expr]) -> Result<Value<'t>> {
        let mut values = self.budget.room(parts.len(), 1)?;
        let mut length = 0;
        for part in parts {
            let value = self.eval(part)?;
            let text = text_of(&value, &self.budget)?;
            length += text.len();
            values.push(text);
        }
        self.join(&values, length)
    }

    /// Texts one behind the other, of so many bytes together.
    pub fn join(&mut self, parts: &[Text<'t>], length: usize) -> Result<Value<'t>> {
        self.joined(parts, length).map(Value::Str)
    }

    /// As [`Self::join`], as a text.
    pub fn joined(&mut self, parts: &[Text<'t>], length: usize) -> Result<Text<'t>> {
        self.budget.charge(length + OBJECT)?;
        let mut joined = Builder::default();
        joined.reserve(length)?;
        for part in parts {
            joined.push_text(part);
        }
        Ok(joined.finish())
    }

    fn eval_filter(&mut self, filter: &'t Applied, block: Option<Text<'t>>) -> Result<Value<'t>> {
        self.budget.charge(4)?;
        let value = match (&filter.value, block) {
            (Some(Expr::Filter(inner)), block) => self.eval_filter(inner, block)?,
            (Some(value), _) => self.eval(value)?,
            (None, block) => Value::Str(block.unwrap_or(Text::literal(""))),
        };
        let given = self.given(&filter.args)?;
        let at_hand = value.clone();
        self.filter(&filter.name, value, given).map_err(|failure| failure.about(&at_hand))
    }

    /// Apply the filters of a block to its text.
    pub fn filter_of_block(&mut self, filter: &'t Expr, text: Text<'t>) -> Result<Value<'t>> {
        match filter {
            Expr::Filter(filter) => self.eval_filter(filter, Some(text)),
            _ => Ok(Value::Str(text)),
        }
    }

    fn eval_test(&mut self, test: &'t Applied) -> Result<Value<'t>> {
        let value = match &test.value {
            Some(value) => self.eval(value)?,
            None => Value::None,
        };
        let given = self.given(&test.args)?;
        Ok(Value::Bool(self.test(&test.name, value, given)?))
    }

    fn eval_comparison(&mut self, first: &'t Expr, rest: &'t [(Comparison, Expr)]) -> Result<Value<'t>> {
        let mut left = self.eval(first)?;
        for (operator, right) in rest {
            let right = self.eval(right)?;
            if !self.compare(*operator, &left, &right)? {
                return Ok(Value::Bool(false));
            }
            left = right;
        }
        Ok(Value::Bool(true))
    }

    /// Tell whether a comparison holds.
    pub fn compare(&mut self, operator: Comparison, left: &Value<'t>, right: &Value<'t>) -> Result<bool> {
        let sign = match operator {
            Comparison::Eq => return equal(left, right, &self.budget),
            Comparison::Ne => return Ok(!equal(left, right, &self.budget)?),
            Comparison::In => return self.contains(right, left),
            Comparison::NotIn => return Ok(!self.contains(right, left)?),
            Comparison::Lt => "<",
            Comparison::Le => "<=",
            Comparison::Gt => ">",
            Comparison::Ge => ">=",
        };
        for value in [left, right] {
            if let Value::Undefined(undefined) = value {
                return Err(Self::undefined_failure(undefined));
            }
        }
        let Some(order) = order(left, right, sign, &self.budget)? else { return Ok(false) };
        Ok(match operator {
            Comparison::Lt => order.is_lt(),
            Comparison::Le => order.is_le(),
            Comparison::Gt => order.is_gt(),
            _ => order.is_ge(),
        })
    }

    /// `sought in holder`.
    pub fn contains(&mut self, holder: &Value<'t>, sought: &Value<'t>) -> Result<bool> {
        match holder {
            Value::Str(text) => {
                let Some(sought) = sought.as_str() else {
                    let message = format!("'in <string>' requires string as left operand, not {}", sought.type_name());
                    return Err(Failure::failed(message));
                };
                self.budget.charge((text.len() + sought.len()) >> 3)?;
                Ok(memchr::memmem::find(text.as_str().as_bytes(), sought.as_bytes()).is_some())
            }
            Value::Dict(dict) | Value::View(View::Keys, dict) => Ok(dict.get(sought, &self.budget)?.is_some()),
            Value::List(items) | Value::Tuple(items) => {
                for item in &items.values {
                    if equal(item, sought, &self.budget)? {
                        return Ok(true);
                    }
                }
                Ok(false)
            }
            Value::View(..) | Value::Range(_) | Value::Undefined(_) | Value::Iter(_) => {
                let mut source = self.iterate(holder)?;
                while let Some(item) = self.next(&mut source)? {
                    if equal(&item, sought, &self.budget)? {
                        return Ok(true);
                    }
                }
                Ok(false)
            }
            other => Err(Failure::failed(format!("argument of type '{}' is not iterable", other.type_name()))),
        }
    }

    /// The value of an operator of two operands.
    pub fn binary(&mut self, operator: Operator, left: Value<'t>, right: Value<'t>) -> Result<Value<'t>> {
        self.budget.charge(4)?;
        match (operator, &left, &right) {
            (Operator::Mod, Value::Str(format), _) => return self.percent(format, &right),
            (_, Value::Undefined(undefined), _) | (_, _, Value::Undefined(undefined)) => {
                return Err(Self::undefined_failure(undefined));
            }
            (Operator::Add, Value::Str(a), Value::Str(b)) => {
                let length = a.len() + b.len();
                return self.join(&[a.clone(), b.clone()], length);
            }
            (Operator::Add, Value::List(a), Value::List(b)) | (Operator::Add, Value::Tuple(a), Value::Tuple(b)) => {
                let mut sum = self.budget.room(a.values.len() + b.values.len(), ITEM)?;
                sum.extend(a.values.iter().chain(&b.values).cloned());
                let is_list = matches!(left, Value::List(_));
                return if is_list { Value::list(sum, &self.budget) } else { Value::tuple(sum, &self.budget) };
            }
            (Operator::Mul, Value::Str(_) | Value::List(_) | Value::Tuple(_), times) if times.as_int().is_some() => {
                return self.repeat(&left, times.as_int().unwrap_or(0));
            }
            (Operator::Mul, times, Value::Str(_) | Value::List(_) | Value::Tuple(_)) if times.as_int().is_some() => {
                return self.repeat(&right, times.as_int().unwrap_or(0));
            }
            (_, Value::View(..), Value::View(..)) => {
                return Err(Failure::untrackable("computes with views of objects"));
            }
            (Operator::Pow, Value::Int(..), Value::Int(power, _)) if *power > 1024 => {
                self.budget.charge(64)?;
            }
            _ => {}
        }
        if let Some(number) = compute(operator, &left, &right)? {
            return Ok(number);
        }
        let sign = match operator {
            Operator::Add => "+",
            Operator::Sub => "-",
            Operator::Mul => "*",
            Operator::Div => "/",
            Operator::FloorDiv => "//",
            Operator::Mod => "%",
            Operator::Pow => "** or pow()",
        };
        let types = (left.type_name(), right.type_name());
        let failure =
            Failure::failed(format!("unsupported operand type(s) for {sign}: '{}' and '{}'", types.0, types.1));
        // What is joined to a text is seldom right, and the text seldom wrong.
        Err(failure.about(if matches!(left, Value::Str(_)) { &right } else { &left }))
    }

    fn repeat(&mut self, value: &Value<'t>, times: i64) -> Result<Value<'t>> {
        let times = usize::try_from(times).unwrap_or(0);
        match value {
            Value::List(items) | Value::Tuple(items) => {
                let count = items.values.len().saturating_mul(times);
                let mut repeated = self.budget.room(count, ITEM)?;
                repeated.extend(items.values.iter().cloned().cycle().take(count));
                let is_list = matches!(value, Value::List(_));
                if is_list { Value::list(repeated, &self.budget) } else { Value::tuple(repeated, &self.budget) }
            }
            _ => {
                let text = value.as_text().cloned().unwrap_or(Text::literal(""));
                self.budget.charge_product(times, text.len() + 2)?;
                let mut repeated = Builder::default();
                repeated.reserve(text.len() * times)?;
                for _ in 0..times {
                    repeated.push_text(&text);
                }
                Ok(Value::Str(repeated.finish()))
            }
        }
    }

    /// Refuse a value that is undefined.
    pub fn defined(value: &Value<'t>) -> Result<()> {
        match value {
            Value::Undefined(undefined) => Err(Self::undefined_failure(undefined)),
            _ => Ok(()),
        }
    }
}
