//! JSON as bytes: what hot bodies and their answers are made of, read and written many bytes at a time.
//!
//! `special` tells where a string is not written as it is, `string` reads and writes those with escapes, `decimal` is
//! about one number and `numbers` about lists of them. `scan` goes through a text with them, and `check` over what
//! nobody reads yet: `requests` reads bodies by them, and `template` chats. `limits` has what is refused wherever JSON
//! is read, and `shape` counts what a body holds before anybody reads it.
//!
//! The reader is our own because serde_json in its place adds 1.0 µs to an `/encode` of 4,000 English characters that
//! takes 6.5 µs (`examples/body_speed.rs`), and jiter 1.3 µs. Files are read by serde_json, in `formats` and `train`.

pub mod check;
pub(crate) mod decimal;
pub mod limits;
pub mod numbers;
pub mod scan;
pub mod shape;
pub(crate) mod special;
pub mod string;
