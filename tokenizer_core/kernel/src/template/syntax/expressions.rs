//! Tokens to expressions, in Jinja's order of precedence.

use super::ast::{Comparison, Expr, Operator};
use super::failure::Result;
use super::lexer::Token;
use super::parser::Parser;

impl Parser {
    /// One expression.
    pub fn expression(&mut self) -> Result<Expr> {
        self.enter()?;
        let line = self.line();
        let mut value = self.or()?;
        while self.skip_name("if") {
            let height = self.height;
            self.soft += 1;
            let test = self.or()?;
            let height = height.max(self.height);
            let otherwise = if self.skip_name("else") { Some(self.expression()?) } else { None };
            self.soft -= 1;
            self.raise(height)?;
            value = Expr::Condition(Box::new((test, value, otherwise, line)));
        }
        self.depth -= 1;
        Ok(value)
    }

    /// One expression, or several with commas; `conditional` if it may be one with an `if`.
    pub fn tuple(&mut self, conditional: bool, ends: &[&str]) -> Result<Expr> {
        self.list(conditional, ends, false)
    }

    /// See [`Self::tuple`]; nothing at all is a tuple only in brackets.
    pub fn list(&mut self, conditional: bool, ends: &[&str], bracketed: bool) -> Result<Expr> {
        let mut height = 0;
        let (mut items, is_tuple) = self.separated(ends, |parser| {
            let item = if conditional { parser.expression()? } else { parser.or()? };
            height = height.max(parser.height);
            Ok(item)
        })?;
        match items.pop() {
            Some(one) if !is_tuple => return Ok(one),
            Some(last) => items.push(last),
            None if bracketed => {}
            None => return Err(self.fail(format!("Expected an expression, got {}", self.told()))),
        }
        self.raise(height)?;
        Ok(Expr::Tuple(items))
    }

    /// Parse items up to a name of `ends`, a bracket or the end of the tag; also tell whether a comma follows one.
    pub fn separated<T>(
        &mut self,
        ends: &[&str],
        mut item: impl FnMut(&mut Self) -> Result<T>,
    ) -> Result<(Vec<T>, bool)> {
        let (mut items, mut has_comma) = (Vec::new(), false);
        loop {
            let ended = matches!(self.token(), Token::BlockEnd | Token::PrintEnd)
                || self.is(")")
                || ends.iter().any(|end| self.is_name(end));
            if ended {
                break;
            }
            items.push(item(self)?);
            if !self.skip(",") {
                break;
            }
            has_comma = true;
        }
        Ok((items, has_comma))
    }

    fn or(&mut self) -> Result<Expr> {
        let mut left = self.and()?;
        while self.skip_name("or") {
            let height = self.height;
            let right = self.and()?;
            self.raise(height)?;
            left = Expr::Or(Box::new((left, right)));
        }
        Ok(left)
    }

    fn and(&mut self) -> Result<Expr> {
        let mut left = self.not()?;
        while self.skip_name("and") {
            let height = self.height;
            let right = self.not()?;
            self.raise(height)?;
            left = Expr::And(Box::new((left, right)));
        }
        Ok(left)
    }

    fn not(&mut self) -> Result<Expr> {
        if !self.skip_name("not") {
            return self.comparison();
        }
        self.enter()?;
        let inner = self.not()?;
        self.depth -= 1;
        self.raise(0)?;
        Ok(Expr::Not(Box::new(inner)))
    }

    fn comparison(&mut self) -> Result<Expr> {
        let first = self.sum()?;
        let (mut rest, mut height) = (Vec::new(), self.height);
        loop {
            let operator = match self.token() {
                Token::Op("==") => Comparison::Eq,
                Token::Op("!=") => Comparison::Ne,
                Token::Op("<") => Comparison::Lt,
                Token::Op("<=") => Comparison::Le,
                Token::Op(">") => Comparison::Gt,
                Token::Op(">=") => Comparison::Ge,
                Token::Name(name) if name == "in" => Comparison::In,
                Token::Name(name) if name == "not" && matches!(self.look(), Token::Name(next) if next == "in") => {
                    self.next();
                    Comparison::NotIn
                }
                _ => break,
            };
            self.next();
            rest.push((operator, self.sum()?));
            height = height.max(self.height);
        }
        if rest.is_empty() {
            return Ok(first);
        }
        self.raise(height)?;
        Ok(Expr::Compare(Box::new((first, rest))))
    }

    fn sum(&mut self) -> Result<Expr> {
        self.operators(&[("+", Operator::Add), ("-", Operator::Sub)], Self::concat)
    }

    fn concat(&mut self) -> Result<Expr> {
        let first = self.product()?;
        let (mut parts, mut height) = (vec![first], self.height);
        while self.skip("~") {
            parts.push(self.product()?);
            height = height.max(self.height);
        }
        match parts.pop() {
            Some(one) if parts.is_empty() => Ok(one),
            last => {
                parts.extend(last);
                self.raise(height)?;
                Ok(Expr::Concat(parts))
            }
        }
    }

    fn product(&mut self) -> Result<Expr> {
        let known = [("*", Operator::Mul), ("/", Operator::Div), ("//", Operator::FloorDiv), ("%", Operator::Mod)];
        self.operators(&known, Self::power)
    }

    fn power(&mut self) -> Result<Expr> {
        self.operators(&[("**", Operator::Pow)], |parser| parser.unary(true))
    }

    /// Operands with operators between, from left to right.
    fn operators(&mut self, known: &[(&str, Operator)], operand: fn(&mut Self) -> Result<Expr>) -> Result<Expr> {
        let mut left = operand(self)?;
        while let Some((_, operator)) = known.iter().find(|(sign, _)| self.is(sign)) {
            self.next();
            let height = self.height;
            let right = operand(self)?;
            self.raise(height)?;
            left = Expr::Binary(*operator, Box::new((left, right)));
        }
        Ok(left)
    }

    fn unary(&mut self, with_filter: bool) -> Result<Expr> {
        let sign = if self.skip("-") {
            Some(Expr::Neg as fn(Box<Expr>) -> Expr)
        } else if self.skip("+") {
            Some(Expr::Pos as fn(Box<Expr>) -> Expr)
        } else {
            None
        };
        let value = match sign {
            Some(sign) => {
                self.enter()?;
                let inner = self.unary(false)?;
                self.depth -= 1;
                self.raise(0)?;
                sign(Box::new(inner))
            }
            None => self.primary()?,
        };
        let value = self.postfix(value)?;
        if with_filter { self.filtered(value) } else { Ok(value) }
    }
}
