//! From the source of a template to the tree in `ast`: `lexer`, `parser`, `targets`, `expressions` and `operands`, in
//! the order in which they call one another; `symbols` and `resolve` lay out the variables as Jinja's compiler does.

pub mod ast;
mod expressions;
pub mod failure;
pub mod lexer;
pub mod names;
mod operands;
pub mod parser;
pub mod resolve;
pub mod strings;
mod symbols;
mod targets;
pub mod walk;
