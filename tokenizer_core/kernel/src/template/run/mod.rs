//! The tree is run over values: `statements` and `eval` walk it, and the rest is what they call.

mod assignment;
mod attributes;
mod blocks;
mod calls;
mod cases;
pub mod clock;
mod eval;
mod filters;
mod format;
mod generators;
mod held;
mod iter;
mod json_out;
mod methods;
mod number_filters;
mod objects;
mod sequences;
mod spec;
pub mod state;
mod statements;
mod taken;
mod tests_of_values;
