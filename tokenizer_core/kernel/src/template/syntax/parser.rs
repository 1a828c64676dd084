//! Tokens to statements.

use super::ast::{Expr, For, Macro, Scope, Stmt, StmtKind};
use super::failure::{Failure, Kind, Result};
use super::lexer::{Placed, Token, tokenize};

/// The greatest depth of blocks and expressions in one another. Python allows 100 blocks and 200 brackets.
const MAX_DEPTH: u32 = 90;

/// Goes through the tokens.
pub struct Parser {
    tokens: Vec<Placed>,
    at: usize,
    /// The number of open blocks and expressions.
    pub depth: u32,
    /// The depth of the expression that was read last.
    pub height: u32,
    /// The number of open loops of the same function.
    pub loops: u32,
    /// The number of open conditions, within which Jinja looks filters and tests up when they are reached.
    pub soft: u32,
}

/// Parse a source.
pub fn parse(source: &str) -> Result<Vec<Stmt>> {
    let mut parser = Parser { tokens: tokenize(source)?, at: 0, depth: 0, height: 0, loops: 0, soft: 0 };
    let body = parser.statements(&[])?;
    Ok(body)
}

impl Parser {
    /// The token at hand.
    pub fn token(&self) -> &Token {
        &self.tokens[self.at].token
    }

    /// The one behind it.
    pub fn look(&self) -> &Token {
        &self.tokens[(self.at + 1).min(self.tokens.len() - 1)].token
    }

    /// Its line.
    pub fn line(&self) -> u32 {
        self.tokens[self.at].line
    }

    /// Take the token at hand.
    pub fn next(&mut self) -> Token {
        let token = self.token().clone();
        self.at = (self.at + 1).min(self.tokens.len() - 1);
        token
    }

    /// Tell whether the current token is this operator.
    pub fn is(&self, operator: &str) -> bool {
        matches!(self.token(), Token::Op(found) if *found == operator)
    }

    /// Tell whether the current token is this name.
    pub fn is_name(&self, name: &str) -> bool {
        matches!(self.token(), Token::Name(found) if found == name)
    }

    /// Take an operator if it is at hand.
    pub fn skip(&mut self, operator: &str) -> bool {
        let found = self.is(operator);
        if found {
            self.next();
        }
        found
    }

    /// Take a name if it is at hand.
    pub fn skip_name(&mut self, name: &str) -> bool {
        let found = self.is_name(name);
        if found {
            self.next();
        }
        found
    }

    /// Take an operator that has to be there.
    pub fn expect(&mut self, operator: &str) -> Result<()> {
        if self.skip(operator) {
            Ok(())
        } else {
            Err(self.fail(format!("expected token '{operator}', got {}", self.told())))
        }
    }

    /// Take a name that has to be there.
    pub fn name(&mut self) -> Result<Box<str>> {
        match self.next() {
            Token::Name(name) => Ok(name.into()),
            _ => {
                self.at -= 1;
                Err(self.fail(format!("expected token 'name', got {}", self.told())))
            }
        }
    }

    /// The token at hand, for a message.
    pub fn told(&self) -> String {
        match self.token() {
            Token::Data(_) => "'template data / text'".to_owned(),
            Token::PrintBegin => "'begin of print statement'".to_owned(),
            Token::PrintEnd => "'end of print statement'".to_owned(),
            Token::BlockBegin => "'begin of statement block'".to_owned(),
            Token::BlockEnd => "'end of statement block'".to_owned(),
            Token::Name(name) => format!("'{name}'"),
            Token::Str(_) => "'string'".to_owned(),
            Token::Int(_) => "'integer'".to_owned(),
            Token::Float(_) => "'float'".to_owned(),
            Token::Op(operator) => format!("'{operator}'"),
            Token::End => "'end of template'".to_owned(),
        }
    }

    /// A failure at the token at hand.
    pub fn fail(&self, message: impl Into<String>) -> Box<Failure> {
        self.failure(Kind::Syntax, message)
    }

    /// A construct that this engine does not have.
    pub fn unsupported(&self, message: impl Into<String>) -> Box<Failure> {
        self.failure(Kind::Unsupported, message)
    }

    fn failure(&self, kind: Kind, message: impl Into<String>) -> Box<Failure> {
        let place = &self.tokens[self.at];
        Failure::new(kind, message).at(place.line, place.column)
    }

    /// Go one level deeper.
    pub fn enter(&mut self) -> Result<()> {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return Err(self.unsupported(format!("blocks and expressions are nested deeper than {MAX_DEPTH} levels")));
        }
        Ok(())
    }

    /// Note that an expression stands over one of `height` and the one that was read last.
    pub fn raise(&mut self, height: u32) -> Result<()> {
        self.height = self.height.max(height) + 1;
        if self.height > 2 * MAX_DEPTH {
            return Err(self.unsupported(format!("an expression has more than {} levels", 2 * MAX_DEPTH)));
        }
        Ok(())
    }

    /// Statements up to a tag of one of these names, whose name is at hand then; with none, up to the end.
    fn statements(&mut self, ends: &[&str]) -> Result<Vec<Stmt>> {
        self.enter()?;
        let mut body = Vec::new();
        loop {
            let line = self.line();
            match self.next() {
                Token::Data(text) => body.push(Stmt { kind: StmtKind::Text(text.into()), line }),
                Token::PrintBegin => {
                    let kind = StmtKind::Print(self.tuple(true, &[])?);
                    body.push(Stmt { kind, line });
                    if *self.token() != Token::PrintEnd {
                        return Err(self.fail(format!("expected token 'end of print statement', got {}", self.told())));
                    }
                    self.next();
                }
                Token::BlockBegin => {
                    if let Token::Name(name) = self.token()
                        && ends.contains(&name.as_str())
                    {
                        self.depth -= 1;
                        return Ok(body);
                    }
                    let line = self.line();
                    let statement = self.statement()?;
                    body.extend(statement.into_iter().map(|kind| Stmt { kind, line }));
                    self.block_end()?;
                }
                _ if ends.is_empty() => {
                    self.depth -= 1;
                    return Ok(body);
                }
                _ => {
                    let names: Vec<_> = ends.iter().map(|end| format!("'{end}'")).collect();
                    let names = names.join(" or ");
                    return Err(self.fail(format!("Unexpected end of template. Jinja was looking for {names}.")));
                }
            }
        }
    }

    fn block_end(&mut self) -> Result<()> {
        if *self.token() != Token::BlockEnd {
            return Err(self.fail(format!("expected token 'end of statement block', got {}", self.told())));
        }
        self.next();
        Ok(())
    }

    /// The body of a statement whose head was read, up to one of these tags.
    fn body(&mut self, ends: &[&str]) -> Result<Vec<Stmt>> {
        self.skip(":");
        self.block_end()?;
        self.statements(ends)
    }

    /// The body of a statement, and its last tag.
    fn whole_body(&mut self, end: &str) -> Result<Vec<Stmt>> {
        let body = self.body(&[end])?;
        self.next();
        Ok(body)
    }

    /// The body of what becomes a function: no loop outside of it can be left there.
    fn function_body(&mut self, end: &str) -> Result<Vec<Stmt>> {
        let loops = std::mem::take(&mut self.loops);
        let body = self.own_scope(|parser| parser.whole_body(end));
        self.loops = loops;
        body
    }

    /// Parse what has variables of its own: in it names have to be known, as if no condition stood around.
    fn own_scope<R>(&mut self, parse: impl FnOnce(&mut Self) -> Result<R>) -> Result<R> {
        let soft = std::mem::take(&mut self.soft);
        let parsed = parse(self);
        self.soft = soft;
        parsed
    }

    fn statement(&mut self) -> Result<Vec<StmtKind>> {
        let Token::Name(tag) = self.token().clone() else {
            return Err(self.fail("tag name expected"));
        };
        Ok(vec![match tag.as_str() {
            "if" => self.parse_if()?,
            "for" => self.parse_for()?,
            "set" => self.parse_set()?,
            "macro" => self.parse_macro()?,
            "call" => self.parse_call_block()?,
            "print" => return self.parse_print(),
            "filter" => {
                self.next();
                let (filter, body) =
                    self.own_scope(|parser| Ok((parser.filters(None, true)?, parser.whole_body("endfilter")?)))?;
                StmtKind::Filter(Box::new((filter, body, Scope::default())))
            }
            "with" => self.parse_with()?,
            "generation" => {
                self.next();
                let body = self.function_body("endgeneration")?;
                StmtKind::Generation(Box::new(Macro { body, ..Macro::default() }))
            }
            "break" | "continue" if self.loops > 0 => {
                self.next();
                if tag == "break" { StmtKind::Break } else { StmtKind::Continue }
            }
            "break" | "continue" => return Err(self.fail(format!("'{tag}' outside loop"))),
            "block" | "extends" | "include" | "import" | "from" => {
                return Err(self.unsupported(format!("a chat template stands alone and has no {{% {tag} %}}")));
            }
            "autoescape" => return Err(self.unsupported("a prompt is no page and has no {% autoescape %}")),
            _ => return Err(self.fail(format!("Encountered unknown tag '{tag}'."))),
        }])
    }

    fn parse_if(&mut self) -> Result<StmtKind> {
        let mut branches = Vec::new();
        let mut otherwise = Vec::new();
        loop {
            self.next();
            self.soft += 1;
            let test = self.tuple(false, &[])?;
            branches.push((test, self.body(&["elif", "else", "endif"])?));
            self.soft -= 1;
            if self.is_name("elif") {
                continue;
            }
            if self.skip_name("else") {
                self.soft += 1;
                otherwise = self.body(&["endif"])?;
                self.soft -= 1;
            }
            self.next();
            return Ok(StmtKind::If(branches, otherwise));
        }
    }

    fn parse_for(&mut self) -> Result<StmtKind> {
        self.next();
        let target = self.target(&["in"], false)?;
        if !self.skip_name("in") {
            return Err(self.fail(format!("expected token 'in', got {}", self.told())));
        }
        let iter = self.tuple(false, &["recursive"])?;
        let test = if self.skip_name("if") { Some((self.own_scope(Self::expression)?, target.clone())) } else { None };
        let recursive = self.skip_name("recursive");
        let loops = if recursive { std::mem::take(&mut self.loops) } else { self.loops };
        self.loops += 1;
        let body = self.own_scope(|parser| parser.body(&["endfor", "else"]))?;
        self.loops -= 1;
        let has_otherwise = self.skip_name("else");
        let otherwise = if has_otherwise { self.own_scope(|parser| parser.body(&["endfor"]))? } else { Vec::new() };
        self.loops = loops;
        self.next();
        Ok(StmtKind::For(Box::new(For {
            target,
            iter,
            body,
            otherwise,
            has_otherwise,
            test,
            recursive,
            scope: Scope::default(),
            test_scope: Scope::default(),
            otherwise_scope: Scope::default(),
            loop_slot: None,
            slots: 0,
            number: 0,
        })))
    }

    fn parse_set(&mut self) -> Result<StmtKind> {
        self.next();
        let target = self.target(&[], true)?;
        if self.skip("=") {
            return Ok(StmtKind::Set(target, self.tuple(true, &[])?));
        }
        let (filter, body) = self.own_scope(|parser| {
            let filter = if parser.is("|") { Some(parser.filters(None, false)?) } else { None };
            Ok((filter, parser.whole_body("endset")?))
        })?;
        Ok(StmtKind::SetBlock(Box::new((target, filter, body, Scope::default()))))
    }

    fn parse_print(&mut self) -> Result<Vec<StmtKind>> {
        self.next();
        let mut printed = Vec::new();
        while *self.token() != Token::BlockEnd {
            if !printed.is_empty() {
                self.expect(",")?;
            }
            printed.push(StmtKind::Print(self.expression()?));
        }
        Ok(printed)
    }

    fn parse_macro(&mut self) -> Result<StmtKind> {
        self.next();
        let name = self.target_name()?;
        let (params, defaults) = self.own_scope(Self::signature)?;
        let body = self.function_body("endmacro")?;
        let own = Some(name.name.clone());
        Ok(StmtKind::Macro(Box::new((name, Macro { name: own, params, defaults, body, ..Macro::default() }))))
    }

    fn parse_call_block(&mut self) -> Result<StmtKind> {
        self.next();
        let (params, defaults) = if self.is("(") { self.own_scope(Self::signature)? } else { Default::default() };
        let Expr::Call(call) = self.expression()? else {
            return Err(self.fail("expected call"));
        };
        let body = self.function_body("endcall")?;
        let (callee, args) = *call;
        if args.named.iter().any(|(name, _)| &**name == "caller") {
            return Err(self.fail("keyword argument repeated: caller"));
        }
        Ok(StmtKind::Call(Box::new((callee, args, Macro { params, defaults, body, ..Macro::default() }))))
    }

    fn parse_with(&mut self) -> Result<StmtKind> {
        self.next();
        let mut values = Vec::new();
        while *self.token() != Token::BlockEnd {
            if !values.is_empty() {
                self.expect(",")?;
            }
            let target = self.target(&[], false)?;
            self.expect("=")?;
            values.push((target, self.expression()?));
        }
        let body = self.own_scope(|parser| parser.whole_body("endwith"))?;
        Ok(StmtKind::With(Box::new((values, body, Scope::default()))))
    }
}
