//! Tests: what stands behind `is`.

use super::held::{Given, UNNAMED};
use super::state::Run;
use crate::template::syntax::ast::{Comparison, Operator};
use crate::template::syntax::failure::{Failure, Result};
use crate::template::syntax::names::{is_filter, is_test};
use crate::template::syntax::strings::{is_lower, is_upper};
use crate::template::values::compare::{equal, same};
use crate::template::values::dict::hash;
use crate::template::values::repr::text_of;
use crate::template::values::value::Value;

impl<'t> Run<'t> {
    /// Tell whether a test holds.
    pub fn test(&mut self, name: &str, value: Value<'t>, given: Given<'t>) -> Result<bool> {
        self.budget.charge(2)?;
        let operator = match name {
            "eq" | "equalto" | "==" => Some(Comparison::Eq),
            "ne" | "!=" => Some(Comparison::Ne),
            "lt" | "lessthan" | "<" => Some(Comparison::Lt),
            "le" | "<=" => Some(Comparison::Le),
            "gt" | "greaterthan" | ">" => Some(Comparison::Gt),
            "ge" | ">=" => Some(Comparison::Ge),
            "in" => Some(Comparison::In),
            _ => None,
        };
        if let Some(operator) = operator {
            let [other] = given.bind(name, [UNNAMED], 1)?;
            return self.compare(operator, &value, &other.unwrap_or(Value::None));
        }
        if matches!(name, "sameas" | "divisibleby") {
            let [other] = given.bind(name, [if name == "sameas" { "other" } else { "num" }], 1)?;
            let other = other.unwrap_or(Value::None);
            if name == "sameas" {
                return same(&value, &other, &self.budget);
            }
            let rest = self.binary(Operator::Mod, value, other)?;
            return equal(&rest, &Value::int(0), &self.budget);
        }
        given.nothing(name)?;
        Ok(match name {
            "defined" => !matches!(value, Value::Undefined(_)),
            "undefined" => matches!(value, Value::Undefined(_)),
            "none" => matches!(value, Value::None),
            "string" => matches!(value, Value::Str(_)),
            "mapping" => matches!(value, Value::Dict(_)),
            "boolean" => matches!(value, Value::Bool(_)),
            "true" => matches!(value, Value::Bool(true)),
            "false" => matches!(value, Value::Bool(false)),
            "integer" => matches!(value, Value::Int(..) | Value::Big(..)),
            "float" => matches!(value, Value::Float(..)),
            "number" => matches!(value, Value::Int(..) | Value::Big(..) | Value::Float(..) | Value::Bool(_)),
            "iterable" => matches!(
                value,
                Value::Str(_)
                    | Value::List(_)
                    | Value::Tuple(_)
                    | Value::Dict(_)
                    | Value::View(..)
                    | Value::Range(_)
                    | Value::Undefined(_)
                    | Value::Iter(_)
                    | Value::Loop(_)
            ),
            // What is undefined has no items, but asking for the way to take one fails, which is no answer.
            "sequence" => matches!(
                value,
                Value::Str(_)
                    | Value::List(_)
                    | Value::Tuple(_)
                    | Value::Dict(_)
                    | Value::Range(_)
                    | Value::Undefined(_)
            ),
            "callable" => matches!(
                value,
                Value::Macro(..)
                    | Value::Function(_)
                    | Value::Method(_)
                    | Value::Loop(_)
                    | Value::Joiner(_)
                    | Value::Undefined(_)
            ),
            "odd" | "even" => {
                let rest = self.binary(Operator::Mod, value, Value::int(2))?;
                equal(&rest, &Value::int(i64::from(name == "odd")), &self.budget)?
            }
            "lower" | "upper" => {
                let text = text_of(&value, &self.budget)?;
                self.budget.charge(text.len())?;
                if name == "lower" { is_lower(text.as_str()) } else { is_upper(text.as_str()) }
            }
            // What has no hash is no key of the table of names.
            "filter" | "test" => {
                hash(&value, &self.budget)?;
                value.as_str().is_some_and(if name == "filter" { is_filter } else { is_test })
            }
            _ => return Err(Failure::failed(format!("No test named '{name}' found."))),
        })
    }
}
