//! The position of every variable: functions, scopes and slots, as Jinja's compiler lays them out in Python.

use std::collections::HashMap;

use super::ast::{Expr, For, Load, Macro, Name, Scope, Slot, Stmt, StmtKind, Target};
use super::failure::{Failure, Kind, Result};
use super::symbols::{Begins, Ident, Scopes};
use super::walk::undeclared;

/// The first slot of a function holds where the function around it has its variables.
const FIRST_SLOT: u16 = 1;

/// The variables of one function. The condition of a loop has its own, though its frame is that of the loop.
struct Function {
    /// The function whose frame it uses, which may be itself.
    host: usize,
    /// The function around the host.
    parent: Option<usize>,
    slots: HashMap<Ident, u16>,
    /// Of a host: how many slots there are.
    count: u16,
}

/// Resolve a whole template: how its variables begin, and how many there are.
pub fn resolve(body: &mut [Stmt]) -> Result<(Scope, u16)> {
    let mut resolver = Resolver { scopes: Scopes::default(), functions: Vec::new(), macros: 0 };
    let root = resolver.function(None);
    let scope = resolver.scopes.inner(None, root);
    resolver.scopes.statements(scope, body);
    let begins = resolver.scope(scope)?;
    resolver.block(scope, body)?;
    Ok((begins, resolver.functions[root].count))
}

struct Resolver {
    scopes: Scopes,
    functions: Vec<Function>,
    macros: u32,
}

impl Resolver {
    fn function(&mut self, parent: Option<usize>) -> usize {
        let host = self.functions.len();
        let parent = parent.map(|parent| self.functions[parent].host);
        self.functions.push(Function { host, parent, slots: HashMap::new(), count: FIRST_SLOT });
        host
    }

    /// Variables of their own in the frame of another function.
    fn guest(&mut self, of: usize) -> usize {
        let (host, parent) = (self.functions[of].host, self.functions[of].parent);
        self.functions.push(Function { host, parent, slots: HashMap::new(), count: 0 });
        self.functions.len() - 1
    }

    fn slot(&mut self, function: usize, ident: &Ident) -> Result<u16> {
        if let Some(known) = self.functions[function].slots.get(ident) {
            return Ok(*known);
        }
        let host = self.functions[function].host;
        let count = &mut self.functions[host].count;
        let slot = *count;
        *count = slot.checked_add(1).ok_or_else(|| Failure::new(Kind::Unsupported, "too many variables"))?;
        self.functions[function].slots.insert(ident.clone(), slot);
        Ok(slot)
    }

    /// The slot of a variable of `function`, as it is reached from another.
    fn reach(&mut self, from: usize, function: usize, ident: &Ident) -> Result<Slot> {
        let index = self.slot(function, ident)?;
        let (mut at, target, mut hops) = (self.functions[from].host, self.functions[function].host, 0);
        while at != target {
            let Some(parent) = self.functions[at].parent else {
                return Err(Failure::new(Kind::Unsupported, "a variable stands in no function around"));
            };
            (at, hops) = (parent, hops + 1);
        }
        Ok(Slot { hops, index })
    }

    fn name(&mut self, scope: usize, name: &mut Name) -> Result<()> {
        let from = self.scopes.get(scope).function;
        let Some((ident, function)) = self.scopes.find(scope, &name.name) else {
            return Err(Failure::new(
                Kind::Unsupported,
                format!("the name {:?} stands where Jinja finds no variable", name.name),
            ));
        };
        name.slot = self.reach(from, function, &ident)?;
        Ok(())
    }

    fn expr(&mut self, scope: usize, value: &mut Expr) -> Result<()> {
        let mut outcome = Ok(());
        value.names(&mut |name| {
            if outcome.is_ok() {
                outcome = self.name(scope, name);
            }
        });
        outcome
    }

    fn target(&mut self, scope: usize, target: &mut Target) -> Result<()> {
        match target {
            Target::Name(name) | Target::Field(name, _) => self.name(scope, name),
            Target::Tuple(items) => items.iter_mut().try_for_each(|item| self.target(scope, item)),
        }
    }

    /// Return the initial values of the variables of a scope.
    fn scope(&mut self, scope: usize) -> Result<Scope> {
        let symbols = self.scopes.get(scope);
        let (function, loads) = (symbols.function, symbols.loads.clone());
        let mut made = Scope::default();
        for (ident, begins) in loads {
            let slot = self.slot(function, &ident)?;
            made.unset.push(slot);
            let load = match begins {
                Begins::Param => continue,
                Begins::Resolve => Load::Resolve(ident.1.into()),
                Begins::Alias(outer, owner) => Load::Alias(self.reach(function, owner, &outer)?),
                Begins::Unset => Load::Unset,
            };
            made.loads.push((slot, load));
        }
        Ok(made)
    }

    fn block(&mut self, scope: usize, body: &mut [Stmt]) -> Result<()> {
        for statement in body {
            let line = statement.line;
            self.statement(scope, &mut statement.kind).map_err(|failure| failure.at(line, 1))?;
        }
        Ok(())
    }

    /// Statements in a scope of their own in the same function.
    fn inner_block(&mut self, scope: usize, body: &mut [Stmt], also: Option<&mut Expr>) -> Result<Scope> {
        let function = self.scopes.get(scope).function;
        let inner = self.scopes.inner(Some(scope), function);
        self.scopes.statements(inner, body);
        let mut also = also;
        if let Some(value) = also.as_deref_mut() {
            self.scopes.read(inner, value);
        }
        let begins = self.scope(inner)?;
        self.block(inner, body)?;
        if let Some(value) = also {
            self.expr(inner, value)?;
        }
        Ok(begins)
    }

    fn statement(&mut self, scope: usize, statement: &mut StmtKind) -> Result<()> {
        match statement {
            StmtKind::Text(_) | StmtKind::Break | StmtKind::Continue => {}
            StmtKind::Print(value) => self.expr(scope, value)?,
            StmtKind::If(branches, otherwise) => {
                for (test, body) in branches {
                    self.expr(scope, test)?;
                    self.block(scope, body)?;
                }
                self.block(scope, otherwise)?;
            }
            StmtKind::For(each) => self.each(scope, each)?,
            StmtKind::Set(target, value) => {
                self.expr(scope, value)?;
                self.target(scope, target)?;
            }
            StmtKind::SetBlock(set) => {
                let (target, filter, body, begins) = &mut **set;
                *begins = self.inner_block(scope, body, filter.as_mut())?;
                self.target(scope, target)?;
            }
            StmtKind::Macro(made) => {
                self.macro_body(scope, &mut made.1)?;
                self.name(scope, &mut made.0)?;
            }
            StmtKind::Generation(body) => self.macro_body(scope, body)?,
            StmtKind::Call(call) => {
                self.macro_body(scope, &mut call.2)?;
                self.expr(scope, &mut call.0)?;
                let mut outcome = Ok(());
                call.1.each(&mut |value| {
                    if outcome.is_ok() {
                        outcome = self.expr(scope, value);
                    }
                });
                outcome?;
            }
            StmtKind::Filter(filter) => {
                let (filter, body, begins) = &mut **filter;
                *begins = self.inner_block(scope, body, Some(filter))?;
            }
            StmtKind::With(with) => {
                let (values, body, begins) = &mut **with;
                let function = self.scopes.get(scope).function;
                let inner = self.scopes.inner(Some(scope), function);
                for (target, _) in values.iter_mut() {
                    self.scopes.declare_target(inner, target);
                }
                self.scopes.statements(inner, body);
                *begins = self.scope(inner)?;
                for (target, value) in values {
                    self.target(inner, target)?;
                    self.expr(scope, value)?;
                }
                self.block(inner, body)?;
            }
        }
        Ok(())
    }

    fn each(&mut self, scope: usize, each: &mut For) -> Result<()> {
        let outer = self.scopes.get(scope).function;
        let function = if each.recursive { self.function(Some(outer)) } else { outer };
        let inner = self.scopes.inner(Some(scope), function);
        if each.recursive || !undeclared(&mut each.body, &["loop"]).is_empty() {
            self.scopes.declare(inner, "loop");
            each.loop_slot = Some(0);
        }
        self.scopes.declare_target(inner, &mut each.target);
        self.scopes.statements(inner, &mut each.body);
        each.scope = self.scope(inner)?;
        self.target(inner, &mut each.target)?;
        if each.loop_slot.is_some() {
            let mut name = Name { name: "loop".into(), slot: Slot::default() };
            self.name(inner, &mut name)?;
            each.loop_slot = Some(name.slot.index);
        }
        if let Some((test, target)) = &mut each.test {
            let guest = self.guest(function);
            let tested = self.scopes.inner(Some(scope), guest);
            self.scopes.declare_target(tested, target);
            self.scopes.read(tested, test);
            each.test_scope = self.scope(tested)?;
            self.target(tested, target)?;
            self.expr(tested, test)?;
        }
        self.block(inner, &mut each.body)?;
        if each.has_otherwise {
            let otherwise = self.scopes.inner(Some(scope), function);
            self.scopes.statements(otherwise, &mut each.otherwise);
            each.otherwise_scope = self.scope(otherwise)?;
            self.block(otherwise, &mut each.otherwise)?;
        }
        self.expr(scope, &mut each.iter)?;
        each.slots = self.functions[function].count;
        Ok(())
    }

    fn macro_body(&mut self, scope: usize, made: &mut Macro) -> Result<()> {
        const SPECIAL: [&str; 3] = ["caller", "kwargs", "varargs"];
        let outer = self.scopes.get(scope).function;
        let function = self.function(Some(outer));
        let inner = self.scopes.inner(Some(scope), function);
        self.analyze(inner, made);
        let used = undeclared(&mut made.body, &SPECIAL);
        for (at, special) in SPECIAL.iter().enumerate() {
            if !used.iter().any(|name| name == special) {
                continue;
            }
            match made.params.iter().position(|param| *param.name == **special) {
                Some(param) if at == 0 && param + made.defaults.len() < made.params.len() => {
                    let message = "When defining macros or call blocks the special \"caller\" argument must be omitted \
                                   or be given a default.";
                    return Err(Failure::new(Kind::Syntax, message));
                }
                Some(_) => {}
                None => {
                    self.scopes.declare(inner, special);
                    let ident = self.scopes.find(inner, special).map(|found| found.0);
                    made.special[at] = ident.map(|ident| self.slot(function, &ident)).transpose()?;
                }
            }
        }
        self.analyze(inner, made);
        made.scope = self.scope(inner)?;
        for at in 0..made.params.len() {
            self.name(inner, &mut made.params[at])?;
        }
        for at in 0..made.defaults.len() {
            self.expr(inner, &mut made.defaults[at])?;
        }
        self.block(inner, &mut made.body)?;
        made.slots = self.functions[function].count;
        made.number = self.macros;
        self.macros += 1;
        Ok(())
    }

    fn analyze(&mut self, scope: usize, made: &mut Macro) {
        for param in &made.params {
            self.scopes.declare(scope, &param.name);
        }
        made.defaults.iter_mut().for_each(|default| self.scopes.read(scope, default));
        self.scopes.statements(scope, &mut made.body);
    }
}
