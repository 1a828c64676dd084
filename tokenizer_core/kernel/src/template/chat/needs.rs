//! The variables that a template takes for granted: it reads them, and neither sets them nor asks if they are there.

use crate::template::syntax::ast::{Args, Expr, Macro, Stmt, StmtKind, Target};
use crate::template::syntax::walk::each_statement;

/// Return the names of these variables, in order.
pub fn needs(body: &mut [Stmt]) -> Vec<String> {
    let mut walk = Walk::default();
    each_statement(body, &mut |statement| {
        if let StmtKind::Set(target, _) = &mut statement.kind {
            walk.set.extend(target.names().iter().map(|name| name.name.to_string()));
        }
    });
    walk.all(body);
    walk.found
}

#[derive(Default)]
struct Walk {
    /// The template's own variables that are in scope; each with the outer one that it is another name of.
    own: Vec<(String, Option<String>)>,
    /// The variables that the template sets anywhere: a macro may be called when they are set.
    set: Vec<String>,
    /// Variables that the template has asked for.
    asked: Vec<String>,
    found: Vec<String>,
}

impl Walk {
    fn all(&mut self, body: &mut [Stmt]) {
        for statement in body {
            self.one(&mut statement.kind);
        }
    }

    /// Statements whose variables are gone behind them.
    fn scope(&mut self, body: &mut [Stmt]) {
        let own = self.own.len();
        self.all(body);
        self.own.truncate(own);
    }

    fn own(&mut self, target: &mut Target) {
        self.own.extend(target.names().iter().map(|name| (name.name.to_string(), None)));
    }

    fn one(&mut self, statement: &mut StmtKind) {
        let (own, asked) = (self.own.len(), self.asked.len());
        match statement {
            StmtKind::Text(_) | StmtKind::Break | StmtKind::Continue => {}
            StmtKind::Print(value) => self.read(value),
            StmtKind::If(branches, otherwise) => {
                for (test, body) in branches {
                    self.test(test);
                    self.all(body);
                }
                self.all(otherwise);
            }
            StmtKind::For(each) => {
                self.read(&mut each.iter);
                self.own(&mut each.target);
                each.test.iter_mut().for_each(|(test, _)| self.test(test));
                self.all(&mut each.body);
                self.own.truncate(own);
                self.scope(&mut each.otherwise);
            }
            StmtKind::Set(target, value) => {
                let outer = match (&*target, &*value) {
                    (Target::Name(_), Expr::Name(read)) => self.outer(&read.name),
                    _ => None,
                };
                if outer.is_none() {
                    self.read(value);
                }
                self.own(target);
                if let Some(last) = self.own.last_mut() {
                    last.1 = outer;
                }
                // What is kept of a question may be asked for later: the template knows of it.
                return;
            }
            StmtKind::SetBlock(set) => {
                set.1.iter_mut().for_each(|filter| self.read(filter));
                self.scope(&mut set.2);
                self.own(&mut set.0);
            }
            StmtKind::Macro(made) => {
                self.own.push((made.0.name.to_string(), None));
                self.function(&mut made.1);
            }
            StmtKind::Generation(made) => self.function(made),
            StmtKind::Call(call) => {
                self.read(&mut call.0);
                self.args(&mut call.1);
                self.function(&mut call.2);
            }
            StmtKind::Filter(filter) => {
                self.read(&mut filter.0);
                self.scope(&mut filter.1);
            }
            StmtKind::With(with) => {
                with.0.iter_mut().for_each(|(_, value)| self.read(value));
                with.0.iter_mut().for_each(|(target, _)| self.own(target));
                self.all(&mut with.1);
                self.own.truncate(own);
            }
        }
        self.asked.truncate(asked);
    }

    fn function(&mut self, made: &mut Macro) {
        made.defaults.iter_mut().for_each(|value| self.read(value));
        let own = self.own.len();
        self.own.extend(self.set.iter().map(|name| (name.clone(), None)));
        self.own.extend(made.params.iter().map(|param| (param.name.to_string(), None)));
        self.all(&mut made.body);
        self.own.truncate(own);
    }

    /// The variable of the caller that a name is; `None` for one of the template.
    fn outer(&self, name: &str) -> Option<String> {
        match self.own.iter().rev().find(|(own, _)| own == name) {
            Some((_, outer)) => outer.clone(),
            None => Some(name.to_owned()),
        }
    }

    fn read(&mut self, expr: &mut Expr) {
        self.expr(expr, false);
    }

    fn test(&mut self, expr: &mut Expr) {
        self.expr(expr, true);
    }

    fn args(&mut self, args: &mut Args) {
        args.each(&mut |value| self.read(value));
    }

    /// Walk an expression, of which may be asked only whether it is there.
    fn expr(&mut self, expr: &mut Expr, asks: bool) {
        match expr {
            Expr::Name(name) => match self.outer(&name.name) {
                Some(name) if asks => self.asked.push(name),
                Some(name) if !self.asked.contains(&name) && !self.found.contains(&name) => self.found.push(name),
                _ => {}
            },
            Expr::Not(value) => self.expr(value, asks),
            Expr::And(pair) | Expr::Or(pair) => {
                self.test(&mut pair.0);
                self.expr(&mut pair.1, asks);
            }
            Expr::Condition(condition) => {
                self.test(&mut condition.0);
                self.expr(&mut condition.1, asks);
                condition.2.iter_mut().for_each(|value| self.expr(value, asks));
            }
            // Whatever it is compared with, what is not there is unequal.
            Expr::Compare(compare) => {
                self.test(&mut compare.0);
                compare.1.iter_mut().for_each(|(_, value)| self.test(value));
            }
            Expr::Test(applied) => {
                applied.value.iter_mut().for_each(|value| self.test(value));
                self.args(&mut applied.args);
            }
            Expr::Filter(applied) => {
                let asks = matches!(&*applied.name, "d" | "default");
                applied.value.iter_mut().for_each(|value| self.expr(value, asks));
                self.args(&mut applied.args);
            }
            expr => expr.each(&mut |inner| self.read(inner)),
        }
    }
}
