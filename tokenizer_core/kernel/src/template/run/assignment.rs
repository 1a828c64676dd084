//! The targets to which `set` and loops assign: variables, fields of namespaces, and the parts of a value.

use super::state::Run;
use crate::template::syntax::ast::Target;
use crate::template::syntax::failure::{Failure, Result};
use crate::template::values::text::Text;
use crate::template::values::value::Value;

impl<'t> Run<'t> {
    /// Refuse a field of what is no namespace, before the value is evaluated.
    pub fn check_namespaces(&mut self, target: &'t Target) -> Result<()> {
        match target {
            Target::Name(_) => Ok(()),
            Target::Tuple(items) => items.iter().try_for_each(|item| self.check_namespaces(item)),
            Target::Field(name, _) => match self.variable(name.slot) {
                Value::Namespace(_) => Ok(()),
                _ => Err(Failure::failed("cannot assign attribute on non-namespace object")),
            },
        }
    }

    /// Assign a value, or its parts.
    pub fn assign(&mut self, target: &'t Target, value: Value<'t>) -> Result<()> {
        match target {
            Target::Name(name) => self.set(name.slot, value),
            Target::Field(name, field) => {
                if let Value::Namespace(number) = *self.variable(name.slot) {
                    self.set_field(number, Text::literal(field), value)?;
                }
            }
            Target::Tuple(items) => {
                self.budget.charge_product(items.len(), 2)?;
                let parts = match &value {
                    Value::List(parts) | Value::Tuple(parts) if parts.values.len() == items.len() => {
                        parts.values.clone()
                    }
                    Value::List(_) | Value::Tuple(_) | Value::Dict(_) | Value::Str(_) | Value::Iter(_) => {
                        self.collect(&value)?
                    }
                    Value::View(..) | Value::Range(_) | Value::Undefined(_) => self.collect(&value)?,
                    other => {
                        return Err(Failure::failed(format!(
                            "cannot unpack non-iterable {} object",
                            other.type_name()
                        )));
                    }
                };
                if parts.len() > items.len() {
                    return Err(Failure::failed(format!("too many values to unpack (expected {})", items.len())));
                }
                if parts.len() < items.len() {
                    let (expected, got) = (items.len(), parts.len());
                    let message = format!("not enough values to unpack (expected {expected}, got {got})");
                    return Err(Failure::failed(message));
                }
                for (item, part) in items.iter().zip(parts) {
                    self.assign(item, part)?;
                }
            }
        }
        Ok(())
    }
}
