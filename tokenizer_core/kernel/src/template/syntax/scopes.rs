//! The position of every variable: functions, scopes and slots, as Jinja's compiler lays them out in Python after its
//! own analysis of names (`jinja2/idtracking.py`).
//!
//! It cannot wait until the template runs: `{% for i in x %}{{ y }}{% endfor %}{% set y = 1 %}` writes nothing for `y`
//! whatever the caller gives, since the scope around the loop sets it later.

use std::collections::{BTreeSet, HashMap};

use super::ast::{Expr, For, Load, Macro, Name, Scope, Slot, Stmt, StmtKind, Target};
use super::failure::{Failure, Kind, Result};
use super::walk::undeclared;

/// The first slot of a function holds where the function around it has its variables.
const FIRST_SLOT: u16 = 1;

/// The variables of one function. The condition of a loop has its own, though its frame is that of the loop.
struct FunctionSlots {
    /// The function whose frame it uses, which may be itself.
    host: usize,
    /// The function around the host.
    parent: Option<usize>,
    /// By level and name: scopes of one level share variables, as in Python.
    slots: HashMap<(u16, String), u16>,
    /// Of a host: how many slots there are. A source has too few characters for more than there can be.
    count: u16,
}

/// The names of one scope.
#[derive(Clone)]
struct ScopeNames {
    level: u16,
    parent: Option<usize>,
    function: usize,
    slots: HashMap<String, u16>,
    /// The initial values, in the order in which the names were found; a parameter has none.
    loads: Vec<(u16, Option<Load>)>,
    stores: BTreeSet<String>,
}

impl ScopeNames {
    fn begin(&mut self, slot: u16, load: Option<Load>) {
        match self.loads.iter_mut().find(|(known, _)| *known == slot) {
            Some(known) => known.1 = load,
            None => self.loads.push((slot, load)),
        }
    }
}

/// Lay out a whole template: how its variables begin, and how many there are.
pub fn resolve(body: &mut [Stmt]) -> Result<(Scope, u16)> {
    let mut scopes = Scopes { names: Vec::new(), functions: Vec::new(), macros: 0 };
    let root = scopes.function(None);
    let scope = scopes.inner(None, root, Vec::new(), &mut [], body, None)?;
    Ok((scope, scopes.functions[root].count))
}

struct Scopes {
    names: Vec<ScopeNames>,
    functions: Vec<FunctionSlots>,
    macros: u32,
}

impl Scopes {
    fn function(&mut self, parent: Option<usize>) -> usize {
        let host = self.functions.len();
        let parent = parent.map(|parent| self.functions[parent].host);
        self.functions.push(FunctionSlots { host, parent, slots: HashMap::new(), count: FIRST_SLOT });
        host
    }

    /// Variables of their own in the frame of another function.
    fn guest(&mut self, of: usize) -> usize {
        let FunctionSlots { host, parent, .. } = self.functions[of];
        self.functions.push(FunctionSlots { host, parent, slots: HashMap::new(), count: 0 });
        self.functions.len() - 1
    }

    /// The variable that a name is in a scope: its function and its slot there.
    fn find(&self, scope: usize, name: &str) -> Option<(usize, u16)> {
        let names = &self.names[scope];
        match names.slots.get(name) {
            Some(slot) => Some((names.function, *slot)),
            None => self.find(names.parent?, name),
        }
    }

    /// The slot of a variable as it is reached from a scope.
    fn reach(&self, scope: usize, (function, index): (usize, u16)) -> Slot {
        let (mut at, mut hops) = (self.functions[self.names[scope].function].host, 0);
        while at != self.functions[function].host {
            let Some(parent) = self.functions[at].parent else { break };
            (at, hops) = (parent, hops + 1);
        }
        Slot { hops, index }
    }

    fn outer(&self, scope: usize, name: &str) -> Option<Load> {
        let found = self.find(self.names[scope].parent?, name)?;
        Some(Load::Alias(self.reach(scope, found)))
    }

    fn define(&mut self, scope: usize, name: &str, load: Option<Load>) {
        let names = &mut self.names[scope];
        let key = (names.level, name.to_owned());
        let slot = match self.functions[names.function].slots.get(&key) {
            Some(known) => *known,
            None => {
                let host = self.functions[names.function].host;
                let slot = self.functions[host].count;
                self.functions[host].count += 1;
                self.functions[names.function].slots.insert(key, slot);
                slot
            }
        };
        names.slots.insert(name.to_owned(), slot);
        names.begin(slot, load);
    }

    fn declare(&mut self, scope: usize, name: &str) {
        self.names[scope].stores.insert(name.to_owned());
        self.define(scope, name, None);
    }

    fn store(&mut self, scope: usize, name: &str) {
        self.names[scope].stores.insert(name.to_owned());
        if !self.names[scope].slots.contains_key(name) {
            let load = self.outer(scope, name).unwrap_or(Load::Unset);
            self.define(scope, name, Some(load));
        }
    }

    fn load(&mut self, scope: usize, name: &str) {
        if self.find(scope, name).is_none() {
            self.define(scope, name, Some(Load::Resolve(name.into())));
        }
    }

    fn read(&mut self, scope: usize, value: &mut Expr) {
        value.names(&mut |name| self.load(scope, &name.name));
    }

    fn store_target(&mut self, scope: usize, target: &mut Target) {
        target.namespaces().into_iter().for_each(|name| self.load(scope, &name.name));
        target.names().into_iter().for_each(|name| self.store(scope, &name.name));
    }

    /// Find the names of statements, but not of the scopes that these open.
    fn analyze(&mut self, scope: usize, body: &mut [Stmt]) {
        for statement in body {
            match &mut statement.kind {
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
    }

    /// Each branch is looked at alone; what any of them sets is looked up if none of them is taken. Jinja takes all of
    /// `elif` for one branch, in which each is a condition of its own.
    fn branches(&mut self, scope: usize, branches: &mut [(Expr, Vec<Stmt>)], otherwise: &mut [Stmt]) {
        let Some((first, rest)) = branches.split_first_mut() else { return };
        self.read(scope, &mut first.0);
        let body = self.branch(scope, |scopes| scopes.analyze(scope, &mut first.1));
        let elif = self.branch(scope, |scopes| {
            for (test, body) in rest {
                scopes.read(scope, test);
                let only = scopes.branch(scope, |scopes| scopes.analyze(scope, body));
                scopes.merge(scope, vec![only]);
            }
        });
        let otherwise = self.branch(scope, |scopes| scopes.analyze(scope, otherwise));
        self.merge(scope, vec![body, elif, otherwise]);
    }

    fn branch(&mut self, scope: usize, visit: impl FnOnce(&mut Self)) -> ScopeNames {
        let original = self.names[scope].clone();
        visit(self);
        std::mem::replace(&mut self.names[scope], original)
    }

    fn merge(&mut self, scope: usize, branches: Vec<ScopeNames>) {
        let names = &mut self.names[scope];
        let stores = branches.iter().flat_map(|branch| &branch.stores);
        let stores: BTreeSet<String> = stores.filter(|name| !names.stores.contains(*name)).cloned().collect();
        for branch in branches {
            names.slots.extend(branch.slots);
            names.stores.extend(branch.stores);
            branch.loads.into_iter().for_each(|(slot, load)| names.begin(slot, load));
        }
        for name in stores {
            let load = self.outer(scope, &name).unwrap_or_else(|| Load::Resolve(name.as_str().into()));
            self.define(scope, &name, Some(load));
        }
    }

    /// Lay out a scope within another. It declares names, and values are read in it before and behind its statements.
    fn inner(
        &mut self,
        parent: Option<usize>,
        function: usize,
        declared: Vec<&mut Name>,
        before: &mut [Expr],
        body: &mut [Stmt],
        mut behind: Option<&mut Expr>,
    ) -> Result<Scope> {
        let level = parent.map_or(0, |parent| self.names[parent].level + 1);
        let (scope, (slots, loads, stores)) = (self.names.len(), Default::default());
        self.names.push(ScopeNames { level, parent, function, slots, loads, stores });
        declared.iter().for_each(|name| self.declare(scope, &name.name));
        before.iter_mut().for_each(|value| self.read(scope, value));
        self.analyze(scope, body);
        behind.iter_mut().for_each(|value| self.read(scope, value));
        declared.into_iter().for_each(|name| self.place(scope, name));
        before.iter_mut().for_each(|value| self.place_all(scope, value));
        self.block(scope, body)?;
        behind.into_iter().for_each(|value| self.place_all(scope, value));
        let loads = &self.names[scope].loads;
        Ok(Scope {
            unset: loads.iter().map(|(slot, _)| *slot).collect(),
            loads: loads.iter().filter_map(|(slot, load)| Some((*slot, load.clone()?))).collect(),
        })
    }

    fn place(&self, scope: usize, name: &mut Name) {
        if let Some(found) = self.find(scope, &name.name) {
            name.slot = self.reach(scope, found);
        }
    }

    fn place_all(&self, scope: usize, value: &mut Expr) {
        value.names(&mut |name| self.place(scope, name));
    }

    fn place_target(&self, scope: usize, target: &mut Target) {
        target.namespaces().into_iter().for_each(|name| self.place(scope, name));
        target.names().into_iter().for_each(|name| self.place(scope, name));
    }

    fn block(&mut self, scope: usize, body: &mut [Stmt]) -> Result<()> {
        body.iter_mut().try_for_each(|statement| {
            let line = statement.line;
            self.statement(scope, &mut statement.kind).map_err(|failure| failure.at(line, 1))
        })
    }

    fn statement(&mut self, scope: usize, statement: &mut StmtKind) -> Result<()> {
        let function = self.names[scope].function;
        match statement {
            StmtKind::Text(_) | StmtKind::Break | StmtKind::Continue => {}
            StmtKind::Print(value) => self.place_all(scope, value),
            StmtKind::If(branches, otherwise) => {
                for (test, body) in branches {
                    self.place_all(scope, test);
                    self.block(scope, body)?;
                }
                self.block(scope, otherwise)?;
            }
            StmtKind::For(each) => self.each(scope, each)?,
            StmtKind::Set(target, value) => {
                self.place_all(scope, value);
                self.place_target(scope, target);
            }
            StmtKind::SetBlock(set) => {
                let (target, filter, body, begins) = &mut **set;
                *begins = self.inner(Some(scope), function, Vec::new(), &mut [], body, filter.as_mut())?;
                self.place_target(scope, target);
            }
            StmtKind::Macro(made) => {
                self.macro_body(scope, &mut made.1)?;
                self.place(scope, &mut made.0);
            }
            StmtKind::Generation(body) => self.macro_body(scope, body)?,
            StmtKind::Call(call) => {
                self.macro_body(scope, &mut call.2)?;
                self.place_all(scope, &mut call.0);
                call.1.each(&mut |value| self.place_all(scope, value));
            }
            StmtKind::Filter(filter) => {
                let (filter, body, begins) = &mut **filter;
                *begins = self.inner(Some(scope), function, Vec::new(), &mut [], body, Some(filter))?;
            }
            StmtKind::With(with) => {
                let (values, body, begins) = &mut **with;
                values.iter_mut().for_each(|(_, value)| self.place_all(scope, value));
                let declared = values.iter_mut().flat_map(|(target, _)| target.names()).collect();
                *begins = self.inner(Some(scope), function, declared, &mut [], body, None)?;
            }
        }
        Ok(())
    }

    fn each(&mut self, scope: usize, each: &mut For) -> Result<()> {
        let outer = self.names[scope].function;
        let function = if each.recursive { self.function(Some(outer)) } else { outer };
        let mut looped = Name::new("loop");
        let uses_loop = each.recursive || !undeclared(&mut each.body, &["loop"]).is_empty();
        let mut declared = each.target.names();
        declared.extend(uses_loop.then_some(&mut looped));
        each.scope = self.inner(Some(scope), function, declared, &mut [], &mut each.body, None)?;
        each.loop_slot = uses_loop.then_some(looped.slot.index);
        if let Some((test, target)) = &mut each.test {
            let guest = self.guest(function);
            each.test_scope = self.inner(Some(scope), guest, target.names(), &mut [], &mut [], Some(test))?;
        }
        if each.has_otherwise {
            let otherwise = &mut each.otherwise;
            each.otherwise_scope = self.inner(Some(scope), function, Vec::new(), &mut [], otherwise, None)?;
        }
        self.place_all(scope, &mut each.iter);
        each.slots = self.functions[function].count;
        Ok(())
    }

    fn macro_body(&mut self, scope: usize, made: &mut Macro) -> Result<()> {
        const SPECIAL: [&str; 3] = ["caller", "kwargs", "varargs"];
        let function = self.function(Some(self.names[scope].function));
        let used = undeclared(&mut made.body, &SPECIAL);
        let (needed, optional) = made.params.split_at(made.params.len() - made.defaults.len());
        let has = |params: &[Name], special: &str| params.iter().any(|param| *param.name == *special);
        if used.iter().any(|name| name == "caller") && has(needed, "caller") {
            let message = "When defining macros or call blocks the special \"caller\" argument must be omitted or be \
                           given a default.";
            return Err(Failure::new(Kind::Syntax, message));
        }
        let is_extra =
            SPECIAL.map(|name| used.iter().any(|used| used == name) && !has(needed, name) && !has(optional, name));
        let mut special = SPECIAL.map(Name::new);
        let extra = special.iter_mut().zip(is_extra).filter_map(|(name, is_extra)| is_extra.then_some(name));
        let declared = made.params.iter_mut().chain(extra).collect();
        made.scope = self.inner(Some(scope), function, declared, &mut made.defaults, &mut made.body, None)?;
        made.special = std::array::from_fn(|at| is_extra[at].then_some(special[at].slot.index));
        made.slots = self.functions[function].count;
        made.number = self.macros;
        self.macros += 1;
        Ok(())
    }
}
