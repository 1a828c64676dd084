//! Going through the parts of expressions and statements, in the order in which Jinja declares them.

use super::ast::{Args, Expr, Name, Stmt, StmtKind, Target};

impl Args {
    /// Every expression.
    pub fn each(&mut self, visit: &mut dyn FnMut(&mut Expr)) {
        self.positional.iter_mut().for_each(&mut *visit);
        self.named.iter_mut().for_each(|(_, value)| visit(value));
        self.star.iter_mut().for_each(&mut *visit);
        self.double_star.iter_mut().for_each(visit);
    }
}

impl Expr {
    /// The expressions right in this one.
    pub fn each(&mut self, visit: &mut dyn FnMut(&mut Self)) {
        match self {
            Self::None | Self::Bool(_) | Self::Int(_) | Self::Big(_) | Self::Float(_) | Self::Str(_) => {}
            Self::Name(_) => {}
            Self::List(items) | Self::Tuple(items) | Self::Concat(items) => items.iter_mut().for_each(visit),
            Self::Dict(items) => items.iter_mut().for_each(|(key, value)| {
                visit(key);
                visit(value);
            }),
            Self::Attribute(value, _) | Self::Neg(value) | Self::Pos(value) | Self::Not(value) => visit(value),
            Self::Item(pair) | Self::And(pair) | Self::Or(pair) | Self::Binary(_, pair) => {
                visit(&mut pair.0);
                visit(&mut pair.1);
            }
            Self::Slice(slice) => {
                visit(&mut slice.0);
                slice.1.iter_mut().flatten().for_each(visit);
            }
            Self::Call(call) => {
                visit(&mut call.0);
                call.1.each(visit);
            }
            Self::Filter(applied) | Self::Test(applied) => {
                applied.value.iter_mut().for_each(&mut *visit);
                applied.args.each(visit);
            }
            Self::Compare(compare) => {
                visit(&mut compare.0);
                compare.1.iter_mut().for_each(|(_, value)| visit(value));
            }
            Self::Condition(condition) => {
                visit(&mut condition.0);
                visit(&mut condition.1);
                condition.2.iter_mut().for_each(visit);
            }
        }
    }

    /// Every name in it.
    pub fn names(&mut self, visit: &mut dyn FnMut(&mut Name)) {
        if let Self::Name(name) = self {
            visit(name);
        }
        self.each(&mut |inner| inner.names(visit));
    }
}

impl Target {
    /// Every name that is written, but those of namespaces.
    pub fn names(&mut self, visit: &mut dyn FnMut(&mut Name)) {
        match self {
            Self::Name(name) => visit(name),
            Self::Field(..) => {}
            Self::Tuple(items) => items.iter_mut().for_each(|item| item.names(visit)),
        }
    }

    /// Every namespace of which an attribute is written.
    pub fn namespaces(&mut self, visit: &mut dyn FnMut(&mut Name)) {
        match self {
            Self::Name(_) => {}
            Self::Field(name, _) => visit(name),
            Self::Tuple(items) => items.iter_mut().for_each(|item| item.namespaces(visit)),
        }
    }
}

/// Which of `wanted` are read in statements before they are written, however deep.
pub fn undeclared(body: &mut [Stmt], wanted: &[&str]) -> Vec<String> {
    let mut search = Search { wanted: wanted.iter().map(|name| (*name).to_owned()).collect(), found: Vec::new() };
    search.all(body);
    search.found
}

struct Search {
    wanted: Vec<String>,
    found: Vec<String>,
}

impl Search {
    fn read(&mut self, expr: &mut Expr) {
        expr.names(&mut |name| {
            if self.wanted.iter().any(|wanted| **wanted == *name.name) && !self.found.iter().any(|f| **f == *name.name)
            {
                self.found.push(name.name.to_string());
            }
        });
    }

    fn write(&mut self, target: &mut Target) {
        target.names(&mut |name| self.wanted.retain(|wanted| **wanted != *name.name));
    }

    fn all(&mut self, body: &mut [Stmt]) {
        for statement in body {
            self.one(&mut statement.kind);
        }
    }

    fn function(&mut self, function: &mut super::ast::Macro) {
        for param in &function.params {
            self.wanted.retain(|wanted| **wanted != *param.name);
        }
        function.defaults.iter_mut().for_each(|default| self.read(default));
        self.all(&mut function.body);
    }

    fn one(&mut self, statement: &mut StmtKind) {
        match statement {
            StmtKind::Text(_) | StmtKind::Break | StmtKind::Continue => {}
            StmtKind::Print(value) => self.read(value),
            StmtKind::If(branches, otherwise) => {
                for (test, body) in branches {
                    self.read(test);
                    self.all(body);
                }
                self.all(otherwise);
            }
            StmtKind::For(each) => {
                self.write(&mut each.target);
                self.read(&mut each.iter);
                self.all(&mut each.body);
                self.all(&mut each.otherwise);
                each.test.iter_mut().for_each(|(test, _)| self.read(test));
            }
            StmtKind::Set(target, value) => {
                self.write(target);
                self.read(value);
            }
            StmtKind::SetBlock(set) => {
                self.write(&mut set.0);
                set.1.iter_mut().for_each(|filter| self.read(filter));
                self.all(&mut set.2);
            }
            StmtKind::Macro(made) => self.function(&mut made.1),
            StmtKind::Generation(function) => self.function(function),
            StmtKind::Call(call) => {
                self.read(&mut call.0);
                call.1.each(&mut |value| self.read(value));
                self.function(&mut call.2);
            }
            StmtKind::Filter(filter) => {
                self.all(&mut filter.1);
                self.read(&mut filter.0);
            }
            StmtKind::With(with) => {
                for (target, value) in &mut with.0 {
                    self.write(target);
                    self.read(value);
                }
                self.all(&mut with.1);
            }
            StmtKind::Autoescape(escape) => {
                self.read(&mut escape.0);
                self.all(&mut escape.1);
            }
        }
    }
}
