//! The engine of tokd: text to token ids and back, exactly as the model's own tokenizer does.
//!
//! The modules are the pipeline, in order:
//! `load` reads vocabularies, `added_tokens` cuts out literals, `normalize` rewrites what is between them,
//! `guard` keeps the caller of a chat out of them,
//! `pretokenize` cuts pieces, `token_index`, `ranks` and `merge` turn a piece into ids, `portion` does so for many at once, `encode`
//! drives all of it,
//! `offsets`, `output`, `near` and `decode` are the ways out, `body` from a request's bytes to an answer's; `expression` and
//! `unicode` serve all of them, `path` tells them what the machine can do. `py` alone knows Python.

pub mod added_tokens;
pub mod backtrack;
pub mod batch;
pub mod body;
mod branch;
pub mod buffer;
pub mod cells;
pub mod config;
pub mod decode;
pub mod encode;
pub mod error;
pub mod expression;
mod guard;
mod hashing;
mod helpers;
pub mod lane;
pub mod lineage;
pub mod load;
pub mod merge;
pub mod near;
pub mod normalize;
pub mod offsets;
pub mod output;
mod pages;
mod pair_table;
mod parallel;
pub mod path;
pub mod piece_cache;
pub mod portion;
mod prefetch;
pub mod pretokenize;
pub mod ranks;
mod ruler;
pub mod safe_split;
pub mod scratch;
pub mod sink;
mod spread;
mod standing;
mod steps;
pub mod tables;
mod tagged_line;
pub mod token_index;
pub mod train;
pub mod unicode;
pub mod utf16;
pub mod utf8;
pub mod vocabulary;
mod white;
mod white_tokens;
mod words;

#[cfg(feature = "python")]
mod py;
