//! From the source of a template to the tree in `ast`: `lexer`, `parser`, `targets`, `expressions` and `operands`, in
//! the order in which they call one another; `scopes` lays out the variables as Jinja's compiler does.

pub mod ast;
mod expressions;
pub mod failure;
pub mod lexer;
pub mod names;
mod operands;
pub mod parser;
pub mod scopes;
pub mod strings;
mod targets;
pub mod walk;
