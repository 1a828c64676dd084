//! Tokens to what is assigned to: names, attributes of namespaces, parameters.

use super::ast::{Expr, Name, Target};
use super::failure::Result;
use super::lexer::Token;
use super::parser::Parser;

impl Parser {
    /// The parameters of a macro and their defaults.
    pub fn signature(&mut self) -> Result<(Vec<Name>, Vec<Expr>)> {
        self.expect("(")?;
        let (mut params, mut defaults): (Vec<Name>, Vec<Expr>) = Default::default();
        while !self.is(")") {
            if !params.is_empty() {
                self.expect(",")?;
            }
            let param = self.target_name()?;
            if params.iter().any(|known| known.name == param.name) {
                return Err(self.fail(format!("duplicate argument '{}' in function definition", param.name)));
            }
            if self.skip("=") {
                defaults.push(self.expression()?);
            } else if !defaults.is_empty() {
                return Err(self.fail("non-default argument follows default argument"));
            }
            params.push(param);
        }
        self.next();
        Ok((params, defaults))
    }

    /// One name.
    pub fn target_name(&mut self) -> Result<Name> {
        let name = self.name()?;
        self.assignable(&name)?;
        Ok(Name::new(name))
    }

    fn assignable(&self, name: &str) -> Result<()> {
        if matches!(name, "true" | "false" | "none" | "True" | "False" | "None") {
            return Err(self.fail(format!("can't assign to {name:?}")));
        }
        if name == "loop" && self.loops > 0 {
            return Err(self.fail("Can't assign to special loop variable in for-loop target"));
        }
        Ok(())
    }

    /// Parse the targets of an assignment: one or several, up to a name of `ends` or the end of the tag.
    pub fn target(&mut self, ends: &[&str], fields: bool) -> Result<Target> {
        let (mut items, is_tuple) = self.separated(ends, |parser| parser.one_target(fields))?;
        match (is_tuple, items.pop()) {
            (_, None) => Err(self.fail(format!("Expected an expression, got {}", self.told()))),
            (false, Some(one)) => Ok(one),
            (true, Some(last)) => {
                items.push(last);
                Ok(Target::Tuple(items))
            }
        }
    }

    fn one_target(&mut self, fields: bool) -> Result<Target> {
        if self.skip("(") {
            self.enter()?;
            let inner = self.target(&[], false)?;
            self.depth -= 1;
            self.expect(")")?;
            return Ok(inner);
        }
        if !matches!(self.token(), Token::Name(_)) {
            return Err(self.fail(format!("can't assign to {}", self.told())));
        }
        if fields && matches!(self.look(), Token::Op(".")) {
            let name = self.name()?;
            self.next();
            let field = self.name()?;
            if field.starts_with('_') {
                return Err(self.unsupported("a namespace takes no name with an underscore"));
            }
            return Ok(Target::Field(Name::new(name), field));
        }
        Ok(Target::Name(self.target_name()?))
    }
}
