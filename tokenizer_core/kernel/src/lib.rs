//! The engine of tokd: text to token ids and back, exactly as the model's own tokenizer does.
//!
//! A text passes through the modules in this order. `formats` has read a [`vocabulary`]. `added_tokens` cuts out
//! literals (in a chat, `provenance` keeps the caller from writing any), `normalize` rewrites the text between them,
//! and `pretokenize` cuts it into pieces. `block` looks up many of them at once in a `piece_cache`, a [`model`] turns
//! the missed ones into ids, and an `output` takes the ids. [`encode`] drives all of this with the `scratch` of a call,
//! [`batch`] for many texts. What it made of a long text between two added tokens a `segment_cache` may keep.
//!
//! `decode` is the way back. `requests` turns the bytes of a request into those of an answer with the help of `json`.
//! `template` renders chats and knows who wrote every byte, `responses` reads what a model wrote. `block_hashes` names
//! ids as the caches of engines do. `packing` puts rows into packs of one size. `train` makes vocabularies, `shards`
//! encodes corpora. `unicode`, `regex`, `byte_level`, `capacity` and `hashing` serve all of them; `simd` hides what
//! depends on the machine, and `parallel` shares work among threads. Only `py` knows Python.

pub mod added_tokens;
pub mod batch;
pub mod block;
pub mod block_hashes;
mod byte_level;
mod capacity;
pub mod config;
pub mod decode;
pub mod encode;
pub mod error;
pub mod formats;
mod hashing;
pub mod json;
pub mod model;
pub mod normalize;
pub mod output;
pub mod packing;
mod parallel;
pub mod piece_cache;
pub mod pretokenize;
mod provenance;
pub mod regex;
pub mod requests;
pub mod responses;
pub mod scratch;
pub mod segment_cache;
pub mod shards;
pub mod simd;
pub mod template;
pub mod train;
pub mod unicode;
pub mod vocabulary;

#[cfg(feature = "python")]
mod py;
