//! The compiled form: what the parser makes, and in which `scopes` writes down where every variable stands.

/// The position of a variable.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Slot {
    /// The number of functions outwards.
    pub hops: u16,
    /// The number among the variables of that function.
    pub index: u16,
}

/// A name that is read or written.
#[derive(Debug, Clone)]
pub struct Name {
    /// As it is written.
    pub name: Box<str>,
    /// The position of its value.
    pub slot: Slot,
}

impl Name {
    /// A name whose position is not known yet.
    pub fn new(name: impl Into<Box<str>>) -> Self {
        Self { name: name.into(), slot: Slot::default() }
    }
}

/// An operator of two operands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs, reason = "the operators of Python")]
pub enum Operator {
    Add,
    Sub,
    Mul,
    Div,
    FloorDiv,
    Mod,
    Pow,
}

/// A comparison.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs, reason = "the comparisons of Python")]
pub enum Comparison {
    Eq,
    Ne,
    Lt,
    Le,
    Gt,
    Ge,
    In,
    NotIn,
}

/// The arguments of a call, a filter or a test.
#[derive(Debug, Clone, Default)]
#[allow(missing_docs, reason = "as in Python")]
pub struct Args {
    pub positional: Vec<Expr>,
    pub named: Vec<(Box<str>, Expr)>,
    pub star: Option<Expr>,
    pub double_star: Option<Expr>,
}

/// A call, a filter or a test: of the value, by its name, with arguments.
#[derive(Debug, Clone)]
pub struct Applied {
    /// `None` in a filter block or a filter of a `set` block.
    pub value: Option<Expr>,
    /// Of the filter or the test.
    pub name: Box<str>,
    /// All but the value.
    pub args: Args,
}

/// An expression.
#[derive(Debug, Clone)]
#[allow(missing_docs, reason = "the expressions of Jinja")]
pub enum Expr {
    None,
    Bool(bool),
    Int(i64),
    /// In decimal digits, beyond 64 bits.
    Big(Box<str>),
    Float(f64),
    Str(Box<str>),
    Name(Name),
    List(Vec<Expr>),
    Tuple(Vec<Expr>),
    Dict(Vec<(Expr, Expr)>),
    Attribute(Box<Expr>, Box<str>),
    Item(Box<(Expr, Expr)>),
    Slice(Box<(Expr, [Option<Expr>; 3])>),
    Call(Box<(Expr, Args)>),
    Filter(Box<Applied>),
    Test(Box<Applied>),
    Neg(Box<Expr>),
    Pos(Box<Expr>),
    Not(Box<Expr>),
    And(Box<(Expr, Expr)>),
    Or(Box<(Expr, Expr)>),
    Binary(Operator, Box<(Expr, Expr)>),
    Compare(Box<(Expr, Vec<(Comparison, Expr)>)>),
    Concat(Vec<Expr>),
    /// Test, then, else, line.
    Condition(Box<(Expr, Expr, Option<Expr>, u32)>),
}

/// The target of an assignment.
#[derive(Debug, Clone)]
#[allow(missing_docs, reason = "the targets of Jinja")]
pub enum Target {
    Name(Name),
    /// An attribute of a namespace.
    Field(Name, Box<str>),
    Tuple(Vec<Target>),
}

/// Targets and their values.
pub type Assigned = Vec<(Target, Expr)>;

/// The changes to variables where a scope is entered and left.
#[derive(Debug, Clone, Default)]
pub struct Scope {
    /// In this order.
    pub loads: Vec<(u16, Load)>,
    /// Unset at the end.
    pub unset: Vec<u16>,
}

/// The initial value of a variable.
#[derive(Debug, Clone)]
pub enum Load {
    /// As what the caller or Jinja gives by that name.
    Resolve(Box<str>),
    /// As the variable of the same name outside.
    Alias(Slot),
    /// Not set.
    Unset,
}

/// A macro, the body of a call block, or that of a `{% generation %}` block.
#[derive(Debug, Clone, Default)]
pub struct Macro {
    /// `None` for a caller.
    pub name: Option<Box<str>>,
    /// The parameters.
    pub params: Vec<Name>,
    /// Of the last parameters.
    pub defaults: Vec<Expr>,
    /// The statements that it runs to write its text.
    pub body: Vec<Stmt>,
    /// The initial values of its variables.
    pub scope: Scope,
    /// The number of variables.
    pub slots: u16,
    /// The slots of `caller`, `kwargs` and `varargs`, if the body uses them.
    pub special: [Option<u16>; 3],
    /// Its number among the macros of the template.
    pub number: u32,
}

/// A loop.
#[derive(Debug, Clone)]
#[allow(missing_docs, reason = "the parts of a loop")]
pub struct For {
    pub target: Target,
    pub iter: Expr,
    pub body: Vec<Stmt>,
    pub otherwise: Vec<Stmt>,
    pub has_otherwise: bool,
    /// The condition and the target as it is read there.
    pub test: Option<(Expr, Target)>,
    pub recursive: bool,
    pub scope: Scope,
    pub test_scope: Scope,
    pub otherwise_scope: Scope,
    /// The slot of `loop`, if the body uses it.
    pub loop_slot: Option<u16>,
    /// The variables of a recursive loop, which is a function.
    pub slots: u16,
    /// The number of a recursive loop among the functions of the template.
    pub number: u32,
}

/// A statement and its line.
#[derive(Debug, Clone)]
pub struct Stmt {
    /// The action of the statement.
    pub kind: StmtKind,
    /// From 1 on.
    pub line: u32,
}

/// The action of a statement.
#[derive(Debug, Clone)]
#[allow(missing_docs, reason = "the statements of Jinja")]
pub enum StmtKind {
    Text(Box<str>),
    Print(Expr),
    If(Vec<(Expr, Vec<Stmt>)>, Vec<Stmt>),
    For(Box<For>),
    Set(Target, Expr),
    SetBlock(Box<(Target, Option<Expr>, Vec<Stmt>, Scope)>),
    Macro(Box<(Name, Macro)>),
    /// The call and its caller.
    Call(Box<(Expr, Args, Macro)>),
    Filter(Box<(Expr, Vec<Stmt>, Scope)>),
    With(Box<(Assigned, Vec<Stmt>, Scope)>),
    Generation(Box<Macro>),
    Break,
    Continue,
}
