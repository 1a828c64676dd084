//! Tokens to operands: literals and names, and the attributes, calls, filters and tests behind them.

use super::ast::{Applied, Args, Expr, Name};
use super::failure::Result;
use super::lexer::Token;
use super::names::{is_filter, is_plain_field, is_refused_method, is_test, known_to_jinja};
use super::parser::Parser;

impl Parser {
    /// A name, a literal, or what stands in brackets.
    pub fn primary(&mut self) -> Result<Expr> {
        self.height = 1;
        match self.token().clone() {
            Token::Name(name) => {
                if name == "self" {
                    return Err(self.unsupported("a chat template has no blocks, and so no 'self'"));
                }
                self.next();
                Ok(match name.as_str() {
                    "true" | "True" => Expr::Bool(true),
                    "false" | "False" => Expr::Bool(false),
                    "none" | "None" => Expr::None,
                    _ => Expr::Name(Name::new(name)),
                })
            }
            Token::Str(mut text) => {
                self.next();
                while let Token::Str(more) = self.token() {
                    text.push_str(more);
                    self.next();
                }
                Ok(Expr::Str(text.into()))
            }
            Token::Int(digits) => {
                self.next();
                Ok(digits.parse().map_or_else(|_| Expr::Big(digits.into()), Expr::Int))
            }
            Token::Float(number) => {
                self.next();
                Ok(Expr::Float(number))
            }
            Token::Op("(") => {
                self.next();
                self.enter()?;
                let inner = self.list(true, &[], true)?;
                self.depth -= 1;
                self.expect(")")?;
                Ok(inner)
            }
            Token::Op("[") => self.parse_list(),
            Token::Op("{") => self.parse_dict(),
            _ => Err(self.fail(format!("unexpected {}", self.told()))),
        }
    }

    fn parse_list(&mut self) -> Result<Expr> {
        self.next();
        let (mut items, mut height) = (Vec::new(), 0);
        while !self.is("]") {
            if !items.is_empty() {
                self.expect(",")?;
                if self.is("]") {
                    break;
                }
            }
            items.push(self.expression()?);
            height = height.max(self.height);
        }
        self.next();
        self.height = 0;
        self.raise(height)?;
        Ok(Expr::List(items))
    }

    fn parse_dict(&mut self) -> Result<Expr> {
        self.next();
        let (mut items, mut height) = (Vec::new(), 0);
        while !self.is("}") {
            if !items.is_empty() {
                self.expect(",")?;
                if self.is("}") {
                    break;
                }
            }
            let key = self.expression()?;
            height = height.max(self.height);
            self.expect(":")?;
            items.push((key, self.expression()?));
            height = height.max(self.height);
        }
        self.next();
        self.height = 0;
        self.raise(height)?;
        Ok(Expr::Dict(items))
    }

    /// Parse the rest behind an operand: attributes, items, calls.
    pub fn postfix(&mut self, mut value: Expr) -> Result<Expr> {
        loop {
            let height = self.height;
            if self.is(".") {
                self.next();
                value = match self.next() {
                    Token::Name(name) => Expr::Attribute(Box::new(value), name.into()),
                    Token::Int(digits) => {
                        let index = digits.parse().map_or_else(|_| Expr::Big(digits.into()), Expr::Int);
                        Expr::Item(Box::new((value, index)))
                    }
                    _ => return Err(self.fail("expected name or number")),
                };
                self.raise(height)?;
            } else if self.is("[") {
                self.next();
                value = self.subscript(value)?;
                self.expect("]")?;
                self.raise(height)?;
            } else if self.is("(") {
                if let Expr::Attribute(owner, name) = &value {
                    if is_refused_method(name) {
                        let message = format!("the method {name:?} is one that this engine does not have");
                        return Err(self.unsupported(message));
                    }
                    if let Expr::Str(format) = &**owner
                        && **name == *"format"
                    {
                        let format = format.replace("{{", "");
                        let mut fields = format.split('{').skip(1).filter_map(|rest| rest.split('}').next());
                        if let Some(field) = fields.find(|field| !is_plain_field(field)) {
                            return Err(self.unsupported(format!("the field {{{field}}} is more than a name")));
                        }
                    }
                }
                let args = self.args()?;
                value = Expr::Call(Box::new((value, args)));
                self.raise(height)?;
            } else {
                return Ok(value);
            }
        }
    }

    fn subscript(&mut self, value: Expr) -> Result<Expr> {
        let mut bounds: [Option<Expr>; 3] = Default::default();
        let (mut at, mut height) = (0, 0);
        while !self.is("]") && !self.is(",") {
            if self.skip(":") {
                at += 1;
                if at > 2 {
                    return Err(self.fail(format!("expected token ',', got {}", self.told())));
                }
            } else {
                bounds[at] = Some(self.expression()?);
                height = height.max(self.height);
                if !self.is(":") {
                    break;
                }
            }
        }
        if self.is(",") {
            if at > 0 {
                return Err(self.unsupported("a slice among several subscripts"));
            }
            let mut items: Vec<Expr> = bounds.into_iter().flatten().collect();
            while self.skip(",") {
                items.push(self.expression()?);
                height = height.max(self.height);
                if self.is(":") {
                    return Err(self.unsupported("a slice among several subscripts"));
                }
            }
            self.height = height;
            return Ok(Expr::Item(Box::new((value, Expr::Tuple(items)))));
        }
        self.height = height;
        match (at, bounds) {
            (0, [Some(index), ..]) => Ok(Expr::Item(Box::new((value, index)))),
            (0, _) => Ok(Expr::Item(Box::new((value, Expr::Tuple(Vec::new()))))),
            (_, bounds) => Ok(Expr::Slice(Box::new((value, bounds)))),
        }
    }

    /// Parse the arguments in the brackets of a call.
    pub fn args(&mut self) -> Result<Args> {
        self.expect("(")?;
        self.enter()?;
        let mut args = Args::default();
        let (mut first, mut height) = (true, 0);
        while !self.is(")") {
            if !first {
                self.expect(",")?;
                if self.is(")") {
                    break;
                }
            }
            first = false;
            let allowed = if self.skip("*") {
                let allowed = args.star.is_none() && args.double_star.is_none();
                args.star = Some(self.expression()?);
                allowed
            } else if self.skip("**") {
                let allowed = args.double_star.is_none();
                args.double_star = Some(self.expression()?);
                allowed
            } else if let (Token::Name(name), Token::Op("=")) = (self.token().clone(), self.look()) {
                self.next();
                self.next();
                if args.named.iter().any(|(known, _)| **known == *name) {
                    return Err(self.fail(format!("keyword argument repeated: {name}")));
                }
                args.named.push((name.into(), self.expression()?));
                args.double_star.is_none()
            } else {
                args.positional.push(self.expression()?);
                args.star.is_none() && args.double_star.is_none() && args.named.is_empty()
            };
            if !allowed {
                return Err(self.fail("invalid syntax for function call expression"));
            }
            height = height.max(self.height);
        }
        self.next();
        self.depth -= 1;
        self.height = height;
        Ok(args)
    }

    /// Filters, tests and calls behind an operand.
    pub fn filtered(&mut self, mut value: Expr) -> Result<Expr> {
        loop {
            if self.is("|") {
                value = self.filters(Some(value), false)?;
            } else if self.is_name("is") {
                value = self.test(value)?;
            } else if self.is("(") {
                let height = self.height;
                let args = self.args()?;
                value = Expr::Call(Box::new((value, args)));
                self.raise(height)?;
            } else {
                return Ok(value);
            }
        }
    }

    /// Filters of a value, or of a block; `inline` if the first has no bar before it.
    pub fn filters(&mut self, mut value: Option<Expr>, mut inline: bool) -> Result<Expr> {
        loop {
            if !inline {
                if !self.is("|") {
                    break;
                }
                self.next();
            }
            inline = false;
            let height = self.height;
            let name = self.dotted_name(is_filter, "filter")?;
            let args = if self.is("(") { self.args()? } else { Args::default() };
            self.raise(height)?;
            value = Some(Expr::Filter(Box::new(Applied { value, name, args })));
        }
        value.ok_or_else(|| self.fail("a filter is expected"))
    }

    /// The name of a filter or a test. An unknown one may stand where it is perhaps not reached, as in Jinja.
    fn dotted_name(&mut self, is_known: fn(&str) -> bool, what: &str) -> Result<Box<str>> {
        let mut name = String::from(self.name()?);
        while self.skip(".") {
            name.push('.');
            name.push_str(&self.name()?);
        }
        if !is_known(&name) {
            if known_to_jinja(&name) {
                return Err(self.unsupported(format!("the {what} {name:?} is one that this engine does not have")));
            }
            if self.soft == 0 {
                return Err(self.fail(format!("No {what} named '{name}'.")));
            }
        }
        Ok(name.into())
    }

    fn test(&mut self, value: Expr) -> Result<Expr> {
        self.next();
        let height = self.height;
        let negated = self.skip_name("not");
        let name = self.dotted_name(is_test, "test")?;
        let takes_one = match self.token() {
            Token::Name(name) => !matches!(name.as_str(), "else" | "or" | "and"),
            Token::Str(_) | Token::Int(_) | Token::Float(_) => true,
            Token::Op(operator) => matches!(*operator, "[" | "{"),
            _ => false,
        };
        self.height = 0;
        let args = if self.is("(") {
            self.args()?
        } else if takes_one {
            if self.is_name("is") {
                return Err(self.fail("You cannot chain multiple tests with is"));
            }
            let one = self.primary()?;
            Args { positional: vec![self.postfix(one)?], ..Args::default() }
        } else {
            Args::default()
        };
        self.raise(height)?;
        let test = Expr::Test(Box::new(Applied { value: Some(value), name, args }));
        if negated {
            self.raise(0)?;
            return Ok(Expr::Not(Box::new(test)));
        }
        Ok(test)
    }
}
