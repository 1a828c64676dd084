//! JSON as bytes: what hot bodies and their answers are made of, read and written many bytes at a time.
//!
//! `special` tells where a string is not written as it is, `string` reads and writes those with escapes, `decimal` is
//! about one number and `numbers` about lists of them, and `scan` goes through a body.

mod decimal;
pub mod numbers;
pub mod scan;
pub(crate) mod special;
pub mod string;
