//! The engine of tokd: text to token ids and back, exactly as the model's own tokenizer does.
//!
//! A text goes through the rooms in this order: `load` has read a [`vocabulary`], `added_tokens` cuts out literals,
//! which `guard` keeps the caller of a chat out of, `normalize` rewrites what is between them, `pretokenize` cuts it
//! into pieces, `safe_split` long ones into parts, `portion` looks many up at once in a `piece_cache`, `merging` turns
//! those that nobody has seen into ids, and a `sink` takes them. [`encode`] drives all of it with the `tables` of a
//! vocabulary and the `scratch` of a call, [`batch`] over many texts. `decode` is the way back, `body` the way from a
//! request's bytes to an answer's by way of `json`, `train` the making of a vocabulary. `unicode`, `transcode`,
//! `expression`, `byte_alphabet` and `hashing` serve all of them, `machine` tells what the machine can do, `threads`
//! share work out. `py` alone knows Python.

pub mod added_tokens;
pub mod batch;
pub mod body;
mod byte_alphabet;
pub mod config;
pub mod decode;
pub mod encode;
pub mod error;
pub mod expression;
mod guard;
mod hashing;
pub mod json;
pub mod load;
pub mod machine;
pub mod merging;
pub mod normalize;
pub mod piece_cache;
pub mod portion;
pub mod pretokenize;
pub mod safe_split;
pub mod scratch;
pub mod sink;
pub mod tables;
mod threads;
pub mod train;
pub mod transcode;
pub mod unicode;
pub mod vocabulary;

#[cfg(feature = "python")]
mod py;
