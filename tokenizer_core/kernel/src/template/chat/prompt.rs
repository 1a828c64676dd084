//! The generation prompt, found in a template's tree: many templates write the same one behind any messages.

use crate::template::run::state::Run;
use crate::template::syntax::ast::{Applied, Expr, For, Stmt, StmtKind, Target};
use crate::template::syntax::walk::each_statement;
use crate::template::values::value::Value;

const ASKED: &str = "add_generation_prompt";
const MESSAGES: &str = "messages";

/// The statements behind the last loop, where what they write follows from the options alone, not from the messages.
///
/// This loop goes over messages and writes all that loops write of them. The statements behind it read no variable that
/// follows from a message, and no other statement asks for the prompt.
pub fn behind_messages(body: &mut [Stmt]) -> Option<usize> {
    let behind = body.iter().rposition(|statement| matches!(statement.kind, StmtKind::For(_)))? + 1;
    let names = Names::of(body);
    let (before, last) = body.split_at_mut(behind);
    let [before @ .., Stmt { kind: StmtKind::For(each), .. }] = before else { return None };
    let is_constant = names.is_over_messages(each)
        && names.all_follow(last)
        && !use_asked(before)
        && !use_asked(&mut each.body)
        && !names.writes_in_loops(before);
    is_constant.then_some(behind)
}

/// Writes the prompt of a template once more.
#[derive(Debug)]
pub struct PromptWriter {
    behind: usize,
    /// The variable that asks for the prompt, if any does.
    asked: Option<u16>,
}

impl PromptWriter {
    /// The writer of a template with the statements that [`behind_messages`] found.
    pub fn new(body: &mut [Stmt], behind: usize) -> Self {
        let mut asked = None;
        each_statement(&mut body[behind..], &mut |statement| {
            statement.exprs(&mut |expr| {
                expr.names(&mut |name| {
                    if &*name.name == ASKED {
                        asked = Some(name.slot.index);
                    }
                });
            });
        });
        Self { behind, asked }
    }

    /// Write the prompt behind a rendering that is done; `None` if something is written that nobody asked for.
    pub fn write<'t>(&self, run: &mut Run<'t>, body: &'t [Stmt]) -> Option<String> {
        let mut write = |asks| {
            if let Some(asked) = self.asked {
                run.set_own(asked, Value::Bool(asks));
            }
            let (text, _) = run.captured(&body[self.behind..]).ok()?;
            Some(text.as_str().to_owned())
        };
        if write(false)?.is_empty() { write(true) } else { None }
    }
}

/// Tell whether statements read or set if the prompt is asked for, but to give that a default, which is never taken.
fn use_asked(body: &mut [Stmt]) -> bool {
    body.iter_mut().any(|statement| {
        let mut found = false;
        if !is_default(&statement.kind) {
            statement.exprs(&mut |expr| expr.names(&mut |name| found |= &*name.name == ASKED));
            statement.targets(&mut |name, _| found |= name == ASKED);
            statement.bodies(&mut |inner| found |= use_asked(inner));
        }
        found
    })
}

fn is_default(statement: &StmtKind) -> bool {
    let is_of_asked = |applied: &Applied, names: &[&str]| {
        let is_plain = applied.args.positional.len() <= 1 && applied.args.named.is_empty();
        let is_asked = matches!(&applied.value, Some(Expr::Name(name)) if &*name.name == ASKED);
        is_plain && is_asked && names.contains(&&*applied.name)
    };
    match statement {
        StmtKind::Set(Target::Name(name), Expr::Filter(applied)) => {
            &*name.name == ASKED && is_of_asked(applied, &["default", "d"])
        }
        StmtKind::If(branches, otherwise) => match branches.as_slice() {
            [(Expr::Not(test), _)] if otherwise.is_empty() => {
                matches!(&**test, Expr::Test(applied) if is_of_asked(applied, &["defined"]))
            }
            _ => false,
        },
        _ => false,
    }
}

/// The variables of a template.
struct Names {
    /// Each value that is given to a name, as an expression; `None` if it is given in another way.
    given: Vec<(String, Option<Expr>)>,
    /// The variables that may follow from a message.
    varying: Vec<String>,
}

impl Names {
    fn of(body: &mut [Stmt]) -> Self {
        let mut names = Self { given: Vec::new(), varying: vec![MESSAGES.to_owned()] };
        each_statement(body, &mut |statement| {
            statement.targets(&mut |name, value| names.given.push((name.to_owned(), value.cloned())));
        });
        let mut known = 0;
        while known < names.varying.len() {
            known = names.varying.len();
            names.vary(body, false);
        }
        names
    }

    /// Note the variables that vary since others do; `inside` something that varies all that is written does.
    fn vary(&mut self, body: &mut [Stmt], inside: bool) {
        for statement in body {
            let mut follows = !inside;
            match &statement.kind {
                StmtKind::If(..) | StmtKind::Set(..) | StmtKind::Text(_) | StmtKind::Print(_) | StmtKind::For(_) => {
                    statement.exprs(&mut |expr| follows &= self.follows(expr));
                }
                _ => follows = false,
            }
            if !follows {
                statement.targets(&mut |name, _| {
                    if self.varying.iter().all(|known| known != name) {
                        self.varying.push(name.to_owned());
                    }
                });
            }
            statement.bodies(&mut |inner| self.vary(inner, !follows));
        }
    }

    /// Tell whether a value follows from other options than messages. A function may tell anything.
    fn follows(&self, expr: &mut Expr) -> bool {
        match expr {
            Expr::Name(name) => self.varying.iter().all(|varying| **varying != *name.name),
            Expr::Call(call) if matches!(call.0, Expr::Name(_)) => false,
            expr => {
                let mut all = true;
                expr.each(&mut |inner| all &= self.follows(inner));
                all
            }
        }
    }

    /// Tell whether all that statements write follows from other options than messages.
    fn all_follow(&self, body: &mut [Stmt]) -> bool {
        let mut all = true;
        each_statement(body, &mut |statement| {
            all &= matches!(statement.kind, StmtKind::Text(_) | StmtKind::Print(_) | StmtKind::If(..));
            statement.exprs(&mut |expr| all &= self.follows(expr));
        });
        all
    }

    /// Tell whether a loop goes over messages, and nothing else.
    fn is_over_messages(&self, each: &For) -> bool {
        let is_plain = !each.recursive && !each.has_otherwise && matches!(each.target, Target::Name(_));
        is_plain && self.are_messages(&each.iter, &mut Vec::new())
    }

    fn are_messages(&self, expr: &Expr, known: &mut Vec<String>) -> bool {
        match expr {
            Expr::Slice(slice) => self.are_messages(&slice.0, known),
            Expr::Name(name) if known.iter().any(|known| **known == *name.name) => true,
            Expr::Name(name) => {
                known.push(name.name.to_string());
                let mut given = self.given.iter().filter(|(given, _)| **given == *name.name).peekable();
                (&*name.name == MESSAGES || given.peek().is_some())
                    && given.all(|(_, value)| value.as_ref().is_some_and(|value| self.are_messages(value, known)))
            }
            _ => false,
        }
    }

    /// Tell whether a loop that may go over messages may write, but in a macro, whose text is no message's.
    fn writes_in_loops(&self, body: &mut [Stmt]) -> bool {
        body.iter_mut().any(|statement| {
            let mut found = match &mut statement.kind {
                StmtKind::Macro(_) => return false,
                StmtKind::For(each) => !self.follows(&mut each.iter) && self.writes(&mut each.body),
                _ => false,
            };
            statement.bodies(&mut |inner| found |= self.writes_in_loops(inner));
            found
        })
    }

    fn writes(&self, body: &mut [Stmt]) -> bool {
        let raises = |call: &Expr| matches!(call, Expr::Name(name) if &*name.name == "raise_exception");
        let is_own = self.given.iter().any(|(name, _)| name == "raise_exception");
        let mut found = false;
        each_statement(body, &mut |statement| {
            found |= match &statement.kind {
                StmtKind::If(..) | StmtKind::For(_) | StmtKind::Set(..) | StmtKind::Break | StmtKind::Continue => false,
                StmtKind::Print(Expr::Call(call)) => is_own || !raises(&call.0),
                _ => true,
            };
        });
        found
    }
}
