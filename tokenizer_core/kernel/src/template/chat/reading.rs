//! The reads and writes of a template, found in its tree and not by rendering.

use crate::template::syntax::ast::{Args, Expr, Stmt, StmtKind};
use crate::template::syntax::walk::each_statement;

/// Methods, filters and functions whose arguments never become text of the chat, sorted; of `replace` it is the first.
const LOOKED_FOR: [&str; 22] = [
    "count", "endswith", "find", "index", "lstrip", "partition", "raise_exception", "reject", "rejectattr",
    "removeprefix", "removesuffix", "rfind", "rindex", "rpartition", "rsplit", "rstrip", "select", "selectattr",
    "split", "startswith", "strip", "trim",
];

/// The literals that may become text of the chat: not what is compared, tested or only looked for, nor the template's
/// own marks for "nothing here", which a macro gives back or a variable keeps, and which are compared.
pub fn written(body: &mut [Stmt]) -> Vec<String> {
    let mut compared = Vec::new();
    each_statement(body, &mut |statement| {
        statement.exprs(&mut |expr| collect_compared(expr, false, &mut compared));
    });
    let mut writing = Writing { compared, found: Vec::new() };
    writing.all(body, false);
    writing.found
}

fn collect_compared(expr: &mut Expr, inside: bool, compared: &mut Vec<String>) {
    let inside = inside || matches!(expr, Expr::Compare(_));
    if let (Expr::Str(text), true) = (&*expr, inside) {
        compared.push(text.to_string());
    }
    expr.each(&mut |inner| collect_compared(inner, inside, compared));
}

struct Writing {
    compared: Vec<String>,
    found: Vec<String>,
}

impl Writing {
    fn is_mark(&self, text: &str) -> bool {
        self.compared.iter().any(|compared| compared == text.trim())
    }

    fn text(&mut self, text: &str, may_be_mark: bool) {
        if !(may_be_mark && self.is_mark(text)) {
            self.found.push(text.to_owned());
        }
    }

    fn all(&mut self, body: &mut [Stmt], in_macro: bool) {
        for statement in body {
            match &mut statement.kind {
                StmtKind::Text(text) => self.text(text, in_macro),
                StmtKind::Print(Expr::Str(text)) => self.text(text, in_macro),
                StmtKind::Set(_, Expr::Str(text)) => self.text(text, true),
                _ => statement.exprs(&mut |expr| self.expr(expr)),
            }
            let in_macro = in_macro || matches!(statement.kind, StmtKind::Macro(_));
            statement.bodies(&mut |inner| self.all(inner, in_macro));
        }
    }

    fn expr(&mut self, expr: &mut Expr) {
        match expr {
            Expr::Compare(_) | Expr::Test(_) => {}
            Expr::Str(text) => self.text(text, false),
            Expr::Filter(applied) => {
                applied.value.iter_mut().for_each(|value| self.expr(value));
                let name = applied.name.clone();
                self.args(&name, &mut applied.args);
            }
            Expr::Call(call) => {
                self.expr(&mut call.0);
                let name = match &call.0 {
                    Expr::Attribute(_, name) => name.clone(),
                    Expr::Name(name) => name.name.clone(),
                    _ => Box::default(),
                };
                self.args(&name, &mut call.1);
            }
            expr => expr.each(&mut |inner| self.expr(inner)),
        }
    }

    fn args(&mut self, of: &str, args: &mut Args) {
        let looked_for = LOOKED_FOR.binary_search(&of).is_ok();
        let skipped = if looked_for { usize::MAX } else { usize::from(of == "replace") };
        args.positional.iter_mut().skip(skipped).for_each(|arg| self.expr(arg));
        args.named.iter_mut().filter(|_| !looked_for).for_each(|(_, arg)| self.expr(arg));
        args.star.iter_mut().chain(&mut args.double_star).for_each(|arg| self.expr(arg));
    }
}
