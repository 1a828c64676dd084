//! Jinja's own analysis of names (`jinja2/idtracking.py`): which variable a name is, and how each begins.

use std::collections::{BTreeSet, HashMap};

use super::ast::{Expr, Stmt, StmtKind, Target};

/// A variable: its level and its name. Scopes of one level in one function share variables, as in Python.
pub type Ident = (u16, String);

/// The initial value of a variable.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Begins {
    /// As a parameter.
    Param,
    /// As what the context has by that name.
    Resolve,
    /// As another variable of the function.
    Alias(Ident, usize),
    /// Not set.
    Unset,
}

/// The names of one scope.
#[derive(Debug, Clone)]
pub struct ScopeNames {
    level: u16,
    parent: Option<usize>,
    /// The function that the scope stands in.
    pub function: usize,
    refs: HashMap<String, Ident>,
    /// In the order in which they were found.
    pub loads: Vec<(Ident, Begins)>,
    stores: BTreeSet<String>,
}

/// All scopes.
#[derive(Debug, Default)]
pub struct Scopes(Vec<ScopeNames>);

impl Scopes {
    /// A scope within another.
    pub fn inner(&mut self, parent: Option<usize>, function: usize) -> usize {
        let level = parent.map_or(0, |parent| self.0[parent].level + 1);
        let (refs, loads, stores) = Default::default();
        self.0.push(ScopeNames { level, parent, function, refs, loads, stores });
        self.0.len() - 1
    }

    /// One of them.
    pub fn get(&self, scope: usize) -> &ScopeNames {
        &self.0[scope]
    }

    /// The variable that a name is in a scope, and its function.
    pub fn find(&self, scope: usize, name: &str) -> Option<(Ident, usize)> {
        let symbols = &self.0[scope];
        match symbols.refs.get(name) {
            Some(ident) => Some((ident.clone(), symbols.function)),
            None => self.find(symbols.parent?, name),
        }
    }

    fn outer(&self, scope: usize, name: &str) -> Option<Begins> {
        let (ident, function) = self.find(self.0[scope].parent?, name)?;
        Some(Begins::Alias(ident, function))
    }

    fn define(&mut self, scope: usize, name: &str, begins: Begins) {
        let symbols = &mut self.0[scope];
        let ident = (symbols.level, name.to_owned());
        symbols.refs.insert(name.to_owned(), ident.clone());
        set_load(&mut symbols.loads, ident, begins);
    }

    /// A parameter of the scope.
    pub fn declare(&mut self, scope: usize, name: &str) {
        self.0[scope].stores.insert(name.to_owned());
        self.define(scope, name, Begins::Param);
    }

    fn store(&mut self, scope: usize, name: &str) {
        self.0[scope].stores.insert(name.to_owned());
        if !self.0[scope].refs.contains_key(name) {
            let begins = self.outer(scope, name).unwrap_or(Begins::Unset);
            self.define(scope, name, begins);
        }
    }

    fn load(&mut self, scope: usize, name: &str) {
        if self.find(scope, name).is_none() {
            self.define(scope, name, Begins::Resolve);
        }
    }

    /// The names that an expression reads.
    pub fn read(&mut self, scope: usize, value: &mut Expr) {
        value.names(&mut |name| self.load(scope, &name.name));
    }

    /// The names that a target declares, as those of a loop do.
    pub fn declare_target(&mut self, scope: usize, target: &mut Target) {
        target.names(&mut |name| self.declare(scope, &name.name));
    }

    fn store_target(&mut self, scope: usize, target: &mut Target) {
        target.namespaces(&mut |name| self.load(scope, &name.name));
        target.names(&mut |name| self.store(scope, &name.name));
    }

    /// The names of statements, but not of the scopes that these open.
    pub fn statements(&mut self, scope: usize, body: &mut [Stmt]) {
        for statement in body {
            self.statement(scope, &mut statement.kind);
        }
    }

    fn statement(&mut self, scope: usize, statement: &mut StmtKind) {
        match statement {
            StmtKind::Text(_) | StmtKind::Break | StmtKind::Continue | StmtKind::Generation(_) => {}
            StmtKind::Print(value) => self.read(scope, value),
            StmtKind::If(branches, otherwise) => self.branches(scope, branches, otherwise),
            StmtKind::For(each) => self.read(scope, &mut each.iter),
            StmtKind::Set(target, value) => {
                self.read(scope, value);
                self.store_target(scope, target);
            }
            StmtKind::SetBlock(set) => self.store_target(scope, &mut set.0),
            StmtKind::Macro(made) => self.store(scope, &made.0.name),
            StmtKind::Call(call) => {
                self.read(scope, &mut call.0);
                call.1.each(&mut |value| self.read(scope, value));
            }
            StmtKind::Filter(filter) => self.read(scope, &mut filter.0),
            StmtKind::With(with) => with.0.iter_mut().for_each(|(_, value)| self.read(scope, value)),
        }
    }

    /// Each branch is looked at alone; what any of them sets is looked up if none of them is taken. Jinja takes all of
    /// `elif` for one branch, in which each is a condition of its own.
    fn branches(&mut self, scope: usize, branches: &mut [(Expr, Vec<Stmt>)], otherwise: &mut [Stmt]) {
        let Some((first, rest)) = branches.split_first_mut() else { return };
        self.read(scope, &mut first.0);
        let body = self.branch(scope, |scopes| scopes.statements(scope, &mut first.1));
        let elif = self.branch(scope, |scopes| {
            for (test, body) in rest {
                scopes.read(scope, test);
                let only = scopes.branch(scope, |scopes| scopes.statements(scope, body));
                scopes.merge(scope, vec![only]);
            }
        });
        let otherwise = self.branch(scope, |scopes| scopes.statements(scope, otherwise));
        self.merge(scope, vec![body, elif, otherwise]);
    }

    fn branch(&mut self, scope: usize, visit: impl FnOnce(&mut Self)) -> ScopeNames {
        let original = self.0[scope].clone();
        visit(self);
        std::mem::replace(&mut self.0[scope], original)
    }

    fn merge(&mut self, scope: usize, branches: Vec<ScopeNames>) {
        let mut stores: BTreeSet<String> = BTreeSet::new();
        for branch in &branches {
            stores.extend(branch.stores.iter().cloned());
        }
        let symbols = &mut self.0[scope];
        stores.retain(|name| !symbols.stores.contains(name));
        for branch in branches {
            symbols.refs.extend(branch.refs);
            symbols.stores.extend(branch.stores);
            for (ident, begins) in branch.loads {
                set_load(&mut symbols.loads, ident, begins);
            }
        }
        for name in stores {
            let begins = self.outer(scope, &name).unwrap_or(Begins::Resolve);
            self.define(scope, &name, begins);
        }
    }
}

fn set_load(loads: &mut Vec<(Ident, Begins)>, ident: Ident, begins: Begins) {
    match loads.iter_mut().find(|(known, _)| *known == ident) {
        Some(load) => load.1 = begins,
        None => loads.push((ident, begins)),
    }
}
