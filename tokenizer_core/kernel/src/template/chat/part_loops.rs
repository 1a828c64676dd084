//! The loops of a template over the parts of a message's content, found in its tree.

use crate::template::syntax::ast::{Args, Expr, Macro, Stmt, StmtKind, Target};
use crate::template::syntax::walk::each_statement;

/// A variable, or a field of one.
type Read = (String, Option<String>);

/// The presence of loops over the parts of a message in a template.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PartLoops {
    /// True if there is one where vLLM 0.32 looks: a loop over `content` in a macro counts only if a call hands it a
    /// message's content.
    pub found_by_vllm: bool,
    /// Over anything of that name too.
    pub any: bool,
}

/// Look for loops over content.
pub fn part_loops(body: &mut [Stmt]) -> PartLoops {
    let (mut loops, mut sets, mut macros) = (Vec::new(), Vec::new(), Vec::new());
    each_statement(body, &mut |statement| match &mut statement.kind {
        StmtKind::For(each) => loops.extend(read(&each.iter).map(|read| (read, name(&each.target)))),
        StmtKind::Set(target, value) => sets.extend(read(value).zip(name(target))),
        StmtKind::Macro(made) => macros.push((made.1.clone(), made.0.name.to_string())),
        _ => {}
    });
    // `messages`, and all that it is assigned to.
    let mut lists = vec!["messages".to_owned()];
    let mut at = 0;
    while at < lists.len() {
        for ((variable, field), target) in &sets {
            if *variable == lists[at] && field.is_none() && !lists.contains(target) {
                lists.push(target.clone());
            }
        }
        at += 1;
    }
    let messages: Vec<&String> = loops
        .iter()
        .filter(|((list, field), _)| field.is_none() && lists.contains(list))
        .filter_map(|(_, target)| target.as_ref())
        .collect();
    let is_content = |(variable, field): &Read| field.as_deref() == Some("content") && messages.contains(&variable);
    let (over_content, named) = (
        loops.iter().any(|(read, _)| is_content(read)),
        loops.iter().any(|((variable, field), _)| field.is_none() && variable == "content"),
    );
    let calls = calls_of(body);
    let mut in_macros = Vec::new();
    let mut handed = false;
    for (made, called) in &mut macros {
        let given = content_parameters(made, called, &calls, &is_content);
        let own = bare_loops(&mut made.body);
        handed |= own.iter().any(|variable| given.contains(variable));
        in_macros.extend(own);
    }
    let count = |names: &[String]| names.iter().filter(|name| *name == "content").count();
    let outside = count(&bare_loops(body)) > count(&in_macros);
    PartLoops { found_by_vllm: over_content || handed || outside, any: over_content || named }
}

/// A call of a name.
struct NamedCall {
    callee: String,
    args: Args,
}

/// The parameters of a macro that some call gives the content of a message.
fn content_parameters(
    made: &Macro,
    name: &str,
    calls: &[NamedCall],
    is_content: &dyn Fn(&Read) -> bool,
) -> Vec<String> {
    let mut found = Vec::new();
    let is_given = |value: &Expr| read(value).is_some_and(|read| is_content(&read));
    for call in calls.iter().filter(|call| call.callee == name) {
        let params = made.params.iter().zip(&call.args.positional).filter(|(_, value)| is_given(value));
        found.extend(params.map(|(param, _)| param.name.to_string()));
        let takes = |name: &str| made.params.iter().any(|each| &*each.name == name);
        let named = call.args.named.iter().filter(|(name, value)| takes(name) && is_given(value));
        found.extend(named.map(|(name, _)| name.to_string()));
    }
    found
}

/// Return the names of the variables that are looped over as they are.
fn bare_loops(body: &mut [Stmt]) -> Vec<String> {
    let mut found = Vec::new();
    each_statement(body, &mut |statement| {
        if let StmtKind::For(each) = &statement.kind
            && let Expr::Name(name) = &each.iter
        {
            found.push(name.name.to_string());
        }
    });
    found
}

/// All calls of names, with what they are given.
fn calls_of(body: &mut [Stmt]) -> Vec<NamedCall> {
    fn look(expr: &mut Expr, found: &mut Vec<NamedCall>) {
        if let Expr::Call(call) = expr
            && let Expr::Name(name) = &call.0
        {
            found.push(NamedCall { callee: name.name.to_string(), args: call.1.clone() });
        }
        expr.each(&mut |inner| look(inner, found));
    }
    let mut found = Vec::new();
    each_statement(body, &mut |statement| statement.exprs(&mut |expr| look(expr, &mut found)));
    found
}

fn name(target: &Target) -> Option<String> {
    match target {
        Target::Name(name) => Some(name.name.to_string()),
        _ => None,
    }
}

/// The variable that an expression reads, or a field of one, whole, filtered, tested or sliced.
fn read(mut expr: &Expr) -> Option<Read> {
    loop {
        expr = match expr {
            Expr::Filter(applied) | Expr::Test(applied) => applied.value.as_ref()?,
            Expr::Slice(slice) => &slice.0,
            _ => break,
        }
    }
    let variable = |expr: &Expr| match expr {
        Expr::Name(name) => Some(name.name.to_string()),
        _ => None,
    };
    match expr {
        Expr::Attribute(value, field) => Some((variable(value)?, Some(field.to_string()))),
        Expr::Item(pair) => match &pair.1 {
            Expr::Str(field) => Some((variable(&pair.0)?, Some(field.to_string()))),
            _ => None,
        },
        _ => Some((variable(expr)?, None)),
    }
}
