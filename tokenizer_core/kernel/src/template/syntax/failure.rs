//! The errors of a template, when it is compiled or rendered.

/// The kind of an error: one of the errors of this package.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// The source is not a template.
    Syntax,
    /// The source uses a construct that this engine does not have.
    Unsupported,
    /// The template refuses the messages by `raise_exception`.
    Raised,
    /// An operation of the template fails on the messages.
    Failed,
    /// The template takes more steps, text or depth than a chat can need.
    Limit,
    /// The template does what cannot be followed exactly.
    Untrackable,
    /// The input of the template is not JSON of a chat.
    Input,
    /// The values must be checked first; there is no message.
    NotPlain,
}

/// An error of a template and where it happened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure {
    /// The kind of the error.
    pub kind: Kind,
    /// Lower case where it is ours; the template's or Python's words where it is theirs.
    pub message: String,
    /// The line of the template; 0 is unknown.
    pub line: u32,
    /// The column of the line, in characters from 1 on; 0 is unknown.
    pub column: u32,
    /// The field of the caller that was at hand, if one was.
    pub field: Option<String>,
    /// The caller's value that was at hand, if it is known.
    pub at_hand: Option<AtHand>,
    /// The name that the caller's value does not have.
    pub missing: Option<String>,
}

/// A caller's value on which an operation failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AtHand {
    /// The origin of it or of a part of it.
    pub origin: u32,
    /// True if it is the object or list that holds the value or key with the origin.
    pub holds: bool,
    /// Its type, as Python names it.
    pub kind: &'static str,
}

/// A boxed failure keeps results small: nearly all are values.
pub type Result<T> = std::result::Result<T, Box<Failure>>;

impl Failure {
    /// A failure whose place is not known yet.
    pub fn new(kind: Kind, message: impl Into<String>) -> Box<Self> {
        Box::new(Self { kind, message: message.into(), line: 0, column: 0, field: None, at_hand: None, missing: None })
    }

    /// An operation that Python or Jinja would refuse.
    pub fn failed(message: impl Into<String>) -> Box<Self> {
        Self::new(Kind::Failed, message)
    }

    /// An operation whose result cannot be followed.
    pub fn untrackable(message: impl Into<String>) -> Box<Self> {
        Self::new(Kind::Untrackable, message)
    }

    /// More than a chat can need.
    pub fn limit(message: impl Into<String>) -> Box<Self> {
        Self::new(Kind::Limit, message)
    }

    /// The same failure at a place of the source.
    #[must_use]
    pub fn at(mut self: Box<Self>, line: u32, column: u32) -> Box<Self> {
        if self.line == 0 {
            (self.line, self.column) = (line, column);
        }
        self
    }
}
