//! Going through the parts of expressions and statements, in the order in which Jinja declares them.

use super::ast::{Args, Expr, Macro, Name, Stmt, StmtKind, Target};

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
    pub fn names(&mut self) -> Vec<&mut Name> {
        match self {
            Self::Name(name) => vec![name],
            Self::Field(..) => Vec::new(),
            Self::Tuple(items) => items.iter_mut().flat_map(Self::names).collect(),
        }
    }

    /// Every namespace of which an attribute is written.
    pub fn namespaces(&mut self) -> Vec<&mut Name> {
        match self {
            Self::Name(_) => Vec::new(),
            Self::Field(name, _) => vec![name],
            Self::Tuple(items) => items.iter_mut().flat_map(Self::namespaces).collect(),
        }
    }
}

/// A part of a statement.
pub enum StmtPart<'s> {
    /// Names that are written.
    Target(&'s mut Target),
    /// Names that a function begins with.
    Params(&'s [Name]),
    /// An expression, which is read.
    Expr(&'s mut Expr),
    /// Statements within.
    Body(&'s mut [Stmt]),
}

impl Stmt {
    /// The parts right in this statement, in the order of Jinja's nodes.
    fn parts(&mut self, visit: &mut dyn FnMut(StmtPart<'_>)) {
        match &mut self.kind {
            StmtKind::Text(_) | StmtKind::Break | StmtKind::Continue => {}
            StmtKind::Print(value) => visit(StmtPart::Expr(value)),
            StmtKind::If(branches, otherwise) => {
                for (test, body) in branches {
                    visit(StmtPart::Expr(test));
                    visit(StmtPart::Body(body));
                }
                visit(StmtPart::Body(otherwise));
            }
            StmtKind::For(each) => {
                visit(StmtPart::Target(&mut each.target));
                visit(StmtPart::Expr(&mut each.iter));
                visit(StmtPart::Body(&mut each.body));
                visit(StmtPart::Body(&mut each.otherwise));
                each.test.iter_mut().for_each(|(test, _)| visit(StmtPart::Expr(test)));
            }
            StmtKind::Set(target, value) => {
                visit(StmtPart::Target(target));
                visit(StmtPart::Expr(value));
            }
            StmtKind::SetBlock(set) => {
                visit(StmtPart::Target(&mut set.0));
                set.1.iter_mut().for_each(|filter| visit(StmtPart::Expr(filter)));
                visit(StmtPart::Body(&mut set.2));
            }
            StmtKind::Macro(made) => made.1.parts(visit),
            StmtKind::Generation(made) => made.parts(visit),
            StmtKind::Call(call) => {
                visit(StmtPart::Expr(&mut call.0));
                call.1.each(&mut |value| visit(StmtPart::Expr(value)));
                call.2.parts(visit);
            }
            StmtKind::Filter(filter) => {
                visit(StmtPart::Body(&mut filter.1));
                visit(StmtPart::Expr(&mut filter.0));
            }
            StmtKind::With(with) => {
                for (target, value) in &mut with.0 {
                    visit(StmtPart::Target(target));
                    visit(StmtPart::Expr(value));
                }
                visit(StmtPart::Body(&mut with.1));
            }
        }
    }

    /// The names that this statement itself writes, each with the value that it is given by an assignment.
    pub fn targets(&mut self, visit: &mut dyn FnMut(&str, Option<&Expr>)) {
        match &mut self.kind {
            StmtKind::Set(Target::Name(name), value) => return visit(&name.name, Some(value)),
            StmtKind::Macro(made) => visit(&made.0.name, None),
            _ => {}
        }
        self.parts(&mut |part| match part {
            StmtPart::Target(target) => target.names().iter().for_each(|name| visit(&name.name, None)),
            StmtPart::Params(params) => params.iter().for_each(|name| visit(&name.name, None)),
            StmtPart::Expr(_) | StmtPart::Body(_) => {}
        });
    }

    /// The expressions right in this statement.
    pub fn exprs(&mut self, visit: &mut dyn FnMut(&mut Expr)) {
        self.parts(&mut |part| {
            if let StmtPart::Expr(value) = part {
                visit(value);
            }
        });
    }

    /// The bodies right in this statement.
    pub fn bodies(&mut self, visit: &mut dyn FnMut(&mut [Stmt])) {
        self.parts(&mut |part| {
            if let StmtPart::Body(body) = part {
                visit(body);
            }
        });
    }
}

impl Macro {
    fn parts(&mut self, visit: &mut dyn FnMut(StmtPart<'_>)) {
        visit(StmtPart::Params(&self.params));
        self.defaults.iter_mut().for_each(|default| visit(StmtPart::Expr(default)));
        visit(StmtPart::Body(&mut self.body));
    }
}

/// Visit every statement, however deep.
pub fn each_statement(body: &mut [Stmt], visit: &mut dyn FnMut(&mut Stmt)) {
    for statement in body {
        visit(statement);
        statement.bodies(&mut |inner| each_statement(inner, visit));
    }
}

/// Return the names of `wanted` that are read in statements before they are written, however deep.
pub fn undeclared(body: &mut [Stmt], wanted: &[&str]) -> Vec<String> {
    let mut wanted: Vec<_> = wanted.iter().map(|name| (*name).to_owned()).collect();
    let mut found = Vec::new();
    search(body, &mut wanted, &mut found);
    found
}

fn search(body: &mut [Stmt], wanted: &mut Vec<String>, found: &mut Vec<String>) {
    for statement in body {
        statement.parts(&mut |part| match part {
            StmtPart::Target(target) => {
                wanted.retain(|wanted| target.names().iter().all(|name| **wanted != *name.name))
            }
            StmtPart::Params(params) => wanted.retain(|wanted| params.iter().all(|param| **wanted != *param.name)),
            StmtPart::Expr(value) => value.names(&mut |name| {
                if wanted.iter().any(|wanted| **wanted == *name.name) && found.iter().all(|known| **known != *name.name)
                {
                    found.push(name.name.to_string());
                }
            }),
            StmtPart::Body(inner) => search(inner, wanted, found),
        });
    }
}
