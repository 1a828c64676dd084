//! One error for the whole kernel: a stable code, a message that tells the way out, and the place.

use std::any::Any;
use std::fmt;
use std::panic::resume_unwind;

/// The stable name of an error; `tokenizer_core/errors.py` has an exception class for each group of codes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Code {
    /// The caller stopped the work.
    Cancelled,
    /// A corpus is too large for the trainer to count.
    CorpusTooLarge,
    /// Two entries share an id.
    DuplicateId,
    /// Two entries share their bytes or their literal.
    DuplicateToken,
    /// An added token and the vocabulary disagree about an id.
    IdConflict,
    /// An id is negative or too large to be real.
    IdOutOfRange,
    /// A file is not what its format says.
    InvalidFile,
    /// A corpus is not what its format says.
    InvalidCorpus,
    /// An option has a value outside its range.
    InvalidOption,
    /// A regular expression does not compile.
    InvalidPattern,
    /// A corpus holds bytes that are not UTF-8.
    InvalidUtf8,
    /// A merge names a part or a product that is not in the vocabulary.
    MergeOutOfVocab,
    /// One of the 256 bytes has no token.
    MissingByte,
    /// The system refused memory.
    OutOfMemory,
    /// The text holds the literal of a special token and the caller forbade it.
    ReservedLiteral,
    /// A regular expression took more steps than allowed on this text.
    StepLimit,
    /// A chat template refuses the messages, fails on them, or is not a template.
    TemplateFailed,
    /// A chat template takes more steps than a chat can need.
    TemplateLimit,
    /// A chat template uses a construct that this kernel does not have.
    TemplateUnsupported,
    /// A chat template does to the messages what hides who wrote what.
    TemplateUntrackable,
    /// The pattern leaves a part of the text outside every piece.
    UncoveredText,
    /// No token has this id.
    UnknownTokenId,
    /// A feature of a tokenizer file that this kernel does not have.
    Unsupported,
    /// A bug of the kernel: caught, reported, never a crash.
    Internal,
}

impl Code {
    /// The code as it appears in every API answer.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Cancelled => "cancelled",
            Self::CorpusTooLarge => "corpus_too_large",
            Self::DuplicateId => "duplicate_id",
            Self::DuplicateToken => "duplicate_token",
            Self::IdConflict => "id_conflict",
            Self::IdOutOfRange => "id_out_of_range",
            Self::InvalidFile => "invalid_file",
            Self::InvalidCorpus => "invalid_corpus",
            Self::InvalidOption => "invalid_option",
            Self::InvalidPattern => "invalid_pattern",
            Self::InvalidUtf8 => "invalid_utf8",
            Self::MergeOutOfVocab => "merge_out_of_vocab",
            Self::MissingByte => "missing_byte",
            Self::OutOfMemory => "out_of_memory",
            Self::ReservedLiteral => "reserved_literal",
            Self::StepLimit => "step_limit",
            Self::TemplateFailed => "template_failed",
            Self::TemplateLimit => "template_limit",
            Self::TemplateUnsupported => "template_unsupported",
            Self::TemplateUntrackable => "template_untrackable",
            Self::UncoveredText => "uncovered_text",
            Self::UnknownTokenId => "unknown_token_id",
            Self::Unsupported => "unsupported",
            Self::Internal => "internal",
        }
    }
}

/// The place of an error.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Place {
    /// The whole input.
    Whole,
    /// A field of a file or of the settings, such as `model.merges[17]`, or a line, such as `line 3`.
    Field(String),
    /// Half-open byte range of the caller's text.
    Bytes(std::ops::Range<usize>),
    /// Index into the caller's ids.
    Index(usize),
}

/// The kernel's error.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Error {
    /// Stable name.
    pub code: Code,
    /// Lower case, no full stop.
    pub message: String,
    /// Field, byte range or index.
    pub place: Place,
    /// The index of the text in a batch.
    pub row: Option<usize>,
}

/// Result of everything in the kernel that can fail.
pub type Result<T> = std::result::Result<T, Error>;

impl Error {
    /// An error about the input as a whole.
    pub fn new(code: Code, message: impl Into<String>) -> Self {
        Self { code, message: message.into(), place: Place::Whole, row: None }
    }

    /// The panic that ended a thread, as an error.
    pub fn of_panic(panic: &(dyn Any + Send)) -> Self {
        if panic.is::<OutOfMemory>() {
            return Self::new(Code::OutOfMemory, "there is too little memory for the result");
        }
        let reason = panic.downcast_ref::<String>().map(String::as_str);
        let reason = reason.or_else(|| panic.downcast_ref().copied()).unwrap_or("no reason given");
        Self::new(Code::Internal, format!("the kernel failed: {reason}; please report this"))
    }

    /// The same error at a named field.
    #[must_use]
    pub fn at_field(self, field: impl Into<String>) -> Self {
        Self { place: Place::Field(field.into()), ..self }
    }

    /// The same error at a byte range of the text.
    #[must_use]
    pub fn at_bytes(self, bytes: std::ops::Range<usize>) -> Self {
        Self { place: Place::Bytes(bytes), ..self }
    }

    /// The same error with its byte range mapped to another text, such as from a stretch to the whole.
    #[must_use]
    pub fn moved(self, map: impl FnOnce(std::ops::Range<usize>) -> std::ops::Range<usize>) -> Self {
        match self.place {
            Place::Bytes(bytes) => Self { place: Place::Bytes(map(bytes)), ..self },
            _ => self,
        }
    }

    /// The same error in one text of a batch.
    #[must_use]
    pub fn in_row(self, row: usize) -> Self {
        Self { row: Some(row), ..self }
    }

    /// The same error at an index of the ids.
    #[must_use]
    pub fn at_index(self, index: usize) -> Self {
        Self { place: Place::Index(index), ..self }
    }
}

/// The payload of the unwinding that ends the work where the system refuses memory: results grow within loops that
/// nothing else ends.
#[derive(Debug)]
pub struct OutOfMemory;

impl OutOfMemory {
    /// Leave the work; who called it turns what it unwinds with into an error by [`Error::of_panic`].
    #[cold]
    pub fn unwind() -> ! {
        resume_unwind(Box::new(Self))
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.code.as_str(), self.message)
    }
}

impl std::error::Error for Error {}
